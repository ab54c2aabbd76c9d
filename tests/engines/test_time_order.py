"""The contract of order: when events happen, in which order, and what a decision can know."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from families import SOME, up_to
from hypothesis import given, settings, strategies as st
from worlds import VARIANTS, Run, TableArm, due_events, parameters_of, run_world, table_of, table_world, table_worlds

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import Rewards
from tpstream.model.world import World

Case = tuple[World, int]
CASES = table_worlds(longest=30)
NAMES = st.sampled_from(sorted({*SOME, "ucb1"}))


def run_case(case: Case, name: str) -> Run:
    """The run of a world under a policy of this name, with its default parameters."""
    return run_world(case[0], name)


@settings(max_examples=up_to(200))
@given(CASES, NAMES)
def test_all_events_come_in_the_order_of_the_contract(case: Case, name: str) -> None:
    """A run's events are, one by one and to the last bit, those that the rule of order gives for its decisions."""
    run = run_case(case, name)
    assert run.events == due_events(case[0], run, shown=name == "ucb1")


@given(CASES, NAMES)
def test_seq_counts_from_zero(case: Case, name: str) -> None:
    """Events are numbered 0, 1, 2, ... without a gap."""
    events = run_case(case, name).events
    assert [event.seq for event in events] == list(range(len(events)))


@given(CASES, NAMES)
def test_time_never_goes_back(case: Case, name: str) -> None:
    """No event happens before the one in front of it."""
    times = [event.time for event in run_case(case, name).events]
    assert times == sorted(times)


@given(CASES, NAMES)
def test_decision_comes_before_deliveries_of_its_time(case: Case, name: str) -> None:
    """At every time of a round the pull is the first event, and there is one."""
    instants = defaultdict(list)
    for event in run_case(case, name).events:
        instants[event.time].append(event.kind == "pull")
    horizon = case[0].problem.horizon
    assert all(first == (time <= horizon) and not any(rest) for time, (first, *rest) in instants.items())


@given(CASES, NAMES)
def test_deliveries_of_one_time_are_sorted_by_pull_then_part(case: Case, name: str) -> None:
    """Parts due at the same time come in the order of pull, then part."""
    parts = run_case(case, name).of_kind("partial")
    keys = [(event.time, event.pull, event.part) for event in parts]
    assert keys == sorted(keys)


@given(CASES, NAMES)
def test_closed_follows_the_last_part(case: Case, name: str) -> None:
    """A pull is closed by the event right after its last part, and by no other."""
    events, span = run_case(case, name).events, case[0].problem.span
    last = [event.seq + 1 for event in events if event.kind == "partial" and event.part == span]
    assert [(event.seq, event.pull) for event in events if event.kind == "closed"] == [
        (seq, events[seq - 1].pull) for seq in last
    ]


@given(CASES, NAMES)
def test_every_due_part_is_delivered_once_at_its_time(case: Case, name: str) -> None:
    """Part j of the pull of round t comes once, at time t + j - 1: all parts if drained, else those due by the end."""
    world = case[0]
    span, horizon = world.problem.span, world.problem.horizon
    end = horizon + span - 1 if world.drain else horizon
    parts = run_case(case, name).of_kind("partial")
    due = [(t, j, float(t + j - 1)) for t in range(1, horizon + 1) for j in range(1, span + 1) if t + j - 1 <= end]
    assert sorted((event.pull, event.part, event.time) for event in parts) == due


@given(CASES, NAMES)
def test_parts_of_a_drained_run_add_up(case: Case, name: str) -> None:
    """In a drained run the parts of each pull are its row of the table, and add up to what it is closed with."""
    world = replace(case[0], drain=True)
    run = run_world(world, name)
    parts, closed = defaultdict(list), {event.pull: event.value for event in run.of_kind("closed")}
    for event in run.of_kind("partial"):
        parts[event.pull].append(event.value)
    rows = [iter(rows) for rows in table_of(world)]
    paid = {pull: next(rows[arm]) for pull, arm in enumerate(run.arms.tolist(), start=1)}
    sums = {pull: sum(row) for pull, row in paid.items()}
    assert (dict(parts), closed) == (paid, sums)


@given(CASES, NAMES)
def test_draining_decides_nothing(case: Case, name: str) -> None:
    """A drained run is the same run with more deliveries at its end."""
    world = case[0]
    short, drained = (run_world(replace(world, drain=drain), name).events for drain in (False, True))
    assert drained[: len(short)] == short


@given(CASES, NAMES)
def test_pulls_are_numbered_by_round(case: Case, name: str) -> None:
    """One pull per round, whose id is the round, and whose arm is the decision that the engine returns."""
    run = run_case(case, name)
    pulls = [(event.round, event.pull, event.time, event.arm) for event in run.of_kind("pull")]
    assert pulls == [(t, t, float(t), arm) for t, arm in enumerate(run.arms.tolist(), start=1)]


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=up_to(60))
@given(case=CASES, data=st.data())
def test_the_future_is_not_known(variant: str, case: Case, data: st.DataObject) -> None:
    """Rewards that are delivered at or after a decision can change without changing the decisions up to it."""
    (world, groups), (name, _) = case, VARIANTS[variant]
    now = data.draw(st.integers(1, world.problem.horizon))
    arms = run_world(world, name, parameters_of(variant, groups)).arms
    changed = with_other_future(world, arms.tolist(), now, clairvoyant=name == "ucb1")
    again = run_world(changed, name, parameters_of(variant, groups)).arms
    assert again[:now].tolist() == arms[:now].tolist()


def with_other_future(world: World, arms: list[int], now: int, *, clairvoyant: bool) -> World:
    """The world with other rewards wherever they come at time `now` or later; a clairvoyant knows started pulls."""
    used = [0] * world.problem.arms
    tables = [np.array(rows) for rows in table_of(world)]
    for pull, arm in enumerate(arms, start=1):
        row = tables[arm][used[arm]]
        used[arm] += 1
        known = world.problem.span if clairvoyant and pull < now else min(max(0, now - pull), world.problem.span)
        row[known:] = other_parts(row[known:], world.problem.maxima[arm] - row[:known].sum())
    maxima = world.problem.maxima.tolist()
    models = [TableArm(rows, maximum) for rows, maximum in zip(tables, maxima, strict=True)]
    return replace(world, rewards=Rewards(models, world.rewards.groups))


def other_parts(parts: Floats, allowance: float) -> Floats:
    """Parts of another sum, as different as the allowance permits."""
    return np.zeros(parts.size) if parts.sum() > allowance / 2 else np.full(parts.size, allowance / max(parts.size, 1))


def test_the_past_is_known() -> None:
    """A part delivered one time before the decision changes it: the sharp side of the rule."""
    rows = np.zeros((2, 3, 2))
    plain = run_world(table_world(rows, 3, maxima=[1.0, 1.0]), "tp-ucb-fr", {"ties": "first"}).arms.tolist()
    rows[1, 0, 0] = 0.5  # pull 2, part 1: delivered at time 2, known at round 3
    other = run_world(table_world(rows, 3, maxima=[1.0, 1.0]), "tp-ucb-fr", {"ties": "first"}).arms.tolist()
    assert (plain, other) == ([0, 1, 0], [0, 1, 1])
