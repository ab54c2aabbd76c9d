"""Whole runs for the checks: small worlds, both engines, and what must hold of the events of every run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from tpstream.engines.compiled_engine import CompiledEngine
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import Engine, timing_obstacle
from tpstream.engines.simpy_engine import SimpyEngine
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Ints
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Policy, Subscriber
from tpstream.model.world import Problem, Purpose, Timing, World, open_stream
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, SharedPolicy
from tpstream.policies.runner import start_policy
from tpstream.scenario.scenario import Scenario
from tpstream.testing.subject import KEPT, Subject

ENDS = (Kind.PARTIAL, Kind.LATE, Kind.DROPPED)
"""The events that say how a part ended; each part has one of them."""


def small_scenario(**changes: Any) -> Scenario:
    """Three arms that pay over six rounds, with random sizes of the parts; with other values of some keys."""
    keys = {
        "name": "conformance",
        "horizon": 90,
        "span": 6,
        "seed": 5,
        "drain": True,
        "rewards": {"kind": "smooth-beta", "groups": 3, "spread": "random"},
        "arms": [{"maximum": 10.0}, {"maximum": 20.0}, {"maximum": 15.0}],
    }
    return Scenario(**{**keys, **changes})


INDICES = ("indices",)
"""The optional columns that runs are compared by."""


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """The decisions of a run, and all its events."""

    arms: Ints
    events: Events


@dataclass(frozen=True)
class Case:
    """A policy with its parameters in a world, and what reports a fault of the plug-in under test."""

    world: World
    form: Any
    parameters: Parameters
    fail: Callable[[str], NoReturn]

    def start(self, problem: Problem | None = None, *, debug: bool = False) -> Policy:
        """The policy before the first round, with its stream; `problem` is what it is told, by default the world's."""
        stream = open_stream(self.world.seed, self.world.run, Purpose.POLICY)
        return start_policy(self.form, problem or self.world.problem, self.parameters, stream, debug=debug)

    def run(self, policy: Policy | None = None, sink: Subscriber | None = None) -> SimulatedRun:
        """A run in the SimPy engine; `policy` stands in for the policy, `sink` hears the run, too."""
        clairvoyant = self.form.clairvoyant
        engine = SimpyEngine(
            self.world, policy or self.start(), self.form.name, clairvoyant=clairvoyant, optional=INDICES
        )
        if sink is not None:
            engine.bus.subscribe("sink", sink)
        return finish(engine)

    @property
    def compiles(self) -> bool:
        """Whether the compiled engine can run it."""
        return isinstance(self.form, SharedPolicy) and timing_obstacle(self.world.timing) is None

    def compiled_engine(self, *, indices: bool) -> CompiledEngine:
        """The compiled engine before the first round."""
        reader = DrawsReader(Draws(self.world))
        return CompiledEngine(
            self.world, self.form, self.parameters, reader, self.form.name, optional=INDICES if indices else ()
        )

    def check_equal(self, run: SimulatedRun, other: SimulatedRun, fault: str) -> None:
        """Check that two runs have equal events, with the indices behind the decisions."""
        for one, another in zip(run.events, other.events, strict=False):
            if one != another:
                self.fail(f"{fault}: event {one.seq} is {one} in one and {another} in the other")
        if len(run.events) != len(other.events):
            self.fail(f"{fault}: one has {len(run.events)} events and the other {len(other.events)}")

    def check_repeats(self, run: SimulatedRun) -> None:
        """Check that the run is the same a second time, and in the compiled engine."""
        self.check_equal(run, self.run(), "two runs with the same seed differ")
        if self.compiles:
            self.check_equal(run, finish(self.compiled_engine(indices=True)), "the engines differ, SimPy first")


def finish(engine: Engine) -> SimulatedRun:
    """Run an engine to its end."""
    sink = MemorySink()
    engine.bus.subscribe("memory", sink)
    arms = np.concatenate([batch.copy() for batch in engine.round_batches()])
    return SimulatedRun(arms, Events.join(sink.batches))


def check_events(subject: Subject, world: World, outcome: SimulatedRun) -> None:
    """Check that every part ends once, none before it is due, and that what arrives is what was drawn."""
    events, reader = outcome.events, DrawsReader(Draws(world))
    drawn = [reader.next_pull(arm).rewards for arm in outcome.arms.tolist()]
    started = np.zeros(len(drawn) + 1)
    pulls = events.kind == Kind.PULL
    started[events.pull[pulls]] = events.time[pulls]
    ends = np.zeros((len(drawn), world.problem.span), dtype=np.int64)
    for event in events.take(np.flatnonzero(np.isin(events.kind, ENDS))):
        ends[event.pull - 1, event.part - 1] += 1
        where = f"part {event.part} of pull {event.pull}"
        due = started[event.pull] + world.timing.nominal(world.problem.span)[event.part - 1]
        if event.time < due:
            subject.fail(f"{where} arrives at time {event.time}, before it is due at {due}")
        expected = drawn[event.pull - 1][event.part - 1]
        if event.value is not None and event.value != expected:
            subject.fail(f"{where} pays {event.value} instead of {expected}")
    wrong = np.argwhere(ends != 1)
    if len(wrong):
        pull, part = (int(place) for place in wrong[0])
        how = "neither arrives nor is lost" if ends[pull, part] == 0 else "is settled more than once"
        subject.fail(f"part {part + 1} of pull {pull + 1} {how}")


def check_timing(subject: Subject, timing: Callable[[], Timing], span: int, arms: int, horizon: int) -> SimulatedRun:
    """Check runs with this timing: their events, that they repeat themselves in any order, that both engines agree.

    `timing` is built anew for each run, as elsewhere.
    """
    form = POLICIES.find("tp-ucb-fr")  # its decisions depend on every part that it receives
    maxima, rewards = [{"maximum": 1.0 + arm} for arm in range(arms)], {"kind": "smooth-beta", "groups": 1}
    scenario = small_scenario(span=span, horizon=horizon, arms=maxima, rewards=rewards)

    def case(run: int = 0, *, drain: bool = True) -> Case:
        world = replace(scenario.build_world(seed=1, run=run), timing=timing(), drain=drain)
        return Case(world, form, form.parameters(groups=1), subject.fail)

    outcome = case().run()
    check_events(subject, case().world, outcome)
    # Runs that end while parts are on their way: what a process counts is not back where it was.
    first = [case(run, drain=False).run() for run in (0, 1)]
    for run in (1, 0):
        again = case(run, drain=False)
        again.check_equal(first[run], again.run(), f"a run is not the same after other runs: {KEPT}")
    case().check_repeats(outcome)
    return outcome
