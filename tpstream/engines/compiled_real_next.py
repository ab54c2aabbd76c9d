"""What happens next in the compiled loop at real-valued times.

It is sorted by time and then by rank, a number that sorts as SimPy's priorities do: parts that were served leave their
queues, parts join queues, parts are delivered; each by pull and then part. So the order does not depend on when
something was found out.

What is known at the pull is on the agenda: for each part when it gets to the first queue, or is delivered if there is
none, and when the window ends. What comes out of queues is on the heap. The next of both is what happens next.
"""

from tpstream.engines.compiled_real_agenda import FAR, LISTS, NEXT, READY, take_list
from tpstream.engines.compiled_real_memory import SIZE, SPARE, RealMemory, comes_before, put, remove_top
from tpstream.model.arrays import Ints
from tpstream.model.numba_support import compiled, compiled_within

LEAVES, JOINS, DELIVERED = 0, 2**56, 2**57
"""What a rank begins with; the rest is pull * (span + 2) + place. The place is the part, or span + 1 for the end of the
window."""


@compiled
def sort_lists(memory: RealMemory, cursor: Ints, until: float) -> bool:
    """Sort the next lists of the agenda that begin before this time, up to one with entries, if none is left before.

    Returns whether there was room to sort, and on the heap for the entries that go there.
    """
    agenda, numbers = memory.agenda, memory.agenda.numbers
    while numbers[NEXT] == numbers[READY] and numbers[LISTS] < agenda.edges.size:
        if agenda.edges[numbers[LISTS]] >= until:
            break
        count = agenda.sizes[numbers[LISTS]]
        if agenda.ready.size < count or memory.heap.time.size - cursor[SIZE] < count + SPARE:
            return False
        take_list(agenda, numbers[LISTS])
        numbers[LISTS] += 1
        numbers[NEXT] = numbers[READY] = 0
        for place in range(count):
            insert(memory, cursor, agenda.dealt[place])
    return True


@compiled_within
def insert(memory: RealMemory, cursor: Ints, entry: int) -> None:
    """Put an entry before those of the sorted ones that come later, or on the heap if these are too many."""
    agenda, numbers = memory.agenda, memory.agenda.numbers
    time, size = agenda.time[entry], numbers[READY]
    place = size
    while place > 0 and comes_later(memory, place - 1, time, entry):
        if size - place == FAR:
            slot = entry >> agenda.bits
            put(memory.heap, cursor, time, rank_of(memory, slot, entry - (slot << agenda.bits)), slot)
            return
        place -= 1
    for moved in range(size, place, -1):
        agenda.moment[moved] = agenda.moment[moved - 1]
        agenda.ready[moved] = agenda.ready[moved - 1]
    agenda.moment[place] = time
    agenda.ready[place] = entry
    numbers[READY] = size + 1


@compiled
def comes_later(memory: RealMemory, ready: int, time: float, entry: int) -> bool:
    """Whether a sorted entry comes later than one that was added to the list after it.

    At one time the list is in the order of pulls and places, so only one that joins a queue can come before others.
    """
    if memory.agenda.moment[ready] != time:
        return bool(memory.agenda.moment[ready] > time)
    if memory.resources.size == 0:
        return False
    return rank_of_entry(memory, entry) < rank_of_entry(memory, memory.agenda.ready[ready])


@compiled
def is_before(memory: RealMemory, cursor: Ints, until: float) -> bool:
    """Whether something happens before this time."""
    numbers = memory.agenda.numbers
    if cursor[SIZE] > 0 and memory.heap.time[0] < until:
        return True
    return bool(numbers[NEXT] < numbers[READY] and memory.agenda.moment[numbers[NEXT]] < until)


@compiled
def is_on_heap(memory: RealMemory, cursor: Ints) -> bool:
    """Whether what happens next is on the heap, and not on the agenda; something is to happen."""
    agenda, numbers = memory.agenda, memory.agenda.numbers
    if cursor[SIZE] == 0 or numbers[NEXT] == numbers[READY]:
        return bool(cursor[SIZE] > 0)
    rank = rank_of_entry(memory, agenda.ready[numbers[NEXT]])
    return comes_before(memory.heap.time[0], memory.heap.rank[0], agenda.moment[numbers[NEXT]], rank)


@compiled_within
def look(memory: RealMemory, cursor: Ints) -> tuple[float, int, int, int, bool]:
    """What happens next: its time, whether a part LEAVES, JOINS or is DELIVERED, its slot, its place.

    And whether it is on the heap, and not on the agenda.
    """
    agenda, numbers = memory.agenda, memory.agenda.numbers
    if is_on_heap(memory, cursor):
        rank = memory.heap.rank[0]
        form = DELIVERED if rank >= DELIVERED else JOINS if rank >= JOINS else LEAVES
        return memory.heap.time[0], form, memory.heap.slot[0], (rank - form) % (memory.rewards.shape[1] + 2), True
    entry = agenda.ready[numbers[NEXT]]
    slot = entry >> agenda.bits
    place = entry - (slot << agenda.bits)
    return agenda.moment[numbers[NEXT]], form_of(memory, slot, place), slot, place, False


@compiled
def take(memory: RealMemory, cursor: Ints, on_heap: bool) -> None:  # noqa: FBT001 (compiled code has no keywords)
    """Take what happens next from the heap or the agenda."""
    if on_heap:
        remove_top(memory.heap, cursor)
    else:
        memory.agenda.numbers[NEXT] += 1


@compiled
def rank_of(memory: RealMemory, slot: int, place: int) -> int:
    """The rank of what happens next to a part, or of the end of a window: it joins a queue or is delivered."""
    return int(form_of(memory, slot, place) + memory.pulls[slot] * (memory.rewards.shape[1] + 2) + place)


@compiled
def form_of(memory: RealMemory, slot: int, place: int) -> int:
    """Whether a part JOINS a queue or is DELIVERED; so is the end of a window."""
    waits = memory.resources.size > 0 and place <= memory.rewards.shape[1]
    return JOINS if waits and memory.stage[slot, place - 1] < memory.forms.size else DELIVERED


@compiled
def rank_of_entry(memory: RealMemory, entry: int) -> int:
    """The rank of an entry of the agenda."""
    slot = entry >> memory.agenda.bits
    return rank_of(memory, slot, entry - (slot << memory.agenda.bits))
