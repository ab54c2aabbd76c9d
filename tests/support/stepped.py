"""Worlds that are stepped with given decisions, beside runs with the same decisions."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tpstream.engines.draws import Draws
from tpstream.engines.engine import open_engine
from tpstream.engines.stepping import Stepping, open_stepping
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import TpstreamError
from tpstream.model.events import Columns, Events
from tpstream.model.world import World
from tpstream.policies.base import Parameters, PythonPolicy


class Given:
    """A policy that makes given decisions, and keeps when it was asked and what it was told before each of them."""

    def __init__(self, arms: Ints, of: int) -> None:
        self._arms, self._nothing = arms.tolist(), np.full(of, np.nan)
        self.told: list[list[Events]] = [[]]
        self.times: list[float] = []

    def hear(self, events: Events) -> None:
        """Keep the events."""
        self.told[-1].append(events)

    def set_clock(self, time: float) -> None:
        """Keep the time."""
        self.times.append(time)

    def decide(self, round: int) -> int:
        """The decision that was given."""
        self.told.append([])
        return int(self._arms[round - 1])

    def indices(self) -> Floats:
        """None."""
        return self._nothing


@dataclass
class Outcome:
    """What happened: all events, what was told at each step, when the decisions were due, the error at the end."""

    events: Columns
    told: list[Columns] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    error: str | None = None


def plain_bytes(outcome: Outcome) -> list[Any]:
    """An outcome as values that can be compared to the bit."""
    told = [{name: rows.tobytes() for name, rows in one.items()} for one in (outcome.events, *outcome.told)]
    return [told, outcome.times, outcome.error]


def simulated(world: World, arms: Ints) -> Outcome:
    """A run of the SimPy engine with these decisions."""
    given, sink, error = Given(arms, world.problem.arms), MemorySink(), None
    policy = PythonPolicy("given", Parameters, lambda *_: given)
    engine = open_engine("simpy", world, policy, Parameters(), "given", draws=Draws(world))
    engine.bus.subscribe("memory", sink)
    try:
        for _ in engine.round_batches():
            pass
    except TpstreamError as failure:
        error = str(failure)
    told = [Events.join(batches).columns() for batches in given.told[1:]]
    return Outcome(Events.join(sink.batches).columns(), told if error is None else told[:-1], given.times, error)


def stepped(world: World, arms: Ints, engine: str) -> Outcome:
    """The same decisions, one step after another."""
    stepping, sink = open_stepping(world, engine), MemorySink()
    stepping.bus.subscribe("memory", sink)
    outcome = Outcome({})
    try:
        take_steps(stepping, arms, outcome)
    except TpstreamError as failure:
        outcome.error = str(failure)
    stepping.publish()
    outcome.events = Events.join(sink.batches).columns()
    return outcome


def take_steps(stepping: Stepping, arms: Ints, outcome: Outcome) -> None:
    """Make the decisions."""
    kept = []
    try:
        for round, arm in enumerate(arms.tolist(), start=1):
            assert stepping.round == round
            outcome.times.append(stepping.time)
            kept.append(stepping.pull(arm))
        assert (stepping.round, stepping.time) == (len(arms) + 1, np.inf)
    finally:
        outcome.told = [events.columns() for events in kept]  # at the end: nothing may have been written again
