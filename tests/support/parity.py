"""Parity of the engines: one case run by SimPy, by the compiled loop with a log and by the one without, compared."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numba
import numpy as np
import policy_variants
from families import SIMPLE
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import (
    arrival_tables,
    delay_tables,
    grid_arrivals,
    groups_of,
    open_hours,
    scenario_keys,
    site_tables,
    stage_tables,
)
from worlds import PlainArm, table_world, tables, with_silence, world_of

from tpstream.engines.compiled_engine import CompiledEngine
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import Engine
from tpstream.engines.simpy_engine import SimpyEngine
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.errors import TpstreamError
from tpstream.model.events import COLUMN, Events, Told
from tpstream.model.world import BLOCK, Purpose, World, open_stream
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, SharedPolicy, told_problem
from tpstream.policies.runner import Runner
from tpstream.scenario.scenario import Scenario

BUILTIN = tuple(name for name in SIMPLE if name not in {"delayed-ucb1", "oracle"})
"""The policies that every test of parity runs compiled; the others do so in `make verify`.

Two are left out: oracle hears nothing, as uniform does, and delayed-ucb1 hears of closed pulls, as some of the policies
do that write down what they hear.
"""
SHOWN = ("indices", "probability", "probabilities")
"""The optional columns by which the engines are compared."""
JIT_IS_OFF = bool(numba.config.DISABLE_JIT)


@dataclass(frozen=True, eq=False)
class Case:
    """A world, a policy and its parameters."""

    world: World
    policy: SharedPolicy
    parameters: Parameters

    def __repr__(self) -> str:
        """In short; a table of rewards would fill pages."""
        problem, world = self.world.problem, self.world
        sizes = f"arms={problem.arms}, span={problem.span}, groups={problem.groups}, horizon={problem.horizon}"
        return (
            f"Case({self.policy.name}, {self.parameters!r}, {sizes}, maxima={problem.maxima.tolist()}, "
            f"rewards={type(world.rewards.arms[0]).__name__}, seed={world.seed}, run={world.run}, drain={world.drain})"
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an engine did: arms, events (None: without a log), the error that it ended with, the policy's last state."""

    arms: Ints
    events: Events | None
    error: str | None
    state: Any


def shown_columns(case: Case) -> tuple[str, ...]:
    """The optional columns of a case; without probabilities where quadrature as plain Python would take minutes."""
    return SHOWN[:1] if JIT_IS_OFF and case.policy.show_probabilities else SHOWN


def case_of(world: World, policy: str, **parameters: Any) -> Case:
    """A case with a built-in policy."""
    form = POLICIES.find(policy)
    chosen = form.parameters(**parameters)
    return Case(world, form.for_parameters(chosen), chosen)


def run_simpy(case: Case) -> Outcome:
    """The case in the reference engine, with a log and all indices."""
    policy, form = make_runner(case), case.policy
    engine = SimpyEngine(case.world, policy, form.name, clairvoyant=form.clairvoyant, optional=shown_columns(case))
    arms, events, error = _follow(engine, log=True)
    return Outcome(arms, events, error, policy.state)


def make_runner(case: Case) -> Runner:
    """The case's policy, ready for its first round."""
    world, form = case.world, case.policy
    return Runner(
        form, told_problem(form, world.problem), case.parameters, open_stream(world.seed, world.run, Purpose.POLICY)
    )


def run_compiled(case: Case, *, log: bool, indices: bool = True) -> Outcome:
    """The case in the compiled engine: with a log that has indices through the general loop, else the plain one."""
    reader = DrawsReader(Draws(case.world))
    optional = shown_columns(case) if log and indices else ()
    engine = CompiledEngine(case.world, case.policy, case.parameters, reader, case.policy.name, optional=optional)
    arms, events, error = _follow(engine, log=log)
    return Outcome(arms, events, error, engine._state)


def _follow(engine: Engine, *, log: bool) -> tuple[Ints, Events | None, str | None]:
    sink, batches, error = MemorySink(), [np.empty(0, dtype=np.int64)], None
    if log:
        engine.bus.subscribe("memory", sink)
    try:
        batches += [arms.copy() for arms in engine.round_batches()]
    except TpstreamError as raised:
        error = f"{type(raised).__name__}: {raised}"
    return np.concatenate(batches), Events.join(sink.batches) if sink.batches else None, error


def run_all(case: Case) -> tuple[Outcome, Outcome, Outcome]:
    """The case in SimPy, in the compiled engine with a log, and in it without one."""
    return run_simpy(case), run_compiled(case, log=True), run_compiled(case, log=False)


def first_difference(case: Case) -> str | None:
    """Where the compiled engine first differs from SimPy, in an event, an index, a decision or an error; or None.

    A replay of SimPy's events must decide the same, too. In the paper's world a log without indices is made by another
    loop, which is compared as well.
    """
    reference, logged, bare = run_all(case)
    found = difference(reference, logged, bare) or _different_replay(case, reference)
    if found is not None or not case.world.timing.plain:
        return found
    dense = run_compiled(case, log=True, indices=False)
    without = None if reference.events is None else replace(reference.events, **dict.fromkeys(SHOWN))
    return difference(replace(reference, events=without), dense, bare)


def difference(reference: Outcome, logged: Outcome, bare: Outcome) -> str | None:
    """Where the outcomes of one case first differ, or None."""
    return (
        different_event(reference.events, logged.events)
        or _different_end("with a log", reference, logged)
        or _different_end("without a log", reference, bare)
    )


def different_event(expected: Events | None, found: Events | None) -> str | None:
    """The first event of which any bit differs."""
    if expected is None or found is None:
        return None if expected is found else f"no events in {'SimPy' if expected is None else 'the compiled engine'}"
    names = [field.name for field in fields(Events) if getattr(expected, field.name) is not None]
    rows = {name: different_row(getattr(expected, name), getattr(found, name)) for name in names}
    of_pulls = [rows.pop(name) for name in names if COLUMN[name].per_pull]
    index = min((row for row in of_pulls if row is not None), default=None)
    places = [place for place in rows.values() if place is not None]
    if places:
        shown = [list(events.cut(min(places), min(places) + 1)) for events in (expected, found)]
        return f"event {min(places)}: {shown[0]}, compiled {shown[1]}"
    return None if index is None else f"site, indices or probabilities of round {index + 1}"


def _different_end(how: str, expected: Outcome, found: Outcome) -> str | None:
    """The first decision that differs, or the error."""
    if expected.error != found.error:
        return f"{how}: {expected.error}, compiled {found.error}"
    row = different_row(expected.arms, found.arms)
    return None if row is None else f"{how}: the decision of round {row + 1}"


def _different_replay(case: Case, expected: Outcome) -> str | None:
    """The first decision that a replay of the events makes in another way."""
    if expected.events is None:
        return None
    found = make_runner(case).follow(Told().of(expected.events))
    return None if found is None else f"replay: event {found[0]} is of another arm, {found[1]}"


def different_row(expected: Floats | Ints | Bytes, found: Floats | Ints | Bytes) -> int | None:
    """The first row of which any bit differs; the first one that only one of the arrays has."""
    rows = min(len(expected), len(found))
    differ = np.any(_bits(expected[:rows]) != _bits(found[:rows]), axis=1)
    if differ.any():
        return int(differ.argmax())
    return None if len(expected) == len(found) else rows


def _bits(rows: Floats | Ints | Bytes) -> NDArray[np.uint8]:
    return np.frombuffer(rows.tobytes(), dtype=np.uint8).reshape(len(rows), rows[:1].nbytes or 1)


def parameters_for(form: SharedPolicy, span: int) -> st.SearchStrategy[Parameters]:
    """Any values of a policy's parameters."""
    if form.name in policy_variants.NAMES:
        return policy_variants.parameters(form, span)
    choices: dict[str, st.SearchStrategy[Any]] = {
        "ties": st.sampled_from(["random", "first"]),
        "start": st.sampled_from(["round-robin", "random"]),
        "groups": groups_of(span),
    }
    optional = {name: choices[name] for name in form.parameters.model_fields}
    return st.fixed_dictionaries({}, optional=optional).map(lambda values: form.parameters(**values))


@st.composite
def recorded_worlds(draw: st.DrawFn, longest: int = 60) -> World:
    """Worlds whose rewards are read from tables, full of ties; some of the records run out before the horizon."""
    arms, groups, width = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    horizon = draw(st.integers(1, longest))
    rows = draw(st.sampled_from([horizon, horizon, horizon, max(1, horizon // 2)]))
    return table_world(
        draw(tables(arms, rows, groups * width)),
        horizon,
        groups=groups,
        drain=draw(st.booleans()),
        seed=draw(st.integers(0, 2**32)),
        run=draw(st.integers(0, 3)),
    )


@st.composite
def drawn_worlds(draw: st.DrawFn) -> World:
    """Worlds of smooth-beta scenarios: all spreads, seeds and shapes; half of them with whole-round delays."""
    keys = draw(scenario_keys())
    problem = Scenario(**keys).problem()
    names, most = problem.names, float(problem.maxima.min()) / problem.span
    if draw(st.booleans()):
        keys["delays"] = draw(delay_tables(keys["span"], names, whole=True))
        keys |= draw(st.fixed_dictionaries({}, optional={"window": st.integers(1, 20)}))
        if "window" in keys:
            keys |= draw(st.fixed_dictionaries({}, optional={"default_reward": st.sampled_from([0.0, most / 2])}))
    scenario = Scenario(**keys)
    return scenario.build_world(scenario.seed, draw(st.integers(0, 3)))


@st.composite
def losing_worlds(draw: st.DrawFn) -> World:
    """Worlds with whole-round delays in which every part may be lost, most of them with a window."""
    keys = draw(scenario_keys())
    missing = {"kind": "missing", "p": draw(st.floats(0.2, 0.9))}
    later = {"kind": "constant", "lag": draw(st.integers(0, 9))}
    rest = draw(delay_tables(keys["span"], Scenario(**keys).problem().names, whole=True))
    keys |= {"delays": [missing, later, *rest], "drain": draw(st.booleans())}
    keys |= draw(st.fixed_dictionaries({}, optional={"window": st.integers(1, 12)}))
    scenario = Scenario(**keys)
    return scenario.build_world(scenario.seed, draw(st.integers(0, 3)))


@st.composite
def timed_worlds(draw: st.DrawFn) -> World:
    """Worlds of smooth-beta scenarios with real-valued times: any arrivals, delays, losses and windows."""
    keys = draw(scenario_keys())
    names = Scenario(**keys).problem().names
    keys |= {"delays": draw(delay_tables(keys["span"], names)), "arrivals": draw(arrival_tables())}
    keys |= draw(st.fixed_dictionaries({}, optional={"window": st.floats(0.5, 20)}))
    scenario = Scenario(**keys)
    return scenario.build_world(scenario.seed, draw(st.integers(0, 3)))


@st.composite
def real_worlds(draw: st.DrawFn, reveals: Sequence[str] = ("all", "positive", "positive", "closed")) -> World:
    """Worlds at real-valued times with stages in any order, queues and windows, in most of which many times are equal.

    There are 12 parts at most in up to 40 rounds, so that the queues of one or two servers are long. In some feedback
    is hidden, as one of `reveals` says; many of their parts then pay nothing, and some less.
    """
    keys = draw(scenario_keys())
    problem = Scenario(**keys).problem()
    keys |= {
        "delays": draw(stage_tables(keys["span"], problem.names)),
        "arrivals": draw(grid_arrivals() | arrival_tables() | site_tables()),
        "resources": {"lab": draw(st.integers(1, 3)), "desk": 1},
        "opening_hours": draw(st.just({}) | st.fixed_dictionaries({"lab": open_hours()})),
        "time_unit": draw(st.sampled_from(["day", "day", "hour", "week"])),
        "start": f"2024-01-{draw(st.integers(1, 14)):02}",
        "drain": draw(st.booleans()),
    }
    if draw(st.booleans()) and '"at"' not in json.dumps(keys["delays"]):  # a lump is not before the last visit
        gaps = draw(st.lists(st.sampled_from([0.5, 1.0, 2.5]), min_size=keys["span"], max_size=keys["span"]))
        keys |= {"visits": np.cumsum(gaps).tolist(), "visit_spread": draw(st.sampled_from([0.0, 0.125]))}
    if "all" not in reveals or draw(st.booleans()):
        keys["window"] = draw(st.sampled_from([0.5, 1, 2.5, 4, 7]) | st.floats(0.5, 20))
        most = float(problem.maxima.min()) / problem.span
        keys |= draw(st.fixed_dictionaries({}, optional={"default_reward": st.sampled_from([0.0, most / 2])}))
        keys["reveal"] = draw(st.sampled_from(reveals))
    scenario = Scenario(**keys)
    world = scenario.build_world(scenario.seed, draw(st.integers(0, 3)))
    return world if scenario.reveal == "all" else with_silence(world, signed=draw(st.booleans()))


@st.composite
def lab_worlds(draw: st.DrawFn) -> World:
    """Worlds with a lone queue for parts of which many are lost before it, or overtake others; some with defaults."""
    missing, lab = {"kind": "missing", "p": 0.4}, {"kind": "lab-queue", "resource": "lab", "mean": 0.5}
    reports = draw(st.sampled_from([[{"kind": "reporting", "every": 3}], []]))
    lags = [{"kind": "uniform", "high": 4, "whole": draw(st.booleans())}] if draw(st.booleans()) else []
    keys = draw(scenario_keys()) | {"delays": [missing, *lags, lab, *reports], "resources": {"lab": 2}, "drain": True}
    if draw(st.booleans()):
        keys |= {"window": draw(st.integers(3, 12)), "default_reward": 0.0}
    scenario = Scenario(**keys)
    return scenario.build_world(scenario.seed, draw(st.integers(0, 3)))


@st.composite
def cases(draw: st.DrawFn, form: SharedPolicy, worlds: st.SearchStrategy[World] | None = None) -> Case:
    """A random case for a policy; `worlds` default to small ones of every kind."""
    world = draw(drawn_worlds() | losing_worlds() | recorded_worlds() if worlds is None else worlds)
    parameters = draw(parameters_for(form, world.problem.span))
    return Case(world, form.for_parameters(parameters), parameters)


@st.composite
def long_worlds(draw: st.DrawFn) -> World:
    """One or two arms, and horizons about the end of a block."""
    arms = [PlainArm(1.0, 2), PlainArm(draw(st.sampled_from([0.5, 1.0])), 2)][: draw(st.integers(1, 2))]
    horizon = draw(st.integers(1, 3)) * BLOCK + draw(st.integers(-1, 1))
    return world_of(arms, span=2, horizon=horizon, groups=2, drain=draw(st.booleans()), seed=draw(st.integers(0, 99)))


def different_call(case: Case) -> str | None:
    """Where the calls that the engines and a replay make of a writing policy first differ."""
    reference, *others = run_all(case)
    found = difference(reference, *others)
    expected = calls_of(reference.state)
    for outcome in others:
        calls = calls_of(outcome.state)
        drained = outcome.events is None and case.world.drain  # without a log nothing is drained
        row = different_row(expected[: len(calls)] if drained else expected, calls)
        if row is not None:
            found = found or f"call {row}: {expected[row : row + 1]}, compiled {calls[row : row + 1]}"
    if reference.events is not None:
        calls = calls_of(replay_state(case, reference.events))
        if reference.error is not None:  # the last decision was made, but it is no event
            expected = expected[: len(calls)]
        row = different_row(expected, calls)
        if row is not None:
            found = found or f"call {row}: {expected[row : row + 1]}, replay {calls[row : row + 1]}"
    return found


def replay_state(case: Case, events: Events) -> Any:
    """The state of the policy after it was told a run's events and decided at every pull of them."""
    runner = make_runner(case)
    assert runner.follow(Told().of(events)) is None
    return runner.state


def calls_of(state: Any) -> Floats:
    """The calls that a writing policy recorded in its state."""
    calls: Floats = state.calls[: state.written[0]]
    return calls
