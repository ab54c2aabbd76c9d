"""The compiled loop for the paper's world, without a log or with one of every event.

All rounds are alike: after the decision, every open pull pays one part, the oldest first. So the events of a round are
written column by column, without looking up what is due.

This file is loaded once for each policy, with the policy's functions in the place of the imported ones; see
policies/loader.py.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.events import CLOSED, PARTIAL, PULL, EventColumns
from tpstream.model.numba_support import compiled, compiled_loop, held_stream
from tpstream.policies.handlers import (
    Subscriptions,
    on_closed,
    on_group,
    on_partial,
    on_pull,
    on_received,
    policy_decide,
    set_clock,
)

DONE, FLUSH, INVALID = -1, -2, -4
"""Why the loop returned, if not for an arm that needs its next block: all rounds are done, the arrays of events are
full, a decision is no arm; as in compiled_general_loop.py."""
ROUND, PENDING, LAST, WRITTEN = range(4)
"""Places of the cursor: the next round, a decision that waits (-1: none), the last round, events written."""


class PlainMemory(NamedTuple):
    """What the loop remembers; arrays that only handlers need which the policy lacks have no rows."""

    pool: Floats
    """The arms' blocks of rewards, (arm, pull, part)."""
    totals: Floats
    """The pulls' cumulative rewards, (arm, pull)."""
    sums: Floats
    """The pulls' group sums, (arm, pull, group)."""
    used: Ints
    """How many pulls of its block each arm has used."""
    arms: Ints
    """The arm of the open pull of each slot."""
    rewards: Floats
    """The rewards of the open pulls, (slot, part)."""
    credits: Floats
    """The cumulative rewards of the open pulls."""
    groups: Floats
    """The group sums of the open pulls, (slot, group)."""
    due: Floats
    """What each arm's pulls will pay in the coming rounds, (arm, round modulo span)."""
    logged: Floats
    """The rewards of the open pulls for the log, (slot, part); without rows if there is no log."""
    horizon: int
    """The last round with a decision; those after it only deliver what is open."""


@compiled_loop
def run_plain(
    state: Any, held: Any, subscriptions: Subscriptions, memory: PlainMemory, cursor: Ints, decisions: Ints
) -> int:
    """Run rounds cursor[ROUND] to cursor[LAST]: part j of a pull arrives j - 1 rounds after it.

    Writes the arms of the rounds to `decisions`. Returns DONE when all are done, the arm whose block of rewards is used
    up, or INVALID for a decision that is no arm; the decision then waits in cursor[PENDING] for the next call.
    """
    stream = held_stream(held)
    span = memory.arms.size
    last = cursor[LAST]
    start = last + 1 - decisions.size
    slot = cursor[ROUND] % span
    for round in range(cursor[ROUND], last + 1):
        arm = decided_arm(state, stream, memory, cursor, round)
        if arm == INVALID or lacks_block(memory, arm):
            return arm
        cursor[PENDING] = -1
        decisions[round - start] = arm
        row = start_pull(memory, arm, slot)
        on_pull(state, arm, slot, memory.credits[slot] if subscriptions.shown else np.nan)
        take_rewards(subscriptions, memory, arm, row, slot)
        deliver(state, subscriptions, memory, round, slot)
        slot = slot + 1 if slot + 1 < span else 0
    cursor[ROUND] = last + 1
    return DONE


@compiled_loop
def run_logged(
    state: Any,
    held: Any,
    subscriptions: Subscriptions,
    memory: PlainMemory,
    columns: EventColumns,
    cursor: Ints,
    decisions: Ints,
) -> int:
    """Run rounds as `run_plain` does, and write their events; returns FLUSH when the columns are full.

    Rounds after the horizon only deliver what is open, of which the policy is not told.
    """
    stream = held_stream(held)
    span = memory.arms.size
    start = cursor[LAST] + 1 - decisions.size
    slot = cursor[ROUND] % span
    for round in range(cursor[ROUND], cursor[LAST] + 1):
        cursor[ROUND] = round
        if columns.kind.size - cursor[WRITTEN] < span + 2:
            return FLUSH
        if round <= memory.horizon:
            arm = decided_arm(state, stream, memory, cursor, round)
            if arm == INVALID or lacks_block(memory, arm):
                return arm
            cursor[PENDING] = -1
            decisions[round - start] = arm
            row = start_pull(memory, arm, slot)
            for part in range(span):
                memory.logged[slot, part] = memory.pool[arm, row, part]
            shown = memory.credits[slot] if subscriptions.shown else np.nan
            write_event(columns, cursor, memory, round, slot, PULL, 0, shown)
            on_pull(state, arm, slot, shown)
            take_rewards(subscriptions, memory, arm, row, slot)
            deliver(state, subscriptions, memory, round, slot)
        write_round(columns, cursor, memory, round)
        slot = slot + 1 if slot + 1 < span else 0
    cursor[ROUND] = cursor[LAST] + 1
    return DONE


@compiled
def decided_arm(state: Any, stream: np.random.Generator, memory: PlainMemory, cursor: Ints, round: int) -> int:
    """The decision that waits, else a new one, which then waits; INVALID if it is no arm."""
    cursor[ROUND] = round  # also for the error of a policy that raises
    set_clock(state, round)
    arm = cursor[PENDING]
    if arm < 0:
        arm = policy_decide(state, round, stream)
    cursor[PENDING] = arm
    # Without int(): a decision that is a float must not compile, so that it is told.
    return arm if 0 <= arm < memory.used.size else INVALID


@compiled
def lacks_block(memory: PlainMemory, arm: int) -> bool:
    """Whether all pulls of the arm's block are used."""
    return bool(memory.used[arm] == memory.totals.shape[1])


@compiled
def start_pull(memory: PlainMemory, arm: int, slot: int) -> int:
    """Give the arm's next pull a slot; returns its row in the block."""
    row = memory.used[arm]
    memory.used[arm] = row + 1
    memory.arms[slot] = arm
    memory.credits[slot] = memory.totals[arm, row]
    return int(row)


@compiled
def write_event(
    columns: EventColumns,
    cursor: Ints,
    memory: PlainMemory,
    round: int,
    slot: int,
    kind: int,
    part: int,
    value: float,
) -> None:
    """Write one event of the pull that is in this slot: the pull of this round, or the oldest one."""
    event = cursor[WRITTEN]
    columns.time[event] = round
    columns.kind[event] = kind
    columns.round[event] = min(round, memory.horizon)
    columns.pull[event] = round if kind == PULL else round - memory.arms.size + 1
    columns.arm[event] = memory.arms[slot]
    columns.part[event] = part
    columns.value[event] = value
    cursor[WRITTEN] = event + 1


@compiled
def write_round(columns: EventColumns, cursor: Ints, memory: PlainMemory, round: int) -> None:
    """Write what is due in a round: a part of every open pull, the oldest first, and the closing of a complete one.

    A loop for each column, over indices that cannot be negative, lets the processor write several events at once.
    """
    span = memory.arms.size
    pull = max(1, round - span + 1)
    slot = pull % span
    if pull == round - span + 1:
        write_event(columns, cursor, memory, round, slot, PARTIAL, span, memory.logged[slot, span - 1])
        write_event(columns, cursor, memory, round, slot, CLOSED, 0, memory.credits[slot])
        pull, slot = pull + 1, slot + 1 if slot + 1 < span else 0
    decided = min(round, memory.horizon)
    open_pulls = max(decided - pull + 1, 0)
    first, count = np.uint64(cursor[WRITTEN]), np.uint64(open_pulls)
    for place in range(count):
        columns.time[first + place] = round
    for place in range(count):
        columns.kind[first + place] = PARTIAL
    for place in range(count):
        columns.round[first + place] = decided
    for place in range(count):
        columns.pull[first + place] = pull + np.int64(place)
    for place in range(count):
        columns.part[first + place] = round - pull + 1 - np.int64(place)
    here = np.uint64(slot)
    for place in range(count):
        columns.arm[first + place] = memory.arms[here]
        columns.value[first + place] = memory.logged[here, np.uint64(round - pull) - place]
        here = here + np.uint64(1) if here + np.uint64(1) < np.uint64(span) else np.uint64(0)
    cursor[WRITTEN] += open_pulls


@compiled
def take_rewards(subscriptions: Subscriptions, memory: PlainMemory, arm: int, row: int, slot: int) -> None:
    """Copy a new pull's rewards from the block to where they are delivered from."""
    span = memory.arms.size
    if subscriptions.partial:
        for part in range(span):
            memory.rewards[slot, part] = memory.pool[arm, row, part]
    if subscriptions.received:
        for part in range(span - slot):
            memory.due[arm, slot + part] += memory.pool[arm, row, part]
        for part in range(span - slot, span):
            memory.due[arm, slot + part - span] += memory.pool[arm, row, part]
    if subscriptions.group:
        for group in range(memory.groups.shape[1]):
            memory.groups[slot, group] = memory.sums[arm, row, group]


@compiled
def deliver(state: Any, subscriptions: Subscriptions, memory: PlainMemory, round: int, slot: int) -> None:
    """Call the handlers for all that is due in this round, in order of the pulls."""
    if subscriptions.partial:
        deliver_parts(state, subscriptions, memory, round, slot)
    elif subscriptions.group or subscriptions.closed:
        deliver_groups(state, subscriptions, memory, round, slot)
    if subscriptions.received:
        for arm in range(memory.due.shape[0]):
            if memory.due[arm, slot] != 0.0:
                on_received(state, arm, memory.due[arm, slot])
                memory.due[arm, slot] = 0.0


@compiled
def deliver_parts(state: Any, subscriptions: Subscriptions, memory: PlainMemory, round: int, newest: int) -> None:
    """Tell every part that is due in this round, in order of the pulls, with the group or pull that it completes."""
    span = memory.arms.size
    slot = place_of(newest, min(span, round) - 1, span)
    for part in range(min(span, round), 0, -1):
        on_partial(state, memory.arms[slot], slot, part, memory.rewards[slot, part - 1])
        if subscriptions.group and part % subscriptions.width == 0:
            group = part // subscriptions.width - 1
            on_group(state, memory.arms[slot], slot, group, memory.groups[slot, group])
        if subscriptions.closed and part == span:
            on_closed(state, memory.arms[slot], slot, memory.credits[slot])
        slot = slot + 1 if slot + 1 < span else 0


@compiled
def deliver_groups(state: Any, subscriptions: Subscriptions, memory: PlainMemory, round: int, newest: int) -> None:
    """Tell every group that is complete in this round, in order of the pulls, and the pull that is complete."""
    span = memory.arms.size
    groups = 0
    if subscriptions.group:
        groups = memory.groups.shape[1] if round >= span else round // subscriptions.width
    if round >= span:
        slot = place_of(newest, span - 1, span)
        if subscriptions.group:
            on_group(state, memory.arms[slot], slot, groups - 1, memory.groups[slot, groups - 1])
            groups -= 1
        if subscriptions.closed:
            on_closed(state, memory.arms[slot], slot, memory.credits[slot])
    slot = place_of(newest, groups * subscriptions.width - 1, span)
    for group in range(groups - 1, -1, -1):
        on_group(state, memory.arms[slot], slot, group, memory.groups[slot, group])
        slot += subscriptions.width
        if slot >= span:
            slot -= span


@compiled
def place_of(newest: int, back: int, span: int) -> int:
    """The slot of the pull made `back` rounds before the newest one, back < span; the remainder would be slower."""
    slot = newest - back
    return slot if slot >= 0 else slot + span
