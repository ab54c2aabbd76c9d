"""Runs that pause: plans of what is done at each pause, and both engines carrying them out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from parity import Case, make_runner, shown_columns

from tpstream.engines.compiled_engine import CompiledEngine
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import Engine
from tpstream.engines.simpy_engine import SimpyEngine
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.events import Events, Kind
from tpstream.model.world import World
from tpstream.timing.pipeline import decision_times


@dataclass(frozen=True, eq=False)
class Step:
    """What is done at one pause: a look is told with its rows, arms are closed, recruitment ends."""

    stages: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    """Of the events that are published, one for each; they are all of arm 0."""
    open_arms: Bools | None = None
    stops: bool = False


@dataclass(frozen=True, eq=False)
class Plan:
    """When a run pauses, and what is done then."""

    pauses: Floats
    steps: tuple[Step, ...]

    def __repr__(self) -> str:
        """The times and the steps."""
        return f"Plan({self.pauses.tolist()}, {self.steps})"


@dataclass(frozen=True, eq=False)
class Paused:
    """What a run with pauses did."""

    arms: Ints
    events: Events
    state: Any
    published: list[int]
    """How many events were published at each pause, before anything was done."""


def drained(world: World) -> World:
    """The same world, run until everything has come."""
    return replace(world, drain=True)


def carry_out(engine: Engine, plan: Plan) -> tuple[Ints, Events, list[int]]:
    """Run the engine, and do at each pause what the plan says."""
    sink, batches, published = MemorySink(), [np.empty(0, dtype=np.int64)], []
    engine.bus.subscribe("memory", sink)
    for arms in engine.round_batches():
        batches.append(arms.copy())
        while len(published) < engine.passed:
            step = plan.steps[len(published)]
            published.append(sum(map(len, sink.batches)))
            if step.values:
                rows = np.arange(len(step.values))
                engine.announce(Kind.LOOK, len(published), np.zeros_like(rows), rows, np.array(step.values))
            if step.open_arms is not None:
                engine.set_open_arms(step.open_arms)
            for stage in step.stages:
                engine.tell_look(stage)
            if step.stops:
                engine.end_recruitment()
    return np.concatenate(batches), Events.join(sink.batches), published


def run_both(case: Case, plan: Plan) -> tuple[Paused, Paused]:
    """The case with these pauses in SimPy and in the compiled engine."""
    form, world, optional = case.policy, case.world, shown_columns(case)
    policy = make_runner(case)
    reference = SimpyEngine(
        world, policy, form.name, clairvoyant=form.clairvoyant, optional=optional, pauses=plan.pauses
    )
    arms, events, published = carry_out(reference, plan)
    first = Paused(arms, events, policy.state, published)
    reader = DrawsReader(Draws(world))
    engine = CompiledEngine(world, form, case.parameters, reader, form.name, optional=optional, pauses=plan.pauses)
    arms, events, published = carry_out(engine, plan)
    return first, Paused(arms, events, engine._paused._state, published)


def pause_times(world: World) -> st.SearchStrategy[Floats]:
    """Some times, many of them exactly those of decisions or of parts, a few long after the last decision."""
    decisions = decision_times(world)
    parts = decisions[:, np.newaxis] + world.timing.nominal(world.problem.span)
    known = sorted({*decisions.tolist(), *parts.flatten().tolist()} - {0.0})
    times = st.sampled_from(known) | st.floats(0.125, 1.5 * float(parts.max()) + 1.0)
    return st.lists(times, max_size=6, unique=True).map(lambda found: np.array(sorted(found), dtype=np.float64))


@st.composite
def plans(draw: st.DrawFn, world: World) -> Plan:
    """Pauses at which anything may be done; arms that are closed stay closed."""
    pauses, arms = draw(pause_times(world)), world.problem.arms
    is_open, steps = np.ones(arms, dtype=np.bool_), []
    for _ in pauses:
        dropped = draw(st.sets(st.integers(0, arms - 1), max_size=1))
        is_open = is_open & ~np.isin(np.arange(arms), sorted(dropped))
        steps.append(
            Step(
                stages=draw(st.sampled_from([(), (0,), (1,), (0, 1)])),
                values=tuple(draw(st.lists(st.floats(-1, 1) | st.just(np.nan), max_size=3))),
                open_arms=is_open if dropped else None,
                stops=draw(st.sampled_from([False, False, False, True])),
            )
        )
    return Plan(pauses, tuple(steps))
