"""Handlers are told what happened, with values, slot and time: hand-worked cases, in every engine and in replay."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from heard import CLOSED, DECIDE, GROUP, HANDLERS, LOST, PARTIAL, PULL, RECEIVED, policy_with
from log_samples import make_events
from parity import Case, calls_of, replay_state, run_compiled, run_simpy
from worlds import table_world

from tpstream import Scenario, replay, simulate
from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.events import Events
from tpstream.model.interfaces import Schedule
from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.model.world import Purpose, Regular, Timing, World, open_stream
from tpstream.policies import POLICIES
from tpstream.policies.base import GroupParameters, Parameters, PythonPolicy, SharedPolicy
from tpstream.policies.runner import Runner, start_policy

NAN = float("nan")
Call = tuple[int, int, int, int, float, float, float]
"""What was called, arm, pull, part or group, value, what the pull paid so far, time."""


@dataclass(frozen=True)
class Scripted:
    """A delay that gives every pull of the arm the same offsets and losses."""

    offsets: Sequence[float]
    lost: Sequence[bool]
    whole: bool = True

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002
        """The same row for every pull."""
        pulls = len(rewards)
        return Schedule(np.tile(np.array(self.offsets, dtype=np.float64), (pulls, 1)), np.tile(self.lost, (pulls, 1)))


def calls_in_every_engine(world: World, *kinds: int) -> list[list[Call]]:
    """The calls of these kinds in SimPy, compiled with a log and without, and in replay, of a policy that hears all."""
    case = Case(world, policy_with(*HANDLERS), GroupParameters())
    reference = run_simpy(case)
    assert reference.events is not None
    states = [
        reference.state,
        run_compiled(case, log=True).state,
        run_compiled(case, log=False).state,
        replay_state(case, reference.events),
    ]
    calls = [np.nan_to_num(calls_of(state), nan=-1.0) for state in states]
    return [[tuple(row) for row in rows[np.isin(rows[:, 0], kinds)].tolist()] for rows in calls]


def test_every_handler_is_told_the_time() -> None:
    """Two pulls of an arm that pay 1 + 2 and 3 + 4: every call, in order, with the time of the event or decision."""
    world = table_world([[[1.0, 2.0], [3.0, 4.0]]], horizon=2, groups=1)
    by_hand = [
        (DECIDE, 0, 1, 0, 0, 0, 1),
        (PULL, 0, 1, 0, -1, 0, 1),
        (PARTIAL, 0, 1, 1, 1, 1, 1),
        (RECEIVED, 0, 0, 0, 1, 0, 1),
        (DECIDE, 0, 2, 0, 0, 0, 2),
        (PULL, 0, 2, 0, -1, 0, 2),
        (PARTIAL, 0, 1, 2, 2, 3, 2),
        (GROUP, 0, 1, 0, 3, 3, 2),
        (CLOSED, 0, 1, 2, 3, 3, 2),
        (PARTIAL, 0, 2, 1, 3, 3, 2),
        (RECEIVED, 0, 0, 0, 5, 0, 2),
    ]
    assert calls_in_every_engine(world, DECIDE, PULL, PARTIAL, RECEIVED, GROUP, CLOSED, LOST) == [by_hand] * 4


def test_lost_parts_are_told_when_that_is_known() -> None:
    """Of three parts the first is lost after a round, the last after three, when the window has closed the pull."""
    timing = Timing(delays=(Scripted((1, 1, 3), (True, False, True)),), names=("scripted",), window=2.0)
    world = table_world([[[1.0, 2.0, 4.0]] * 2], horizon=2, groups=1, timing=timing, drain=True)
    by_hand = [
        (DECIDE, 0, 1, 0, 0, 0, 1),
        (PULL, 0, 1, 0, -1, 0, 1),
        (DECIDE, 0, 2, 0, 0, 0, 2),
        (PULL, 0, 2, 0, -1, 0, 2),
        (LOST, 0, 1, 1, 0, 0, 2),
        (PARTIAL, 0, 1, 2, 2, 2, 2),
        (CLOSED, 0, 1, 1, 2, 2, 3),
        (LOST, 0, 2, 1, 0, 0, 3),
        (PARTIAL, 0, 2, 2, 2, 2, 3),
        (LOST, 0, 0, 3, 0, 0, 4),
        (CLOSED, 0, 2, 1, 2, 2, 4),
        (LOST, 0, 0, 3, 0, 0, 5),
    ]
    assert calls_in_every_engine(world, DECIDE, PULL, PARTIAL, LOST, CLOSED) == [by_hand] * 4


def test_a_late_part_is_not_lost() -> None:
    """A part that arrives after the closing is told to no handler."""
    timing = Timing(delays=(Scripted((0, 5), (False, False)),), names=("scripted",), window=1.0)
    world = table_world([[[1.0, 2.0]]], horizon=1, groups=1, timing=timing, drain=True)
    by_hand = [
        (DECIDE, 0, 1, 0, 0, 0, 1),
        (PULL, 0, 1, 0, -1, 0, 1),
        (PARTIAL, 0, 1, 1, 1, 1, 1),
        (CLOSED, 0, 1, 1, 1, 1, 2),
    ]
    assert calls_in_every_engine(world, DECIDE, PULL, PARTIAL, LOST, CLOSED) == [by_hand] * 4


def test_the_clock_has_real_times() -> None:
    """With a decision every 1.5 and parts 0.25 and 1.25 later the clock shows these times, wherever it is told."""
    timing = Timing(
        delays=(Scripted((0.25, 1.25), (False, True), whole=False),), names=("scripted",), arrivals=Regular(1.5)
    )
    world = table_world([[[1.0, 2.0]] * 2], horizon=2, groups=1, timing=timing, drain=True)
    by_hand = [1.5, 1.5, 1.75, 2.75, 3.0, 3.0, 3.25, 4.25]
    found = calls_in_every_engine(world, DECIDE, PULL, PARTIAL, LOST)
    assert [[call[6] for call in calls] for calls in found] == [by_hand] * 4


@dataclass
class Listener:
    """An ordinary Python policy that records the time of every decision."""

    times: list[float] = field(default_factory=list)
    now: float = NAN

    def hear(self, events: Events) -> None:
        """Learn nothing."""

    def set_clock(self, time: float) -> None:
        """Take note of the time."""
        self.now = time

    def decide(self, round: int) -> int:  # noqa: ARG002
        """Pull the first arm."""
        self.times.append(self.now)
        return 0

    def indices(self) -> Floats:
        """There are none."""
        return np.full(2, np.nan)


def test_an_ordinary_object_can_be_told_the_time(tmp_path: Any) -> None:
    """A Python policy with `set_clock` is told the time of each decision, in the SimPy engine and in replay."""
    created: list[Listener] = []

    def create(*_: Any) -> Listener:
        created.append(Listener())
        return created[-1]

    form = PythonPolicy("listener", Parameters, create)
    scenario = Scenario(
        name="few",
        horizon=3,
        span=2,
        rewards={"kind": "smooth-beta", "groups": 1},
        arms=[{"maximum": 1.0}, {"maximum": 2.0}],
        arrivals={"kind": "regular", "every": 2.5},
    )
    simulate(scenario, form, log=tmp_path / "run.jsonl")
    assert replay(tmp_path / "run.jsonl", form).equal
    assert [policy.times for policy in created if policy.times] == [[2.5, 5.0, 7.5]] * 2


@pytest.mark.parametrize("clock", [np.zeros(2), np.zeros(1, dtype=np.int64), 0.0])
def test_a_clock_of_the_wrong_form_is_refused(clock: Any) -> None:
    """A state whose clock is no array of one float is an error that says what to write."""
    inner = policy_with("on_pull")
    form = SharedPolicy("wrong", GroupParameters, lambda *args: inner.init(*args)._replace(clock=clock), inner.decide)
    problem = table_world(np.ones((2, 1, 2)), 1).problem
    with pytest.raises(PolicyError, match=r"policy 'wrong': its state has clock = .*; make it np\.zeros\(1\)"):
        start_policy(form, problem, GroupParameters(), np.random.default_rng(0))


@pytest.mark.parametrize("wrong", [np.ones(3, dtype=np.bool_), np.ones(2), True])
def test_open_arms_of_the_wrong_form_are_refused(wrong: Any) -> None:
    """A state whose open arms are no array of a truth value for each arm is an error that says what to write."""
    inner = policy_with("on_pull")
    form = SharedPolicy(
        "wrong", GroupParameters, lambda *args: inner.init(*args)._replace(open_arms=wrong), inner.decide
    )
    problem = table_world(np.ones((2, 1, 2)), 1).problem
    with pytest.raises(PolicyError, match=r"its state has open_arms = .*; make it np\.ones\(problem\.arms, dtype"):
        start_policy(form, problem, GroupParameters(), np.random.default_rng(0))


@pytest.mark.skipif(JIT_IS_OFF, reason="nothing is compiled")
def test_events_that_cannot_be_written_to_need_no_other_code() -> None:
    """Handlers are compiled once, also where a policy is told events of a stepped world, which are read-only."""
    form, problem = POLICIES.find("uniform"), Scenario.load("setting-1").problem().without_means()
    policy = start_policy(form, problem, form.parameters(), open_stream(1, 0, Purpose.POLICY))
    assert isinstance(policy, Runner)
    events = make_events(10)
    policy.hear(events)
    compiled = list(policy._loops.notify_events.signatures)
    for column in events.columns().values():
        column.flags.writeable = False
    policy.hear(events)
    assert list(policy._loops.notify_events.signatures) == compiled
