"""Small worlds for tests: rewards from a table, a run of the reference engine, and worlds for Hypothesis."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import literal
import numpy as np
from hypothesis import strategies as st

from tpstream.engines.simpy_engine import SimpyEngine
from tpstream.model.arrays import Floats, Ints
from tpstream.model.events import Event, Events, Kind
from tpstream.model.interfaces import Policy, Rewards, Subscriber
from tpstream.model.world import Problem, Purpose, World, open_stream
from tpstream.policies import POLICIES
from tpstream.policies.runner import start_policy

PAPER = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew")
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "ucb1": ("ucb1", {}),
    "delayed-round-robin": ("delayed-ucb1", {"start": "round-robin"}),
    "delayed-random": ("delayed-ucb1", {"start": "random"}),
    "fr": ("tp-ucb-fr", {}),
    "ew": ("tp-ucb-ew", {}),
}
"""The paper's policies, with both starts of Delayed-UCB1."""


@dataclass(frozen=True, eq=False)
class TableArm:
    """An arm whose n-th pull pays the n-th row."""

    rows: Floats
    maximum: float

    @property
    def mean(self) -> float:
        """The mean of the rows' sums."""
        return float(self.rows.sum(axis=1).mean())

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """A table is read, not drawn."""
        raise NotImplementedError

    def recorded(self, first: int, pulls: int) -> Floats:
        """The next rows."""
        return self.rows[first : first + pulls]


@dataclass(frozen=True)
class PlainArm:
    """An arm whose parts are independent and uniform, from 0 to maximum / span."""

    maximum: float
    span: int

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""
        return self.maximum / 2

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        return stream.random((pulls, self.span)) * (self.maximum / self.span)


@dataclass(frozen=True)
class SilentArm:
    """Pays what another arm pays, except that about two parts in three pay nothing, or less if they are signed."""

    arm: Any
    signed: bool

    @property
    def mean(self) -> float:
        """That of the other arm, which is too much."""
        return float(self.arm.mean)

    @property
    def maximum(self) -> float:
        """That of the other arm."""
        return float(self.arm.maximum)

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The rewards of the other arm, by chance as they are, with the other sign, or nothing."""
        rewards: Floats = self.arm.sample(stream, pulls)
        return rewards * stream.choice([1.0, -1.0 if self.signed else 0.0, 0.0], rewards.shape)


def with_silence(world: World, *, signed: bool) -> World:
    """The same world, in which most parts pay nothing, or less."""
    arms = [SilentArm(arm, signed) for arm in world.rewards.arms]
    rewards = replace(world.rewards, arms=arms, signed=signed)
    return replace(world, problem=replace(world.problem, signed=signed), rewards=rewards)


def world_of(arms: Sequence[Any], *, span: int, horizon: int, groups: int | None = 1, **rest: Any) -> World:
    """A world with these arms' rewards."""
    problem = Problem(
        names=tuple(f"arm-{arm}" for arm in range(len(arms))),
        maxima=np.array([float(arm.maximum) for arm in arms]),
        span=span,
        horizon=horizon,
        groups=groups,
        means=np.array([float(arm.mean) for arm in arms]),
    )
    settings: dict[str, Any] = {"seed": 0, "run": 0, "drain": False} | rest
    return World(problem, Rewards(arms, groups), **settings)


def table_world(
    table: Floats | Sequence[Any], horizon: int, *, maxima: Sequence[float] | None = None, **rest: Any
) -> World:
    """A world whose rewards are table[arm][n-th pull][part - 1]; maxima default to the largest sums."""
    rows = [np.array(arm, dtype=np.float64) for arm in table]
    if maxima is None:
        maxima = [max(math.fsum(row) for row in arm) or 1.0 for arm in rows]
    arms = [TableArm(arm, maximum) for arm, maximum in zip(rows, maxima, strict=True)]
    return world_of(arms, span=rows[0].shape[1], horizon=horizon, **rest)


def table_of(world: World) -> list[list[list[float]]]:
    """The table behind such a world."""
    return [arm.rows.tolist() for arm in world.rewards.arms]


@dataclass
class Recorder:
    """A sink that keeps every event."""

    events: list[Event] = field(default_factory=list)

    def hear(self, events: Events) -> None:
        """Keep them."""
        self.events.extend(events)


@dataclass(frozen=True, eq=False)
class Run:
    """What one run of the engine gave."""

    arms: Ints
    events: list[Event]

    def of_kind(self, kind: str) -> list[Event]:
        """The events of one kind."""
        return [event for event in self.events if event.kind == kind]


def build_policy(world: World, name: str, **parameters: Any) -> Policy:
    """A built-in policy, ready for the first round of this world."""
    form, stream = POLICIES.find(name), open_stream(world.seed, world.run, Purpose.POLICY)
    chosen = form.parameters(**parameters)
    return start_policy(form.for_parameters(chosen), world.problem, chosen, stream)


def run_world(
    world: World,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    policy: Policy | None = None,
    sinks: Iterable[tuple[str, Subscriber]] = (),
    indices: bool = False,
) -> Run:
    """Run the reference engine under a built-in policy, or under another one in its place."""
    policy = build_policy(world, name, **(parameters or {})) if policy is None else policy
    form = POLICIES.find(name)
    clairvoyant = form.for_parameters(form.parameters(**(parameters or {}))).clairvoyant
    engine = SimpyEngine(world, policy, name, clairvoyant=clairvoyant, optional=("indices",) if indices else ())
    recorder = Recorder()
    for label, sink in sinks:
        engine.bus.subscribe(label, sink)
    engine.bus.subscribe("recorder", recorder)
    arms = np.concatenate(list(engine.round_batches()))
    return Run(arms, recorder.events)


def parameters_of(variant: str, groups: int) -> dict[str, Any]:
    """A variant's parameters, with ties for the first arm."""
    name, parameters = VARIANTS[variant]
    return parameters | {"ties": "first"} | ({"groups": groups} if name.startswith("tp-") else {})


def first_mismatch(world: World, variant: str, groups: int, policy: Policy | None = None) -> str | None:
    """Where a run first differs from the literal formulas, in a decision or an index; None if it never does."""
    name, parameters = VARIANTS[variant]
    problem, table = world.problem, table_of(world)
    told = literal.Setting(name, tuple(problem.maxima.tolist()), problem.span, groups, **parameters)
    run = run_world(world, name, parameters_of(variant, groups), policy=policy, indices=True)
    arms = run.arms.tolist()
    for event in run.of_kind("pull"):
        now, before, shown = event.round, arms[: event.round - 1], floats(event.indices)
        expected = literal.indices(told, table, before, now)
        if not np.allclose(shown, floats(expected), rtol=1e-9, atol=0.0):
            return f"round {now}: indices {shown}, literally {floats(expected)}"
        tied = literal.candidates(told, before, now, expected)
        arm = tied[0]
        if event.arm != arm or arms[now - 1] != arm:
            return f"round {now}: arm {event.arm}, literally {arm}; indices {shown}"
    return None


def due_events(world: World, run: Run, *, shown: bool) -> list[Event]:
    """The events that a run must have, given its decisions; totals are shown at the pull to the clairvoyant only."""
    return literal.timetable(table_of(world), run.arms.tolist(), drain=world.drain, shown=shown)


def floats(values: Iterable[Any] | None) -> list[float]:
    """Numbers, or words for them, as floats."""
    return [float(value) for value in values or ()]


def events_of(rows: Sequence[tuple[str, int, int, int, float]], seq: int = 0) -> Events:
    """Events written by hand as (kind, pull, arm, part, value)."""
    kind, pull, arm, part, value = zip(*rows, strict=True)
    return Events(
        seq=np.arange(seq, seq + len(rows)),
        time=np.zeros(len(rows)),
        kind=np.array([Kind[name.upper()] for name in kind], dtype=np.int8),
        round=np.array(pull, dtype=np.int64),
        pull=np.array(pull, dtype=np.int64),
        arm=np.array(arm, dtype=np.int64),
        part=np.array(part, dtype=np.int64),
        value=np.array(value, dtype=np.float64),
    )


EXACT = (st.just([0.0, 1.0]), st.just([0.0, 1.0, 2.0]), st.just([0.25, 0.5, 1.0]))
"""Values whose sums are exact and often tie."""
ROUNDED = (
    st.just([]),
    st.just([0.1, 0.2, 0.3, 0.7]),
    st.lists(st.just(0.0) | st.floats(1e-6, 1e6), min_size=1, max_size=4),
)
"""Any values (none: uniform floats); their sums round."""


@st.composite
def tables(draw: st.DrawFn, arms: int, pulls: int, span: int, *, exact: bool = False) -> Floats:
    """Random rewards: uniform floats or a few values that often tie; sometimes arms that pay alike."""
    palette = draw(st.one_of(*EXACT, *(() if exact else ROUNDED)))
    stream = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = (arms, pulls, span)
    table = stream.choice(palette, size) if palette else stream.random(size)
    alike = draw(st.sampled_from(["no", "equal", "shuffled"]))
    if alike != "no":
        table[:] = table[0]
    if alike == "shuffled":
        table = stream.permuted(table, axis=2)
    elif alike == "no":
        table *= stream.choice([1.0, 0.5, 0.0], (arms, 1, 1))
    return table


@st.composite
def table_worlds(draw: st.DrawFn, longest: int = 60, *, exact: bool = False) -> tuple[World, int]:
    """A random world and the number of groups that its policy assumes."""
    arms, groups, width = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    horizon = draw(st.integers(arms, longest))
    table = draw(tables(arms, horizon, groups * width, exact=exact))
    largest = [max(math.fsum(row) for row in rows) or 1.0 for rows in table]
    slack = draw(st.sampled_from([1.0, 1.5]))
    maxima = [slack * max(largest)] * arms if draw(st.booleans()) else [slack * maximum for maximum in largest]
    drain = draw(st.booleans())
    return table_world(table, horizon, maxima=maxima, groups=groups, drain=drain), groups
