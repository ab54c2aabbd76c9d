"""Theory: every formula against a slow, literal version of it; edge cases; the overtaking horizon."""

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from tpstream import Scenario, log_regret, simulate
from tpstream.analysis.theory import (
    UPPER,
    bounds_of,
    divergence,
    fr_beats_ew_from,
    lower_bound,
    lower_slope,
    upper_bound,
)
from tpstream.cli.app import main
from tpstream.model.errors import PolicyError
from tpstream.model.world import Problem
from tpstream.scenario.bounds import policy_groups, scenario_bounds

Bound = Callable[[Problem, float, int], float]


def make_problem(means: list[float], maxima: list[float], span: int = 12, groups: int | None = 4) -> Problem:
    """A problem with these arms."""
    names = tuple(f"arm-{number}" for number in range(len(means)))
    return Problem(names, np.array(maxima, dtype=float), span, 1000, groups, np.array(means, dtype=float))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Means on a grid, so that several arms may be best and no gap is tiny; 0 and the maximum are among them."""
    arms = draw(st.integers(1, 6))
    maxima = [draw(st.integers(1, 50)) * 2.0 for _ in range(arms)]
    means = [draw(st.integers(0, 20)) / 20 * maximum for maximum in maxima]
    groups = draw(st.sampled_from([1, 2, 3, 5, 10, 30]))
    return make_problem(means, maxima, span=groups * draw(st.integers(1, 8)), groups=groups)


def costly(problem: Problem) -> list[tuple[float, float]]:
    """Gap and maximum of every arm that is not best."""
    assert problem.means is not None
    best = max(problem.means)
    return [(best - mean, top) for mean, top in zip(problem.means, problem.maxima, strict=True) if mean < best]


def literal_kl(p: float, q: float) -> float:
    """KL of Bernoulli variables, term by term."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            total += math.inf if b == 0 else a * math.log(a / b)
    return total


def literal_lower(problem: Problem, horizon: float, groups: int) -> float:
    """Theorem 2; Theorem 1 with one group."""
    assert problem.means is not None
    best, largest = max(problem.means), max(problem.maxima)
    return sum(
        (best - mean) * math.log(horizon) / (groups * literal_kl(mean / largest, best / largest))
        for mean in problem.means
        if mean < best
    )


def literal_fr(problem: Problem, horizon: float, groups: int) -> float:
    """Theorem 3 as printed."""
    log, phi = math.log(horizon), problem.span // groups
    leading = sum(
        4 * top**2 * log / (groups * gap) * (1 + math.sqrt(1 + groups * (groups + 1) * phi * gap / (2 * top * log)))
        for gap, top in costly(problem)
    )
    constant = (groups + 1) * phi * sum(top for _, top in costly(problem))
    return leading + constant + (1 + math.pi**2 / 3) * sum(gap for gap, _ in costly(problem))


def literal_ew(problem: Problem, horizon: float, groups: int) -> float:
    """Theorem 4 as printed."""
    leading = sum(8 * top**2 * math.log(horizon) / gap for gap, top in costly(problem))
    return leading + groups * (problem.span // groups + math.pi**2 / 3) * sum(gap for gap, _ in costly(problem))


def literal_ucb1(problem: Problem, horizon: float, groups: int) -> float:  # noqa: ARG001 (all bounds are alike)
    """Auer's theorem as the appendix prints it."""
    leading = sum(8 * top**2 * math.log(horizon) / gap for gap, top in costly(problem))
    return leading + (1 + math.pi**2 / 3) * sum(gap for gap, _ in costly(problem))


def literal_delayed(problem: Problem, horizon: float, groups: int) -> float:
    """The theorem on Delayed-UCB1 in the appendix."""
    return literal_ucb1(problem, horizon, groups) + problem.span * sum(gap for gap, _ in costly(problem))


LITERAL: dict[str, Bound] = {
    "ucb1": literal_ucb1,
    "delayed-ucb1": literal_delayed,
    "tp-ucb-fr": literal_fr,
    "tp-ucb-ew": literal_ew,
}
horizons = st.integers(2, 10**7)


@pytest.mark.parametrize("kind", UPPER)
@given(problem=problems(), horizon=horizons)
def test_upper_bounds(kind: str, problem: Problem, horizon: int) -> None:
    """Every upper bound is its theorem's formula."""
    assert problem.groups is not None
    found = upper_bound(kind, problem, horizon, problem.groups)
    assert float(found) == pytest.approx(LITERAL[kind](problem, horizon, problem.groups), rel=1e-9)


@given(problems(), horizons)
def test_lower_bounds(problem: Problem, horizon: int) -> None:
    """Both lower bounds are their theorems' formulas."""
    assert problem.groups is not None
    for groups in (1, problem.groups):
        found = float(lower_bound(problem, horizon, groups))
        assert found == pytest.approx(literal_lower(problem, horizon, groups), rel=1e-9)


@pytest.mark.parametrize("kind", UPPER)
@given(problem=problems(), rounds=st.lists(horizons, min_size=1, max_size=4))
def test_bounds_of_many_rounds(kind: str, problem: Problem, rounds: list[int]) -> None:
    """The bounds of an array of horizons are those of its elements."""
    assert problem.groups is not None
    together = upper_bound(kind, problem, np.array(rounds), problem.groups)
    assert together.tolist() == [float(upper_bound(kind, problem, one, problem.groups)) for one in rounds]


@pytest.mark.parametrize("kind", UPPER)
def test_bound_at_the_first_round(kind: str) -> None:
    """At T = 1 the logarithm is 0 and the constants remain: FR's root does not divide by it."""
    problem = make_problem([5, 8], [10, 10])
    near = LITERAL[kind](problem, 1 + 1e-12, 4)
    assert float(upper_bound(kind, problem, 1, 4)) == pytest.approx(near, rel=1e-4)


@pytest.mark.parametrize("means", [[4.0], [4.0, 4.0], [0.0, 0.0, 0.0]])
def test_nothing_to_lose(means: list[float]) -> None:
    """A single arm, or only best arms: every bound is 0, and FR's never gets below EW's."""
    problem = make_problem(means, [10.0] * len(means))
    bounds = [float(upper_bound(kind, problem, 100, 4)) for kind in UPPER]
    assert (bounds, lower_slope(problem), fr_beats_ew_from(problem, 4)) == ([0.0] * 4, 0.0, None)


def test_second_best_arm_counts_once() -> None:
    """Another best arm changes nothing: sums go over the arms with a gap."""
    one, two = make_problem([5, 8], [10, 10]), make_problem([5, 8, 8], [10, 10, 10])
    bounds = [[float(upper_bound(kind, problem, 99, 4)) for kind in UPPER] for problem in (one, two)]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [(0.0, 0.5, math.log(2)), (1.0, 0.5, math.log(2)), (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.3, 0.3, 0.0)],
)
def test_divergence_at_the_edges(p: float, q: float, expected: float) -> None:
    """0 ln 0 is 0."""
    assert float(divergence(p, q)) == pytest.approx(expected)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.0), (0.5, 1.0), (1.0, 0.0), (0.0, 1.0)])
def test_divergence_from_certainty_is_infinite(p: float, q: float) -> None:
    """What is certain under one mean and not under the other tells them apart at once."""
    assert float(divergence(p, q)) == math.inf


def test_lower_bound_of_a_certain_best_arm() -> None:
    """A best arm that always pays the maximum costs nothing to find, in the long run; a mean of 0 is no problem."""
    assert lower_slope(make_problem([0, 5, 10], [10, 10, 10])) == 0.0
    assert lower_slope(make_problem([0, 5], [10, 10])) == pytest.approx(5 / math.log(2))


@given(st.floats(0.01, 0.99), st.floats(1e-12, 1e-3))
def test_divergence_of_near_means_is_positive(p: float, gap: float) -> None:
    """Rounding never makes the divergence of two different means zero or negative."""
    assume(p + gap != p)
    assert float(divergence(p, p + gap)) >= 2 * gap**2 * 0.999 - 1e-30


def test_bounds_need_means() -> None:
    """A problem without means has no bounds, and the error says so."""
    problem = replace(make_problem([5, 8], [10, 10]), means=None)
    with pytest.raises(PolicyError, match="need the true means"):
        lower_slope(problem)


def test_what_has_no_bound() -> None:
    """A policy that chooses its groups by itself has no upper bound; an arm without a maximum is an error."""
    scenario = Scenario.load("setting-1")
    named = [bound.name for bound in scenario_bounds(scenario, ["tp-ucb-fr:groups=auto", "tp-ucb-ew"]) if bound.upper]
    assert named == ["tp-ucb-ew"]
    problem = scenario.problem()
    boundless = replace(problem, maxima=np.where(np.arange(problem.arms) == 1, np.nan, problem.maxima))
    with pytest.raises(PolicyError, match=f"the maximum of every arm, and '{problem.names[1]}' has none"):
        bounds_of(boundless, [])


@given(problems(), st.sampled_from([1, 2, 5]))
def test_overtaking_is_the_last_change(problem: Problem, ew_groups: int) -> None:
    """From the answer on FR's bound is below EW's, and just before it is not; None means that it is not at 10^250."""
    assert problem.groups is not None
    problem = replace(problem, span=problem.span * 10)
    found = fr_beats_ew_from(problem, problem.groups, ew_groups)

    def lead(horizon: float) -> float:
        ew = upper_bound("tp-ucb-ew", problem, horizon, ew_groups)
        return float(ew - upper_bound("tp-ucb-fr", problem, horizon, problem.groups or 1))

    if found is None:
        assert lead(1e250) <= 0
        return
    assert all(lead(found * factor) > 0 for factor in (1.0 if found < 10**9 else 1.001, 1.5, 2, 10, 1e6, 1e40))
    if 1 < found < 10**9:
        assert lead(found - 1) <= 0


def test_overtaking_after_a_lead() -> None:
    """FR's bound may be below EW's at first, fall behind, and overtake for good later: the last time counts."""
    problem = make_problem([0, 60], [50, 100], span=400, groups=4)
    found = fr_beats_ew_from(problem, 4, ew_groups=10)
    rounds = np.array([1, 1000, found or 0])
    leads = upper_bound("tp-ucb-ew", problem, rounds, 10) > upper_bound("tp-ucb-fr", problem, rounds, 4)
    assert (found, leads.tolist()) == (349_180_590, [True, False, True])


def test_bounds_of_setting_1() -> None:
    """Hand-worked: UCB1's bound of Setting 1 at T = 10^5."""
    problem = Scenario.load("setting-1").problem()
    leading = sum(8 * (100 * i) ** 2 * math.log(1e5) / (500 - 50 * i) for i in range(1, 10))
    constant = (1 + math.pi**2 / 3) * sum(500 - 50 * i for i in range(1, 10))
    assert float(upper_bound("ucb1", problem, 10**5, 20)) == pytest.approx(leading + constant)


def test_listed_policies_have_bounds() -> None:
    """A scenario's bounds: two lower ones, and an upper one for each policy that the theory knows."""
    scenario = Scenario.load("setting-1")
    found = bounds_of(scenario.problem(), [*policy_groups(scenario.choices()), ("mine", "mine", None)])
    assert [bound.name for bound in found] == [
        "lower bound, any rewards",
        "lower bound, 20 groups",
        "ucb1",
        "delayed-ucb1",
        "tp-ucb-fr",
        "tp-ucb-ew",
    ]


def run_command(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    """Call the console script in this process."""
    monkeypatch.setattr(sys, "argv", ["tpstream", *words])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code


def test_theory_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`tpstream theory --json` prints the bounds that Python computes, and the overtaking horizon."""
    run_command(monkeypatch, "theory", "setting-1", "--horizon", "5000", "--json")
    printed = json.loads(capsys.readouterr().out)
    problem = Scenario.load("setting-1").problem()
    assert printed["fr_beats_ew_from"] == fr_beats_ew_from(problem, 20)
    assert printed["bounds"][-1]["value"] == pytest.approx(float(upper_bound("tp-ucb-ew", problem, 5000, 20)))


def test_theory_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`tpstream theory` prints a line for each bound and a sentence about overtaking."""
    monkeypatch.setenv("COLUMNS", "120")
    run_command(monkeypatch, "theory", "setting-1", "-p", "tp-ucb-fr:groups=50")
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("lower bound, 20 groups", "tp-ucb-fr:groups=50", "from round 3 on"))


def test_all_four_policies_have_a_bound(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether the scenario lists them or not; a note says where its times are not the paper's."""
    monkeypatch.setenv("COLUMNS", "120")
    run_command(monkeypatch, "theory", "medical-trial")
    printed = capsys.readouterr().out
    assert all(f" {kind} " in printed for kind in UPPER)
    assert "note: the bounds are proved for regular arrivals without delays" in printed
    run_command(monkeypatch, "theory", "e-commerce", "--json")
    assert json.loads(capsys.readouterr().out)["holds"] is True


def test_bounds_are_drawn_into_the_regret_of_logs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`regret --theory` draws the bounds of the log's world, those that `theory` prints."""
    simulate(Scenario.load("setting-1").with_(horizon=200), "tp-ucb-fr", log=tmp_path / "run.arrows")
    expected = scenario_bounds(Scenario.load("setting-1").with_(horizon=200), ["tp-ucb-fr"])
    found = log_regret(tmp_path / "run.arrows").bounds
    assert [(one.name, one.slope) for one in found] == [(one.name, one.slope) for one in expected]
    pictures = []
    for name, more in (("plain.png", ()), ("bounds.png", ("--theory",))):
        run_command(monkeypatch, "regret", str(tmp_path / "run.arrows"), "-f", str(tmp_path / name), "-q", *more)
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] != pictures[1]
