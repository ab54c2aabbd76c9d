"""Open pulls at real-valued times, for the compiled loop: how their parts pass stages and queues, and are delivered."""

import numpy as np

from tpstream.engines.compiled_general_loop import ROUND, SLOTS, WRITTEN
from tpstream.engines.compiled_real_agenda import enter
from tpstream.engines.compiled_real_memory import SIZE, SPARE, RealMemory, put
from tpstream.engines.compiled_real_next import DELIVERED, JOINS, LEAVES, is_before, look, rank_of, sort_lists, take
from tpstream.model.arrays import Ints
from tpstream.model.events import CLOSED, DROPPED, LATE, PARTIAL, EventColumns
from tpstream.model.numba_support import compiled, compiled_loop, compiled_within
from tpstream.model.reveal import ALL, POSITIVE, is_shown
from tpstream.timing.calendar_times import next_report

DONE, FLUSH, ROOM, INVALID = -1, -2, -3, -4
"""Why a loop returned, if not for an arm that needs its next block: all is done, the arrays of events are full, there
is no slot or no room to sort or on the heap, a decision is no arm."""
MOVES, CALENDAR, QUEUE = range(3)
"""Forms of stages."""
GAPS = (301, 132, 57, 23, 10, 4, 1)
"""Distances of Shell's sort."""


@compiled_loop
def advance(memory: RealMemory, columns: EventColumns, cursor: Ints, until: float) -> int:
    """Write all events before this time; returns DONE, or why it returned before: FLUSH or ROOM."""
    most = 3 * memory.rewards.shape[1] + 1
    while True:
        if not sort_lists(memory, cursor, until):
            return ROOM
        if not is_before(memory, cursor, until):
            return DONE
        if columns.kind.size - cursor[WRITTEN] < most:
            return FLUSH
        if memory.heap.time.size - cursor[SIZE] < SPARE:
            return ROOM
        time, form, slot, place, on_heap = look(memory, cursor)
        take(memory, cursor, on_heap)
        count, window_ends = 0, 0
        if form == DELIVERED:
            count, window_ends = gather(memory, cursor, time, slot, place)
        elif form == JOINS:
            join(memory, cursor, slot, place - 1, time)
        else:
            count = leave(memory, cursor, slot, place - 1, time)
        if count > 0 or window_ends == 1:
            deliver(memory, columns, cursor, slot, time, count, window_ends)


@compiled_loop
def start_pull(memory: RealMemory, cursor: Ints, round: int, arm: int, row: int) -> int:
    """Give a new pull a slot, find out when its parts get to the first queue, and put that on the agenda."""
    cursor[SLOTS] -= 1
    slot = memory.vacant[cursor[SLOTS]]
    time = memory.times[round - 1]
    span = memory.rewards.shape[1]
    memory.slots[round - 1] = slot
    memory.pulls[slot] = round
    memory.arms[slot] = arm
    memory.pulled[slot] = time
    memory.left[slot] = span
    memory.closed[slot] = False
    memory.credited[slot] = 0.0
    one = memory.offsets.shape[0] == 1
    for part in range(span):
        memory.rewards[slot, part] = memory.pool[arm, row, part]
        memory.paid[slot, part] = False
        memory.lost[slot, part] = not one and memory.missing[arm, row, part]
    staged = memory.forms.size > 0
    if staged:
        take_draws(memory, slot, round, arm, row)
    latest, near = 0.0, round - 1
    for part in range(span):
        due = time + (memory.offsets[0, 0, part] if one else memory.offsets[arm, row, part])
        if staged:
            due = pass_stages(memory, slot, part, 0, due)
        near = enter(memory.agenda, near, due, slot, part + 1)
        latest = max(latest, due)
    if memory.lone:
        give_services(memory, slot, arm, row)
    # Without queues it is known when the last part comes: the window need not be waited for if it ends later.
    # Where feedback is hidden, its end alone closes a pull.
    ends = memory.resources.size > 0 and memory.window < np.inf
    memory.waiting[slot] = time + memory.window < latest or ends or memory.reveal != ALL
    if memory.waiting[slot]:
        enter(memory.agenda, near, time + memory.window, slot, span + 1)
    return int(slot)


@compiled
def take_draws(memory: RealMemory, slot: int, round: int, arm: int, row: int) -> None:
    """Take what the stages need for a pull from the block of its arm; lags are multiplied by the factor of its time."""
    span = memory.rewards.shape[1]
    for stage in range(memory.lags.shape[1]):
        factor = memory.factors[stage, round - 1] if memory.factors.size > 0 else 1.0
        for part in range(span):
            memory.lags[slot, stage, part] = memory.block_lags[arm, row, stage, part] * factor
            memory.limits[slot, stage, part] = memory.block_limits[arm, row, stage, part]
    for queue in range(memory.services.shape[1]):
        for part in range(span):
            memory.services[slot, queue, part] = memory.block_services[arm, row, queue, part]


@compiled
def give_services(memory: RealMemory, slot: int, arm: int, row: int) -> None:
    """Give the parts of a pull the service times of a lone queue, in the order in which they get there."""
    sort_parts(memory, slot)
    served = 0
    for place in range(memory.rewards.shape[1]):
        part = memory.order[slot, place]
        if not memory.lost[slot, part]:
            memory.services[slot, 0, part] = memory.block_services[arm, row, 0, served]
            served += 1


@compiled
def pass_stages(memory: RealMemory, slot: int, part: int, stage: int, time: float) -> float:
    """When a part that reaches this stage then gets to the next queue or to the end; a lost one skips queues."""
    while stage < memory.forms.size:
        form, number = memory.forms[stage], memory.numbers[stage]
        if form == MOVES:
            if time - memory.pulled[slot] > memory.limits[slot, number, part]:
                memory.lost[slot, part] = True
            time += memory.lags[slot, number, part]
        elif form == CALENDAR:
            time = next_report(memory.calendars, number, time)
        elif not memory.lost[slot, part]:
            break
        stage += 1
    if memory.resources.size > 0:
        memory.stage[slot, part] = stage
    return time


@compiled
def sort_parts(memory: RealMemory, slot: int) -> None:
    """Sort the parts by the time at which they get to a lone queue; those that are lost may stand anywhere."""
    span = memory.rewards.shape[1]
    for part in range(span):
        memory.order[slot, part] = part
    for gap in GAPS:
        for place in range(gap, span):
            part = memory.order[slot, place]
            hole = place
            while hole >= gap and is_sooner(memory, slot, part, memory.order[slot, hole - gap]):
                memory.order[slot, hole] = memory.order[slot, hole - gap]
                hole -= gap
            memory.order[slot, hole] = part


@compiled
def is_sooner(memory: RealMemory, slot: int, part: int, other: int) -> bool:
    """Whether a part gets to a lone queue before another one."""
    due, other_due = due_of(memory, slot, part), due_of(memory, slot, other)
    return bool(due < other_due or (due == other_due and part < other))


@compiled
def due_of(memory: RealMemory, slot: int, part: int) -> float:
    """When a part gets to the first queue."""
    return float(memory.agenda.time[(slot << memory.agenda.bits) + part + 1])


@compiled_within
def join(memory: RealMemory, cursor: Ints, slot: int, part: int, time: float) -> None:
    """Let a part join its queue, and serve it if a unit of the resource is free."""
    span = memory.rewards.shape[1]
    resource = memory.resources[memory.numbers[memory.stage[slot, part]]]
    if memory.free[resource] > 0:
        memory.free[resource] -= 1
        serve(memory, cursor, slot, part, time)
        return
    memory.behind[slot, part] = -1
    if memory.first[resource] < 0:
        memory.first[resource] = slot * span + part
    else:
        before = memory.last[resource]
        memory.behind[before // span, before % span] = slot * span + part
    memory.last[resource] = slot * span + part


@compiled
def serve(memory: RealMemory, cursor: Ints, slot: int, part: int, time: float) -> None:
    """Serve a part, now or when the resource opens; put the end of it on the heap."""
    queue = memory.numbers[memory.stage[slot, part]]
    calendar = memory.opening[memory.resources[queue]]
    if calendar >= 0:
        time = next_report(memory.calendars, calendar, time)
    code = memory.pulls[slot] * (memory.rewards.shape[1] + 2) + part + 1
    put(memory.heap, cursor, time + memory.services[slot, queue, part], LEAVES + code, slot)


@compiled_within
def leave(memory: RealMemory, cursor: Ints, slot: int, part: int, time: float) -> int:
    """Let a part leave its queue, and the first one that waits there be served.

    Returns 1 if the part is delivered at once, since nothing else happens at this time; else it is put on the heap.
    """
    span = memory.rewards.shape[1]
    resource = memory.resources[memory.numbers[memory.stage[slot, part]]]
    following = memory.first[resource]
    if following < 0:
        memory.free[resource] += 1
    else:
        memory.first[resource] = memory.behind[following // span, following % span]
        serve(memory, cursor, following // span, following % span, time)
    due = pass_stages(memory, slot, part, memory.stage[slot, part] + 1, time)
    rank = rank_of(memory, slot, part + 1)
    if due == time and rank >= DELIVERED and not is_before(memory, cursor, np.nextafter(time, np.inf)):
        memory.here[0] = part + 1
        return 1
    put(memory.heap, cursor, due, rank, slot)
    return 0


@compiled_within
def gather(memory: RealMemory, cursor: Ints, time: float, slot: int, place: int) -> tuple[int, int]:
    """Take all that is delivered of one pull at this time, from this place on.

    Returns how many parts are, and 1 if its window ends, too.
    """
    span = memory.rewards.shape[1]
    count, window_ends = 0, 0
    while True:
        if place > span:
            memory.waiting[slot] = False
            window_ends = 1
        else:
            memory.here[count] = place
            count += 1
        if not is_before(memory, cursor, np.inf):
            break
        due, form, owner, place, on_heap = look(memory, cursor)
        if due != time or owner != slot or form != DELIVERED:
            break
        take(memory, cursor, on_heap)
    return count, window_ends


@compiled_within
def deliver(
    memory: RealMemory, columns: EventColumns, cursor: Ints, slot: int, time: float, count: int, window_ends: int
) -> None:
    """Deliver the parts of a pull that are due, and close it if nothing is missing or its window ends."""
    memory.left[slot] -= count
    complete = memory.left[slot] == 0 and memory.reveal == ALL
    closing = not memory.closed[slot] and (window_ends == 1 or complete)
    settle(memory, columns, cursor, slot, time, count, int(closing))
    if closing:
        memory.closed[slot] = True
        write(memory, columns, cursor, slot, time, CLOSED, 0, memory.credited[slot])
    if memory.left[slot] == 0 and not memory.waiting[slot]:
        memory.vacant[cursor[SLOTS]] = slot
        cursor[SLOTS] += 1


@compiled_within
def settle(
    memory: RealMemory, columns: EventColumns, cursor: Ints, slot: int, time: float, count: int, closing: int
) -> None:
    """Write the events of parts that are due.

    If `closing` is 1, also the defaults of missing parts and, after all else of a part, what was withheld of it.
    """
    imputes = closing == 1 and not np.isnan(memory.default)
    repeats = closing == 1 and memory.reveal == POSITIVE
    arrived = 0
    for place in range(memory.rewards.shape[1] if imputes or repeats else count):
        part = place + 1 if imputes or repeats else memory.here[place]
        is_here = arrived < count and memory.here[arrived] == part
        is_lost = memory.lost[slot, part - 1]
        is_imputed = imputes and not memory.paid[slot, part - 1] and (is_lost or not is_here)
        if is_imputed:
            memory.credited[slot] += memory.default
            write(memory, columns, cursor, slot, time, PARTIAL, part, memory.default)
        if is_here:
            arrived += 1
            kind, value = LATE if memory.closed[slot] else PARTIAL, memory.rewards[slot, part - 1]
            if is_lost:
                kind, value = DROPPED, np.nan
            if kind == PARTIAL:
                memory.paid[slot, part - 1] = True
                memory.credited[slot] += value
            write(memory, columns, cursor, slot, time, kind, part, value)
        if repeats and (is_imputed or memory.paid[slot, part - 1]):
            value = memory.default if is_imputed else memory.rewards[slot, part - 1]
            if not is_shown(memory.reveal, PARTIAL, value):
                write(memory, columns, cursor, slot, time, PARTIAL, part, value)
                columns.shown[cursor[WRITTEN] - 1] = True


@compiled
def write(
    memory: RealMemory,
    columns: EventColumns,
    cursor: Ints,
    slot: int,
    time: float,
    kind: int,
    part: int,
    value: float,
) -> None:
    """Write one event."""
    event = cursor[WRITTEN]
    columns.time[event] = time
    columns.kind[event] = kind
    columns.round[event] = cursor[ROUND] - 1
    columns.pull[event] = memory.pulls[slot]
    columns.arm[event] = memory.arms[slot]
    columns.part[event] = part
    columns.value[event] = value
    if memory.reveal != ALL:
        columns.shown[event] = is_shown(memory.reveal, kind, value)
    cursor[WRITTEN] = event + 1
