"""Open pulls at real-valued times, for the compiled loop: how their parts pass stages and queues, and what comes next.

What happens next is on a heap, sorted by time and then by rank. The rank is a number that sorts as SimPy's priorities
do: parts that were served leave their queues, parts join queues, parts are delivered; each by pull and then part. So
the order does not depend on when something was put on the heap.

An open pull has one entry for its next part that goes to the first queue, or is delivered if there is none, one for the
end of its window, and one for each part that is served or comes out of a queue.
"""

import numpy as np

from tpstream.engines.compiled_general_loop import ROUND, SLOTS, WRITTEN
from tpstream.engines.compiled_real_memory import SIZE, SPARE, RealMemory, put, remove_top, sink
from tpstream.model.arrays import Ints
from tpstream.model.events import CLOSED, DROPPED, LATE, PARTIAL, EventColumns
from tpstream.model.numba_support import compiled, compiled_loop
from tpstream.model.reveal import ALL, POSITIVE, is_shown
from tpstream.timing.calendar_times import next_report

LEAVES, JOINS, DELIVERED = 0, 2**56, 2**57
"""What a rank begins with; the rest is pull * (span + 2) + place. The place is the part, or span + 1 for the end of the
window."""
DONE, FLUSH, ROOM, INVALID = -1, -2, -3, -4
"""Why a loop returned, if not for an arm that needs its next block: all is done, the arrays of events are full, there
is no slot or no room on the heap, a decision is no arm."""
MOVES, CALENDAR, QUEUE = range(3)
"""Forms of stages."""
GAPS = (301, 132, 57, 23, 10, 4, 1)
"""Distances of Shell's sort."""


@compiled_loop
def advance(memory: RealMemory, columns: EventColumns, cursor: Ints, until: float) -> int:
    """Write all events before this time; returns DONE, or why it returned before: FLUSH or ROOM."""
    most = 3 * memory.due.shape[1] + 1
    while cursor[SIZE] > 0 and memory.heap.time[0] < until:
        if columns.kind.size - cursor[WRITTEN] < most:
            return FLUSH
        if memory.heap.time.size - cursor[SIZE] < SPARE:
            return ROOM
        slot, time = memory.heap.slot[0], memory.heap.time[0]
        count, closing = 0, False
        if memory.heap.rank[0] >= DELIVERED:
            count, closing = gather(memory, cursor)
        elif memory.heap.rank[0] >= JOINS:
            join(memory, cursor)
        else:
            count = leave(memory, cursor)
        if count > 0 or closing:
            deliver(memory, columns, cursor, slot, time, count, int(closing))
    return DONE


@compiled_loop
def start_pull(memory: RealMemory, cursor: Ints, round: int, arm: int, row: int) -> int:
    """Give a new pull a slot, find out when its parts get to the first queue, and put its first entry on the heap."""
    cursor[SLOTS] -= 1
    slot = memory.vacant[cursor[SLOTS]]
    time = memory.times[round - 1]
    span = memory.due.shape[1]
    memory.slots[round - 1] = slot
    memory.pulls[slot] = round
    memory.arms[slot] = arm
    memory.pulled[slot] = time
    memory.left[slot] = span
    memory.turn[slot] = 0
    memory.closed[slot] = False
    memory.credited[slot] = 0.0
    one = memory.offsets.shape[0] == 1
    latest = 0.0
    for part in range(span):
        memory.rewards[slot, part] = memory.pool[arm, row, part]
        memory.paid[slot, part] = False
        memory.order[slot, part] = part
        for stage in range(memory.lags.shape[1]):
            memory.lags[slot, stage, part] = memory.block_lags[arm, row, stage, part]
            if memory.factors.size > 0:
                memory.lags[slot, stage, part] *= memory.factors[stage, round - 1]
            memory.limits[slot, stage, part] = memory.block_limits[arm, row, stage, part]
        for queue in range(memory.services.shape[1]):
            memory.services[slot, queue, part] = memory.block_services[arm, row, queue, part]
        memory.lost[slot, part] = not one and memory.missing[arm, row, part]
        offset = memory.offsets[0, 0, part] if one else memory.offsets[arm, row, part]
        memory.due[slot, part] = pass_stages(memory, slot, part, 0, time + offset)
        latest = max(latest, memory.due[slot, part])
    sort_parts(memory, slot)
    if memory.lone:
        served = 0
        for place in range(span):
            part = memory.order[slot, place]
            if not memory.lost[slot, part]:
                memory.services[slot, 0, part] = memory.block_services[arm, row, 0, served]
                served += 1
    put_next(memory, cursor, slot)
    # Without queues it is known when the last part comes: the window need not be waited for if it ends later.
    # Where feedback is hidden, its end alone closes a pull.
    ends = memory.resources.size > 0 and memory.window < np.inf
    memory.waiting[slot] = time + memory.window < latest or ends or memory.reveal != ALL
    if memory.waiting[slot]:
        put(memory.heap, cursor, time + memory.window, DELIVERED + round * (span + 2) + span + 1, slot)
    return int(slot)


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
    memory.stage[slot, part] = stage
    return time


@compiled
def sort_parts(memory: RealMemory, slot: int) -> None:
    """Sort the parts by the time at which they get to the first queue or the end; lost ones come last at a time."""
    span = memory.due.shape[1]
    sorted_so_far = 1
    while sorted_so_far < span and is_before(
        memory, slot, memory.order[slot, sorted_so_far - 1], memory.order[slot, sorted_so_far]
    ):
        sorted_so_far += 1
    if sorted_so_far == span:
        return
    for gap in GAPS:
        for place in range(gap, span):
            part = memory.order[slot, place]
            hole = place
            while hole >= gap and is_before(memory, slot, part, memory.order[slot, hole - gap]):
                memory.order[slot, hole] = memory.order[slot, hole - gap]
                hole -= gap
            memory.order[slot, hole] = part


@compiled
def is_before(memory: RealMemory, slot: int, part: int, other: int) -> bool:
    """Whether a part comes before another one."""
    if memory.due[slot, part] != memory.due[slot, other]:
        return bool(memory.due[slot, part] < memory.due[slot, other])
    if memory.lost[slot, part] != memory.lost[slot, other] and memory.resources.size > 0:
        return bool(memory.lost[slot, other])
    return part < other


@compiled
def rank_of(memory: RealMemory, slot: int, part: int) -> int:
    """The rank of what happens next to a part, counted from 0: it joins a queue or is delivered."""
    code = memory.pulls[slot] * (memory.due.shape[1] + 2) + part + 1
    return int(code + (JOINS if memory.stage[slot, part] < memory.forms.size else DELIVERED))


@compiled
def top_place(memory: RealMemory) -> int:
    """The place of the first entry of the heap: its part, or span + 1 for the end of a window."""
    return int(memory.heap.rank[0] % JOINS % (memory.due.shape[1] + 2))


@compiled
def put_next(memory: RealMemory, cursor: Ints, slot: int) -> None:
    """Put the entry of a pull's next part on the heap."""
    part = memory.order[slot, memory.turn[slot]]
    put(memory.heap, cursor, memory.due[slot, part], rank_of(memory, slot, part), slot)


@compiled
def take_top(memory: RealMemory, cursor: Ints, slot: int, part: int) -> None:
    """Take the entry of a part, counted from 0, from the top of the heap; that of the pull's next part replaces it."""
    turn, span = memory.turn[slot], memory.due.shape[1]
    if turn == span or memory.order[slot, turn] != part:
        remove_top(memory.heap, cursor)
        return
    memory.turn[slot] = turn + 1
    if turn + 1 == span:
        remove_top(memory.heap, cursor)
        return
    following = memory.order[slot, turn + 1]
    rank = rank_of(memory, slot, following)
    sink(memory.heap, cursor[SIZE], memory.due[slot, following], rank, slot)


@compiled
def join(memory: RealMemory, cursor: Ints) -> None:
    """Let the part at the top of the heap join its queue, and serve it if a unit of the resource is free."""
    slot, span = memory.heap.slot[0], memory.due.shape[1]
    time, part = memory.heap.time[0], top_place(memory) - 1
    take_top(memory, cursor, slot, part)
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
    code = memory.pulls[slot] * (memory.due.shape[1] + 2) + part + 1
    put(memory.heap, cursor, time + memory.services[slot, queue, part], LEAVES + code, slot)


@compiled
def leave(memory: RealMemory, cursor: Ints) -> int:
    """Let the part at the top of the heap leave its queue, and the first one that waits there be served.

    Returns 1 if the part is delivered at once, since nothing else happens at this time; else it is put on the heap.
    """
    slot, span = memory.heap.slot[0], memory.due.shape[1]
    time, part = memory.heap.time[0], top_place(memory) - 1
    remove_top(memory.heap, cursor)
    resource = memory.resources[memory.numbers[memory.stage[slot, part]]]
    following = memory.first[resource]
    if following < 0:
        memory.free[resource] += 1
    else:
        memory.first[resource] = memory.behind[following // span, following % span]
        serve(memory, cursor, following // span, following % span, time)
    due = pass_stages(memory, slot, part, memory.stage[slot, part] + 1, time)
    rank = rank_of(memory, slot, part)
    if due == time and rank >= DELIVERED and (cursor[SIZE] == 0 or memory.heap.time[0] > time):
        memory.here[0] = part + 1
        return 1
    put(memory.heap, cursor, due, rank, slot)
    return 0


@compiled
def gather(memory: RealMemory, cursor: Ints) -> tuple[int, bool]:
    """Take all entries of one pull at this time from the heap: how many parts are due, and whether its window ends."""
    slot, time = memory.heap.slot[0], memory.heap.time[0]
    span = memory.due.shape[1]
    count, closing = 0, False
    while (
        cursor[SIZE] > 0
        and memory.heap.time[0] == time
        and memory.heap.slot[0] == slot
        and memory.heap.rank[0] >= DELIVERED
    ):
        place = top_place(memory)
        if place > span:
            remove_top(memory.heap, cursor)
            memory.waiting[slot] = False
            closing = True
        else:
            memory.here[count] = place
            count += 1
            take_top(memory, cursor, slot, place - 1)
    return count, closing


@compiled
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


@compiled
def settle(
    memory: RealMemory, columns: EventColumns, cursor: Ints, slot: int, time: float, count: int, closing: int
) -> None:
    """Write the events of parts that are due.

    If `closing` is 1, also the defaults of missing parts and, after all else of a part, what was withheld of it.
    """
    imputes = closing == 1 and not np.isnan(memory.default)
    repeats = closing == 1 and memory.reveal == POSITIVE
    arrived = 0
    for place in range(memory.due.shape[1] if imputes or repeats else count):
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
