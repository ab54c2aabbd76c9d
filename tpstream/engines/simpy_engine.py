"""The SimPy engine, the reference: a process per pull emits its parts, a policy process decides, the bus tells."""

from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np
from simpy.events import Event

from tpstream.engines.bus import Bus
from tpstream.engines.draws import Draws
from tpstream.engines.outbox import Outbox
from tpstream.engines.timeline import DECISION, END, Timeline
from tpstream.model.arrays import Ints
from tpstream.model.protocols import Policy
from tpstream.model.world import World
from tpstream.policies.runner import check_arm

Process = Generator[Event, None, None]
PROGRESS_EVERY = 1000
"""Rounds between two calls of a progress callback."""


class SimpyEngine:
    """One run of a world under a policy; subscribe sinks to its bus, then run it."""

    def __init__(
        self, world: World, policy: Policy, label: str, *, clairvoyant: bool = False, indices: bool = False
    ) -> None:
        self._world = world
        self._policy = policy
        self._label = label
        self._indices = indices
        self._outbox = Outbox(world.problem, clairvoyant=clairvoyant)
        self._timeline = Timeline(self._outbox.begin)
        self._draws = Draws(world)
        self._offsets = np.arange(world.problem.span, dtype=np.float64)
        self._round = 0
        self._shown = np.empty((0, world.problem.arms))
        self.bus = Bus()
        self.bus.subscribe(f"policy {label}", policy)

    def run(self, progress: Callable[[int], None] | None = None) -> Ints:
        """Let time pass; returns the arm of every round."""
        end = self._timeline.event()
        self._timeline.process(self._decide(end, progress))
        self._timeline.run(until=None if self._world.drain else end)
        self._publish(self._round)
        return self._outbox.arms

    def _decide(self, end: Event, progress: Callable[[int], None] | None) -> Process:
        """The policy process: in every round, hear what was delivered before, decide, start the pull."""
        problem = self._world.problem
        for self._round in range(1, problem.horizon + 1):
            time = float(self._round)
            yield self._timeline.moment(time, DECISION)
            self._publish(self._round - 1)
            arm = check_arm(self._policy.decide(self._round), problem, self._round, self._label)
            if self._indices:
                self._shown = self._policy.indices()[np.newaxis]
            self._outbox.begin(time)
            self._outbox.add_pull(self._round, arm, self._draws.next_pull(arm))
            self._timeline.process(self._emit(self._round, time))
            if progress is not None and self._round % PROGRESS_EVERY == 0:
                progress(self._round)
        yield self._timeline.moment(time, END)
        end.succeed()

    def _emit(self, pull: int, time: float) -> Process:
        """The process of one pull: deliver each part at its time, then close."""
        known, tick, deliver = self._timeline.ticks.get, self._timeline.tick, self._outbox.codes.append
        for due, code in zip((self._offsets + time).tolist(), self._outbox.partial_codes(pull), strict=True):
            yield known(due) or tick(due)
            deliver(code)
        deliver(self._outbox.closed_code(pull))
        self._outbox.finished.append(pull)

    def _publish(self, round: int) -> None:
        """Tell everything that happened since the decision of this round, that decision included."""
        if not self._outbox.codes:
            return
        events = self._outbox.take(round)
        self.bus.publish(replace(events, indices=self._shown) if self._indices else events)
