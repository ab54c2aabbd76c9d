"""Randomisation test: patients are assigned again as by the rule, p values are exact, rules without chance refused."""

import itertools
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from families import every
from studies import small

from tpstream import PythonPolicy, Scenario, SharedPolicy, randomisation_test, read_log, simulate
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats
from tpstream.model.errors import DataError, LogError
from tpstream.model.events import Kind
from tpstream.model.numba_support import JIT_IS_OFF, compiled
from tpstream.model.world import Purpose, open_stream
from tpstream.policies.base import Parameters
from tpstream.replay.randomisation import compare
from tpstream.replay.replay import find_policy_of
from tpstream.replay.rerun import Rerun, assign_slowly, recorded_events, with_looks

ARMS = [{"name": name, "probability": chance} for name, chance in (("standard", 0.5), ("new", 0.5))]
TRIAL = Scenario(name="t", horizon=40, span=1, rewards={"kind": "binary"}, arms=ARMS, drain=True)
HARD = {
    "delays": [{"kind": "missing", "p": 0.1}, {"kind": "lognormal", "sigma": 1.0, "median": 2.0}],
    "window": 12.0,
    "default_reward": 0.25,
}
WORLDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "hard": HARD,
    "hidden": {"delays": [{"kind": "geometric", "p": 0.3}], "window": 9.0, "reveal": "positive"},
}
RULES = ["delayed-thompson", "progressive-thompson", "completion-thompson", "best-probability:update=10", "ucb1"]


def logged(path: Path, scenario: Scenario = TRIAL, policy: Any = "best-probability", seed: int = 5, **keys: Any) -> Log:
    """The log of a run."""
    simulate(scenario, policy, seed=seed, log=path, engine="simpy", **keys)
    return read_log(path)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("rule", every(RULES, ("delayed-thompson", "best-probability:update=10", "ucb1")))
def test_the_same_random_numbers_give_the_same_trial(world: str, rule: str, tmp_path: Path) -> None:
    """With the random numbers of the run, patients are assigned as they were; with others as patient by patient."""
    log = logged(tmp_path / "log.arrows", small(drain=True, **WORLDS[world]), rule)
    choice = find_policy_of(log, None)
    again = Rerun(choice, log)
    recorded = log.columns(["arm"], [Kind.PULL])["arm"]
    np.testing.assert_array_equal(again.assign(open_stream(5, 0, Purpose.POLICY)), recorded)
    events = recorded_events(log, clairvoyant=choice.form.clairvoyant)
    fast, slow = (np.random.default_rng(8) for _ in range(2))
    for _ in range(2):
        literal = assign_slowly(choice, log.header.problem(), events, slow)
        np.testing.assert_array_equal(again.assign(fast), literal)


def test_outcomes_move_with_the_patient(tmp_path: Path) -> None:
    """Where arms do not differ in any way, assigning again is what a run with other random numbers does."""
    sure = [arm | {"probability": 1.0} for arm in ARMS]
    world = TRIAL.with_(arms=sure, delays=[{"kind": "constant", "lag": 3.0}])
    log = logged(tmp_path / "log.arrows", world)
    other = simulate(world, "best-probability", seed=9, engine="simpy").arms
    again = Rerun(find_policy_of(log, None), log).assign(open_stream(9, 0, Purpose.POLICY))
    np.testing.assert_array_equal(again, other)
    assert (again != log.columns(["arm"], [Kind.PULL])["arm"]).any()


def chances(arms: tuple[int, ...], outcomes: tuple[float, ...]) -> float:
    """The probability of this assignment by best-probability with immediate outcomes; P(best) of two arms on paper."""
    probability = 1.0
    for patient, arm in enumerate(arms):
        known = list(zip(arms[:patient], outcomes[:patient], strict=True))
        a, b = ((1 + sum(x for w, x in known if w == k), 1 + sum(1 - x for w, x in known if w == k)) for k in (0, 1))
        # P(Beta(b) > Beta(a)) for whole numbers, a finite sum
        second = sum(
            math.exp(_log_beta(a[0] + i, a[1] + b[1]) - math.log(b[1] + i) - _log_beta(1 + i, b[1]) - _log_beta(*a))
            for i in range(int(b[0]))
        )
        probability *= second if arm else 1 - second
    return probability


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def test_p_values_are_those_of_all_assignments(tmp_path: Path) -> None:
    """In a trial of six patients, the p value is that of the enumerated assignments, up to the replications' error."""
    log = logged(tmp_path / "log.arrows", TRIAL.with_(horizon=6), seed=8)
    outcomes = tuple(log.columns(["value"], [Kind.CLOSED])["value"])
    observed = tuple(log.columns(["arm"], [Kind.PULL])["arm"].tolist())
    every = {arms: chances(arms, outcomes) for arms in itertools.product((0, 1), repeat=6)}
    assert sum(every.values()) == pytest.approx(1.0)

    def score(arms: tuple[int, ...]) -> float:
        groups = [[x for w, x in zip(arms, outcomes, strict=True) if w == k] for k in (0, 1)]
        return abs(float(np.mean(groups[1]) - np.mean(groups[0]))) if all(groups) else -1.0

    exact = sum(chance for arms, chance in every.items() if score(arms) >= score(observed) - 1e-9)
    assert 0.02 < exact < 0.98
    many = 400 if JIT_IS_OFF else 4000
    found = randomisation_test(log, replications=many, seed=2)
    assert found.p_value == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / many))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_p_values_are_exact_under_the_null(alternative: Any) -> None:
    """Over all recorded and repeated assignments, P(p <= k / (R + 1)) is at most k / (R + 1); ties may make it less."""
    outcomes, replications = (0.0, 1.0, 3.0), 2
    every = list(itertools.product((0, 1), repeat=3))
    chance = np.array([chances(arms, (0, 1, 1)) for arms in every])
    scores = [_difference(arms, outcomes) for arms in every]
    below = np.zeros(replications + 2)
    for places in itertools.product(range(len(every)), repeat=replications + 1):
        own, adjusted = compare(
            np.array([scores[places[0]]]), np.array([[scores[place]] for place in places[1:]]), alternative, 1e-9
        )
        np.testing.assert_array_equal(own, adjusted)
        if not np.isnan(own[0]):
            below[round(own[0] * (replications + 1)) :] += np.prod(chance[list(places)])
    assert 0 < below[1] <= 1 / 3
    assert below[2] <= 2 / 3


def _difference(arms: tuple[int, ...], outcomes: tuple[float, ...]) -> float:
    groups = [[x for w, x in zip(arms, outcomes, strict=True) if w == k] for k in (0, 1)]
    return float(np.mean(groups[1]) - np.mean(groups[0])) if all(groups) else np.nan


def test_all_arms_are_compared(tmp_path: Path) -> None:
    """Differences are those of the known endpoints; adjusted p values are never smaller; seeds repeat a test."""
    log = logged(tmp_path / "log.arrows", small(drain=True, **HARD), "uniform")
    found, again = (randomisation_test(log, replications=50, seed=4, control="middle") for _ in range(2))
    assert found.control == "middle"
    assert len(found.arms) == 2
    assert (found.adjusted >= found.p_values).all()
    assert found.p_value == found.adjusted.min()
    np.testing.assert_array_equal(found.p_values, again.p_values)
    assert (randomisation_test(log, replications=50, seed=5, control="middle").p_values != found.p_values).any()
    one = randomisation_test(log, replications=50, seed=4, control="middle", alternative="greater")
    assert one.p_values.min() <= found.p_values.min()


def test_an_arm_without_patients_has_no_p_value() -> None:
    """A difference that does not exist is less extreme than any other, and has no p value itself."""
    made = np.array([[np.nan, 0.2], [0.0, 0.1], [0.5, np.nan]])
    own, adjusted = compare(np.array([0.0, 0.15]), made, "two-sided")
    np.testing.assert_allclose(own, [3 / 4, 2 / 4])
    np.testing.assert_allclose(adjusted, [4 / 4, 3 / 4])
    assert np.isnan(compare(np.array([np.nan, 0.1]), made, "less")[0][0])


class SnapshotState(NamedTuple):
    """What was delivered at the last look."""

    indices: Floats
    delivered: Floats
    shown: Floats


@compiled
def on_received(state: Any, arm: int, amount: float) -> None:
    """Add up."""
    state.delivered[arm] += amount


@compiled
def on_look(state: Any, stage: int) -> None:
    """Take a snapshot at the cut, use it from the decision on."""
    for arm in range(state.indices.size):
        if stage == 0:
            state.shown[arm] = state.delivered[arm]
        else:
            state.indices[arm] = state.shown[arm]


@compiled
def decide(state: Any, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """In proportion to 1 and what was delivered at the last look."""
    total = 0.0
    for arm in range(state.indices.size):
        total += 1.0 + state.indices[arm]
    left = stream.random() * total
    for arm in range(state.indices.size - 1):
        left -= 1.0 + state.indices[arm]
        if left < 0.0:
            return arm
    return int(state.indices.size) - 1


def init(problem: Any, parameters: Any) -> SnapshotState:
    """Nothing was delivered."""
    del parameters
    return SnapshotState(*(np.zeros(problem.arms) for _ in range(3)))


SNAPSHOT = SharedPolicy("snapshot", Parameters, init, decide, on_received=on_received, on_look=on_look)


def test_looks_are_told_again(tmp_path: Path) -> None:
    """A look comes after all events of its instant, its decision after the cleaning; both ways to assign agree."""
    log = logged(tmp_path / "log.arrows", small(drain=True), "uniform")
    choice = find_policy_of(log, SNAPSHOT)
    plain = recorded_events(log, clairvoyant=False)
    events = with_looks(plain, np.array([10.0, 20.0, 30.0]), 2.5)
    looks = np.flatnonzero(events.kind == Kind.LOOK)
    assert events.time[looks].tolist() == [10.0, 12.5, 20.0, 22.5, 30.0, 32.5]
    assert events.part[looks].tolist() == [0, 1] * 3
    assert (events.time[looks - 1] <= events.time[looks]).all()
    assert (events.time[looks + 1] > events.time[looks]).all()
    again = Rerun(choice, log)
    without = again.assign(np.random.default_rng(3))
    again._events = events
    found = again.assign(np.random.default_rng(3))
    np.testing.assert_array_equal(found, assign_slowly(choice, log.header.problem(), events, np.random.default_rng(3)))
    assert (found[:10] == without[:10]).all()
    assert (found != without).any()


def test_a_trial_that_stops(tmp_path: Path) -> None:
    """Of a trial with looks and an endpoint of its own, patients are assigned again as they were; the stop is told."""
    keys: dict[str, Any] = {
        "horizon": 60,
        "visits": [1.0, 3.0],
        "arms": [arm | {"probability": [0.2, p]} for arm, p in zip(ARMS, (0.1, 0.8), strict=True)],
        "trial": {
            "control": "standard",
            "endpoint": "last",
            "looks": {"at": "known", "values": [30], "cleaning": 1.5},
            "allocation": {"kind": "best-probability", "minimum": 0.2},
            "rules": [{"kind": "superiority", "threshold": 0.9}],
        },
    }
    scenario = Scenario(name="t", rewards={"kind": "binary"}, drain=True, **keys)
    log = logged(tmp_path / "log.arrows", scenario, "best-probability")
    recorded = log.columns(["arm"], [Kind.PULL])["arm"]
    assert 30 < len(recorded) < 60
    again = Rerun(find_policy_of(log, None), log).assign(open_stream(5, 0, Purpose.POLICY))
    np.testing.assert_array_equal(again, recorded)
    found = randomisation_test(log, replications=20)
    assert found.control == "standard"
    assert "stopped by a rule" in found.notes[0]


class Coin:
    """A rule in Python: a coin for each patient."""

    def __init__(self, problem: Any, parameters: Any, stream: np.random.Generator) -> None:
        del parameters
        self._arms, self._stream = problem.arms, stream

    def hear(self, events: Any) -> None:
        """Learn nothing."""

    def decide(self, round: int) -> int:  # noqa: ARG002
        """Any arm."""
        return int(self._stream.random() * self._arms)

    def indices(self) -> Floats:
        """None."""
        return np.full(self._arms, np.nan)


def test_a_rule_in_python(tmp_path: Path) -> None:
    """A rule that is a Python object is run again, too."""
    coin = PythonPolicy("coin", Parameters, Coin)
    log = logged(tmp_path / "log.jsonl", TRIAL, coin)
    assert 0 < randomisation_test(log, policy=coin, replications=20).p_value <= 1


@pytest.mark.parametrize("rule", every(["ucb1", "tp-ucb-fr:ties=first", "explore-then-commit", "oracle"], ("ucb1",)))
def test_rules_without_chance_are_refused(rule: str, tmp_path: Path) -> None:
    """A rule that decides by its indices, ties aside, has no randomisation to test by."""
    log = logged(tmp_path / "log.arrows", small(drain=True), rule)
    with pytest.raises(LogError, match="does not assign at random"):
        randomisation_test(log)


def test_wrong_arguments_are_one_line(tmp_path: Path) -> None:
    """Wrong arguments, and logs that hold only the pulls, are refused in one line."""
    log = logged(tmp_path / "log.arrows")
    wrongs: list[dict[str, Any]] = [{"alternative": "more"}, {"replications": 0}, {"control": "none"}]
    for wrong in wrongs:
        with pytest.raises(DataError) as told:
            randomisation_test(log, **wrong)
        assert "\n" not in str(told.value)
    with pytest.raises(LogError, match="holds only the pulls"):
        randomisation_test(logged(tmp_path / "pulls.arrows", log_detail="pulls"))


@pytest.mark.verify
def test_level(tmp_path: Path) -> None:
    """Over 600 trials without a difference, with delays, p is below 5 % and 20 % as often as that.

    The standard errors are 0.9 % and 1.6 %; a right test leaves the bounds with a chance of 1 in 1,000.
    """
    world = TRIAL.with_(horizon=60, delays=[{"kind": "geometric", "p": 0.1}])
    p_values = []
    for run in range(600):
        path = tmp_path / f"{run}.arrows"
        simulate(world, "delayed-thompson", run=run, log=path, engine="simpy")
        p_values.append(randomisation_test(path, replications=99, seed=run).p_value)
    assert 0.02 < np.mean(np.array(p_values) <= 0.05) < 0.08
    assert 0.14 < np.mean(np.array(p_values) <= 0.2) < 0.25
