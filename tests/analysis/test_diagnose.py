"""Diagnostics: which groups a log is compatible with, with fixed seeds and stated error rates."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from studies import read_lines, small
from tampering import write_lines

from tpstream import Diagnosis, Scenario, diagnose, simulate
from tpstream.analysis import diagnose as diagnose_module
from tpstream.analysis.complete_pulls import CompletePulls
from tpstream.analysis.diagnose import PERMUTATIONS, SIGNIFICANCE, Independence, examine, standardise, statistic
from tpstream.figures.logs import diagnosis_figure
from tpstream.log.reader import read_log
from tpstream.model.arrays import Floats
from tpstream.model.errors import LogError


def diagnose_run(path: Path, scenario: Scenario, policy: str = "tp-ucb-fr", **rest: Any) -> Diagnosis:
    """The diagnosis of one run."""
    simulate(scenario, policy, log=path, **rest)
    (diagnosis,) = diagnose(path)
    return diagnosis


def test_setting_1_passes_with_20_groups(tmp_path: Path) -> None:
    """Setting 1: 20 groups and all mergers of them pass; finer ones keep the bound, being even, but are dependent."""
    diagnosis = diagnose_run(tmp_path / "run.arrows", Scenario.load("setting-1").with_(horizon=3000))
    table = diagnosis.frame().set_index("groups")
    assert diagnosis.compatible == [1, 2, 4, 5, 10, 20]
    assert table["fits"].all()
    assert not table.loc[[25, 50, 100], "independent"].any()
    assert (diagnosis.assumed, diagnosis.warnings) == (20, [])


def test_the_spotify_like_scenario_is_flagged(tmp_path: Path) -> None:
    """Songs of one session correlate: no number of groups but 1 is compatible, and FR's assumption is contradicted."""
    diagnosis = diagnose_run(tmp_path / "run.arrows", Scenario.load("spotify-like").with_(horizon=2000))
    assert diagnosis.compatible == [1]
    (warning,) = diagnosis.warnings
    assert "tp-ucb-fr assumes 20 groups, but its groups are not independent" in warning
    assert "compatible with groups = 1" in warning
    assert 0.25 < diagnosis.grouping(20).independence.mean_correlation < 0.5


def test_a_group_above_its_bound_is_flagged(tmp_path: Path) -> None:
    """Rewards that come in the first part of three groups break the bound of six."""
    scenario = small(horizon=300, rewards={"kind": "smooth-beta", "groups": 3, "spread": "first"})
    diagnosis = diagnose_run(tmp_path / "run.jsonl", scenario, "tp-ucb-ew:groups=6")
    assert diagnosis.compatible == [1, 3]
    assert not diagnosis.grouping(6).fits
    assert 1.5 < diagnosis.grouping(6).largest <= 2.0
    (warning,) = diagnosis.warnings
    assert "paid" in warning
    assert "times its bound maximum / groups" in warning


def test_a_policy_without_groups_assumes_nothing(tmp_path: Path) -> None:
    """There is nothing to warn of."""
    diagnosis = diagnose_run(tmp_path / "run.jsonl", small(), "uniform")
    assert (diagnosis.assumed, diagnosis.warnings) == (None, [])


def literal_pulls(path: Path) -> dict[int, list[list[float]]]:
    """The parts of every complete pull of each arm, in the order of closing."""
    header, *events = read_lines(path)
    parts: dict[int, dict[int, float]] = {}
    found: dict[int, list[list[float]]] = {arm: [] for arm in range(len(header["arms"]))}
    for event in events:
        if event.get("kind") == "partial":
            parts.setdefault(event["pull"], {})[event["part"]] = event["value"]
        elif event.get("kind") == "closed" and len(parts[event["pull"]]) == header["span"]:
            pull = parts[event["pull"]]
            found[event["arm"]].append([pull[part] for part in sorted(pull)])
    return found


@pytest.mark.parametrize("delays", [[], [{"kind": "missing", "p": 0.1}, {"kind": "geometric", "p": 0.4}]])
def test_complete_pulls_are_those_of_the_log(tmp_path: Path, delays: list[Any]) -> None:
    """Largest groups, sums and kept pulls are those of the closed pulls of which no part is missing."""
    path = tmp_path / "run.jsonl"
    simulate(small(drain=False, delays=delays), "uniform", log=path)
    log = read_log(path)
    pulls, literally = CompletePulls.read([log]), literal_pulls(path)
    assert pulls.pulls.tolist() == [len(rows) for rows in literally.values()]
    for arm, rows in literally.items():
        table = np.array(rows)
        for place, groups in enumerate(pulls.divisors.tolist()):
            sums = table.reshape(len(table), groups, -1).sum(axis=2)
            assert pulls.largest[arm, place] == pytest.approx(sums.max())
            assert pulls.groups_of(arm, groups) == pytest.approx(sums)
        assert pulls.sums[arm] == pytest.approx(table.sum(axis=0))
        assert pulls.squares[arm] == pytest.approx((table**2).sum(axis=0))


def test_mass_lies_where_the_reward_is_paid(tmp_path: Path) -> None:
    """Shares add up to 1; rewards paid at once in each of three groups lie in parts 1, 3 and 5."""
    scenario = small(horizon=400, rewards={"kind": "smooth-beta", "groups": 3, "spread": "first"})
    mass = diagnose_run(tmp_path / "run.arrows", scenario, "uniform").mass
    assert mass.mean.sum(axis=1) == pytest.approx(1.0)
    assert (mass.mean[:, 1::2] == 0).all()
    assert ((mass.low <= 1 / 3) & (mass.high >= 1 / 3))[:, 0::2].mean() > 0.5


def test_runs_are_pooled_and_policies_kept_apart(tmp_path: Path) -> None:
    """Runs of a policy add up; policies on common random numbers would repeat the same evidence."""
    for policy in ("tp-ucb-fr", "uniform"):
        for run in range(2):
            simulate(small(), policy, run=run, log=tmp_path / f"{policy}.{run}.arrows")
    found = diagnose(tmp_path)
    assert [(one.policy, int(one.pulls.sum())) for one in found] == [("tp-ucb-fr", 120), ("uniform", 120)]


def test_logs_without_complete_pulls_are_refused(tmp_path: Path) -> None:
    """A run shorter than its span says nothing; a log with impossible numbers is not read on."""
    simulate(small(horizon=5, drain=False), "uniform", log=tmp_path / "run.jsonl")
    with pytest.raises(LogError, match="no pull is complete; more than 6 rounds are needed"):
        diagnose(tmp_path / "run.jsonl")
    lines = read_lines(tmp_path / "run.jsonl")
    lines[2]["part"] = 7
    write_lines(tmp_path / "run.jsonl", lines)
    with pytest.raises(LogError, match="a part is outside of 0 to 6"):
        diagnose(tmp_path / "run.jsonl")


def draw(seed: int, common: float) -> list[Floats]:
    """Two arms with skewed groups that share a part of their size."""
    stream = np.random.default_rng(seed)
    return [stream.exponential(size=(pulls, 4)) + common * stream.exponential(size=(pulls, 1)) for pulls in (30, 60)]


def test_independent_groups_are_rarely_rejected() -> None:
    """At the level 1 %: of 300 independent samples at most 10 are rejected (chance of more: 0.03 %)."""
    rejected = sum(not examine(draw(seed, common=0.0)).holds for seed in range(300))
    assert rejected <= 10


def test_dependent_groups_are_found() -> None:
    """Groups that correlate by a half are found dependent in each of 20 samples."""
    assert not any(examine(draw(seed, common=1.0)).holds for seed in range(20))


def test_the_smallest_p_value() -> None:
    """The p-value counts the observed statistic among its permutations, so it is never 0."""
    assert examine(draw(0, common=5.0)).p_value == 1 / (1 + PERMUTATIONS) <= SIGNIFICANCE


def test_merged_groups_are_not_dependent_if_finer_ones_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A false alarm for 2 groups does not count if the 6 of which they are made pass."""

    def alarm(arms: list[Floats]) -> Independence:
        return Independence(0.001 if arms[0].shape[1] in {2, 3} else 0.5, np.eye(arms[0].shape[1]))

    monkeypatch.setattr(diagnose_module, "examine", alarm)
    assert diagnose_run(tmp_path / "run.arrows", small(horizon=100)).frame()["independent"].all()


def test_too_few_pulls_say_nothing() -> None:
    """An arm with fewer than ten pulls is left out; with no other arm nothing is contradicted."""
    few = examine([draw(0, common=5.0)[0][:9]])
    assert np.isnan(few.p_value)
    assert few.holds


@settings(max_examples=50)
@given(st.integers(2, 6), st.integers(3, 30), st.integers(0, 2**32 - 1))
def test_the_statistic_is_that_of_correlations(groups: int, pulls: int, seed: int) -> None:
    """Sum over pairs of n r^2, with the correlations that NumPy computes; constant groups count as uncorrelated."""
    sums = np.random.default_rng(seed).random((pulls, groups))
    matrix = np.corrcoef(sums, rowvar=False)
    expected = pulls * float((matrix[np.triu_indices(groups, 1)] ** 2).sum())
    assert statistic([standardise(sums)]) == pytest.approx(expected)
    sums[:, 0] = 0.1
    matrix = np.atleast_2d(np.corrcoef(sums[:, 1:], rowvar=False))
    expected = pulls * float((matrix[np.triu_indices(groups - 1, 1)] ** 2).sum())
    assert statistic([standardise(sums)]) == pytest.approx(expected)


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    """A row for each policy; the same logs give the same bytes."""
    for policy in ("tp-ucb-fr", "delayed-ucb1"):
        simulate(small(), policy, log=tmp_path / "logs" / f"{policy}.arrows")
    found = diagnose(tmp_path / "logs")
    for name in ("a.svg", "b.svg"):
        diagnosis_figure(tmp_path / name, found)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_arms_without_maxima(tmp_path: Path) -> None:
    """There is nothing with which groups could be compared."""
    arms = [{"name": name, "mean": 1.0, "deviation": 0.5} for name in "ab"]
    scenario = Scenario(name="normal", horizon=30, span=3, rewards={"kind": "normal"}, arms=arms)
    simulate(scenario, "uniform", log=tmp_path / "run.jsonl")
    with pytest.raises(LogError, match="arm 'a' has no maximum, with which a diagnosis compares groups of parts"):
        diagnose(tmp_path / "run.jsonl")
