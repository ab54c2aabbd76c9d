"""The tests can fail: faults planted in the engine or between the bus and a policy are found by the comparison."""

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import literal
import numpy as np
import pytest
from worlds import VARIANTS, build_policy, due_events, first_mismatch, parameters_of, run_world, table_of, table_world

from tpstream.engines import draws, simpy_clock as timeline, simpy_engine
from tpstream.model.arrays import Floats
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Policy
from tpstream.model.world import World

GROUPS, WIDTH, ARMS, HORIZON = 3, 2, 3, 40
SPAN = GROUPS * WIDTH


def fair_world() -> World:
    """Three arms with uniform floats, one of them half as good."""
    table = np.random.default_rng(7).random((ARMS, HORIZON, SPAN)) * np.array([0.5, 1.0, 1.0]).reshape(3, 1, 1)
    return table_world(table, HORIZON, maxima=[float(SPAN)] * ARMS, groups=GROUPS)


class Faulty:
    """A built-in policy that hears and decides through a fault; as it is, it has none."""

    def __init__(self, world: World, variant: str) -> None:
        self.world = world
        self.inner: Policy = build_policy(world, VARIANTS[variant][0], **parameters_of(variant, GROUPS))

    def hear(self, events: Events) -> None:
        """Pass on."""
        self.inner.hear(events)

    def decide(self, round: int) -> int:
        """Pass on."""
        return self.inner.decide(round)

    def indices(self) -> Floats:
        """Pass on."""
        return self.inner.indices()


class NextLogarithm(Faulty):
    """Takes ln(t) for ln(t-1), or ln(t+1) for ln(t)."""

    def decide(self, round: int) -> int:
        """Decide as if it were one round later."""
        return self.inner.decide(round + 1)


class LateClosing(Faulty):
    """Hears of a closed pull one round late."""

    held: Events | None = None

    def hear(self, events: Events) -> None:
        """Hold back what is closed."""
        closed = events.kind == Kind.CLOSED
        if self.held is not None:
            self.inner.hear(self.held)
        self.held = take(events, closed)
        self.inner.hear(take(events, ~closed))


class EarlyPart(Faulty):
    """Hears the last part of every group together with the one before it."""

    def __init__(self, world: World, variant: str) -> None:
        super().__init__(world, variant)
        self.pulled: list[int] = []

    def hear(self, events: Events) -> None:
        """Let the part before the last bring both."""
        self.pulled += events.arm[events.kind == Kind.PULL].tolist()
        before = (events.kind == Kind.PARTIAL) & (events.part % WIDTH == WIDTH - 1)
        last = (events.kind == Kind.PARTIAL) & (events.part % WIDTH == 0)
        self.inner.hear(take(events, ~last))
        early = take(events, before)
        early.value[:] = [self.paid(pull, part + 1) for pull, part in zip(early.pull, early.part, strict=True)]
        early.part[:] += 1
        self.inner.hear(early)

    def paid(self, pull: int, part: int) -> float:
        """What a part is going to pay."""
        *earlier, arm = self.pulled[:pull]
        return table_of(self.world)[arm][earlier.count(arm)][part - 1]


class LostPart(Faulty):
    """Never hears the third part of the fifth pull."""

    def hear(self, events: Events) -> None:
        """Drop it."""
        self.inner.hear(take(events, ~((events.kind == Kind.PARTIAL) & (events.pull == 5) & (events.part == 3))))


class DoubleClosing(Faulty):
    """Hears twice that the fifth pull is closed."""

    def hear(self, events: Events) -> None:
        """Repeat it."""
        self.inner.hear(events)
        self.inner.hear(take(events, (events.kind == Kind.CLOSED) & (events.pull == 5)))


class WrongArm(Faulty):
    """Hears the parts of the fourth pull as another arm's."""

    def hear(self, events: Events) -> None:
        """Exchange the arm."""
        changed = take(events, slice(None))
        changed.arm[(changed.pull == 4) & (changed.kind != Kind.PULL)] = 2
        self.inner.hear(changed)


class WrongMaxima(Faulty):
    """Is told maxima that are too large by a millionth."""

    def __init__(self, world: World, variant: str) -> None:
        problem = replace(world.problem, maxima=world.problem.maxima * (1 + 1e-6))
        super().__init__(replace(world, problem=problem), variant)


class WrongSpan(Faulty):
    """Is told twice the span."""

    def __init__(self, world: World, variant: str) -> None:
        super().__init__(replace(world, problem=replace(world.problem, span=2 * SPAN)), variant)


class OtherStart(Faulty):
    """Delayed-UCB1 with the other start."""

    def __init__(self, world: World, variant: str) -> None:
        super().__init__(world, {"delayed-random": "delayed-round-robin"}.get(variant, "delayed-random"))


class LastTie(Faulty):
    """Breaks ties for the last arm."""

    def decide(self, round: int) -> int:
        """Decide for the last arm of the largest index, after the start."""
        arm = self.inner.decide(round)
        indices = self.inner.indices()
        return arm if round <= ARMS else int(np.flatnonzero(indices == indices.max())[-1])


def take(events: Events, chosen: object) -> Events:
    """A copy of the chosen rows."""
    return Events(**{name: rows.copy() for name, rows in events.take(chosen).columns().items()})


FAULTS = [
    *((NextLogarithm, variant) for variant in VARIANTS),
    (LateClosing, "delayed-round-robin"),
    (LateClosing, "delayed-random"),
    (EarlyPart, "fr"),
    (EarlyPart, "ew"),
    (LostPart, "fr"),
    (LostPart, "ew"),
    (DoubleClosing, "delayed-random"),
    (WrongArm, "fr"),
    (WrongArm, "delayed-random"),
    *((WrongMaxima, variant) for variant in VARIANTS),
    (WrongSpan, "delayed-round-robin"),
    (WrongSpan, "fr"),
    (WrongSpan, "ew"),
    (OtherStart, "delayed-random"),
    (OtherStart, "delayed-round-robin"),
    (LastTie, "ew"),
    (LastTie, "delayed-random"),
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_a_fault_nothing_is_found(variant: str) -> None:
    """The same detour without a fault agrees with the literal formulas."""
    assert first_mismatch(fair_world(), variant, GROUPS, Faulty(fair_world(), variant)) is None


@pytest.mark.parametrize(("fault", "variant"), FAULTS)
def test_faults_between_bus_and_policy_are_found(fault: type[Faulty], variant: str) -> None:
    """A policy that hears or decides through a fault differs from the literal formulas."""
    world = fair_world()
    assert first_mismatch(world, variant, GROUPS, fault(world, variant)) is not None


@pytest.mark.parametrize("shift", [-1, 1])
@pytest.mark.parametrize("variant", ["delayed-round-robin", "delayed-random", "fr", "ew"])
def test_conditions_are_sharp(variant: str, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine differs from formulas in which everything is known one round earlier, or later."""
    name = VARIANTS[variant][0]
    shifted = partial(_with_shifted_pulls, literal.INDEX[name], shift)
    monkeypatch.setitem(literal.INDEX, name, shifted)
    assert first_mismatch(fair_world(), variant, GROUPS) is not None


def _with_shifted_pulls(
    index: Any, shift: int, setting: literal.Setting, maximum: Decimal, pulls: list[literal.Pull], now: int
) -> Decimal:
    return index(setting, maximum, [(h + shift, parts) for h, parts in pulls], now)


LATE_DECISION = (timeline.DELIVERY + timeline.END) // 2
"""A priority that puts the decision after the deliveries of its time."""


@pytest.mark.parametrize("variant", ["delayed-round-robin", "delayed-random", "fr", "ew"])
def test_decision_after_deliveries_is_found(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that delivers what is due before it lets the policy decide differs from the literal formulas."""
    monkeypatch.setattr(simpy_engine, "DECISION", LATE_DECISION)
    assert first_mismatch(fair_world(), variant, GROUPS) is not None


@pytest.mark.parametrize("variant", ["delayed-round-robin", "delayed-random", "fr", "ew"])
def test_late_parts_are_found(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that delivers every part one round late differs from the literal formulas."""
    emit = simpy_engine.SimpyEngine._emit
    monkeypatch.setattr(simpy_engine.SimpyEngine, "_emit", lambda engine, pull, time: emit(engine, pull, time + 1.0))
    assert first_mismatch(fair_world(), variant, GROUPS) is not None


def test_totals_added_in_another_order_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Totals that are added from the last part to the first differ from the rule of order in their last bits."""
    fill_sums = draws.fill_sums
    monkeypatch.setattr(draws, "fill_sums", lambda block, sums: fill_sums(np.ascontiguousarray(block[:, ::-1]), sums))
    world = fair_world()
    run = run_world(world, "ucb1")
    assert run.events != due_events(world, run, shown=True)


@pytest.mark.parametrize(("constant", "value"), [("DECISION", LATE_DECISION), ("END", timeline.DECISION)])
def test_wrong_order_in_the_engine_is_found(constant: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that delivers before it decides, or ends before the last deliveries, breaks the rule of order."""
    monkeypatch.setattr(simpy_engine, constant, value)
    world = fair_world()
    run = run_world(world, "uniform")
    assert run.events != due_events(world, run, shown=False)
