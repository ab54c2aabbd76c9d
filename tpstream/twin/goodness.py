"""How good a twin is: what it pays, and when, beside what was recorded.

The twin is simulated some times with the decisions of the log, arm by arm. Each number or curve of the log is compared
with the mean of the simulated ones, and every simulated one with the mean of the others: a distance that one simulated
log in twenty exceeds is what chance alone makes.

A later part of the log is predicted by a twin of the earlier part: what its decisions pay if they are made when they
were, and how many decisions there are. That such a twin has an error of its own is allowed for: with n decisions before
and m after, chance makes sqrt(1 + m / n) times the distance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpstream.analysis.open_values import ROUNDING, ArmAges
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.model.arrays import Floats, Ints
from tpstream.model.world import Purpose, World, open_stream
from tpstream.scenario.scenario import Scenario
from tpstream.twin.recorded import Recorded

RUNS = 40
"""Simulated logs."""
MOST_BINS = 40
"""Pieces of time for what happens over time."""
CHANCE = 0.95
"""The share of simulated logs that are not further from the others."""
NEAR, FAR = 0.05, 1.5
"""A twin is called apart if a distance is larger than `NEAR` and `FAR` times what chance makes; one row in twenty is
beyond what chance makes by chance itself, but only one in some hundreds so far."""
MOST_DECISIONS = 50_000
"""Decisions that are simulated; of more, a random part is compared."""
ALL_ARMS = -1
"""Stands for no single arm."""
AS_CHANCE, CLOSE, APART = "as chance allows", "close", "apart"
"""The verdicts."""


@dataclass(frozen=True, eq=False)
class Curves:
    """What is compared of a log."""

    by_age: Floats
    """What a decision of each arm paid up to each age, of shape (arms, ages)."""
    zeros: Floats
    """The share of decisions of each arm that have paid nothing yet."""
    decisions: Floats
    """Decisions in each piece of time."""
    paid: Floats
    """What was paid in each piece of time."""
    open: Floats
    """Open decisions at the end of each piece of time."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A log beside simulated ones."""

    part: str
    """"all" of the log, or the part that was "held out"."""
    names: Sequence[str]
    grid: Floats
    """The ends of the pieces of time."""
    recorded: Curves
    simulated: Sequence[Curves]
    allowance: Floats
    """By how much chance makes larger distances than among simulated logs, for each arm and for all."""

    def rows(self) -> list[dict[str, Any]]:
        """The table of distances."""
        arms = range(len(self.names))
        return [
            *(self._row("paid by age", arm, _Measure("by_age", _largest, last=True)) for arm in arms),
            *(self._row("share without payment", arm, _Measure("zeros", _largest_difference)) for arm in arms),
            self._row("decisions", ALL_ARMS, _Measure("decisions", _mean_share)),
            self._row("paid over time", ALL_ARMS, _Measure("paid", _mean_share)),
            self._row("open decisions", ALL_ARMS, _Measure("open", _mean_share)),
        ]

    def _row(self, name: str, arm: int, measure: "_Measure") -> dict[str, Any]:
        """A number or curve of the log against the simulated ones; shown are its last value or its mean."""
        own, others = measure.of(self.recorded, arm), np.stack([measure.of(one, arm) for one in self.simulated])
        total, runs = others.sum(axis=0), len(others)
        apart = measure.distance(own, total / runs)
        by_chance = [measure.distance(one, (total - one) / (runs - 1)) for one in others]
        limit = float(np.quantile(by_chance, CHANCE) * self.allowance[arm])
        shown, expected = (float(one[-1] if measure.last else one.mean()) for one in (own, total / runs))
        verdict = AS_CHANCE if apart <= limit else APART if apart > max(NEAR, FAR * limit) else CLOSE
        return {
            "part": self.part,
            "measure": name,
            "arm": "all" if arm == ALL_ARMS else self.names[arm],
            "recorded": shown,
            "simulated": expected,
            "distance": apart,
            "by_chance": limit,
            "verdict": verdict,
        }


@dataclass(frozen=True)
class _Measure:
    """What is compared: a curve by its name, how far two are apart, and whether its last value is shown."""

    name: str
    distance: Callable[[Floats, Floats], float]
    last: bool = False

    def of(self, curves: Curves, arm: int) -> Floats:
        """The numbers of a log, of one arm or of all."""
        found: Floats = getattr(curves, self.name)
        return found if arm == ALL_ARMS else np.atleast_1d(found[arm])


def _largest(one: Floats, other: Floats) -> float:
    """The largest difference of two curves, as a share of the last value of the other one."""
    return float(np.abs(one - other).max() / max(abs(float(other[-1])), ROUNDING))


def _largest_difference(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).max())


def _mean_share(one: Floats, other: Floats) -> float:
    """The mean difference of two curves, as a share of the mean of the other one."""
    return float(np.abs(one - other).mean() / max(abs(float(other.mean())), ROUNDING))


def compare_with(recorded: Recorded, scenario: Scenario, begin: float, part: str, seed: int) -> Comparison:
    """Simulate the twin with as many decisions as the log has."""
    ages = _ages(recorded)
    grid = _grid(float(recorded.made[0]), recorded.table.until)
    simulated = []
    for run in range(RUNS):
        world = scenario.build_world(seed, run)
        times = world.timing.arrivals.times(_stream(world), len(recorded.sequence)) + begin
        simulated.append(_simulated(recorded, world, times, grid, ages))
    allowance = np.ones(len(recorded.names) + 1)
    return Comparison(part, recorded.names, grid, _curves_of(recorded, grid, ages), simulated, allowance)


def compare_later(
    earlier: Recorded, later: Recorded, scenario: Scenario, begin: float, part: str, seed: int
) -> Comparison:
    """Simulate a twin of earlier decisions with the later ones at their times; how many there are is predicted too."""
    table, ages, split = later.table, _ages(later), earlier.table.until
    grid = _grid(split, table.until)
    simulated = []
    for run in range(RUNS):
        world = scenario.build_world(seed, run)
        found = _simulated(later, world, later.made, grid, ages)
        times = np.sort(_times_between(world, split, float(later.made[-1]), begin))
        predicted = {"decisions": np.histogram(times, grid)[0].astype(np.float64)}
        predicted["open"] = _open_at(times, grid[1:], table.periods)
        simulated.append(replace(found, **predicted))
    counts = [[arm.count for arm in one.table.arms] for one in (later, earlier)]
    ratio = np.array([[*one, sum(one)] for one in counts], dtype=np.float64)
    allowance = np.sqrt(1 + ratio[0] / np.maximum(ratio[1], 1))
    return Comparison(part, later.names, grid, _curves_of(later, grid, ages), simulated, allowance)


def _ages(recorded: Recorded) -> int:
    """The number of ages that enough decisions have reached, of every arm that has so many."""
    usable = (arm.usable() for arm in recorded.table.arms)
    return min((ages for ages in usable if ages), default=1)


def _simulated(recorded: Recorded, world: World, made: Floats, grid: Floats, ages: int) -> Curves:
    """What the decisions of a log pay in one run, if they are made at these times; of very many, a part is drawn."""
    table, sequence, weight = recorded.table, recorded.sequence, 1.0
    if len(made) > MOST_DECISIONS:
        random = open_stream(world.seed, world.run, Purpose.POLICY)
        kept = np.sort(random.choice(len(made), MOST_DECISIONS, replace=False))
        made, sequence, weight = made[kept], sequence[kept], len(made) / MOST_DECISIONS
    arms, times = simulate_arms(world, made, sequence, table.until, table.periods, table.whole)
    return curves(arms, times, grid, ages, weight)


def _curves_of(recorded: Recorded, grid: Floats, ages: int) -> Curves:
    return curves(recorded.table.arms, recorded.table.times, grid, ages)


def _grid(first: float, until: float) -> Floats:
    """Pieces of time of one unit, or of several if there would be too many."""
    step = max(1.0, float(np.ceil((until - first) / MOST_BINS)))
    begin = float(np.floor(first))
    return np.append(np.arange(begin, until - ROUNDING, step), until)


def _times_between(world: World, first: float, last: float, begin: float) -> Floats:
    """When decisions are due in one simulated log after some time and up to another, in the time of the log."""
    asked = world.problem.horizon
    while True:
        times = world.timing.arrivals.times(_stream(world), asked) + begin
        if times[-1] > last:
            found: Floats = times[(times > first) & (times <= last)]
            return found
        asked *= 2


def _stream(world: World) -> np.random.Generator:
    return open_stream(world.seed, world.run, Purpose.ARRIVALS)


def simulate_arms(
    world: World, made: Floats, sequence: Ints, until: float, periods: int, whole: float
) -> tuple[list[ArmAges], list[Floats]]:
    """What decisions at these times pay in a run of the world, as it is known at `until`.

    The draws are those of a run, in which the n-th decision for an arm pays the same under every policy.
    """
    reader, arms, times = DrawsReader(Draws(world)), [], []
    nominal = world.timing.nominal(world.problem.span)
    for number in range(world.problem.arms):
        own = made[sequence == number]
        row, age, amount, found = [], [], [], 0
        while found < len(own):
            block = reader.next_block(number)
            parts = block.rewards[: len(own) - found]
            offsets = np.broadcast_to(nominal, parts.shape)
            paid = parts != 0
            if block.schedule is not None:
                offsets = block.schedule.offsets[: len(parts)]
                paid &= ~block.schedule.lost[: len(parts)]
            rows, place = np.nonzero(paid & (offsets <= periods))
            row.append(rows + found)
            age.append(offsets[rows, place])
            amount.append(parts[rows, place])
            found += len(parts)
        rows, offset, value = (np.concatenate([np.empty(0, kind), *one]) for one, kind in _typed(row, age, amount))
        time = own[rows] + offset
        known = time <= until + ROUNDING
        observed = np.clip(np.floor(until - own + ROUNDING) + whole, 0, periods).astype(np.int64)
        period = np.minimum(np.floor(offset[known] + ROUNDING), periods - 1).astype(np.int64)
        arms.append(ArmAges(own, observed, rows[known], period, value[known], periods))
        times.append(time[known])
    return arms, times


def _typed(row: list[Ints], age: list[Floats], amount: list[Floats]) -> tuple[tuple[list[Any], Any], ...]:
    return (row, np.int64), (age, np.float64), (amount, np.float64)


def curves(arms: Sequence[ArmAges], times: Sequence[Floats], grid: Floats, ages: int, weight: float = 1.0) -> Curves:
    """What is compared of some decisions, each of which stands for `weight` of them."""
    made = np.concatenate([arm.made for arm in arms])
    paid, amount = np.concatenate(times), np.concatenate([arm.amount for arm in arms])
    return Curves(
        by_age=np.stack([paid_by_age(arm, ages) for arm in arms]),
        zeros=np.array([1 - len(np.unique(arm.row[arm.amount != 0])) / max(arm.count, 1) for arm in arms]),
        decisions=weight * np.histogram(made, grid)[0],
        paid=weight * np.histogram(paid, grid, weights=amount)[0],
        open=weight * _open_at(np.sort(made), grid[1:], arms[0].periods),
    )


def _open_at(made: Floats, times: Floats, periods: int) -> Floats:
    """How many of these decisions, in their order, are open at some times."""
    found = np.searchsorted(made, times, side="right") - np.searchsorted(made + periods, times, side="right")
    return found.astype(np.float64)


def paid_by_age(arm: ArmAges, ages: int) -> Floats:
    """What a decision paid up to each of the first ages: each age is judged by the decisions that have reached it."""
    whole = (arm.age < ages) & (arm.age < arm.observed[arm.row])
    paid = np.bincount(arm.age[whole], weights=arm.amount[whole], minlength=ages)[:ages]
    return np.cumsum(paid / np.maximum(arm.reached()[:ages], 1))
