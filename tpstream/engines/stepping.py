"""A world whose decisions are made outside of tpstream, step by step, in either engine.

The events are those of a run with the same decisions. Between two steps nothing runs: there are no threads.
"""

import time
from typing import Any, Literal, Protocol

import numpy as np

from tpstream.engines import compiled_stepping
from tpstream.engines.compiled_real_pulls import DONE, FLUSH
from tpstream.engines.compiled_stepped_room import SteppedRoom
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import Bus, choose, timing_obstacle
from tpstream.engines.held_worlds import make_places
from tpstream.model.events import COLUMNS, PULL, Events
from tpstream.model.world import World
from tpstream.policies.loader import load_without_policy
from tpstream.timing.pipeline import read_only

ROWS = 8192
"""Events for which there is room at a time."""
NEEDED = tuple(column.name for column in COLUMNS if not column.optional)
PATIENCE = 0.25
"""Seconds after which subscribers get what has happened, so that a slow loop can be watched."""


class Stepping(Protocol):
    """One run of a world whose decisions are made outside; subscribe sinks to its bus before the first step."""

    engine: Literal["compiled", "simpy"]
    bus: Bus
    time: float
    """When the decision that is to be made now is due; infinite when none is due any more."""

    @property
    def round(self) -> int:
        """Its round; after the last decision, horizon + 1."""

    @property
    def total(self) -> float:
        """What the last pull pays in total, whatever becomes of its parts."""

    def pull(self, arm: int) -> Events:
        """Pull an arm; returns what a policy is told up to the next decision, or up to the end."""

    def publish(self) -> None:
        """Hand to the bus what has happened and is not published yet."""


def open_stepping(world: World, engine: str = "auto") -> Stepping:
    """A world before its first decision; raises EngineError if an engine asked for by name cannot serve it."""
    reader = DrawsReader(Draws(world))
    if choose(engine, lambda: timing_obstacle(world.timing, stepped=True)) == "compiled":
        return CompiledStepping(world, reader)
    from tpstream.engines.simpy_stepping import SimpyStepping  # noqa: PLC0415 (loads SimPy, which few worlds need)

    return SimpyStepping(world, reader)


class CompiledStepping:
    """Steps of the compiled engine; what was handed out is never written again, and cannot be written to."""

    engine: Literal["compiled", "simpy"] = "compiled"

    def __init__(self, world: World, reader: DrawsReader) -> None:
        self._places = make_places(1)
        self._room = SteppedRoom(world, reader, self._places, 0, ROWS)
        self._step = load_without_policy(compiled_stepping).step
        self._times: list[float] = [*self._room.times.tolist(), np.inf]
        self._seq = self._told_seq = 0  # of the first rows of the columns
        self._views: tuple[Any, ...] = ()
        self._published = 0
        self._publishing = time.monotonic()
        self.bus = Bus()
        self.round = 1
        self.time = self._times[0]
        self._take_columns()

    @property
    def total(self) -> float:
        """What the last pull pays in total."""
        return self._room.total

    def pull(self, arm: int) -> Events:
        """Pull an arm; returns what a policy is told up to the next decision, or up to the end."""
        room = self._room
        first = room.told_so_far
        answer = self._step(self._places, 0, arm)
        while answer != DONE:
            first = self._serve(answer, first)
            answer = self._step(self._places, 0, -1)
        self.time = self._times[self.round]
        self.round += 1
        if self.bus.names and time.monotonic() > self._publishing + PATIENCE:
            self.publish()
        rows = slice(first, room.told_so_far)
        events: Events = object.__new__(Events)  # its own constructor takes as long as the step
        vars(events).update(zip(NEEDED, [column[rows] for column in self._views], strict=True))
        return events

    def publish(self) -> None:
        """Hand to the bus what has happened and is not published yet."""
        self._publishing = time.monotonic()
        first, self._published = self._published, self._room.written
        if first == self._published or not self.bus.names:
            return
        rows = slice(first, self._published)
        columns = {
            name: read_only(column[rows]) for name, column in self._room.columns._asdict().items() if len(column)
        }
        if self._room.sites is not None:
            columns["site"] = self._room.sites[columns["pull"][columns["kind"] == PULL] - 1]
        self.bus.publish(Events(**columns))

    def _serve(self, answer: int, first: int) -> int:
        """Give a step what it returned for; returns where its first told event is then."""
        if answer != FLUSH:
            self._room.serve(answer)
            return first
        self.publish()
        # What is told in one step stays in one piece; where all is told, these are the columns of all events.
        before = self._room.written if self._room.hides else first
        self._seq += before
        self._told_seq += first
        self._room.renew(before, first)
        self._published -= before
        self._take_columns()
        return 0

    def _take_columns(self) -> None:
        """Number the events of fresh columns, and look at those that are told."""
        room = self._room
        np.add(room.columns.seq, self._seq, out=room.columns.seq)
        if room.hides:
            np.add(room.told.seq, self._told_seq, out=room.told.seq)
        self._views = tuple(read_only(getattr(room.told, name)) for name in NEEDED)
