"""Steps of the SimPy engine: its environment runs until a decision is due, and goes on when it was made outside."""

from typing import Literal

import numpy as np
from simpy.events import Event

from tpstream.engines.draws import DrawsReader, Pull
from tpstream.engines.simpy_clock import DECISION, STOP
from tpstream.engines.simpy_engine import Process, SimpyEngine
from tpstream.model.arrays import Floats
from tpstream.model.events import COLUMNS, Events
from tpstream.model.world import World

LABEL = "your loop"
"""What errors call whoever decides."""


class OutsidePolicy:
    """Decides for the arm that was given, and keeps what it is told."""

    def __init__(self, arms: int) -> None:
        self._nothing = np.full(arms, np.nan)
        self.arm = -1
        self.told: list[Events] = []

    def hear(self, events: Events) -> None:
        """Keep the events."""
        self.told.append(events)

    def decide(self, round: int) -> int:  # noqa: ARG002 (the protocol's)
        """The arm that was given."""
        return self.arm

    def indices(self) -> Floats:
        """NaN for every arm: who decides outside has no indices."""
        return self._nothing

    def take(self) -> Events:
        """What was told since the last time."""
        told, self.told = self.told, []
        if len(told) == 1:
            return told[0]
        return Events.join(told) if told else Events(*(one.empty(0) for one in COLUMNS if not one.optional))


class SimpyStepping(SimpyEngine):
    """Steps of the SimPy engine; everything that happens is published at once."""

    engine: Literal["compiled", "simpy"] = "simpy"

    def __init__(self, world: World, reader: DrawsReader) -> None:
        self._outside = OutsidePolicy(world.problem.arms)
        super().__init__(world, self._outside, LABEL, reader=reader)
        self._answer: Event | None = None
        self._drained = False
        self.time = 0.0
        self.total = np.nan
        self._decisions = self._timeline.process(self._keep_error(self._decide()))
        self._run()

    @property
    def round(self) -> int:
        """The round whose decision is due."""
        return self._round + 1

    def pull(self, arm: int) -> Events:
        """Pull an arm; returns what a policy is told up to the next decision, or up to the end."""
        answer, self._answer = self._answer, None
        assert answer is not None  # noqa: S101 (the caller knows that a decision is due)
        self._outside.arm = arm
        self._timeline.put(answer, self._timeline.now, DECISION)
        self._run()
        return self._outside.take()

    def publish(self) -> None:
        """Do nothing: everything is published."""

    def _run(self) -> None:
        """Let SimPy run until a decision is due, or to the end."""
        while self._answer is None and self._decisions.is_alive:
            self._pass_time(self._pause)
        self.time = self._timeline.now if self._answer is not None else np.inf
        if self._answer is None:
            if self._world.drain:
                self._pass_time()
            self._publish(self._round)

    def _start(self, pull: int, time: float, arm: int, drawn: Pull) -> Process | None:
        """Start a pull, and note what it pays in total."""
        self.total = drawn.total
        return super()._start(pull, time, arm, drawn)

    def _wait_for_decision(self) -> Event | None:
        """Make SimPy return to whoever decides, and wait for the answer."""
        self._answer = self._timeline.event()
        self._stop(STOP)
        return self._answer
