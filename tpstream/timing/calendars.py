"""Reporting: what arrived is handed out only at certain times; weekly reports, nothing at weekends."""

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat, model_validator

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, CalendarDelay, DelayKind
from tpstream.model.settings import Settings


class ReportingSettings(Settings):
    """Handed out at the times first, first + every, ... or, with `days`, at whole times on these days of the week.

    Time 1 is day 1, so that `days = [1, 2, 3, 4, 5]` is a world that begins on a Monday and rests at weekends.
    """

    every: PositiveFloat | None = None
    first: Annotated[float | None, Field(ge=0)] = None
    days: Annotated[list[Annotated[int, Field(ge=1)]] | None, Field(min_length=1)] = None
    week: Annotated[int, Field(ge=1)] = 7

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.every is None) == (self.days is None):
            raise ValueError("needs every or days, and not both; give one of them")
        if self.days is not None and self.first is not None:
            raise ValueError("first belongs to every; remove it, or use every instead of days")
        return self


@dataclass(frozen=True)
class Periodic:
    """Reports at equal distances; by default the first one is a whole period after the start."""

    every: float
    first: float

    @property
    def whole(self) -> bool:
        """Whether all reports are at whole times."""
        return self.every.is_integer() and self.first.is_integer()

    def reported(self, times: Floats) -> Floats:
        """The first report that is not before each time."""
        number = np.maximum(np.ceil((times - self.first) / self.every), 0.0)
        # The quotient is rounded: the report before may still be in time, or this one a hair too early.
        before = self.first + np.maximum(number - 1, 0.0) * self.every
        this = self.first + number * self.every
        later = self.first + (number + 1) * self.every
        return np.where(before >= times, before, np.where(this >= times, this, later))


@dataclass(frozen=True, eq=False)
class Weekly:
    """Reports at the whole times that fall on certain days of the week."""

    waits: Ints
    """For each day of the week, how many days to the next report; 0 on its days."""

    @property
    def whole(self) -> bool:
        """They are at whole times."""
        return True

    def reported(self, times: Floats) -> Floats:
        """The first report that is not before each time."""
        days = np.ceil(times)
        return days + self.waits[(days.astype(np.int64) - 1) % len(self.waits)]


class Reporting:
    """The delay "reporting"."""

    settings: type[BaseModel] = ReportingSettings

    def build(self, settings: ReportingSettings, place: BuildContext) -> CalendarDelay:  # noqa: ARG002 (the protocol's)
        """The delay for these settings."""
        if settings.every is not None:
            return Periodic(settings.every, settings.every if settings.first is None else settings.first)
        days, week = settings.days or [], settings.week
        if max(days) > week:
            raise ScenarioError(f"days: there is no day {max(days)} in a week of {week}; use 1 to {week}")
        waits = [min((day - today) % week for day in days) for today in range(1, week + 1)]
        return Weekly(np.array(waits, dtype=np.int64))


REPORTING: DelayKind = Reporting()
