"""The timeline: SimPy's clock with exact times and one shared tick for all deliveries of an instant."""

import math
from collections.abc import Callable, Generator
from heapq import heappush
from typing import Any

import simpy
from simpy.events import NORMAL, Event, EventPriority, Process

Steps = Generator[Event, Any, Any]
"""What a process is made of."""

DECISION, DELIVERY, CLOSING, END = -1, 2, 3, 4
"""What comes first at one time. SimPy's own events have priority 0 or 1: users' processes run after the decision."""


class Timeline(simpy.Environment):
    """A SimPy environment that can be asked for a moment.

    `Environment.schedule` takes a delay and adds it to now, which may miss the wanted time by a rounding error; two
    parts due at the same time would then come apart. So moments are put on the queue by their time itself.
    """

    def __init__(self, on_instant: Callable[[float], None]) -> None:
        super().__init__()
        self._on_instant = on_instant
        self.ticks: dict[float, Event] = {}
        """The ticks that somebody waits for, by time; for a process in a hurry, which looks here before it asks."""
        self._current = -1.0
        self.watchers: dict[Process | None, Callable[[Steps], Steps]] = {}
        """How the steps of users' processes are watched."""

    def process(self, generator: Steps) -> Process:
        """A new process; one that a user's process starts is watched like that one."""
        watch = self.watchers.get(self.active_process)
        return Process(self, watch(generator) if watch and hasattr(generator, "throw") else generator)

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """As SimPy does, but only at times that exist: with NaN the clock would go on in any order."""
        time = self._now
        if delay:
            time += float(delay)
            if not self._now <= time < math.inf:
                raise ValueError(f"a delay of {delay}; give a finite one of at least 0")
        heappush(self._queue, (time, priority, next(self._eid), event))

    def moment(self, time: float, priority: int) -> Event:
        """A new event at exactly this time."""
        event = Event(self)
        event._ok, event._value = True, None  # noqa: SLF001 (as simpy.Timeout does: triggered, waiting for its time)
        self._queue: list[Any]
        heappush(self._queue, (time, priority, next(self._eid), event))
        return event

    def tick(self, time: float) -> Event:
        """The one event at which everything due at this time is delivered."""
        event = self.ticks.get(time)
        if event is None:
            event = self.ticks[time] = self.moment(time, DELIVERY)
            event.callbacks.append(self._open)
        return event

    def _open(self, _: Event) -> None:
        """Begin the instant; its tick stays known while its processes may ask for it, the one before is dropped."""
        self.ticks.pop(self._current, None)
        self._current = self.now
        self._on_instant(self.now)
