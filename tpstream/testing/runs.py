"""Whole runs for checks: a plain world, both engines, and what must hold of every run's events."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpstream.engines.compiled_engine import CompiledEngine
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import Engine
from tpstream.engines.simpy_engine import SimpyEngine
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Floats, Ints
from tpstream.model.events import COLUMNS, Events, Kind
from tpstream.model.interfaces import ArmRewards, Policy, Rewards
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import Problem, Timing, World
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PolicyForm, SharedPolicy
from tpstream.policies.runner import start_policy
from tpstream.testing.probe import Subject

SETTLED = (Kind.PARTIAL, Kind.LATE, Kind.DROPPED)


@dataclass(frozen=True)
class PlainArm:
    """An arm whose parts are independent and uniform."""

    maximum: float
    span: int

    @property
    def mean(self) -> float:
        """Half of the maximum."""
        return self.maximum / 2

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """Uniform parts."""
        return stream.random((pulls, self.span)) * (self.maximum / self.span)


def world_of(arms: Sequence[ArmRewards], span: int, horizon: int, timing: Timing, groups: int | None = 1) -> World:
    """A world that is run to the end of its last pull."""
    problem = Problem(
        names=tuple(f"arm-{arm + 1}" for arm in range(len(arms))),
        maxima=np.array([arm.maximum for arm in arms], dtype=np.float64),
        span=span,
        horizon=horizon,
        groups=groups,
        means=np.array([arm.mean for arm in arms], dtype=np.float64),
    )
    return World(problem, Rewards(list(arms), groups), seed=1, run=0, drain=True, timing=timing)


def plain_world(span: int, arms: int, horizon: int, timing: Timing) -> World:
    """A world of plain arms, of which the last pays most."""
    return world_of([PlainArm(1.0 + arm, span) for arm in range(arms)], span, horizon, timing, groups=span)


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """What a run did."""

    arms: Ints
    events: Events


def default_policy() -> tuple[PolicyForm, Parameters]:
    """A policy that reacts to all that it hears."""
    form = POLICIES.find("tp-ucb-fr")
    return form, form.parameters(groups=1)


def run_simpy(
    world: World, form: PolicyForm, parameters: Parameters, *, policy: Policy | None = None, indices: bool = False
) -> SimulatedRun:
    """The run in the reference engine, under another object in the policy's place if one is given."""
    if policy is None:
        policy = start_policy(form, world.problem, parameters, open_stream(world.seed, world.run, Purpose.POLICY))
    return finish(SimpyEngine(world, policy, form.name, clairvoyant=form.clairvoyant, indices=indices))


def run_compiled(world: World, form: SharedPolicy, parameters: Parameters, *, indices: bool = False) -> SimulatedRun:
    """The run in the compiled engine."""
    return finish(CompiledEngine(world, form, parameters, DrawsReader(Draws(world)), form.name, indices=indices))


def finish(engine: Engine) -> SimulatedRun:
    """Run an engine to its end."""
    sink = MemorySink()
    engine.bus.subscribe("memory", sink)
    arms = np.concatenate([stretch.copy() for stretch in engine.round_batches()])
    return SimulatedRun(arms, Events.join(sink.batches))


def difference(one: SimulatedRun, other: SimulatedRun) -> str | None:
    """The first event in which two runs differ, or None."""
    count = min(len(one.events), len(other.events))
    for column in COLUMNS:
        left, right = getattr(one.events, column.name), getattr(other.events, column.name)
        if column.optional or np.array_equal(left[:count], right[:count], equal_nan=left.dtype.kind == "f"):
            continue
        place = int(np.argmax(~((left[:count] == right[:count]) | (left[:count] != left[:count]))))
        shown = [list(run.events.cut(place, place + 1))[0] for run in (one, other)]  # noqa: RUF015 (Events has no next)
        return f"event {place} is {shown[0]} in one and {shown[1]} in the other"
    if len(one.events) != len(other.events):
        return f"one has {len(one.events)} events and the other {len(other.events)}"
    for column in COLUMNS:
        left, right = getattr(one.events, column.name), getattr(other.events, column.name)
        if column.optional and not (left is None or right is None or np.array_equal(left, right, equal_nan=True)):
            return f"the decisions are equal, but not the {column.name} behind them"
    return None


def check_events(subject: Subject, world: World, outcome: SimulatedRun) -> None:
    """Every part of every pull is settled once, none before it is due, and what arrives is what was drawn."""
    events, reader = outcome.events, DrawsReader(Draws(world))
    drawn = [reader.next_pull(arm).rewards for arm in outcome.arms.tolist()]
    started = np.zeros(len(drawn) + 1)
    pulls = events.kind == Kind.PULL
    started[events.pull[pulls]] = events.time[pulls]
    settled = np.isin(events.kind, SETTLED)
    times = np.zeros((len(drawn), world.problem.span), dtype=np.int64)
    for event in events.take(np.flatnonzero(settled)):
        times[event.pull - 1, event.part - 1] += 1
        where = f"part {event.part} of pull {event.pull}"
        due = started[event.pull] + (event.part - 1)
        if event.time < due:
            subject.fail(f"{where} arrives at time {event.time}, before it is due at {due}")
        if event.value is not None and event.value != drawn[event.pull - 1][event.part - 1]:
            subject.fail(f"{where} pays {event.value} instead of {drawn[event.pull - 1][event.part - 1]}")
    wrong = np.argwhere(times != 1)
    if len(wrong):
        pull, part = (int(place) for place in wrong[0])
        how = "neither arrives nor is lost" if times[pull, part] == 0 else "is settled more than once"
        subject.fail(f"part {part + 1} of pull {pull + 1} {how}")


def check_timing(subject: Subject, timing: Timing, span: int, arms: int, horizon: int) -> None:
    """Runs in this timing keep what every run promises, repeat themselves, and are the same in both engines."""
    form, parameters = default_policy()
    world = plain_world(span, arms, horizon, timing)
    outcome = run_simpy(world, form, parameters)
    check_events(subject, world, outcome)
    fault = difference(outcome, run_simpy(world, form, parameters))
    if fault:
        subject.fail(f"two runs with the same seed differ: {fault}")
    if timing.whole:
        assert isinstance(form, SharedPolicy)  # noqa: S101 (it is a built-in)
        fault = difference(outcome, run_compiled(world, form, parameters))
        if fault:
            subject.fail(f"the engines differ, SimPy first: {fault}")
