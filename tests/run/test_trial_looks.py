"""Looks into a running trial: both engines hold the same looks, and what a look decides holds from its decision on."""

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from parity import different_event
from trials import SUPERIOR, WRITING, trial_keys, trials

from tpstream import Scenario, compare, read_log, simulate
from tpstream.engines import simpy_clock, simpy_engine
from tpstream.log.check import check_log
from tpstream.log.sinks import MemorySink
from tpstream.looks.monitor import MEASURES
from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.events import Events, Kind
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, PythonPolicy

MANY = 12 if numba.config.DISABLE_JIT else 40


def events_of(scenario: Scenario, engine: str, policy: Any = WRITING) -> Events:
    """All events of a run."""
    sink = MemorySink()
    simulate(scenario, policy, engine=engine, sinks=[sink])
    return Events.join(sink.batches)


def looks_of(scenario: Scenario, events: Events) -> dict[int, tuple[float, float]]:
    """The cut and the decision of every look that was held."""
    held = events.kind == Kind.LOOK
    cuts = dict(zip(events.pull[held].tolist(), events.time[held].tolist(), strict=True))
    return {look: (cut, cut + scenario.trial.looks.cleaning) for look, cut in cuts.items()}


@settings(max_examples=MANY, deadline=None)
@given(trials())
def test_engines_agree_on_trials(scenario: Scenario) -> None:
    """Every event of a trial, looks and stops among them, is the same in both engines."""
    events = events_of(scenario, "simpy")
    assert different_event(events, events_of(scenario, "compiled")) is None
    check_trial(scenario, events)


def check_trial(scenario: Scenario, events: Events) -> None:
    """The numbers of looks are those of the events before them, and what they decide holds for who comes later."""
    design, looks = scenario.design(), looks_of(scenario, events)
    pulls = events.take(events.kind == Kind.PULL)
    stops = events.take(events.kind == Kind.STOPPED)
    known = (events.kind == Kind.PARTIAL) & (events.part == 2)
    for look, (cut, decided) in looks.items():
        rows = (events.kind == Kind.LOOK) & (events.pull == look) & (events.part == 0)
        before = np.arange(len(events)) < np.flatnonzero(rows)[0]
        assert (events.time[before] <= cut).all()
        assert (events.time[~before & (events.kind < Kind.LOOK)] > cut).all()
        due = {pull for pull, time in zip(pulls.pull.tolist(), pulls.time.tolist(), strict=True) if time + 2.0 <= cut}
        there = {*events.pull[before & known].tolist()} & due
        counted = np.bincount([int(pulls.arm[pull - 1]) for pull in sorted(there)], minlength=3)
        assert events.value[rows].tolist() == counted.tolist()
        closed = stops.arm[stops.pull == look]
        assert (stops.time[stops.pull == look] == decided).all()
        assert not np.isin(pulls.arm[pulls.time > decided], closed).any()
        if not scenario.trial.looks.recruiting:
            assert not ((pulls.time > cut) & (pulls.time <= decided)).any()
    assert len(pulls) == scenario.horizon or len(stops) == design.arms
    assert np.array_equal(np.sort(events.pull[events.kind == Kind.CLOSED]), pulls.pull)


def test_debug_mode_holds_the_same_looks() -> None:
    """A policy that runs uncompiled is told of the same looks and decides the same."""
    scenario, sink = Scenario(**trial_keys()), MemorySink()
    simulate(scenario, WRITING, sinks=[sink], debug=True)
    assert different_event(events_of(scenario, "simpy"), Events.join(sink.batches)) is None


def test_a_look_before_its_deliveries_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A monitor that is asked before what is due at the instant of the cut was delivered counts too few."""
    monkeypatch.setattr(simpy_engine, "END", simpy_clock.DELIVERY - 1)
    scenario = Scenario(**trial_keys())
    with pytest.raises(AssertionError):
        check_trial(scenario, events_of(scenario, "simpy"))


@pytest.mark.parametrize("suffix", ["jsonl", "arrows"])
def test_the_log_of_a_stopped_trial(suffix: str, tmp_path: Path) -> None:
    """It is complete, keeps all rules, tells the horizon in its header, and has the probabilities of every arm."""
    arms = [{"name": "arm 0", "probability": 0.1}, {"name": "arm 1", "probability": 0.9}]
    scenario = Scenario(**trial_keys(delays=[], arms=arms))
    run = simulate(scenario, "uniform", seed=3, log=tmp_path / f"trial.{suffix}")
    log = read_log(tmp_path / f"trial.{suffix}")
    assert log.complete
    assert not check_log(log).faults
    assert (log.header.horizon, log.header.detail) == (40, "probabilities")
    events = log.join()
    assert len(run.arms) == np.count_nonzero(events.kind == Kind.PULL) < 40
    assert events.probabilities is not None
    assert events.probabilities.shape == (len(run.arms), 2)
    assert (events.probabilities == 0.5).all()
    stops = events.take(events.kind == Kind.STOPPED)
    assert (stops.arm.tolist(), stops.part.tolist(), stops.value.tolist()) == ([0, 1], [2, 2], [0.0, 1.0])


def test_measures_of_a_study() -> None:
    """Every run reports the measures of its monitor; pulls are constant after the stop."""
    keys = trial_keys()
    keys["arms"] = keys["arms"][:2]
    study = compare(Scenario(**keys), ["uniform"], runs=6, seed=1)
    found = {name: study.measure("uniform", name) for name in (*MEASURES, "pulls")}
    stopped = found["conclusion"] < 5
    assert stopped.any()
    made = found["pulls"].sum(axis=2)
    assert np.array_equal(made[:, -1], found["patients"].sum(axis=1))
    assert (made[stopped, -1] < 40).all()
    assert (np.diff(made[stopped, -4:]) == 0).all()


def test_a_policy_that_cannot_drop_arms_is_refused() -> None:
    """A design that may drop arms takes no policy that would go on with them."""

    class Stubborn:
        def __init__(self, problem: Problem, parameters: Parameters, stream: np.random.Generator) -> None: ...

        def hear(self, events: Events) -> None: ...

        def decide(self, round: int) -> int:
            return round % 3

        def indices(self) -> Floats:
            return np.full(3, np.nan)

    keys = trial_keys(visits=[1.0])  # the endpoint is all that is paid, else ordinary objects are refused anyway
    with pytest.raises(PolicyError, match="cannot leave out arms that this trial may close"):
        simulate(Scenario(**keys), PythonPolicy("stubborn", Parameters, Stubborn))


class Stays:
    """Always gives the first arm, and is not told which ones are open."""

    def __init__(self, problem: Problem, *_: Any) -> None:
        self.arms = problem.arms

    def hear(self, events: Events) -> None:
        """Learn nothing."""

    def decide(self, round: int) -> int:  # noqa: ARG002
        """The first arm."""
        return 0

    def indices(self) -> Floats:
        """There are none."""
        return np.full(self.arms, np.nan)


@pytest.mark.parametrize("policy", ["oracle", PythonPolicy("stays", Parameters, Stays)], ids=["oracle", "object"])
def test_a_study_refuses_policies_that_keep_arms_before_the_first_run(
    policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run is begun: one line says which policies can leave out arms that a look closes."""
    scenario = Scenario(**trial_keys())
    monkeypatch.setattr("tpstream.run.loop._run_policies_in_turn", None)  # a run that is begun fails otherwise
    with pytest.raises(PolicyError, match=r"cannot leave out arms that this trial may close; use one of .*gittins"):
        compare(scenario, ["uniform", policy], runs=2)


def test_a_policy_that_keeps_arms_may_run_where_none_is_closed() -> None:
    """With two arms a rule ends the trial instead."""
    keys = trial_keys()
    keys["arms"], keys["trial"] = keys["arms"][:2], keys["trial"] | {"rules": [SUPERIOR]}
    assert len(compare(Scenario(**keys), ["oracle"], runs=1).records["oracle"]) == 1
