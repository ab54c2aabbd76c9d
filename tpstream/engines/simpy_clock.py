"""The timeline: a SimPy environment with exact times, and one event for all deliveries of a time."""

import math
from collections.abc import Callable, Generator
from heapq import heappush
from typing import Any

import simpy
from simpy.events import NORMAL, Event, EventPriority, Process

Steps = Generator[Event, Any, Any]
"""The generator of a process."""

RELEASE, ARRIVAL = 2, 2 + 2**56
"""The priorities of what happens at queues are these plus a number that sorts by pull and part: first all parts that
were served leave, then parts join. So who is first in a queue does not depend on the order in which events were put on
SimPy's timeline. A turn that a resource grants is an event of SimPy's own priority: the service begins at once."""
STOP, DECISION, DELIVERY, CLOSING, END = -2, -1, 2**58, 2**58 + 1, 2**58 + 2
"""Priorities of events at one time, lowest first. SimPy's own are 0 and 1: users' processes run after the decision."""


class Timeline(simpy.Environment):
    """A SimPy environment in which events can be put at an exact time.

    `Environment.schedule` takes a delay and adds it to now, which may miss the wanted time by a rounding error; two
    parts due at the same time would then come at different times. So `moment` puts an event on the queue by its time.
    """

    def __init__(self, on_instant: Callable[[float], None]) -> None:
        super().__init__()
        self._on_instant = on_instant
        self.ticks: dict[float, Event] = {}
        """The ticks that processes wait for, by time; looking here first is faster than a call of `tick`."""
        self._current = -1.0
        self.watchers: dict[Process | None, Callable[[Steps], Steps]] = {}
        """For each process of a user, the function that wraps the processes which it starts."""

    def process(self, generator: Steps) -> Process:
        """Start a process; one that a user's process starts is wrapped like that one."""
        watch = self.watchers.get(self.active_process)
        return Process(self, watch(generator) if watch and hasattr(generator, "throw") else generator)

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Schedule as SimPy does, but refuse a delay that is NaN, infinite or negative."""
        time = self._now
        if delay:
            time += float(delay)
            if not self._now <= time < math.inf:
                raise ValueError(f"a delay of {delay}; give a finite one of at least 0")
        heappush(self._queue, (time, priority, next(self._eid), event))

    def moment(self, time: float, priority: int) -> Event:
        """A new event at exactly this time."""
        event = Event(self)
        self.put(event, time, priority)
        return event

    def put(self, event: Event, time: float, priority: int) -> None:
        """Let an event that waits for nothing else happen at exactly this time."""
        event._ok, event._value = True, None  # noqa: SLF001 (as simpy.Timeout does: triggered, waiting for its time)
        self._queue: list[Any]
        heappush(self._queue, (time, priority, next(self._eid), event))

    def tick(self, time: float) -> Event:
        """The one event of this time, at which everything due then is delivered."""
        event = self.ticks.get(time)
        if event is None:
            event = self.ticks[time] = self.moment(time, DELIVERY)
            event.callbacks.append(self._open)
        return event

    def _open(self, _: Event) -> None:
        """Begin the deliveries of this time, and forget the tick of the time before, which nobody can ask for now."""
        self.ticks.pop(self._current, None)
        self._current = self.now
        self._on_instant(self.now)
