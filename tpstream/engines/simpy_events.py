"""The event_buffer: gathers what happens on the timeline as plain numbers and turns it into events, in canonical order."""

import numpy as np

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.events import Events
from tpstream.model.numba_support import cached
from tpstream.model.pull_rows import Ring
from tpstream.model.world import Problem

PULL, PARTIAL, CLOSED, LATE, DROPPED = 0, 1, 2, 3, 4  # Kind's numbers; Numba wants plain ones
IMPUTED = 0
"""A part that is credited with the default at the closing, since it did not come: an event of kind partial."""
KINDS = 8


class EventBuffer:
    """Events since the last decision, each as one number, and the rewards of the open pulls."""

    def __init__(self, problem: Problem, *, clairvoyant: bool, default: float = np.nan) -> None:
        self._span = problem.span
        self._clairvoyant = clairvoyant
        self._default = default
        self._ring = Ring()
        self._rewards = np.zeros((1, problem.span))
        self._credited = np.zeros(1)
        self._seq = 0
        self._instant: float | None = None
        self._starts: list[int] = []
        self._times: list[float] = []
        self.arms = np.zeros(problem.horizon, dtype=np.int64)
        self.codes: list[int] = []
        self.finished: list[int] = []

    def open_instant(self, time: float) -> None:
        """What follows is delivered at this time, in canonical order among itself."""
        if time != self._instant:
            self._begin(time)
            self._instant = time

    def add_pull(self, pull: int, time: float, arm: int, rewards: Floats) -> None:
        """A decision was made; the rewards stay here until their parts are delivered."""
        before = self._ring.reserve(pull)
        if before != self._ring.capacity:
            self._rewards = self._ring.enlarge(self._rewards, before, pull)
            self._credited = self._ring.enlarge(self._credited, before, pull)
        self._rewards[pull % self._ring.capacity] = rewards
        self.arms[pull - 1] = arm
        self._begin(time)
        self._instant = None
        self.codes.append(self.code(pull, 0, PULL))

    def code(self, pull: int, place: int, kind: int) -> int:
        """An event as a number that sorts by pull, then place: part 1 to span, then closed; then kind."""
        return (pull * (self._span + 2) + place) * KINDS + kind

    def partial_codes(self, pull: int) -> range:
        """The numbers of all parts of a pull."""
        return range(self.code(pull, 1, PARTIAL), self.code(pull, self._span + 1, PARTIAL), KINDS)

    def closed_code(self, pull: int) -> int:
        """The number of a pull's closing."""
        return self.code(pull, self._span + 1, CLOSED)

    def take(self, round: int) -> Events:
        """Everything gathered, as events; the event_buffer is empty then."""
        codes, starts = np.array(self.codes, dtype=np.int64), np.array(self._starts, dtype=np.int64)
        if not _is_sorted(codes, starts):
            for instant in np.split(codes, starts):
                instant.sort()
        time, kind, pull, arm, part, value = _columns(
            codes,
            starts,
            np.array(self._times),
            self._span,
            self._clairvoyant,
            self._default,
            self.arms,
            self._rewards,
            self._credited,
        )
        seq = np.arange(self._seq, self._seq + len(codes))
        self._seq += len(codes)
        for done in self.finished:
            self._ring.release(done)
        self.codes.clear()
        self._starts.clear()
        self._times.clear()
        self.finished.clear()
        self._instant = None
        return Events(seq, time, kind, np.full(len(codes), round), pull, arm, part, value)

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
    clairvoyant: bool,  # noqa: FBT001
    default: float,
    arms: Ints,
    rewards: Floats,
    credited: Floats,
) -> tuple[Floats, Bytes, Ints, Ints, Ints, Floats]:
    """The events' columns; open pulls are credited."""
    count, capacity = codes.size, credited.size
    time, value = np.empty(count), np.full(count, np.nan)
    kind = np.empty(count, dtype=np.int8)
    pull, arm, part = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    for instant in range(starts.size):
        begin = starts[instant]
        end = starts[instant + 1] if instant + 1 < starts.size else count
        for event in range(begin, end):
            sort, place = codes[event] % KINDS, codes[event] // KINDS
            pull[event] = place // (span + 2)
            part[event] = place % (span + 2)
            row = pull[event] % capacity
            time[event] = times[instant]
            arm[event] = arms[pull[event] - 1]
            kind[event] = PARTIAL if sort == IMPUTED and part[event] > 0 else sort
            if kind[event] == PARTIAL:
                value[event] = default if sort == IMPUTED else rewards[row, part[event] - 1]
                credited[row] += value[event]
            elif sort == LATE:
                value[event] = rewards[row, part[event] - 1]
            elif sort == CLOSED:
                part[event] = 0
                value[event] = credited[row]
            elif sort == PULL:
                credited[row] = 0.0
                if clairvoyant:
                    value[event] = _total(rewards, row)
    return time, kind, pull, arm, part, value


@cached
def _total(rewards: Floats, row: int) -> float:
    """A pull's cumulative reward, added in the order of its parts."""
    total = 0.0
    for part in range(rewards.shape[1]):
        total += rewards[row, part]
    return total
