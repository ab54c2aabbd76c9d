"""Binary, normal and survival visits of patients: means, correlations and patterns as their formulas say."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rewards_helper import Keys, build, draw, standard_errors_off
from scipy import integrate, stats

from tpstream import Scenario, simulate
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import ArmRewards, BuildContext
from tpstream.model.numba_support import hold_stream
from tpstream.rewards.latent_normal import correlated_normals, lower_factor
from tpstream.rewards.survival import SurvivalArmSettings, SurvivalSettings

TABLE = [[1.0, 0.8, 0.3], [0.8, 1.0, 0.6], [0.3, 0.6, 1.0]]


def survival(visits: list[float], **arm: Any) -> ArmRewards:
    """The arm of patients who die like this."""
    context = BuildContext(["a"], len(visits), folder=None, visits=visits)  # type: ignore[arg-type]
    return SurvivalSettings().build([SurvivalArmSettings(**arm)], context).arms[0]


@given(
    rows=st.lists(st.lists(st.floats(-1, 1), min_size=4, max_size=4), min_size=4, max_size=4),
    independent=st.floats(0.01, 1),
)
@settings(max_examples=30, deadline=None)
def test_the_factor_gives_the_correlations(rows: list[list[float]], independent: float) -> None:
    """L L' = C, with nothing above the diagonal, for every table of correlations."""
    covariance = np.array(rows) @ np.array(rows).T + independent * np.eye(4)
    scale = np.sqrt(covariance.diagonal())
    matrix = np.clip(covariance / np.outer(scale, scale), -1, 1)
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1.0)
    lower = lower_factor(matrix.tolist(), 4)
    np.testing.assert_allclose(lower @ lower.T, matrix, atol=1e-9)
    assert (np.triu(lower, 1) == 0).all()


def test_one_number_is_a_variable_of_the_patient() -> None:
    """One number r is the correlation of every two visits; with 1 all visits of a patient are the same variable."""
    lower = lower_factor(0.4, 3)
    np.testing.assert_allclose(lower @ lower.T, 0.4 + 0.6 * np.eye(3), atol=1e-12)
    drawn = correlated_normals(np.random.default_rng(0), 5, lower_factor(1.0, 3))
    np.testing.assert_array_equal(drawn, np.repeat(drawn[:, :1], 3, axis=1))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1.0, 0.5]], "must have 3 rows of 3 numbers"),
        ([[1.0, 0.5, 0.1], [0.4, 1.0, 0.1], [0.1, 0.1, 1.0]], "must be symmetric"),
        ([[0.9, 0.5, 0.1], [0.5, 1.0, 0.1], [0.1, 0.1, 1.0]], "with 1 on the diagonal"),
        ([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]], "no variables correlate as in row 3"),
        ([[1.0, 1.0, 0.5], [1.0, 1.0, 0.2], [0.5, 0.2, 1.0]], "no variables correlate as in row 2"),
    ],
)
def test_impossible_correlations(table: list[list[float]], message: str) -> None:
    """A table that is not one of correlations is refused."""
    with pytest.raises(ScenarioError, match=f"rewards.correlation: {message}|{message}"):
        build("normal", {"correlation": table}, [{"mean": 0, "deviation": 1}], 3)


def test_normal_visits() -> None:
    """Means, deviations and correlations are those given: within 5 standard errors (false alarm: 1 in 100,000)."""
    keys = {"mean": [1.0, -2.0, 0.5], "deviation": [1.0, 3.0, 0.2]}
    rewards = build("normal", {"correlation": TABLE}, [keys], 3)
    arm, parts = rewards.arms[0], draw(rewards, 100_000)
    assert (rewards.signed, rewards.groups, arm.maximum, arm.mean) == (True, None, None, -0.5)
    for part in range(3):
        assert standard_errors_off(parts[:, part], keys["mean"][part]) < 5
        assert parts[:, part].std() == pytest.approx(keys["deviation"][part], rel=5 / math.sqrt(200_000))
    found = np.corrcoef(parts.T)
    assert (np.abs(found - TABLE) <= 5 * (1 - np.array(TABLE) ** 2) / math.sqrt(100_000) + 1e-12).all()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0, TABLE])
def test_binary_visits(correlation: Any) -> None:
    """P(x_j = 1) = p_j and P(x_j = x_k = 1) is the bivariate normal one: 5 standard errors (1 in 100,000)."""
    chances = [0.2, 0.5, 0.7]
    rewards = build("binary", {"correlation": correlation}, [{"probability": chances}], 3)
    parts, size = draw(rewards, 100_000), 100_000
    assert set(np.unique(parts)) == {0.0, 1.0}
    assert (rewards.groups, rewards.arms[0].maximum, rewards.arms[0].mean) == (3, 3.0, pytest.approx(1.4))
    matrix = np.array(TABLE) if correlation is TABLE else correlation + (1 - correlation) * np.eye(3)
    cuts = stats.norm.ppf(chances)
    for j in range(3):
        for k in range(j + 1):
            if j == k or matrix[j, k] == 1:
                expected = min(chances[j], chances[k])
            else:
                covariance = [[1, matrix[j, k]], [matrix[j, k], 1]]
                expected = stats.multivariate_normal.cdf([cuts[j], cuts[k]], cov=covariance)
            error = math.sqrt(expected * (1 - expected) / size)
            assert abs((parts[:, j] * parts[:, k]).mean() - expected) < 5 * error


def test_patterns() -> None:
    """Each pattern comes as often as its probability says (chi-square, false alarm: 1 in a million)."""
    patterns = {"000": 0.4, "001": 0.1, "011": 0.2, "111": 0.3}
    rewards = build("binary", {}, [{"patterns": patterns}], 3)
    arm: Any = rewards.arms[0]
    np.testing.assert_allclose(arm.part_means, [0.3, 0.5, 0.6])
    scenario = Scenario(name="x", horizon=9, span=3, rewards={"kind": "binary"}, arms=[{"patterns": patterns}])
    assert scenario.with_(horizon=8).means == pytest.approx([1.4])
    counts = np.unique(draw(rewards, 50_000) @ [100, 10, 1], return_counts=True)
    assert counts[0].tolist() == [int(pattern) for pattern in patterns]
    assert stats.chisquare(counts[1], 50_000 * np.array(list(patterns.values()))).pvalue > 1e-6


@pytest.mark.parametrize(
    ("rewards", "arm", "message"),
    [
        ({}, {}, r"arms\[0\].probability: give either this or patterns"),
        ({}, {"probability": [0.5]}, r"arms\[0\].probability: has 1 values but the span is 2"),
        (
            {},
            {"patterns": {"0x": 1.0}},
            r"arms\[0\].patterns: '0x' is not a pattern; write a 0 or a 1 for each of 2 parts",
        ),
        (
            {},
            {"patterns": {"00": 0.5, "11": 0.4}},
            r"arms\[0\].patterns: the probabilities have the sum 0.9; make it 1",
        ),
        ({"correlation": 0.2}, {"patterns": {"00": 1.0}}, "leave out rewards.correlation"),
    ],
)
def test_impossible_binary_visits(rewards: Keys, arm: Keys, message: str) -> None:
    """What does not describe visits is refused with the key."""
    with pytest.raises(ScenarioError, match=message):
        build("binary", rewards, [arm], 2)


@pytest.mark.parametrize("name", ["binary", "normal"])
@given(correlation=st.floats(0, 1), pulls=st.integers(1, 20), seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_visits_are_filled_as_sampled(name: str, correlation: float, pulls: int, seed: int) -> None:
    """Compiled code draws the same numbers as `sample`, bit for bit."""
    keys: Keys = {"probability": [0.1, 0.5, 0.9]} if name == "binary" else {"mean": [1, 2, -3], "deviation": 0.7}
    arm: Any = build(name, {"correlation": correlation}, [keys], 3).arms[0]
    sampled, out = arm.sample(np.random.default_rng(seed), pulls), np.empty((pulls, 3))
    stream = np.random.default_rng(seed)
    arm.fill(hold_stream(stream), out)
    np.testing.assert_array_equal(out, sampled)


ARMS: dict[str, Keys] = {
    "constant": {"hazard": 0.05},
    "piecewise": {"hazard": [0.1, 0.0, 0.3, 0.02], "changes": [2.0, 5.0, 9.0]},
    "cured": {"hazard": [0.2, 0.0], "changes": [6.0]},
    "weibull": {"scale": 8.0, "shape": 1.7},
    "early": {"scale": 30.0, "shape": 0.5},
}


def hazard_by_hand(arm: Any, time: float) -> float:
    """H(t), piece by piece."""
    if "scale" in arm:
        return float((time / arm["scale"]) ** arm["shape"])
    hazards = arm["hazard"] if isinstance(arm["hazard"], list) else [arm["hazard"]]
    edges, total = [0.0, *arm.get("changes", []), math.inf], 0.0
    for hazard, low, high in zip(hazards, edges[:-1], edges[1:], strict=True):
        total += hazard * (min(max(time, low), high) - low)
    return total


@pytest.mark.parametrize("name", ARMS)
def test_survival_means(name: str) -> None:
    """The mean of part j is the integral of exp(-H) over its interval, and the sum is the restricted mean."""
    visits, arm = [1.5, 4.0, 12.0], survival([1.5, 4.0, 12.0], **ARMS[name])
    points = ARMS[name].get("changes", [])
    expected = [
        integrate.quad(
            lambda t: math.exp(-hazard_by_hand(ARMS[name], t)),
            low,
            high,
            points=[p for p in points if low < p < high] or None,  # type: ignore[attr-defined]
            epsabs=1e-12,
        )[0]
        for low, high in zip([0.0, *visits], visits, strict=False)
    ]
    found: Any = arm
    np.testing.assert_allclose(found.part_means, expected, rtol=1e-8)
    assert arm.mean == pytest.approx(sum(expected), rel=1e-8)
    assert arm.maximum == 12.0


@pytest.mark.parametrize("name", ARMS)
def test_survival_times(name: str) -> None:
    """The time lived is min(T, last visit) with P(T > t) = exp(-H(t)): Kolmogorov-Smirnov (1 in a million)."""
    arm = survival([1.5, 4.0, 12.0], **ARMS[name])
    parts = arm.sample(np.random.default_rng(3), 50_000)
    lived, died = parts.sum(axis=1), parts.sum(axis=1) < 12.0 - 1e-9
    total = hazard_by_hand(ARMS[name], 12.0)
    assert abs(died.mean() - (1 - math.exp(-total))) < 5 * math.sqrt(0.25 / 50_000)
    transformed = [hazard_by_hand(ARMS[name], time) for time in lived[died]]
    law = stats.truncexpon(b=total)
    assert stats.kstest(transformed, law.cdf).pvalue > 1e-6


@given(seed=st.integers(0, 2**32), name=st.sampled_from(list(ARMS)))
@settings(max_examples=20, deadline=None)
def test_parts_of_survival_are_time_inside_intervals(seed: int, name: str) -> None:
    """Part j is min(max(T - v_{j-1}, 0), v_j - v_{j-1}) of one and the same T."""
    visits = np.array([0.0, 1.5, 4.0, 12.0])
    parts = survival(visits.tolist(), **ARMS[name]).sample(np.random.default_rng(seed), 40)
    for row in parts:
        time = row.sum() if row.sum() < 12.0 - 1e-9 else math.inf
        literal = [min(max(time - low, 0), high - low) for low, high in zip([0.0, *visits], visits, strict=False)]
        np.testing.assert_allclose(row, literal, atol=1e-9)


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ({}, r"arms\[0\].hazard: give either this or scale"),
        ({"hazard": 1.0, "scale": 2.0}, "give either this or scale"),
        ({"hazard": [1.0, 2.0]}, r"arms\[0\].changes: has 0 times for 2 hazards"),
        ({"hazard": [1.0, 2.0, 1.0], "changes": [3.0, 2.0]}, "changes: must rise"),
        ({"hazard": 1.0, "shape": 2.0}, "shape: belongs to scale"),
        ({"scale": 1.0, "changes": [2.0]}, "changes: belongs to hazard"),
    ],
)
def test_impossible_deaths(arm: Keys, message: str) -> None:
    """Keys that do not describe one distribution are refused."""
    with pytest.raises(ScenarioError, match=message):
        survival([1.0, 2.0], **arm)


def test_groups_of_survival() -> None:
    """Parts of equally long intervals are groups; of others all parts are one."""
    context = {"folder": None, "names": ["a"]}
    arms = [SurvivalArmSettings(hazard=0.1)]
    equal = SurvivalSettings().build(arms, BuildContext(span=3, visits=[0.1, 0.2, 0.3], **context))  # type: ignore[arg-type]
    unequal = SurvivalSettings().build(arms, BuildContext(span=2, visits=[1, 3], **context))  # type: ignore[arg-type]
    assert (equal.groups, unequal.groups) == (3, 1)
    with pytest.raises(ScenarioError, match="visits: survival rewards are paid for time up to the last visit"):
        SurvivalSettings().build(arms, BuildContext(span=1, **context))  # type: ignore[arg-type]


def test_a_scenario_of_survival() -> None:
    """A trial of two hazards runs, and the time lived is in the log."""
    arms = [{"name": "standard", "hazard": 0.02}, {"name": "new", "scale": 80.0, "shape": 1.2}]
    scenario = Scenario(
        name="survival", horizon=40, visits=[30, 60, 90], drain=True, rewards={"kind": "survival"}, arms=arms
    )
    run = simulate(scenario, "uniform", seed=1)
    events = run.events()
    paid = events[events.kind == "partial"].groupby("pull").value.sum()
    assert len(paid) == 40
    assert 0 < paid.mean() < 90
