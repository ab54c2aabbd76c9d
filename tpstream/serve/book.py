"""What a decider remembers of its pulls: which are open, what they were paid, and under which keys.

It is worked out from the events of the log alone, so that it is the same after a restart.
"""

import heapq
from array import array
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from math import inf, nextafter
from typing import NamedTuple

import numpy as np

from tpstream.log.schema import Header
from tpstream.model.events import CHANGED, CLOSED, DROPPED, KIND_NAMES, LATE, PARTIAL, PULL

KEPT = 10_000
"""Closed pulls that are still known, so that whoever asks again gets the same answer, and late parts are logged."""


class Delivered(NamedTuple):
    """What was told under a key."""

    pull: int
    kind: int
    part: int
    value: float
    time: float
    event_time: float | None


@dataclass(slots=True)
class PullRecord:
    """A pull, as far as it matters for what may still come of it."""

    pull: int
    arm: int
    time: float
    key: str | None
    event_time: float | None = None
    """When it was due, if it was logged at another time."""
    probability: float | None = None
    probabilities: list[float | None] | None = None
    indices: list[float | None] | None = None
    settled: int = 0
    """A bit for every part that came or is lost."""
    lost: int = 0
    """A bit for every part that is lost."""
    credited: float = 0.0
    closed: float | None = None
    """When it was closed; None: it is open."""
    keys: list[str] = field(default_factory=list)
    """Those of its deliveries."""


class Place(NamedTuple):
    """Where a delivery stands among those of its time."""

    pull: int
    place: int
    kind: int


class Book:
    """The pulls of a log, event by event.

    Parameters
    ----------
    header
        The header of the log.
    """

    def __init__(self, header: Header) -> None:
        self._span, self._payments = header.span, header.payments
        window = header.window or (header.span if header.payments else inf)
        self._window = float(window)
        self.ends = np.minimum(np.arange(1, header.span + 1, dtype=np.float64), self._window).tolist()
        """When the periods of a pull end, after it."""
        self.events = 0
        self.time = -inf
        self.last: Place | None = None
        """The last delivery of this time."""
        self.arms = array("i")
        """The arm of every pull."""
        self.open: dict[int, PullRecord] = {}
        self.closed: OrderedDict[int, PullRecord] = OrderedDict()
        """The pulls that were closed last."""
        self.missing: dict[int, int] = {}
        """Of closed pulls that were closed too early for some parts: a bit for every part that came or is lost."""
        self.decisions: dict[str, PullRecord] = {}
        self.deliveries: dict[str, Delivered] = {}
        self.closings: list[tuple[float, int]] = []
        """When windows end: a heap, in which closed pulls may still be."""
        self.counts: Counter[str] = Counter(dict.fromkeys(KIND_NAMES, 0))
        self.pulls_of = [0] * len(header.arms)
        self.paid_of = [0.0] * len(header.arms)

    @property
    def rounds(self) -> int:
        """The number of decisions."""
        return len(self.arms)

    def whole(self, settled: int) -> bool:
        """Whether these parts are all."""
        return settled == (1 << (self._span + 1)) - 2

    def record(self, pull: int) -> PullRecord | None:
        """What is known of a pull; None if it was closed long ago."""
        return self.open.get(pull) or self.closed.get(pull)

    def place(self, kind: int, pull: int, part: int) -> Place:
        """Where an event of a pull stands among the deliveries of its time."""
        if kind == CLOSED:
            return Place(pull, self._span + 1, kind)
        return Place(pull, self._span + 2 if self._payments and kind == LATE else part, kind)

    def moved(self, time: float, place: Place | None) -> float:
        """The time itself, or the next one if at this one deliveries came that an event here would have to precede.

        Without a place the event is a decision or a change, which comes before all deliveries of its time.
        """
        if time > self.time or self.last is None:
            return time
        if place is not None and place > self.last:
            return time
        if place == self.last and self._payments and place.kind != CLOSED:
            return time
        return nextafter(time, inf)

    def next_closing(self) -> tuple[float, int] | None:
        """When the next window ends, and of which pull; None if no pull waits for that."""
        while self.closings and self.closings[0][1] not in self.open:
            heapq.heappop(self.closings)
        return self.closings[0] if self.closings else None

    def is_over(self, time: float, place: Place | None) -> bool:
        """Whether a window ends before a time and place."""
        closing = self.next_closing()
        if closing is None:
            return False
        due, pull = closing
        if place is None:
            return due < time
        return (due, pull, self._span + 1) < (time, place.pull, place.place)

    def part_at(self, record: PullRecord, time: float) -> int:
        """The part to whose period of age a time belongs, as the ends of periods are computed."""
        part = min(max(int(min(time - record.time, self._span)) + 1, 1), self._span)
        while part < self._span and record.time + self.ends[part - 1] <= time:
            part += 1
        while part > 1 and record.time + self.ends[part - 2] > time:
            part -= 1
        return part

    def add(
        self,
        kind: int,
        time: float,
        pull: int,
        arm: int,
        part: int,
        value: float,
        key: str | None,
        event_time: float | None,
    ) -> None:
        """Take the next event of the log."""
        if time > self.time:
            self.time, self.last = time, None
        self.events += 1
        self.counts[KIND_NAMES[kind]] += 1
        if kind == PULL:
            self._open(PullRecord(pull, arm, time, key, event_time))
            return
        if kind == CHANGED:
            return
        self.last = self.place(kind, pull, part)
        if key is not None:
            self._keep(key, Delivered(pull, kind, part, value, time, event_time))
        record = self.open.get(pull)
        if kind == CLOSED and record is not None:
            self._close(record, time)
        elif record is not None:
            self._settle(record, kind, part, value)
        elif pull in self.missing:
            self.missing[pull] |= 1 << part
            if self.whole(self.missing[pull]):
                del self.missing[pull]

    def _settle(self, record: PullRecord, kind: int, part: int, value: float) -> None:
        """Take a part of an open pull."""
        record.settled |= 1 << part
        if kind == PARTIAL:
            record.credited += value
            self.paid_of[record.arm] += value
        elif kind == DROPPED:
            record.lost |= 1 << part

    def _open(self, record: PullRecord) -> None:
        self.arms.append(record.arm)
        self.open[record.pull] = record
        self.pulls_of[record.arm] += 1
        if record.key is not None:
            self.decisions[record.key] = record
        if self._window < inf:
            heapq.heappush(self.closings, (record.time + self._window, record.pull))

    def _keep(self, key: str, delivered: Delivered) -> None:
        """Remember a key as long as its pull."""
        record = self.record(delivered.pull)
        if record is not None:
            self.deliveries[key] = delivered
            record.keys.append(key)

    def _close(self, record: PullRecord, time: float) -> None:
        """Close a pull; its keys are forgotten once many others were closed after it."""
        record.closed = time
        del self.open[record.pull]
        if not (self._payments or self.whole(record.settled)):
            self.missing[record.pull] = record.settled
        self.closed[record.pull] = record
        if len(self.closed) > KEPT:
            self._forget(self.closed.popitem(last=False)[1])

    def _forget(self, record: PullRecord) -> None:
        """Forget the keys of a pull, and which of its parts are missing."""
        self.missing.pop(record.pull, None)
        for key in record.keys:
            self.deliveries.pop(key, None)
        if record.key is not None and self.decisions.get(record.key) is record:
            del self.decisions[record.key]
