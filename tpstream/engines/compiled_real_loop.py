"""The compiled loop for real-valued times: any arrivals, delays, calendars and queues, windows and full logs.

This file is loaded once for each policy, with the policy's functions in the place of the imported ones; see
policies/loader.py. What does not concern the policy is in compiled_real_pulls.py, which is compiled once for all.
"""

from typing import Any

import numpy as np

from tpstream.engines import compiled_real_pulls
from tpstream.engines.compiled_general_loop import LAST, PENDING, ROUND, SHOWN, SLOTS, WRITTEN
from tpstream.engines.compiled_real_memory import RealMemory
from tpstream.engines.compiled_real_pulls import (
    DONE,
    FLUSH,
    INVALID,
    ROOM,
    advance,
    start_pull,
    write,
)
from tpstream.model.arrays import Ints
from tpstream.model.events import PULL, EventColumns
from tpstream.model.numba_support import compiled, compiled_loop, held_stream
from tpstream.model.reveal import ALL
from tpstream.policies.handlers import (
    Subscriptions,
    notify,
    notify_pull,
    notify_received,
    policy_decide,
    set_clock,
    show_decision,
)

SHARED = compiled_real_pulls
"""The loader puts a copy of its functions in the place of those that are imported here, which is compiled anew whenever
anything changes that is compiled into it."""


@compiled_loop
def run_real(
    state: Any,
    held: Any,
    subscriptions: Subscriptions,
    memory: RealMemory,
    columns: EventColumns,
    cursor: Ints,
    decisions: Ints,
) -> int:
    """Run the rounds up to cursor[LAST] and write their arms and events; returns an arm, or why it returned."""
    stream = held_stream(held)
    horizon = memory.times.size
    start = cursor[LAST] + 1 - decisions.size
    while True:
        round = cursor[ROUND]
        if round > cursor[LAST] and round <= horizon:
            return DONE
        # Until the next decision; after the last one, all that is due at its time, or all that will ever come.
        until = memory.times[round - 1] if round <= horizon else memory.end
        first = cursor[WRITTEN]
        answer = advance(memory, columns, cursor, until)
        tell(state, subscriptions, memory, columns, first, cursor[WRITTEN])
        if answer != DONE:
            return int(answer)
        notify_received(state, subscriptions)
        if round > horizon:
            return DONE
        answer = lacks_room(memory, columns, cursor)
        if answer != DONE:
            return int(answer)
        memory.clock[0] = until
        set_clock(state, until)
        arm = cursor[PENDING]
        if arm < 0:
            arm = policy_decide(state, round, stream)
            cursor[PENDING] = arm
        if arm < 0 or arm >= memory.used.size or memory.used[arm] == memory.pool.shape[1]:
            return int(arm) if 0 <= arm < memory.used.size else INVALID
        row = memory.used[arm]
        cursor[PENDING] = -1
        cursor[ROUND] = round + 1
        decisions[round - start] = arm
        memory.used[arm] = row + 1
        slot = start_pull(memory, cursor, round, arm, row)
        shown = memory.totals[arm, row] if subscriptions.shown else np.nan
        if memory.rows > 0:
            show_decision(state, columns, cursor[SHOWN], arm)
            cursor[SHOWN] += 1
        write(memory, columns, cursor, slot, until, PULL, 0, shown)
        notify_pull(state, subscriptions, round, arm, slot, shown)


@compiled
def lacks_room(memory: RealMemory, columns: EventColumns, cursor: Ints) -> int:
    """Look whether a pull can be made; returns DONE if it can, else what is used up: FLUSH or ROOM."""
    if columns.kind.size == cursor[WRITTEN] or (memory.rows > 0 and cursor[SHOWN] == memory.rows):
        return FLUSH
    return ROOM if cursor[SLOTS] == 0 else DONE


@compiled
def tell(
    state: Any, subscriptions: Subscriptions, memory: RealMemory, columns: EventColumns, first: int, end: int
) -> None:
    """Tell the policy the events from `first` up to before `end`, in their order, except those that are hidden."""
    for event in range(first, end):
        if memory.reveal != ALL and not columns.shown[event]:
            continue
        time, pull = columns.time[event], columns.pull[event]
        if time != memory.clock[0]:
            notify_received(state, subscriptions)
            memory.clock[0] = time
        set_clock(state, time)
        slot = memory.slots[pull - 1]
        part, value = columns.part[event], columns.value[event]
        notify(state, subscriptions, columns.kind[event], pull, columns.arm[event], slot, part, value)
