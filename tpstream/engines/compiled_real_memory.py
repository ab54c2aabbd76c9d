"""What the compiled loop at real-valued times remembers, and its heap: entries in order of time, and then of rank."""

from typing import NamedTuple

import numpy as np

from tpstream.engines.compiled_real_agenda import Agenda
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled, compiled_loop
from tpstream.timing.calendar_tables import CalendarTable

SIZE = 6
"""The place of the cursor after those of compiled_general_loop that are used here: how many entries the heap has."""
SPARE = 4
"""More entries than one step puts on the heap."""


class Heap(NamedTuple):
    """The entries of a binary heap, each with its time, its rank and the slot of its pull."""

    time: Floats
    rank: Ints
    slot: Ints


class RealMemory(NamedTuple):
    """What the loop remembers: the blocks of the arms, the stages, the open pulls by slot, the queues and the heap."""

    times: Floats
    """When the decisions are due; then nothing happens from `end` on."""
    end: float
    clock: Floats
    """The time of what the policy was told last."""
    slots: Ints
    """The slot of every pull so far."""
    rows: int
    """Rows of the optional columns for pulls; 0 if none of them is asked for."""
    window: float
    """How long after its pull a part is waited for; infinite: no window."""
    default: float
    """What a part that is missing at the closing counts as; NaN: nothing."""
    reveal: int
    """What of the feedback is shown: a number of model/reveal.py."""
    pool: Floats
    """The arms' blocks of rewards, (arm, pull, part)."""
    totals: Floats
    """The cumulative rewards of the blocks, (arm, pull)."""
    offsets: Floats
    """Time from pull to part after the first sampled delays, (arm, pull, part), or one row for all."""
    missing: Bools
    """Whether they lose the part; of the same shape."""
    block_lags: Floats
    """What the later sampled stages add, (arm, pull, stage, part), and from when on they lose parts."""
    block_limits: Floats
    factors: Floats
    """By what the lags of each stage are multiplied for the pull of each round, (stage, round); empty: by nothing."""
    block_services: Floats
    """Service times, (arm, pull, queue, part)."""
    lone: bool
    """Whether the service times are those of a lone queue: in the order in which the parts arrive at it."""
    used: Ints
    """How many pulls of its block each arm has used."""
    forms: Ints
    """The form of each stage, and its number among those of its form."""
    numbers: Ints
    calendars: CalendarTable
    """The calendars of the stages, and after them those of the resources."""
    resources: Ints
    """For each queue, its resource."""
    opening: Ints
    """For each resource: the calendar of its opening hours (-1: always open), its free units, who waits first and last
    (slot * span + part; -1: nobody)."""
    free: Ints
    first: Ints
    last: Ints
    pulls: Ints
    """For each slot: the pull's number, its arm, its time, its unsettled parts."""
    arms: Ints
    pulled: Floats
    left: Ints
    closed: Bools
    """For each slot: whether it is closed, whether the end of its window is on the heap, what it was credited with."""
    waiting: Bools
    credited: Floats
    rewards: Floats
    """For each slot and part: what it pays; for a lone queue, the order in which parts get there."""
    order: Ints
    lost: Bools
    """For each slot and part: whether it is lost, whether it was credited, its next stage, who waits after it."""
    paid: Bools
    stage: Ints
    behind: Ints
    lags: Floats
    """For each slot, what its block has for its parts, (slot, stage or queue, part)."""
    limits: Floats
    services: Floats
    vacant: Ints
    """A stack of free slots."""
    here: Ints
    """The parts of one pull that are due at one time."""
    agenda: Agenda
    heap: Heap


def make_heap(entries: int) -> Heap:
    """An empty heap with room for so many entries."""
    return Heap(np.zeros(entries), np.zeros(entries, dtype=np.int64), np.zeros(entries, dtype=np.int64))


@compiled_loop
def put(heap: Heap, cursor: Ints, time: float, rank: int, slot: int) -> None:
    """Put an entry on the heap."""
    place = cursor[SIZE]
    cursor[SIZE] = place + 1
    while place > 0:
        above = (place - 1) // 2
        if not comes_before(time, rank, heap.time[above], heap.rank[above]):
            break
        set_entry(heap, place, heap.time[above], heap.rank[above], heap.slot[above])
        place = above
    set_entry(heap, place, time, rank, slot)


@compiled_loop
def remove_top(heap: Heap, cursor: Ints) -> None:
    """Remove the first entry of the heap: the last one takes its place and moves down to where it belongs."""
    size = cursor[SIZE] - 1
    cursor[SIZE] = size
    time, rank, slot = heap.time[size], heap.rank[size], heap.slot[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        other = below + 1
        if other < size and comes_before(heap.time[other], heap.rank[other], heap.time[below], heap.rank[below]):
            below = other
        if not comes_before(heap.time[below], heap.rank[below], time, rank):
            break
        set_entry(heap, place, heap.time[below], heap.rank[below], heap.slot[below])
        place = below
    set_entry(heap, place, time, rank, slot)


@compiled
def comes_before(time: float, rank: int, other_time: float, other_rank: int) -> bool:
    """Whether an entry comes before another one."""
    return time < other_time or (time == other_time and rank < other_rank)


@compiled
def set_entry(heap: Heap, place: int, time: float, rank: int, slot: int) -> None:
    """Write an entry of the heap."""
    heap.time[place] = time
    heap.rank[place] = rank
    heap.slot[place] = slot
