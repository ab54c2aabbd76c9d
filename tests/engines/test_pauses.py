"""Runs that pause: everything up to a pause is published then, and both engines do the same after it."""

import os
from dataclasses import replace

import numba
import numpy as np
import pytest
from heard import policy_with
from hypothesis import given, settings, strategies as st
from parity import (
    Case,
    calls_of,
    case_of,
    different_event,
    different_row,
    drawn_worlds,
    losing_worlds,
    real_worlds,
    run_compiled,
    run_simpy,
)
from pausing import Plan, Step, carry_out, drained, pause_times, plans, run_both
from worlds import PlainArm, world_of

from tpstream.engines import compiled_paused, simpy_clock, simpy_engine
from tpstream.engines.engine import open_engine
from tpstream.model.errors import EngineError
from tpstream.model.events import LOOK, Events, Kind
from tpstream.model.world import World
from tpstream.policies import POLICIES
from tpstream.policies.base import GroupParameters
from tpstream.timing.pipeline import ROUNDS_PER_BATCH, decision_times

INTERPRETED = bool(numba.config.DISABLE_JIT)
MANY = 24 if INTERPRETED else {"search": 2000}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 80)
WRITING = policy_with("on_pull", "on_partial", "on_received", "on_group", "on_lost", "on_closed", "on_look")
WORLDS = (real_worlds() | drawn_worlds() | losing_worlds()).map(drained)


def writing(world: World) -> Case:
    """A case whose policy writes down every call, and decides by all of them."""
    return Case(world, WRITING, GroupParameters())


@settings(max_examples=MANY)
@given(st.data())
def test_engines_agree_with_pauses(data: st.DataObject) -> None:
    """Every event and every call of the policy is the same in both engines, whatever is done at the pauses."""
    world = data.draw(WORLDS)
    plan = data.draw(plans(world))
    reference, compiled = run_both(writing(world), plan)
    assert different_event(reference.events, compiled.events) is None
    assert different_row(calls_of(reference.state), calls_of(compiled.state)) is None
    assert different_row(reference.arms, compiled.arms) is None
    assert reference.published == compiled.published


@settings(max_examples=MANY // 2)
@given(st.data())
def test_pauses_change_nothing(data: st.DataObject) -> None:
    """A run that pauses and does nothing then has the events and calls of one that does not pause.

    At each pause exactly the events up to and including its time are published.
    """
    world = data.draw(WORLDS)
    pauses = data.draw(pause_times(world))
    case = writing(world)
    expected = run_simpy(case)
    for found in run_both(case, Plan(pauses, (Step(),) * len(pauses))):
        assert expected.events is not None
        assert different_event(expected.events, found.events) is None
        assert different_row(calls_of(expected.state), calls_of(found.state)) is None
        assert found.published == np.searchsorted(found.events.time, pauses, side="right").tolist()


@settings(max_examples=MANY // 4)
@given(st.data())
def test_a_stop_ends_recruitment(data: st.DataObject) -> None:
    """After a stop there is no decision, those at the very instant of it were made, and every pull is closed."""
    world = data.draw(WORLDS)
    times = decision_times(world)
    pause = data.draw(st.sampled_from(times.tolist()))
    for found in run_both(writing(world), Plan(np.array([pause]), (Step(stops=True),))):
        made = np.count_nonzero(times <= pause)
        kinds = found.events.kind
        assert len(found.arms) == np.count_nonzero(kinds == Kind.PULL) == made
        assert sorted(found.events.pull[kinds == Kind.CLOSED]) == list(range(1, made + 1))


@settings(max_examples=MANY // 4)
@given(st.data())
def test_dropped_arms_get_no_more_pulls(data: st.DataObject) -> None:
    """An arm that is closed at a pause is not pulled after its instant, and may be pulled at it."""
    world = data.draw(WORLDS.filter(lambda one: one.problem.arms > 1))
    pause = data.draw(st.sampled_from(decision_times(world).tolist()))
    is_open = np.arange(world.problem.arms) > 0
    for found in run_both(writing(world), Plan(np.array([pause]), (Step(open_arms=is_open),))):
        later = (found.events.kind == Kind.PULL) & (found.events.time > pause)
        assert not (found.events.arm[later] == 0).any()


@pytest.mark.parametrize("policy", ["tp-ucb-fr", pytest.param("best-probability", marks=pytest.mark.verify)])
def test_policies_agree_with_pauses(policy: str) -> None:
    """Policies that know nothing of looks decide as without them, in whole rounds too, and over batches."""
    horizon = 60 if INTERPRETED else ROUNDS_PER_BATCH + 300
    world = world_of([PlainArm(1.0, 2), PlainArm(0.5, 2)], span=2, horizon=horizon, groups=2, drain=True)
    case = case_of(world, policy)
    plan = Plan(np.array([0.5, 7.0, horizon - 30.0, horizon + 40.0]), (Step((0, 1), (0.5,)),) * 4)
    plain = run_compiled(case, log=True, indices=False)
    for found in run_both(case, plan):
        events = found.events
        assert np.array_equal(plain.arms, found.arms)
        assert plain.events is not None
        assert np.array_equal(events.time[events.kind < LOOK], plain.events.time)
        assert np.array_equal(events.seq, np.arange(len(events)))
        assert events.round[events.kind == LOOK].tolist() == [0, 7, horizon - 30, horizon]


def tied_world() -> World:
    """Decisions at 1, 2, ..., each with deliveries at the same time."""
    return world_of([PlainArm(1.0, 3), PlainArm(0.5, 3)], span=3, horizon=12, groups=3, drain=True)


def faulty_pause(monkeypatch: pytest.MonkeyPatch, *, early: bool) -> None:
    """Let the compiled engine pause right before the pause's instant, or decide once more after it."""
    segment = compiled_paused.PausedRun._segment

    def shifted(run: compiled_paused.PausedRun, length: int, pause: float) -> object:
        later = np.nextafter(pause, -np.inf) if early else pause + 1.0
        return segment(run, length, later if pause < np.inf else pause)

    monkeypatch.setattr(compiled_paused.PausedRun, "_segment", shifted)


@pytest.mark.parametrize("fault", ["simpy-look-before-deliveries", "compiled-look-before-deliveries", "decision-after"])
def test_planted_faults_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look before the deliveries of its instant, or after a decision that it should govern, is found."""
    if fault.startswith("simpy"):
        monkeypatch.setattr(simpy_engine, "END", simpy_clock.DELIVERY - 1)
    else:
        faulty_pause(monkeypatch, early=fault.startswith("compiled"))
    plan = Plan(np.array([5.0]), (Step((0,), (1.0,)),))
    reference, compiled = run_both(writing(tied_world()), plan)
    assert reference.published != compiled.published
    assert different_event(reference.events, compiled.events) is not None


def test_a_decision_at_the_instant_is_not_affected() -> None:
    """Who comes at the very time of a decision of the trial is treated as before; the next one is not."""
    case = writing(tied_world())
    before = run_simpy(case).arms
    is_open = np.arange(2) != before[4]
    for found in run_both(case, Plan(np.array([5.0]), (Step(open_arms=is_open),))):
        assert np.array_equal(found.arms[:5], before[:5])
        assert (found.arms[5:] != before[4]).all()


def test_policies_are_told_no_looks() -> None:
    """Python policies hear the events of pulls only, numbered without gaps, and looks by their methods."""

    class Hearer:
        def __init__(self) -> None:
            self.heard: list[Events] = []
            self.told: list[object] = []

        def hear(self, events: Events) -> None:
            self.heard.append(events)

        def decide(self, round: int) -> int:
            return round % 2

        def indices(self) -> np.ndarray:
            return np.full(2, np.nan)

        def set_clock(self, time: float) -> None:
            self.told.append(time)

        def on_look(self, stage: int) -> None:
            self.told.append(("look", stage))

        def set_open_arms(self, open_arms: np.ndarray) -> None:
            self.told.append(open_arms.tolist())

    policy = Hearer()
    plan = Plan(np.array([2.5]), (Step((0, 1), (0.5, 0.25), np.array([True, False])),))
    engine = simpy_engine.SimpyEngine(tied_world(), policy, "hearer", pauses=plan.pauses)
    _, events, _ = carry_out(engine, plan)
    heard = Events.join(policy.heard)
    assert np.count_nonzero(events.kind == LOOK) == 2
    assert np.array_equal(heard.seq, np.arange(len(events) - 2))
    assert not np.isin(heard.kind, [LOOK]).any()
    assert policy.told[2:7] == [[True, False], 2.5, ("look", 0), 2.5, ("look", 1)]


def test_pauses_need_draining() -> None:
    """A run with pauses that is not drained is refused with a remedy."""
    world = replace(tied_world(), drain=False)
    form = POLICIES.find("uniform")
    with pytest.raises(EngineError, match="set drain = true"):
        open_engine("auto", world, form, form.parameters(), "uniform", pauses=np.array([1.0]))
