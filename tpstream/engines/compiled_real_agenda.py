"""The agenda of the compiled loop at real-valued times: what is known at a pull to happen later, in order of time.

Each part of an open pull, and the end of its window, has one entry. Entries are kept in a list for each decision: that
of the last decision which is due not after them. When no further pull can add to a list, it is sorted: its entries are
dealt to as many buckets as there are entries, by time, and each is then moved before those that are later. One that
would have to be moved far goes on the heap instead, where what comes out of queues is, too. So sorting never takes
longer than a heap would, and mostly a few comparisons for an entry.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.numba_support import compiled, compiled_within

LISTS, NEXT, READY = range(3)
"""Places of an agenda's numbers: how many lists were sorted, the next of the sorted entries, and their number."""
FEW = 8
"""So many entries are not dealt to buckets."""
FAR = 32
"""An entry is not moved before more others than this."""
HIGHEST = 1e300
"""A rate is cut to this, so that it is finite."""


class Agenda(NamedTuple):
    """The entries, their lists, and the list that was sorted last."""

    edges: Floats
    """The times of the decisions."""
    last: Ints
    """For each decision, the last entry of its list, after which the first one follows, and how many there are."""
    sizes: Ints
    rate: float
    """How many decisions are due in a unit of time, on average."""
    bits: int
    """An entry is slot * 2**bits + place: the slot of its pull, and the part, or span + 1 for the end of the window."""
    time: Floats
    """For each entry: its time, and the next one of its list."""
    following: Ints
    moment: Floats
    """The times and entries that are sorted."""
    ready: Ints
    found: Ints
    """Room for entries that are not sorted, for those that are dealt to buckets, and for where each bucket ends."""
    dealt: Ints
    ends: Ints
    numbers: Ints


BY_ENTRY = ("time", "following")
"""Fields of an agenda that have a row for each entry."""
TO_SORT = ("moment", "ready", "found", "dealt", "ends")
"""Fields that have a row for each entry of a list that is sorted."""


def make_agenda(times: Floats, span: int, sorted_at_first: int) -> Agenda:
    """An agenda without room for entries, for decisions at these times."""
    sizes = dict.fromkeys(BY_ENTRY, 0) | dict.fromkeys(TO_SORT, sorted_at_first)
    floats = {"time", "moment"}
    rows: dict[str, Any] = {
        name: np.zeros(sizes[name], dtype=np.float64 if name in floats else np.int64) for name in sizes
    }
    length = float(times[-1] - times[0])
    return Agenda(
        edges=times,
        last=np.zeros(len(times), dtype=np.int32),
        sizes=np.zeros(len(times), dtype=np.int32),
        rate=min((len(times) - 1) / length, HIGHEST) if length > 0 else 0.0,
        bits=(span + 1).bit_length(),
        numbers=np.zeros(3, dtype=np.int64),
        **rows,
    )


@compiled_within
def enter(agenda: Agenda, near: int, time: float, slot: int, place: int) -> int:
    """Add an entry to its list, which is looked for from the list `near` on; returns the number of its list."""
    number = find_list(agenda.edges, guess_list(agenda, near, time), time)
    entry, last = (slot << agenda.bits) + place, agenda.last[number]
    agenda.time[entry] = time
    if agenda.sizes[number] == 0:
        agenda.following[entry] = entry
    else:
        agenda.following[entry] = agenda.following[last]
        agenda.following[last] = entry
    agenda.last[number] = entry
    agenda.sizes[number] += 1
    return number


@compiled
def guess_list(agenda: Agenda, near: int, time: float) -> int:
    """Where the list of a time is, if decisions are as frequent after the list `near` as they are on average.

    Where they are due at equal distances this is exact, so that no comparison fails when the list is looked for: that
    would take longer than all the rest.
    """
    guess = near + np.floor((time - agenda.edges[near]) * agenda.rate)
    return int(max(min(guess, agenda.edges.size - 1.0), 0.0))


@compiled
def find_list(edges: Floats, near: int, time: float) -> int:
    """The last of the edges that is not after this time, looked for from one of them on; the first is not after it."""
    low, step = near, 1
    while edges[low] > time:
        low = max(low - step, 0)
        step *= 2
    high, step = low + 1, 1
    while high < edges.size and edges[high] <= time:
        low = high
        high += step
        step *= 2
    high = min(high, edges.size)
    while high - low > 1:
        middle = (low + high) // 2
        if edges[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@compiled_within
def take_list(agenda: Agenda, number: int) -> None:
    """Put the entries of a list, roughly in order of time, to `dealt`."""
    count, entry = agenda.sizes[number], agenda.last[number]
    least, most = np.inf, 0.0
    for place in range(count):
        entry = agenda.following[entry]
        time = agenda.time[entry]
        agenda.moment[place] = time
        agenda.found[place] = agenda.dealt[place] = entry
        least, most = min(least, time), max(most, time)
    scale = (count - 1) / (most - least) if most > least else 0.0
    if count > FEW and 0.0 < scale < np.inf:
        deal(agenda, count, least, scale)


@compiled
def deal(agenda: Agenda, count: int, least: float, scale: float) -> None:
    """Sort the entries that were found into `count` buckets by time; those of one bucket stay in their order.

    An entry is never in a bucket before that of an earlier one, since each step of the formula keeps the order.
    """
    for bucket in range(count):
        agenda.ends[bucket] = 0
    for place in range(count):
        bucket = min(int((agenda.moment[place] - least) * scale), count - 1)
        agenda.ready[place] = bucket
        agenda.ends[bucket] += 1
    for bucket in range(1, count):
        agenda.ends[bucket] += agenda.ends[bucket - 1]
    for place in range(count - 1, -1, -1):
        bucket = agenda.ready[place]
        agenda.ends[bucket] -= 1
        agenda.dealt[agenda.ends[bucket]] = agenda.found[place]
