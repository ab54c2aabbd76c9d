"""Worlds whose decisions are made outside of compiled code: one step of one world, or of many worlds at once.

A step makes a pull and writes all events up to the next decision. Nothing here knows a policy, so it is compiled once.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.engines import compiled_real_pulls
from tpstream.engines.compiled_general_loop import LAST, PENDING, ROUND, WRITTEN
from tpstream.engines.compiled_plain_loop import lacks_block, start_pull as start_plain_pull, write_event, write_round
from tpstream.engines.compiled_real_loop import lacks_room
from tpstream.engines.compiled_real_pulls import DONE, FLUSH, advance, start_pull, write
from tpstream.engines.held_worlds import HeldWorld, held_world
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.events import PARTIAL, PULL, EventColumns
from tpstream.model.numba_support import compiled, compiled_loop
from tpstream.model.reveal import ALL

SHARED = compiled_real_pulls
"""The loader puts a copy of its functions in the place of those that are imported here, which is compiled anew whenever
anything changes that is compiled into it."""
TOLD = 7
"""The place of the cursor after those of the real loop: how many events were told, where feedback is hidden."""


SKIP = -2
"""Stands for an arm where a world is left as it is."""


class Arrivals(NamedTuple):
    """What is seen of many worlds after a step of each: what has arrived since the step before, and sums of it."""

    pull: Ints
    """The pull, arm and part of the first arrivals of each world, what each paid, and how long after the pull."""
    arm: Ints
    part: Ints
    value: Floats
    age: Floats
    arrived: Ints
    """How many parts have arrived in each world since the step before, also those for which there is no room."""
    counts: Ints
    """How often each arm of each world was pulled so far, and what its pulls have paid so far."""
    sums: Floats
    time: Floats
    """When the next decision is due; after the last one, when that was due."""
    received: Floats
    """What has arrived since the step before, and what the last pull pays in total."""
    total: Floats
    done: Bools


@compiled_loop
def step(places: Any, row: int, arm: int) -> int:
    """Make one step of one world: pull this arm (-1: the one that waits) and write all up to the next decision.

    Returns DONE, or why it returned before: FLUSH, ROOM, or an arm that needs its next block of draws.
    """
    return step_world(held_world(places, row), arm)


@compiled_loop
def step_worlds(places: Any, first: int, arms: Ints, seen: Arrivals, answer: Ints) -> int:
    """Make one step of every world from the first one on, and write what is seen of each.

    Returns DONE, or the number of a world that needs what is in answer[0]; its arm is -1 when it goes on.
    """
    for row in range(first, arms.size):
        if arms[row] == SKIP:
            continue
        world = held_world(places, row)
        if arms[row] >= 0:
            world.cursor[WRITTEN] = world.cursor[TOLD] = 0
        answer[0] = step_world(world, arms[row])
        if answer[0] != DONE:
            return row
        events, end = world.columns, world.cursor[WRITTEN]
        if world.memory.reveal != ALL:
            events, end = world.told, world.cursor[TOLD]
        see(world.memory, events, end, world.cursor[ROUND], seen, row)
        seen.total[row] = world.totals[0]
    return DONE


@compiled
def step_world(world: HeldWorld, arm: int) -> int:
    """Make one step of a world."""
    cursor = world.cursor
    if arm >= 0:
        cursor[PENDING] = arm
    if world.plain.arms.size > 0:
        return step_plain(world, cursor[PENDING])
    return step_real(world, cursor[PENDING])


@compiled
def step_real(world: HeldWorld, arm: int) -> int:
    """Make one step of any world; arm -1: the pull was made, and some of the events are written."""
    memory, columns, cursor = world.memory, world.columns, world.cursor
    first = cursor[WRITTEN]
    if arm >= 0:
        answer = lacks_room(memory, columns, cursor)
        if answer != DONE:
            return int(answer)
        row, round = memory.used[arm], cursor[ROUND]
        if row == memory.pool.shape[1]:
            return int(arm)
        cursor[PENDING] = -1
        cursor[ROUND] = round + 1
        memory.used[arm] = row + 1
        slot = start_pull(memory, cursor, round, arm, row)
        world.totals[0] = memory.totals[arm, row]
        write(memory, columns, cursor, slot, memory.times[round - 1], PULL, 0, np.nan)
    round = cursor[ROUND]
    until = memory.times[round - 1] if round <= memory.times.size else memory.end
    answer = advance(memory, columns, cursor, until)
    # `first` is that of this call: what was written before a call that returned early is told already.
    if memory.reveal != ALL:
        tell_shown(columns, world.told, cursor, first)
    return int(answer)


@compiled
def step_plain(world: HeldWorld, arm: int) -> int:
    """Make one step of the paper's world: all that is due in a round comes right after its pull."""
    plain, columns, cursor = world.plain, world.columns, world.cursor
    span, horizon = plain.arms.size, plain.horizon
    if arm >= 0:
        if columns.kind.size - cursor[WRITTEN] < span + 2:
            return FLUSH
        if lacks_block(plain, arm):
            return int(arm)
        round = cursor[ROUND]
        slot = round % span
        cursor[PENDING] = -1
        cursor[ROUND] = round + 1
        row = start_plain_pull(plain, arm, slot)
        for part in range(span):
            plain.logged[slot, part] = plain.pool[arm, row, part]
        world.totals[0] = plain.totals[arm, row]
        write_event(columns, cursor, plain, round, slot, PULL, 0, np.nan)
        write_round(columns, cursor, plain, round)
    if cursor[ROUND] > horizon and world.memory.end == np.inf:
        while cursor[LAST] < span - 1:
            if columns.kind.size - cursor[WRITTEN] < span + 2:
                return FLUSH
            cursor[LAST] += 1
            write_round(columns, cursor, plain, horizon + cursor[LAST])
    return DONE


@compiled
def tell_shown(columns: EventColumns, told: EventColumns, cursor: Ints, first: int) -> None:
    """Copy the events from `first` on that are shown; there is room for as many as there are in `columns`."""
    for event in range(first, cursor[WRITTEN]):
        if columns.shown[event]:
            place = cursor[TOLD]
            told.time[place] = columns.time[event]
            told.kind[place] = columns.kind[event]
            told.round[place] = columns.round[event]
            told.pull[place] = columns.pull[event]
            told.arm[place] = columns.arm[event]
            told.part[place] = columns.part[event]
            told.value[place] = columns.value[event]
            cursor[TOLD] = place + 1


@compiled
def see(memory: Any, events: EventColumns, end: int, round: int, seen: Arrivals, row: int) -> None:
    """Write what is seen of a world: the parts among its first events, and sums."""
    arrived, received = 0, 0.0
    for event in range(end):
        arm = events.arm[event]
        if events.kind[event] == PULL:
            seen.counts[row, arm] += 1
        elif events.kind[event] == PARTIAL:
            value = events.value[event]
            if arrived < seen.pull.shape[1]:
                pull = events.pull[event]
                seen.pull[row, arrived] = pull
                seen.arm[row, arrived] = arm
                seen.part[row, arrived] = events.part[event]
                seen.value[row, arrived] = value
                seen.age[row, arrived] = events.time[event] - memory.times[pull - 1]
            seen.sums[row, arm] += value
            received += value
            arrived += 1
    seen.arrived[row] = arrived
    seen.received[row] = received
    seen.done[row] = round > memory.times.size
    seen.time[row] = memory.times[min(round, memory.times.size) - 1]
