"""Calendars: what arrives is handed out only at certain times, such as weekly reports, or on days without weekends."""

from datetime import date
from typing import Annotated, ClassVar, Literal, Self, get_args

import numpy as np
from pydantic import Field, PositiveFloat, PrivateAttr, model_validator

from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext
from tpstream.timing.calendar_tables import HOURS_PER_DAY, CalendarTable, days_table, period_table
from tpstream.timing.kinds import TimingSettings


class TableCalendar(TimingSettings):
    """A calendar that is given by a table, which compiled loops can read."""

    def table(self) -> CalendarTable:
        """The table."""
        raise NotImplementedError

    def reported(self, times: Floats) -> Floats:
        """The first time, not before each of these, at which something is handed out."""
        from tpstream.timing.calendar_times import report  # noqa: PLC0415 (compiled code: reading a scenario needs none)

        reported = np.empty_like(times)
        report(self.table(), np.ascontiguousarray(times).reshape(-1), reported.reshape(-1))
        return reported


LONGEST_WEEK = 100_000
"""Days of a week, each of which is a row of a table."""


class Reporting(TableCalendar):
    """Handed out at the times first, first + every, ... or, with `days`, at whole times on these days of the week.

    Without `first` the first report is a whole period after the start. Time 1 is day 1, so that
    `days = [1, 2, 3, 4, 5]` is a world that begins on a Monday and rests at weekends.
    """

    exactly_one = ("every", "days")

    every: PositiveFloat | None = Field(None, description="time between two reports; give this or days")
    first: Annotated[float | None, Field(ge=0)] = Field(None, description="time of the first report; default: every")
    days: Annotated[list[Annotated[int, Field(ge=1)]] | None, Field(min_length=1)] = Field(
        None, description="days of the week with a report, from 1; give this or every"
    )
    week: Annotated[int, Field(ge=1, le=LONGEST_WEEK)] = Field(7, description="days of a week")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.days is not None and self.first is not None:
            raise ValueError("first belongs to every; remove it, or use every instead of days")
        return self

    def build(self, context: BuildContext) -> Self:  # noqa: ARG002 (the days are checked here so that the error names its key)
        """The same; days that the week does not have are refused."""
        if self.days is not None and max(self.days) > self.week:
            raise ScenarioError(
                f"days: there is no day {max(self.days)} in a week of {self.week}; use 1 to {self.week}"
            )
        return self

    @property
    def whole(self) -> bool:
        """Whether all reports are at whole times."""
        return self.every is None or (self.every.is_integer() and (self.first or 0.0).is_integer())

    def table(self) -> CalendarTable:
        """The table; with `days`, the reports of a day are at its end."""
        if self.every is not None:
            return period_table(self.every if self.first is None else self.first, self.every)
        is_open = np.isin(np.arange(1, self.week + 1), self.days or ())
        return days_table(is_open, HOURS_PER_DAY, (HOURS_PER_DAY, HOURS_PER_DAY))


Weekday = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
Hour = Annotated[float, Field(ge=0, le=HOURS_PER_DAY)]
DayOfYear = Annotated[str, Field(pattern=r"^(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$")]
HOURS_IN = {"hour": 1.0, "day": HOURS_PER_DAY, "week": 7 * HOURS_PER_DAY}
"""The units of time that a calendar by date can have, in hours."""
CYCLE = 146_097
"""After this many days dates and days of the week repeat themselves: 400 years, a whole number of weeks."""


class OpenHours(TableCalendar):
    """What arrives while it is open is handed on at once; what arrives while it is closed, at the next opening.

    Open on these `weekdays`, from one of the `hours` to the other, in these `seasons` of the year, except on
    `holidays`; what is left out does not restrict. The scenario gives the `time_unit` and the `start` date.
    """

    weekdays: Annotated[list[Weekday] | None, Field(min_length=1)] = Field(
        None, description='open days of the week, as in ["Mon", "Tue"]; default: all'
    )
    hours: tuple[Hour, Hour] = Field(
        (0.0, HOURS_PER_DAY),
        description="hours of the day at which it opens and closes; the same hour twice: only then",
    )
    seasons: Annotated[list[tuple[DayOfYear, DayOfYear]] | None, Field(min_length=1)] = Field(
        None, description='first and last day of each season, as in [["09-01", "12-20"]]; default: the whole year'
    )
    holidays: list[int | str] = Field([], description="closed days: dates such as 2024-12-24, or numbers from 1")

    whole: ClassVar[bool] = False
    """Openings need not be at whole times."""

    _table: CalendarTable = PrivateAttr()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.hours[0] > self.hours[1]:
            raise ValueError(f"hours: {list(self.hours)} closes before it opens; give the earlier hour first")
        for day in self.holidays:
            if isinstance(day, str) and _as_date(day) is None:
                raise ValueError(f"holidays: {day!r} is no date; write one as in 2024-12-24, or the number of the day")
        return self

    def build(self, context: BuildContext) -> Self:
        """The calendar with the days of this scenario."""
        if context.time_unit not in HOURS_IN:
            raise ScenarioError(
                f"weekdays: hours and dates need a unit of time; set time_unit of the scenario to one of "
                f"{', '.join(HOURS_IN)}"
            )
        by_date = self.weekdays or self.seasons or any(isinstance(day, str) for day in self.holidays)
        if by_date and context.start is None:
            raise ScenarioError(
                'weekdays: dates need a first day; set start of the scenario, as in start = "2024-01-01"'
            )
        start = context.start or date(2000, 1, 1)
        is_open = self._open_days(start)
        if not is_open.any():
            raise ScenarioError("weekdays: no day is open; add weekdays or seasons")
        closed = [day if isinstance(day, int) else (date.fromisoformat(day) - start).days + 1 for day in self.holidays]
        return self.with_built(_table=days_table(is_open, HOURS_IN[context.time_unit], self.hours, closed))

    def _open_days(self, start: date) -> Bools:
        """Whether each day of a cycle is open, beginning with the day of the start."""
        days = np.arange(7 if self.seasons is None else CYCLE)
        weekdays = [weekday_number(name) for name in self.weekdays or get_args(Weekday)]
        is_open = np.isin((start.weekday() + days) % 7, weekdays)
        if self.seasons is None:
            return is_open
        first = np.datetime64(start) + days
        numbers = (first.astype("datetime64[M]").astype(np.int64) % 12 + 1) * 100
        numbers += (first - first.astype("datetime64[M]")).astype(np.int64) + 1
        in_season = np.zeros(CYCLE, dtype=np.bool_)
        for begin, end in ((int(day.replace("-", "")) for day in season) for season in self.seasons):
            inside = (numbers >= begin, numbers <= end)
            in_season |= (inside[0] & inside[1]) if begin <= end else (inside[0] | inside[1])
        return is_open & in_season

    def table(self) -> CalendarTable:
        """The table."""
        return self._table


def weekday_number(name: Weekday) -> int:
    """The number of a day of the week, from 0 for Monday."""
    return get_args(Weekday).index(name)


def _as_date(text: str) -> date | None:
    """The date that a text is, or None."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
