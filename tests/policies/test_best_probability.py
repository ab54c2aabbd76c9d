"""Allocation by the probability of being best: decisions and logged probabilities as the formulas say."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from literal_allocation import lifted
from scipy import stats
from worlds import events_of

from tpstream import Scenario, read_log, replay, simulate
from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.model.world import Purpose, open_stream
from tpstream.policies import POLICIES
from tpstream.policies.runner import Runner, start_policy

ARMS = [{"name": name, "probability": chance} for name, chance in (("standard", 0.3), ("low", 0.4), ("high", 0.6))]
TRIAL = Scenario(name="t", horizon=30, span=1, rewards={"kind": "binary"}, arms=ARMS, drain=True)
PATIENTS = 15 if JIT_IS_OFF else 30
"""Of a trial; as plain Python each takes a third of a second."""
LATE = TRIAL.with_(horizon=PATIENTS, delays=[{"kind": "geometric", "p": 0.2}])
PARAMETERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "softened": {"power": 0.5, "burn_in": 12, "minimum": 0.1},
    "rising": {"power": "i/(2n)", "minimum": 0.1, "maximum": 0.6, "update": 7},
    "clipped": {"limit": "clip", "minimum": 0.15, "prior": [0.2, 0.8]},
    "matched": {"control": "standard", "control_share": "match", "burn_in": 3},
    "root": {"control": "low", "control_share": "sqrt", "minimum": 0.2},
    "fixed": {"control": "standard", "control_share": 0.3, "power": 2.0},
}


def best(successes: Floats, failures: Floats) -> Floats:
    """P(best) of each arm: the product of the others' distributions, integrated over its quantiles."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    values = stats.beta.ppf((1 + nodes) / 2, successes[:, np.newaxis], failures[:, np.newaxis])
    below = stats.beta.cdf(values[:, np.newaxis], successes[:, np.newaxis], failures[:, np.newaxis])
    return np.array([np.delete(below[arm], arm, axis=0).prod(axis=0) @ weights / 2 for arm in range(len(successes))])


def literal(keys: dict[str, Any], known: list[tuple[int, float]], patient: int) -> Floats:
    """The probabilities of a patient, from the arms and outcomes that were known at the last update."""
    if patient <= keys.get("burn_in", 0):
        return np.full(3, 1 / 3)
    a, b = keys.get("prior", (1.0, 1.0))
    successes = np.array([a + sum(x for arm, x in known if arm == k) for k in range(3)])
    failures = np.array([b + sum(1 - x for arm, x in known if arm == k) for k in range(3)])
    shares, rule = best(successes, failures), keys.get("control_share")
    control = [arm["name"] for arm in ARMS].index(keys["control"]) if rule else None
    if rule == "match":
        shares[control] = max(share for arm, share in enumerate(shares) if arm != control)
    power = patient / (2 * PATIENTS) if keys.get("power") == "i/(2n)" else keys.get("power", 1.0)
    shares = shares**power / (shares**power).sum()
    minimum, maximum = keys.get("minimum", 0.0), keys.get("maximum", 1.0)
    if rule == "sqrt" or isinstance(rule, float):
        share = rule if isinstance(rule, float) else 2**0.5 / (2**0.5 + 2)
        others = np.delete(shares, control)
        rest = lifted(others / others.sum(), minimum / (1 - share), maximum / (1 - share)) * (1 - share)
        return np.insert(rest, control, share)
    if keys.get("limit") == "clip":
        return np.clip(shares, minimum, maximum) / np.clip(shares, minimum, maximum).sum()
    return lifted(shares, minimum, maximum)


@pytest.mark.parametrize("name", PARAMETERS)
def test_decisions_are_those_of_the_formulas(name: str, tmp_path: Path) -> None:
    """Logged probabilities and decisions, from the outcomes known before each patient, in both engines; it replays."""
    keys, path = PARAMETERS[name], tmp_path / "log.arrows"
    run = simulate(LATE, {"kind": "best-probability", **keys}, seed=3, log=path, log_detail="probabilities")
    slow = simulate(LATE, {"kind": "best-probability", **keys}, seed=3, engine="simpy")
    np.testing.assert_array_equal(run.arms, slow.arms)
    assert replay(path).equal
    log = read_log(path)
    logged, stream = log.columns(["probabilities"])["probabilities"], open_stream(3, 0, Purpose.POLICY)
    known: list[tuple[int, float]] = []
    patient, update, burn_in = 0, keys.get("update", 1), keys.get("burn_in", 0)
    for event in log.events():
        if event.kind == "closed":
            known.append((event.arm, event.value))
        if event.kind != "pull":
            continue
        patient += 1
        if patient <= burn_in + 1 or (patient - 1 - burn_in) % update == 0:
            expected = literal(keys, known, patient)
        np.testing.assert_allclose(logged[patient - 1], expected, atol=2e-5)
        assert event.arm == np.searchsorted(np.cumsum(logged[patient - 1]), stream.random(), side="right")
    assert patient == PATIENTS


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"minimum": 0.4}, "minimum: 0.4 for each of 3 arms is more than 1; lower it"),
        ({"maximum": 0.3}, "maximum: 0.3 for each of 3 arms is less than 1; raise it"),
        ({"minimum": 0.5, "maximum": 0.4}, "minimum: 0.5 is above the maximum 0.4; lower it"),
        (
            {"control": "placebo", "control_share": 0.2},
            "control: 'placebo' is not one of several arms; use one of standard, low, high",
        ),
        ({"control_share": "match"}, "control_share: give both this and control, or neither"),
        ({"control": "low", "control_share": 0.5, "minimum": 0.3}, "minimum: 0.3 for each of 2 arms is more than 0.5"),
        ({"power": "2i"}, "power: must be"),
        ({"prior": [0, 1]}, 'family: "beta" has a prior of two positive numbers, and no variance'),
        ({"family": "normal", "prior": [0, -1]}, r"prior: \(0.0, -1.0\) is not a mean and a number of patients"),
    ],
)
def test_impossible_parameters(keys: dict[str, Any], message: str) -> None:
    """Limits that no probabilities keep, and a control that is not there, are refused in a line."""
    with pytest.raises(PolicyError, match=message):
        simulate(TRIAL, {"kind": "best-probability", **keys})


NORMAL_ARMS = [{"name": name, "mean": mean, "deviation": 2.0} for name, mean in (("a", -1.0), ("b", 0.0), ("c", 0.5))]
NORMAL = Scenario(name="n", horizon=25, span=1, rewards={"kind": "normal"}, arms=NORMAL_ARMS, drain=True)


def best_normal(means: Floats, deviations: Floats) -> Floats:
    """P(best) of each arm with a normal posterior, by integration over its quantiles."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    values = stats.norm.ppf((1 + nodes) / 2, means[:, np.newaxis], deviations[:, np.newaxis])
    below = stats.norm.cdf(values[:, np.newaxis], means[:, np.newaxis], deviations[:, np.newaxis])
    return np.array([np.delete(below[arm], arm, axis=0).prod(axis=0) @ weights / 2 for arm in range(len(means))])


@pytest.mark.parametrize("keys", [{}, {"variance": 4.0}, {"variance": 4.0, "prior": [1.0, 0.5]}, {"prior": [0, 2]}])
def test_normal_posteriors(keys: dict[str, Any], tmp_path: Path) -> None:
    """Probabilities follow N((k m + S) / (k + n), v / (k + n)); all are equal until every posterior is known."""
    path = tmp_path / "log.arrows"
    trial, policy = NORMAL.with_(delays=[{"kind": "geometric", "p": 0.3}]), {"kind": "best-probability", **keys}
    run = simulate(trial, policy | {"family": "normal"}, seed=2, log=path, log_detail="probabilities")
    assert run.arms.tolist() == simulate(trial, policy | {"family": "normal"}, seed=2, engine="simpy").arms.tolist()
    log = read_log(path)
    logged = iter(log.columns(["probabilities"])["probabilities"])
    known: list[list[float]] = [[], [], []]
    prior, strength = keys.get("prior", (0.0, 0.0))
    learned = 0
    for event in log.events():
        if event.kind == "closed":
            assert event.value is not None
            known[event.arm].append(event.value)
        if event.kind != "pull":
            continue
        freedom = sum(max(len(one) - 1, 0) for one in known)
        squares = sum(float(np.var(one)) * len(one) for one in known if one)
        variance = keys.get("variance", squares / freedom if freedom else 0.0)
        sizes = np.array([strength + len(one) for one in known])
        expected = np.full(3, 1 / 3)
        if variance > 0 and sizes.min() > 0:
            learned += 1
            means = np.array([strength * prior + sum(one) for one in known]) / sizes
            expected = best_normal(means, np.sqrt(variance / sizes))
        np.testing.assert_allclose(next(logged), expected, atol=2e-5)
    assert learned > 5


def start(keys: dict[str, Any]) -> Runner:
    """The policy before the first patient."""
    form = POLICIES.find("best-probability")
    parameters = form.parameters(**keys)
    found = start_policy(form.for_parameters(parameters), TRIAL.problem(), parameters, np.random.default_rng(1))
    assert isinstance(found, Runner)
    return found


def tell(policy: Runner, outcomes: list[tuple[int, float]]) -> None:
    """Outcomes of patients, by arm."""
    rows = [("closed", pull, arm, 0, value) for pull, (arm, value) in enumerate(outcomes, start=1)]
    policy.hear(events_of(rows))


def test_updates_at_looks() -> None:
    """Before the first look all arms are equally likely; then the data of the cut count, from the decision on."""
    policy, first = start({"update": "look"}), [(0, 0.0), (1, 1.0), (1, 1.0), (2, 1.0)]
    tell(policy, first)
    policy.decide(1)
    np.testing.assert_array_equal(policy.probabilities(), np.full(3, 1 / 3))
    policy.tell_look(1.0, 0)
    tell(policy, [(0, 1.0)] * 5)
    policy.decide(2)
    np.testing.assert_array_equal(policy.probabilities(), np.full(3, 1 / 3))
    policy.tell_look(2.0, 1)
    policy.decide(3)
    np.testing.assert_allclose(policy.probabilities(), literal({}, first, 3), atol=2e-5)
    policy.decide(4)
    np.testing.assert_allclose(policy.probabilities(), literal({}, first, 3), atol=2e-5)


LEFT = [
    ({}, "standard", None),
    ({"minimum": 0.3, "maximum": 0.45}, "high", [0.5, 0.5]),
    ({"control": "standard", "control_share": "sqrt", "minimum": 0.25}, "low", [0.5, 0.5]),
    ({"control": "standard", "control_share": 0.4}, "low", [0.4, 0.6]),
    ({"control": "standard", "control_share": "match"}, "high", [0.5, 0.5]),
    ({"control": "standard", "control_share": 0.4, "power": 0.0}, "standard", [0.5, 0.5]),
    ({"burn_in": 50, "minimum": 0.1}, "high", [0.5, 0.5]),
]


@pytest.mark.parametrize(("keys", "dropped", "expected"), LEFT, ids=str)
def test_who_gets_the_patients_of_a_dropped_arm(
    keys: dict[str, Any], dropped: str, expected: list[float] | None
) -> None:
    """Limits and the control's share hold among the open arms, as far as they can; without an update, too."""
    policy, outcomes = start({**keys, "update": 100}), [(0, 0.0), (1, 1.0), (1, 1.0), (2, 1.0), (2, 0.0)]
    tell(policy, outcomes)
    left = np.array([arm["name"] != dropped for arm in ARMS])
    policy.decide(1)
    policy.set_open_arms(left)
    policy.decide(2)
    found = policy.probabilities()
    assert (found[~left] == 0).all()
    if expected is None:
        counts = np.array([[1 + sum(x for k, x in outcomes if k == arm), 0] for arm in range(3)])
        counts[:, 1] = [1 + sum(1 - x for k, x in outcomes if k == arm) for arm in range(3)]
        expected = best(counts[left, 0], counts[left, 1]).tolist()
    np.testing.assert_allclose(found[left], expected, atol=2e-5)
    policy.set_open_arms(np.array([False, True, False]) if dropped != "low" else np.array([True, False, False]))
    policy.decide(3)
    assert policy.probabilities().max() == 1.0
