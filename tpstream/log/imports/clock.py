"""The clock of an imported log: its unit, its window, its data cut, and when decisions and payments were on it.

Dates are compared as whole microseconds, so that no age is off by a rounding error; numbers are compared to 9 decimals.
"""

from dataclasses import dataclass, replace

import numpy as np

from tpstream.log.imports.column_map import ImportOptions
from tpstream.log.imports.tables import Decisions, Payments, decision_rows
from tpstream.log.imports.times import (
    Kind,
    Moments,
    Times,
    align,
    check_zone,
    iso_text,
    read_duration,
    read_moment,
)
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import DataError
from tpstream.model.limits import LARGEST
from tpstream.model.units import DAY, MICROSECONDS, check_time_unit

MOST_PARTS = 10_000
"""Parts that a decision may have: its window in units of time."""
CLOCKS_DIFFER = 300_000_000
"""How long before its decision a payment may be, in microseconds: the clocks of two systems differ."""
DIGITS = 9
"""Decimals to which ages are compared where times are numbers."""


@dataclass(frozen=True, eq=False)
class Clock:
    """How times become times of the log; lengths and times are in microseconds, or numbers where times are."""

    kind: Kind
    unit: str | None
    length: float
    """The length of a unit of time."""
    origin: float
    """The time that becomes 0."""
    window: float
    until: float
    day_ends: bool
    """Whether the cut is the end of a day, so that a payment at that very time is after it."""
    tolerance: float

    @property
    def span(self) -> int:
        """The number of parts: periods of one unit, the last of which may be shorter."""
        return int(np.ceil(np.round(min(self.window / self.length, LARGEST), DIGITS)))

    def is_after_cut(self, times: Moments) -> Bools:
        """Whether these times are after the data cut."""
        after: Bools = times >= self.until if self.day_ends else times > self.until
        return after

    def to_log(self, times: Moments) -> Floats:
        """Times of the tables as times of the log."""
        found: Floats = (times - self.origin) / self.length
        return found

    def parts(self, ages: Moments) -> Ints:
        """The parts of these ages: 1 for the first unit, and so on."""
        if self.kind == "number":
            return np.floor(np.round(ages / self.length, DIGITS)).astype(np.int64) + 1
        found: Ints = (ages // int(self.length)).astype(np.int64) + 1
        return found

    def is_late(self, ages: Moments) -> Bools:
        """Whether the window is over at these ages."""
        late: Bools = (np.round(ages, DIGITS) if self.kind == "number" else ages) >= self.window
        return late

    def origin_text(self) -> str | None:
        """The date and time at time 0; None where times are numbers."""
        return None if self.kind == "number" else iso_text(int(self.origin), self.kind)


def set_clock(decisions: Decisions, payments: Payments, options: ImportOptions) -> tuple[Clock, Times, Times | None]:
    """The clock, and the times of decisions and payments on it; `payments` have none where their ages are given."""
    check_zone(options.timezone)
    made = decisions.times
    paid = None
    if payments.times is not None:
        made, paid = align(made, payments.times, options.timezone)
    else:
        made, _ = align(made, made, options.timezone)
    if made.missing.all():
        raise DataError(f"{decisions.source.where}: no decision has a time; give the column that has it")
    numbers = made.kind == "number"
    unit, length = _unit(options.unit, numbers=numbers)
    known = [times for times in (made, paid) if times is not None and not times.missing.all()]
    first = made.moments[~made.missing].min()
    clock = Clock(
        kind=made.kind,
        unit=unit,
        length=length,
        origin=0.0 if numbers else float(first // DAY * DAY),
        window=1.0,
        until=0.0,
        day_ends=False,
        tolerance=_tolerance(options, unit, known, numbers=numbers),
    )
    window = _window(options, clock, decisions, payments, made, paid)
    until, day_ends = _until(options, clock, known, None if paid is not None else window)
    clock = replace(clock, until=until, day_ends=day_ends, window=window)
    if clock.span > MOST_PARTS:
        what, remedy = options.window, "choose a larger unit (--unit)"
        if numbers:
            remedy = "divide times by the length of a unit, or give dates"
        if options.window is None:
            what, remedy = "the largest age of a payment", f"name a window (--window), correct that time, or {remedy}"
        most = f"{clock.span:,} parts of one {unit or 'unit'}, and {MOST_PARTS:,} are the most"
        raise DataError(f"window: {what} has {most}; {remedy}")
    return clock, made, paid


def _unit(word: str | None, *, numbers: bool) -> tuple[str | None, float]:
    """The unit of time and its length."""
    if numbers:
        try:
            return (None if word is None else check_time_unit(word)), 1.0
        except ValueError as error:
            raise DataError(f"unit: {error}") from None
    word = "day" if word is None else word
    if word not in MICROSECONDS:
        raise DataError(f"unit: {word!r} has no fixed length; use one of {', '.join(MICROSECONDS)}")
    return word, float(MICROSECONDS[word])


def _tolerance(options: ImportOptions, unit: str | None, known: list[Times], *, numbers: bool) -> float:
    """As named; else a day where only some times are dates, a few minutes where all have a time of day."""
    if options.tolerance is not None:
        return read_duration("tolerance", options.tolerance, unit or "unit", numbers=numbers)
    kinds = {times.kind for times in known}
    if numbers or kinds == {"date"}:
        return 0.0
    return float(DAY if "date" in kinds else CLOCKS_DIFFER)


def _until(options: ImportOptions, clock: Clock, known: list[Times], window: float | None) -> tuple[float, bool]:
    """The data cut: as named, else the last time in the tables; a date lasts to the end of its day.

    Tables that have ages instead of times count as complete: the cut is a window after the last decision.
    """
    if options.until is not None:
        return read_moment(options.until, clock.kind, options.timezone)
    ends = [
        (float(times.moments[~times.missing].max()) + (DAY if times.kind == "date" else 0), times.kind == "date")
        for times in known
    ]
    last, is_day = max(ends)
    return (last, is_day) if window is None else (last + window, is_day)


def _window(
    options: ImportOptions,
    clock: Clock,
    decisions: Decisions,
    payments: Payments,
    made: Times,
    paid: Times | None,
) -> float:
    """As named, in microseconds or numbers; else the largest age of a payment, in whole units."""
    if options.window is not None:
        window = read_duration("window", options.window, clock.unit or "unit", numbers=clock.kind == "number")
        if not window > 0:
            raise DataError(f"window: {options.window!r} leaves no time to pay; give a duration above 0, e.g. 60d")
        return window
    if paid is None:
        return payments.periods * clock.length
    row = decision_rows(decisions.ids, payments.ids)
    there = (row >= 0) & ~paid.missing
    there[there] &= ~made.missing[row[there]]
    ages = paid.moments[there] - made.moments[row[there]]
    largest = ages.max(initial=0)
    return float(clock.parts(np.array([largest]))[0] * clock.length)
