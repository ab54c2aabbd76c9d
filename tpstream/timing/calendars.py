"""Calendars: what arrives is handed out only at certain times, such as weekly reports, or on days without weekends."""

from typing import Annotated, Self

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from tpstream.model.arrays import Floats
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
    week: Annotated[int, Field(ge=1)] = Field(7, description="days of a week")

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
