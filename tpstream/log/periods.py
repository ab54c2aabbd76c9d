"""What a policy is told of payments: each part once, when its period of age is over, with all that came in it.

A log of payments has any number of payments in a period, and none says that nothing more will come in it. So a policy
is told of a part when its period ends, or its pull is closed: the sum of what came, 0 if that is nothing. Losses and
closings are told when they come. What is due at the time of a decision is told after it, like all that is delivered.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpstream.log.schema import Header
from tpstream.model.arrays import Floats, Ints
from tpstream.model.events import CLOSED, COLUMNS, DROPPED, PARTIAL, PULL, EventColumns, Events, empty_columns
from tpstream.model.numba_support import compiled, compiled_loop
from tpstream.model.pull_rows import Ring, longer

ROOM = 4096
"""Events that are told at a time."""
ROUND, SIZE, PLACE, TOLD = range(4)
"""Places in `PeriodState.numbers`: the last round, entries of the heap, the next event, and the events told so far."""
NEEDED = tuple(column.name for column in COLUMNS if not column.optional)
"""The columns of which a policy is told."""
OPEN_FIELDS = ("owners", "arms", "parts", "pulled", "sums", "lost")
"""The fields with a row for each open pull."""


class PeriodState(NamedTuple):
    """The open pulls, and when the period of each that runs will end: a heap by that time, then pull."""

    ends: Floats
    """When the periods of a pull end, after it."""
    numbers: Ints
    heap_times: Floats
    heap_pulls: Ints
    owners: Ints
    """The open pull of each row; 0: none."""
    arms: Ints
    parts: Ints
    """The part whose period runs."""
    pulled: Floats
    sums: Floats
    """What came in this period."""
    lost: NDArray[np.uint8]
    """A bit for every part that is lost."""


class PeriodTeller:
    """Turns the events of a log of payments, as they are written, into what a policy is told.

    Parameters
    ----------
    header
        The header of the log.
    """

    def __init__(self, header: Header) -> None:
        window = float(header.window or header.span)
        parts = np.arange(1, header.span + 1, dtype=np.float64)
        self._room = empty_columns(ROOM, 0, len(header.arms))
        self.ring = Ring()
        self.state = PeriodState(
            ends=np.minimum(parts, window),
            numbers=np.zeros(4, dtype=np.int64),
            heap_times=np.zeros(1),
            heap_pulls=np.zeros(1, dtype=np.int64),
            owners=np.zeros(1, dtype=np.int64),
            arms=np.zeros(1, dtype=np.int64),
            parts=np.zeros(1, dtype=np.int64),
            pulled=np.zeros(1),
            sums=np.zeros(1),
            lost=np.zeros((1, header.span // 8 + 1), dtype=np.uint8),
        )

    def tell(self, events: Events, until: float = -np.inf) -> Events:
        """What is told of the next events, and of periods that end after them and before the time `until`."""
        self._make_room(events)
        self.state.numbers[PLACE] = 0
        told, columns, count = [], events.arrays(), ROOM
        while count == ROOM:
            count = tell_periods(self.state, columns, self._room, until)
            told.append(Events(**{name: getattr(self._room, name)[:count].copy() for name in NEEDED}))
        found = told[0] if len(told) == 1 else Events.join(told)
        self.state.numbers[TOLD] += len(found)
        found.seq[:] = np.arange(self.state.numbers[TOLD] - len(found), self.state.numbers[TOLD])
        return found

    def _make_room(self, events: Events) -> None:
        """Give the pulls of these events rows, and free those of the pulls that are closed."""
        pulls = events.pull[events.kind == PULL].tolist()
        for pull in pulls:
            before = self.ring.reserve(pull)
            if before != self.ring.capacity:
                grown = {name: self.ring.enlarge(getattr(self.state, name), before, pull) for name in OPEN_FIELDS}
                self.state = self.state._replace(**grown)
        for pull in events.pull[events.kind == CLOSED].tolist():
            self.ring.release(pull)
        needed, there = int(self.state.numbers[SIZE]) + len(pulls), len(self.state.heap_times)
        if needed > there:
            more = max(needed, 2 * there) - there
            self.state = self.state._replace(
                heap_times=longer(self.state.heap_times, more), heap_pulls=longer(self.state.heap_pulls, more)
            )


@compiled_loop
def tell_periods(state: PeriodState, columns: EventColumns, room: EventColumns, until: float) -> int:
    """Write what is told of the events from the next one on to the room; the number of rows, all if there is more."""
    count, span, limit = 0, state.ends.size, room.kind.size
    while state.numbers[PLACE] < columns.kind.size:
        event = state.numbers[PLACE]
        kind, pull, part = columns.kind[event], columns.pull[event], columns.part[event]
        place = span + 1 if kind == CLOSED else part
        key = (columns.time[event], 0, 0) if kind == PULL else (columns.time[event], pull, place)
        count = end_periods(state, room, count, key)
        row = pull % state.owners.size
        if kind == CLOSED and state.owners[row] == pull:
            while count < limit and state.parts[row] <= span:
                count = end_period(state, room, count, row, columns.time[event])
        if count == limit:
            return limit
        if kind in (PULL, CLOSED, DROPPED):
            put(state, room, count, columns.time[event], kind, pull, columns.arm[event], part, columns.value[event])
            room.round[count] = columns.round[event]
            count += 1
        if kind == PULL:
            open_pull(state, columns, event, row)
        elif kind == CLOSED:
            state.owners[row] = 0
        elif kind == DROPPED and state.owners[row] == pull:
            state.lost[row, part // 8] |= 1 << (part % 8)
        elif kind == PARTIAL:
            state.sums[row] += columns.value[event]
        state.numbers[PLACE] += 1
    return end_periods(state, room, count, (until, 0, 0))


@compiled
def put(
    state: PeriodState,
    room: EventColumns,
    row: int,
    time: float,
    kind: int,
    pull: int,
    arm: int,
    part: int,
    value: float,
) -> None:
    """Write an event to a row."""
    room.time[row], room.kind[row], room.round[row] = time, kind, state.numbers[ROUND]
    room.pull[row], room.arm[row], room.part[row], room.value[row] = pull, arm, part, value


@compiled
def open_pull(state: PeriodState, columns: EventColumns, event: int, row: int) -> None:
    """Let the first period of a pull begin."""
    state.numbers[ROUND] = columns.round[event]
    state.owners[row], state.arms[row] = columns.pull[event], columns.arm[event]
    state.parts[row], state.pulled[row], state.sums[row] = 1, columns.time[event], 0.0
    for byte in range(state.lost.shape[1]):
        state.lost[row, byte] = 0
    push(state, state.pulled[row] + state.ends[0], columns.pull[event])


@compiled
def end_periods(state: PeriodState, room: EventColumns, count: int, key: tuple[float, int, int]) -> int:
    """Tell of the periods that end before a time, pull and part, as far as there is room; the number of rows."""
    while state.numbers[SIZE] and count < room.kind.size:
        time, pull = state.heap_times[0], state.heap_pulls[0]
        row = pull % state.owners.size
        if state.owners[row] != pull:  # it was closed before
            pop(state)
            continue
        if (time, pull, state.parts[row]) >= key:
            break
        pop(state)
        count = end_period(state, room, count, row, time)
        if state.parts[row] <= state.ends.size:
            push(state, state.pulled[row] + state.ends[state.parts[row] - 1], pull)
    return count


@compiled
def end_period(state: PeriodState, room: EventColumns, count: int, row: int, time: float) -> int:
    """Tell of the part whose period ends, unless it is lost, and let the next one begin; the number of rows."""
    part = state.parts[row]
    if not state.lost[row, part // 8] & (1 << (part % 8)):
        put(state, room, count, time, PARTIAL, state.owners[row], state.arms[row], part, state.sums[row])
        count += 1
    state.parts[row] += 1
    state.sums[row] = 0.0
    return count


@compiled
def _is_before(state: PeriodState, one: int, other: int) -> bool:
    first = (state.heap_times[one], state.heap_pulls[one])
    return bool(first < (state.heap_times[other], state.heap_pulls[other]))


@compiled
def _swap(state: PeriodState, one: int, other: int) -> None:
    times, pulls = state.heap_times, state.heap_pulls
    times[one], times[other] = times[other], times[one]
    pulls[one], pulls[other] = pulls[other], pulls[one]


@compiled
def push(state: PeriodState, time: float, pull: int) -> None:
    """Put the end of a period on the heap."""
    place = state.numbers[SIZE]
    state.heap_times[place], state.heap_pulls[place] = time, pull
    state.numbers[SIZE] += 1
    while place and _is_before(state, place, (place - 1) // 2):
        _swap(state, place, (place - 1) // 2)
        place = (place - 1) // 2


@compiled
def pop(state: PeriodState) -> None:
    """Take the first entry off the heap."""
    state.numbers[SIZE] -= 1
    size, place = state.numbers[SIZE], 0
    _swap(state, 0, size)
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _is_before(state, below + 1, below):
            below += 1
        if not _is_before(state, below, place):
            return
        _swap(state, below, place)
        place = below


def is_told_by_period(header: Header) -> bool:
    """Whether a policy is told of a log's parts at the ends of their periods: of payments to decisions for real."""
    return header.payments and header.decider is not None
