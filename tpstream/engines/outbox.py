"""The outbox: gathers what happens on the timeline as plain numbers and turns it into events, in canonical order."""

import numpy as np

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.compiled import cached
from tpstream.model.events import Events
from tpstream.model.problem import Problem
from tpstream.model.ring import Ring

PULL, PARTIAL, CLOSED = 0, 1, 2  # Kind's numbers; Numba wants plain ones
KINDS = 8


class Outbox:
    """Events since the last decision, each as one number, and the rewards of the open pulls."""

    def __init__(self, problem: Problem, *, clairvoyant: bool) -> None:
        self._span = problem.span
        self._clairvoyant = clairvoyant
        self._ring = Ring()
        self._rewards = np.zeros((1, problem.span))
        self._credited = np.zeros(1)
        self._seq = 0
        self.arms = np.zeros(problem.horizon, dtype=np.int64)
        self.codes: list[int] = []
        self.starts: list[int] = []
        self.times: list[float] = []
        self.finished: list[int] = []

    def begin(self, time: float) -> None:
        """What follows happens at this time, and in canonical order among itself."""
        self.starts.append(len(self.codes))
        self.times.append(time)

    def add_pull(self, pull: int, arm: int, rewards: Floats) -> None:
        """A decision was made; the rewards stay here until their parts are delivered."""
        before = self._ring.reserve(pull)
        if before != self._ring.capacity:
            self._rewards = self._ring.enlarge(self._rewards, before, pull)
            self._credited = self._ring.enlarge(self._credited, before, pull)
        self._rewards[pull % self._ring.capacity] = rewards
        self.arms[pull - 1] = arm
        self.codes.append(self.code(pull, 0, PULL))

    def code(self, pull: int, place: int, kind: int) -> int:
        """An event as a number that sorts by pull, then place: part 1 to span, then closed."""
        return (pull * (self._span + 2) + place) * KINDS + kind

    def partial_codes(self, pull: int) -> range:
        """The numbers of all parts of a pull."""
        return range(self.code(pull, 1, PARTIAL), self.code(pull, self._span + 1, PARTIAL), KINDS)

    def closed_code(self, pull: int) -> int:
        """The number of a pull's closing."""
        return self.code(pull, self._span + 1, CLOSED)

    def take(self, round: int) -> Events:
        """Everything gathered, as events; the outbox is empty then."""
        codes = np.array(self.codes, dtype=np.int64)
        starts = np.array(self.starts, dtype=np.int64)
        times = np.array(self.times)
        time, kind, pull, arm, part, value = _columns(
            codes, starts, times, self._span, self._clairvoyant, self.arms, self._rewards, self._credited
        )
        seq = np.arange(self._seq, self._seq + len(codes))
        self._seq += len(codes)
        for done in self.finished:
            self._ring.release(done)
        self.codes.clear()
        self.starts.clear()
        self.times.clear()
        self.finished.clear()
        return Events(seq, time, kind, np.full(len(codes), round), pull, arm, part, value)


@cached
def _columns(
    codes: Ints,
    starts: Ints,
    times: Floats,
    span: int,
    clairvoyant: bool,  # noqa: FBT001
    arms: Ints,
    rewards: Floats,
    credited: Floats,
) -> tuple[Floats, Bytes, Ints, Ints, Ints, Floats]:
    """The events' columns; events of one instant are put in canonical order, and open pulls are credited."""
    count, capacity = codes.size, credited.size
    time, value = np.empty(count), np.empty(count)
    kind = np.empty(count, dtype=np.int8)
    pull, arm, part = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    for instant in range(starts.size):
        begin = starts[instant]
        end = starts[instant + 1] if instant + 1 < starts.size else count
        for event in range(begin + 1, end):
            if codes[event] < codes[event - 1]:
                codes[begin:end] = np.sort(codes[begin:end])
                break
        for event in range(begin, end):
            place = codes[event] // KINDS
            number = place // (span + 2)
            row = number % capacity
            time[event] = times[instant]
            kind[event] = codes[event] % KINDS
            pull[event] = number
            arm[event] = arms[number - 1]
            part[event] = 0
            if kind[event] == PARTIAL:
                part[event] = place % (span + 2)
                value[event] = rewards[row, part[event] - 1]
                credited[row] += value[event]
            elif kind[event] == CLOSED:
                value[event] = credited[row]
            else:
                credited[row] = 0.0
                value[event] = _total(rewards, row) if clairvoyant else np.nan
    return time, kind, pull, arm, part, value


@cached
def _total(rewards: Floats, row: int) -> float:
    """A pull's cumulative reward, added in the order of its parts."""
    total = 0.0
    for part in range(rewards.shape[1]):
        total += rewards[row, part]
    return total
