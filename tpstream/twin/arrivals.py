"""When decisions come: the `[arrivals]` table that fits the times of a log.

Decisions at equal distances, one or several at a time, are `regular` or `batches`; several at random times, always the
same number, are `poisson` with a `size`. All others are a Poisson process with the rate trend(t) x weekday x hour. The
trend is linear between some points. The factors and the values at the points are those of largest likelihood; how many
points there are, and whether there are factors, is decided by Schwarz's criterion (BIC).
"""

from dataclasses import dataclass, replace
from datetime import date
from itertools import product
from typing import Any

import numpy as np

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.timing.calendars import HOURS_IN

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
POINTS = (1, 2, 3, 5, 9)
"""Numbers of points that a trend may have."""
CELLS = 200
"""Pieces into which time is cut where there are no hours or days."""
HOURS, DAYS = 24, 7
STEPS, TOLERANCE = 1000, 1e-9
"""Of the search for the largest likelihood."""
LEAST = 1e-9
"""The smallest rate, so that somebody comes in the end."""
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class FittedArrivals:
    """A table `[arrivals]`, and where it comes from."""

    keys: dict[str, Any]
    reason: str
    """Where the numbers come from, in words."""
    begin: float
    """The time of the log at which the scenario begins."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Cells:
    """Pieces of time: how many decisions came in each, how long it is, and what it has in common with others."""

    count: Floats
    length: Floats
    middle: Floats
    weekday: Ints
    hour: Ints


@dataclass(frozen=True, eq=False)
class Rates:
    """The rate of a Poisson process that fits: a trend at some points, factors of weekdays and hours."""

    points: Floats
    values: Floats
    weekdays: Floats
    hours: Floats
    criterion: float
    """Schwarz's: the smaller, the better."""
    expected: Floats
    """Decisions in each cell."""


def fit_arrivals(times: Floats, unit: str | None, start: date | None) -> FittedArrivals:
    """The arrivals of decisions at these times, which never fall; `start` is the day that begins at time 0."""
    moments, sizes = np.unique(times, return_counts=True)
    found = _equal_batches(moments, sizes)
    if found is not None:
        return found
    hours = HOURS_IN.get(unit or "")
    dated = hours is not None and start is not None
    begin = 0.0 if dated else float(np.floor(moments[0]))
    length = _cell_length(moments, hours if dated else None)
    cells = _cells(times - begin, length, hours if dated else None, start)
    use_hours = dated and hours is not None and length < HOURS / hours
    use_days = dated and len(np.unique(cells.weekday)) == DAYS and cells.middle[-1] > 2 * DAYS * HOURS / (hours or 1)
    fits = [
        fit_rates(cells, points, weekdays=weekdays, hours=by_hour)
        for points, weekdays, by_hour in product(POINTS, {False, use_days}, {False, use_hours})
        if points <= len(cells.count)
    ]
    best = min(fits, key=lambda one: one.criterion)
    several = len(times) / len(moments)
    notes = []
    is_whole = bool((np.abs(moments - np.round(moments / length) * length) < ROUNDING).all())
    if is_whole and several > 1:
        notes.append("decisions of one date come at random times of that day: the log has no times of day")
    elif several > 2:  # noqa: PLR2004 (on average: chance makes few)
        notes.append(f"decisions came {several:.1f} at a time on average; in the twin they come one by one")
    return replace(_table(best, len(times), unit), begin=begin, notes=tuple(notes))


def _equal_batches(moments: Floats, sizes: Ints) -> FittedArrivals | None:
    """Decisions at equal distances, or always the same number at a time; None if they are neither."""
    size, gaps = int(sizes[0]), np.diff(moments)
    if len(moments) < 3 or (sizes[:-1] != size).any() or sizes[-1] > size:  # noqa: PLR2004 (two gaps to compare)
        return None
    if np.ptp(gaps) <= ROUNDING:
        every = round_off(float(gaps.mean()), 9)
        begin, distance = float(moments[0]) - every, f"at the distance of {every:g} in the log"
        if size == 1:
            return FittedArrivals({"kind": "regular", "every": every}, distance, begin)
        keys = {"kind": "batches", "size": size, "every": every}
        return FittedArrivals(keys, f"{size} decisions at a time, {distance}", begin)
    if size == 1:
        return None
    rate = round_off(1 / float(gaps.mean()))
    reason = f"{size} decisions at each of {len(moments):,} times of the log"
    return FittedArrivals({"kind": "poisson", "rate": rate, "size": size}, reason, float(np.floor(moments[0])))


def _cell_length(moments: Floats, hours: float | None) -> float:
    """How long a cell is: an hour or, where all times are whole days, a day; else a piece of all time."""
    if hours is None:
        whole = bool((moments == np.floor(moments)).all())
        return max(1.0 if whole else 0.0, float(np.ptp(moments)) / CELLS)
    day = HOURS / hours
    is_whole = bool((np.abs(moments - np.round(moments / day) * day) < ROUNDING).all())
    return day if is_whole else 1 / hours


def _cells(times: Floats, length: float, hours: float | None, start: date | None) -> Cells:
    """The cells from time 0 to the end of the last one in which somebody came; that one ends with its last decision."""
    place = np.floor(times / length + ROUNDING).astype(np.int64)
    count = np.bincount(place).astype(np.float64)
    lengths = np.full(len(count), length)
    rest = float(times[-1]) - (len(count) - 1) * length
    if rest > ROUNDING:
        lengths[-1] = rest
    middle: Floats = (np.arange(float(len(count))) + 0.5) * length
    clock = middle * (hours or 0.0)
    first = 0 if start is None else start.weekday()
    weekday = (np.floor(clock / HOURS).astype(np.int64) + first) % DAYS
    return Cells(count, lengths, middle, weekday, np.floor(clock % HOURS).astype(np.int64))


def fit_rates(cells: Cells, points: int, *, weekdays: bool, hours: bool) -> Rates:
    """The rate of largest likelihood with so many points of the trend, with or without factors.

    Each step improves one of the three with the others held (for the trend by EM), so that the likelihood never falls.
    """
    ends = np.linspace(0.0, float(cells.middle[-1] + cells.length[-1] / 2), points) if points > 1 else np.zeros(1)
    hats = np.stack([np.interp(cells.middle, ends, row) for row in np.eye(points)], axis=1)
    values = np.full(points, cells.count.sum() / cells.length.sum())
    by_day, by_hour = np.ones(DAYS), np.ones(HOURS)
    last = -np.inf
    for _ in range(STEPS):
        factors = by_day[cells.weekday] * by_hour[cells.hour]
        trend = hats @ values
        share = np.divide(cells.count, trend, out=np.zeros_like(trend), where=trend > 0)
        values = np.maximum(values * (hats.T @ share) / (hats.T @ (cells.length * factors)), LEAST)
        trend = hats @ values
        if weekdays:
            by_day = _factors(cells, cells.weekday, trend * by_hour[cells.hour], DAYS)
        if hours:
            by_hour = _factors(cells, cells.hour, trend * by_day[cells.weekday], HOURS)
        expected = trend * by_day[cells.weekday] * by_hour[cells.hour] * cells.length
        likelihood = _log_likelihood(cells.count, expected)
        if likelihood - last <= TOLERANCE * abs(likelihood):
            break
        last = likelihood
    parameters = points + weekdays * (DAYS - 1) + hours * (HOURS - 1)
    criterion = parameters * np.log(cells.count.sum()) - 2 * likelihood
    return Rates(ends, values, by_day, by_hour, float(criterion), expected)


def _factors(cells: Cells, group: Ints, rate: Floats, groups: int) -> Floats:
    """The factor of each group of cells for which as many decisions are expected as came, with mean 1."""
    came = np.bincount(group, weights=cells.count, minlength=groups)
    expected = np.bincount(group, weights=rate * cells.length, minlength=groups)
    factors = np.divide(came, expected, out=np.ones(groups), where=expected > 0)
    mean: Floats = factors / factors.mean()
    return mean


def _log_likelihood(count: Floats, expected: Floats) -> float:
    came: Bools = count > 0
    return float((count[came] * np.log(np.maximum(expected[came], LEAST))).sum() - expected.sum())


def _table(rates: Rates, count: int, unit: str | None) -> FittedArrivals:
    """The rates as a table of a scenario, rounded so that it can be read."""
    varies = bool((rates.weekdays != 1).any() or (rates.hours != 1).any())
    per = f"per {unit}" if unit else "per unit of time"
    if len(rates.points) == 1 and not varies:
        reason = f"{count:,} decisions at a rate that does not change"
        return FittedArrivals({"kind": "poisson", "rate": round_off(float(rates.values[0]))}, reason, 0.0)
    curve = [[round_off(time), round_off(value)] for time, value in zip(rates.points, rates.values, strict=True)]
    keys: dict[str, Any] = {"kind": "varying", "curve": curve}
    if (rates.weekdays != 1).any():
        keys["weekdays"] = {name: round_off(factor, 3) for name, factor in zip(WEEKDAYS, rates.weekdays, strict=True)}
    if (rates.hours != 1).any():
        keys["hours"] = [round_off(factor, 3) for factor in rates.hours]
    factors = [word for word, key in (("weekday", "weekdays"), ("hour", "hours")) if key in keys]
    times = f", times a factor of the {' and the '.join(factors)}" if factors else ""
    return FittedArrivals(keys, f"decisions {per} by largest likelihood, {count:,} in the log{times}", 0.0)


def round_off(value: float, digits: int = 4) -> float:
    """A number with so many digits."""
    return float(f"{value:.{digits}g}")
