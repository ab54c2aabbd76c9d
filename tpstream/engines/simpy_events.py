"""The event buffer: collects what happens on SimPy's timeline and turns it into events in canonical order."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tpstream.engines.draws import CODES, DEFAULT_REPEATED, IMPUTED, REPEATED
from tpstream.model.arrays import Bools, Bytes, Floats, Ints
from tpstream.model.events import CLOSED, LATE, PARTIAL, PULL, Events
from tpstream.model.numba_support import cached
from tpstream.model.pull_rows import Ring
from tpstream.model.reveal import ALL, POSITIVE, REVEALS, is_shown
from tpstream.model.world import Problem, Reveal


class EventBuffer:
    """The events since the last decision, each as one integer code, and the rewards of the open pulls."""

    def __init__(self, problem: Problem, default: float = np.nan, reveal: Reveal = "all") -> None:
        self._span = problem.span
        self._default = default
        self._reveal = REVEALS.index(reveal)
        self._ring = Ring()
        self._rewards = np.zeros((1, problem.span))
        self._credited = np.zeros(1)
        self._seq = 0
        self._instant: float | None = None
        self._starts: list[int] = []
        self._times: list[float] = []
        self._shown = np.full(problem.horizon, np.nan)
        self.arms = np.zeros(problem.horizon, dtype=np.int64)
        """The arm of every pull so far."""
        self.codes: list[int] = []
        self.finished: list[int] = []
        """Pulls of which no more events will come."""

    def open_instant(self, time: float) -> None:
        """Begin the deliveries of a time, which are sorted into canonical order."""
        if time != self._instant:
            self._begin(time)
            self._instant = time

    def add_pull(self, pull: int, time: float, arm: int, rewards: Floats, shown: float) -> None:
        """Add the event of a pull, with the total that the policy is shown; keep its rewards until it is finished."""
        before = self._ring.reserve(pull)
        if before != self._ring.capacity:
            self._rewards = self._ring.enlarge(self._rewards, before, pull)
            self._credited = self._ring.enlarge(self._credited, before, pull)
        self._rewards[pull % self._ring.capacity] = rewards
        self._shown[pull - 1] = shown
        self.arms[pull - 1] = arm
        self._begin(time)
        self._instant = None
        self.codes.append(self.code(pull, 0, PULL))

    def code(self, pull: int, place: int, kind: int) -> int:
        """An integer for an event that sorts by pull, then place (the part, or span + 1 for closed), then kind."""
        return (pull * (self._span + 2) + place) * CODES + kind + 1

    @property
    def hides(self) -> bool:
        """Whether feedback is hidden, so that a pull is closed by its window only."""
        return self._reveal != ALL

    def repeated_codes(self, pull: int, credited: Iterable[int], imputed: Iterable[int]) -> list[int]:
        """The codes of what is repeated at a pull's closing: its credited and imputed parts that were withheld."""
        if self._reveal != POSITIVE:
            return []
        withheld = ~(self._rewards[pull % self._ring.capacity] > 0)
        parts = [(part, REPEATED) for part in credited if withheld[part - 1]]
        parts += [(part, DEFAULT_REPEATED) for part in imputed if not self._default > 0]
        return [self.code(pull, part, kind) for part, kind in parts]

    def partial_codes(self, pull: int) -> range:
        """The codes of all parts of a pull, as delivered."""
        return range(self.code(pull, 1, PARTIAL), self.code(pull, self._span + 1, PARTIAL), CODES)

    def closed_code(self, pull: int) -> int:
        """The code of a pull's closing."""
        return self.code(pull, self._span + 1, CLOSED)

    def take(self, round: int) -> Events:
        """All events of this round, the last decided one; empties the buffer."""
        codes, starts = np.array(self.codes, dtype=np.int64), np.array(self._starts, dtype=np.int64)
        if not _is_sorted(codes, starts):
            for instant in np.split(codes, starts):
                instant.sort()
        time, kind, pull, arm, part, value, shown = _columns(
            codes,
            starts,
            np.array(self._times),
            self._span,
            self._default,
            self._reveal,
            self._shown,
            self.arms,
            self._rewards,
            self._credited,
        )
        first = self.number(len(codes))
        seq = np.arange(first, first + len(codes))
        for done in self.finished:
            self._ring.release(done)
        self.codes.clear()
        self._starts.clear()
        self._times.clear()
        self.finished.clear()
        self._instant = None
        events = Events(seq, time, kind, np.full(len(codes), round), pull, arm, part, value)
        return replace(events, shown=shown) if self.hides else events

    def number(self, events: int) -> int:
        """The number of the first of the next events, which are that many."""
        first = self._seq
        self._seq += events
        return first

    def _begin(self, time: float) -> None:
        self._starts.append(len(self.codes))
        self._times.append(time)


@cached
def _is_sorted(codes: Ints, starts: Ints) -> bool:
    """Whether the events of each instant are in canonical order."""
    for instant in range(starts.size):
        end = starts[instant + 1] if instant + 1 < starts.size else codes.size
        for event in range(starts[instant] + 1, end):
            if codes[event] < codes[event - 1]:
                return False
    return True


@cached
def _columns(
    codes: Ints,
    starts: Ints,
    times: Floats,
    span: int,
    default: float,
    reveal: int,
    totals: Floats,
    arms: Ints,
    rewards: Floats,
    credited: Floats,
) -> tuple[Floats, Bytes, Ints, Ints, Ints, Floats, Bools]:
    """Turn codes into the columns of events, and credit the open pulls with their parts."""
    count, capacity = codes.size, credited.size
    time, value, shown = np.empty(count), np.full(count, np.nan), np.empty(count, np.bool_)
    kind = np.empty(count, dtype=np.int8)
    pull, arm, part = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    for instant in range(starts.size):
        begin = starts[instant]
        end = starts[instant + 1] if instant + 1 < starts.size else count
        for event in range(begin, end):
            coded, place = codes[event] % CODES - 1, codes[event] // CODES
            pull[event] = place // (span + 2)
            part[event] = place % (span + 2)
            row = pull[event] % capacity
            time[event] = times[instant]
            arm[event] = arms[pull[event] - 1]
            kind[event] = PARTIAL if coded in (IMPUTED, REPEATED, DEFAULT_REPEATED) else coded
            if kind[event] == PARTIAL:
                value[event] = default if coded in (IMPUTED, DEFAULT_REPEATED) else rewards[row, part[event] - 1]
                if coded in (IMPUTED, PARTIAL):
                    credited[row] += value[event]
            elif kind[event] == LATE:
                value[event] = rewards[row, part[event] - 1]
            elif kind[event] == CLOSED:
                part[event] = 0
                value[event] = credited[row]
            elif kind[event] == PULL:
                credited[row] = 0.0
                value[event] = totals[pull[event] - 1]
            shown[event] = coded in (REPEATED, DEFAULT_REPEATED) or is_shown(reveal, kind[event], value[event])
    return time, kind, pull, arm, part, value, shown
