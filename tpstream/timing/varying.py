"""What varies with the calendar: arrivals whose rate does, and delays that depend on the time of the pull."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Self, cast

import numpy as np
from pydantic import Field, PositiveFloat, PrivateAttr, model_validator

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import DelayError, ScenarioError
from tpstream.model.interfaces import BuildContext, DelayProcess, DrawnDelay, Moves
from tpstream.timing.calendar_tables import HOURS_PER_DAY
from tpstream.timing.calendars import HOURS_IN, OpenHours, Weekday, weekday_number
from tpstream.timing.kinds import InnerDelay, TimingSettings, build_inner, is_drawn
from tpstream.timing.lags import SampledDelay

Factor = Annotated[float, Field(ge=0)]
Curve = Annotated[list[tuple[Annotated[float, Field(ge=0)], Factor]], Field(min_length=1)]
"""Times and values, linear between them, constant before the first and after the last."""
DAYS_AT_ONCE, MOST_AT_ONCE = 28, 28 * 2**8
"""Days that are looked at together: few at first, then twice as many again and again, up to some twenty years."""
LONGEST = 100_000
"""After this many days without a decision something is wrong with the factors."""


def check_rising(curve: Curve, key: str) -> None:
    """Raise unless the times of a curve rise."""
    times = [time for time, _ in curve]
    if times != sorted(set(times)):
        raise ValueError(f"{key}: times must rise, got {times}; sort them")


def check_rates(curve: Curve, key: str) -> None:
    """Raise unless the times of a curve of rates rise, and somebody comes in the end."""
    check_rising(curve, key)
    if curve[-1][1] == 0:
        raise ValueError(f"{key}: the last rate holds for ever, and nobody comes at rate 0; end with another one")


class VaryingRate(TimingSettings):
    """Somebody comes at random, at a rate that follows a curve, days of the week, hours of the day and opening hours.

    While closed (`open`, the keys of the delay "calendar") the rate is zero: nobody comes, and nobody comes later
    instead.
    """

    weekdays: dict[Weekday, Factor] = Field({}, description="factors of days of the week, as in { Sat = 0.5 }")
    hours: Annotated[list[Factor] | None, Field(min_length=24, max_length=24)] = Field(
        None, description="factors of the 24 hours of the day"
    )
    open: OpenHours | None = Field(None, description="when somebody comes at all; the keys of the delay calendar")

    regular: ClassVar[bool] = False
    """The times are random."""

    _unit: float = PrivateAttr(HOURS_PER_DAY)
    _weekdays: Floats = PrivateAttr()
    _open: OpenHours | None = PrivateAttr(None)

    @property
    def points(self) -> Curve:
        """Times and rates, before the factors."""
        raise NotImplementedError

    @property
    def begin(self) -> float:
        """Nobody comes before this time."""
        return 0.0

    def build(self, context: BuildContext) -> Self:
        """The process with the days of this scenario."""
        if not self.weekdays and self.hours is None and self.open is None:
            return self.with_built(_weekdays=np.ones(7))
        if context.time_unit not in HOURS_IN:
            raise ScenarioError(f"hours: set time_unit of the scenario to one of {', '.join(HOURS_IN)}")
        factors = np.ones(7)
        if self.weekdays:
            if context.start is None:
                raise ScenarioError('weekdays: set start of the scenario, as in start = "2024-01-01"')
            for name, factor in self.weekdays.items():
                factors[(weekday_number(name) - context.start.weekday()) % 7] = factor
        is_open = None if self.open is None else self.open.build(context)
        return self.with_built(_unit=HOURS_IN[context.time_unit], _weekdays=factors, _open=is_open)

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions, by inverting the cumulative rate: exact, without rejection."""
        return np.concatenate(list(self.periods(np.cumsum(stream.exponential(1.0, horizon)))))

    def periods(self, expected: Floats) -> Iterator[Floats]:
        """The times at which the cumulative rate reaches these numbers: in the first weeks, then in longer stretches.

        The stretches do not depend on the rates, so that those of several sites are the same.
        """
        total, day, days, lately = 0.0, 0, DAYS_AT_ONCE, 0
        while len(expected):
            edges, rates = self._pieces(day, day + days)
            starts = np.arange(day, day + days, DAYS_AT_ONCE) * HOURS_PER_DAY / self._unit
            amounts = _added_up((rates[:, 0] + rates[:, 1]) / 2 * np.diff(edges), np.searchsorted(edges, starts), total)
            inside = expected[expected <= amounts[-1]]
            yield _invert(inside, edges, rates, amounts, total)
            expected, total, day = expected[len(inside) :], float(amounts[-1]), day + days
            days, lately = min(2 * days, MOST_AT_ONCE), day if len(inside) else lately
            if day - lately > LONGEST:
                raise DelayError(f"nobody comes within {LONGEST:,} days; raise a factor, or open on a day that has one")

    def _pieces(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Times between which the rate is linear, over some days, and the rates at the two ends of each piece."""
        hours = {0.0, *(map(float, range(24)) if self.hours else ()), *(self._open.hours if self._open else ())}
        inside = (np.arange(first, last)[:, np.newaxis] * HOURS_PER_DAY + sorted(hours)).reshape(-1) / self._unit
        end = last * HOURS_PER_DAY / self._unit
        points, values = np.array(self.points).T
        kinks = np.append(points, self.begin)
        between = kinks[(kinks > inside[0]) & (kinks < end)]
        edges = np.unique(np.concatenate([inside[inside < end], between, [end]]))
        middle = (edges[1:] + edges[:-1]) / 2
        factors = self._weekdays[(middle * self._unit / HOURS_PER_DAY).astype(np.int64) % 7] * (middle > self.begin)
        if self.hours is not None:
            factors = factors * np.array(self.hours)[(middle * self._unit % HOURS_PER_DAY).astype(np.int64)]
        if self._open is not None:
            factors = factors * (self._open.reported(middle) == middle)
        return edges, factors[:, np.newaxis] * np.interp(np.stack([edges[:-1], edges[1:]], axis=1), points, values)


def _added_up(amounts: Floats, starts: Ints, before: float) -> Floats:
    """Running sums that begin with `before`, added up from each start to the next one, and these sums one by one.

    So how many starts there are at a time makes no difference to any bit.
    """
    counts = np.diff(starts, append=len(amounts))
    rows = np.repeat(np.arange(len(starts)), counts)
    columns = np.arange(len(amounts)) - np.repeat(starts, counts)
    sums = np.zeros((len(starts), counts.max()))
    sums[rows, columns] = amounts
    sums = np.cumsum(sums, axis=1)
    found: Floats = (np.cumsum([before, *sums[:-1, -1]])[:, np.newaxis] + sums)[rows, columns]
    return found


def _invert(expected: Floats, edges: Floats, rates: Floats, amounts: Floats, before: float) -> Floats:
    """When the cumulative rate, `before` at the first edge and `amounts` at the others, reaches these numbers."""
    piece = np.searchsorted(amounts, expected)
    rest = expected - np.concatenate([[before], amounts])[piece]
    left, right = rates[piece].T
    slope = (right - left) / np.diff(edges)[piece]
    # The root of left t + slope t^2 / 2 = rest, in the form that also holds for a slope near 0.
    root = np.sqrt(np.maximum(left**2 + 2 * slope * rest, 0.0))
    times: Floats = np.minimum(edges[piece] + 2 * rest / (left + root), edges[piece + 1])
    return times


class Varying(VaryingRate):
    """A Poisson process with a rate that varies: `curve` lists times and rates, linear between them.

    The rate is multiplied by the factor of the day of the week (`weekdays`) and of the hour (`hours`, 24 numbers). At
    each time there are `size` decisions.
    """

    curve: Curve = Field(description="times and rates, linear between them; before and after them constant")
    size: Annotated[int, Field(ge=1)] = Field(1, description="decisions at each of the times at which somebody comes")

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_rates(self.curve, "curve")
        return self

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions; the last batch may be smaller."""
        return np.repeat(super().times(stream, -(-horizon // self.size)), self.size)[:horizon]

    @property
    def points(self) -> Curve:
        """The curve."""
        return self.curve


class Seasonal(SampledDelay):
    """The lags of an inner delay, times a factor that depends on when the pull was made.

    `curve` lists times and factors, linear between them; with a `period` it repeats itself.
    """

    delay: InnerDelay = Field(description="the delay whose lags are multiplied")
    curve: Curve = Field(description="times of pulls and factors, linear between them; before and after them constant")
    period: PositiveFloat | None = Field(None, description="after how long the curve begins again; default: never")

    whole: ClassVar[bool] = False
    """A lag times a factor need not be whole."""

    _delay: DelayProcess = PrivateAttr()

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_rising(self.curve, "curve")
        if self.period is not None and self.curve[-1][0] > self.period:
            raise ValueError(f"curve: {self.curve[-1][0]:g} is after the period of {self.period:g}; raise the period")
        return self

    def build(self, context: BuildContext) -> Self:
        """The delay with its inner one."""
        delay = build_inner(self.delay, context, "delay")
        if not is_drawn(delay):
            raise ScenarioError(f"delay.kind: {self.delay.kind!r} must know when all parts arrive; use another kind")
        return self.with_built(_delay=delay)

    @property
    def inner(self) -> tuple[DelayProcess, ...]:
        """The inner delay."""
        return (self._delay,)

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:
        """What the inner delay does, before its lags are multiplied by the factor."""
        return cast("DrawnDelay", self._delay).moves(rewards, arm, stream)

    def factor(self, pulled: Floats) -> Floats:
        """The factor for pulls that are made at these times."""
        points, values = np.array(self.curve).T
        factor: Floats = np.interp(pulled, points, values, period=self.period)
        return factor
