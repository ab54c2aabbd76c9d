"""Arrivals: when decisions are due."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, PositiveFloat, PrivateAttr

from tpstream.model.arrays import Floats
from tpstream.model.errors import DelayError, ScenarioError
from tpstream.model.interfaces import BuildContext
from tpstream.model.recorded_files import read_column, row_fault
from tpstream.model.world import Regular
from tpstream.timing.calendars import OpenHours
from tpstream.timing.kinds import TimingSettings

LONGEST = 1_000_000
"""After this many closed times something is wrong with the opening hours."""


@dataclass(frozen=True)
class OpenRegular:
    """Decisions at equal distances, except at times at which it is closed."""

    every: float
    open: OpenHours

    regular: ClassVar[bool] = False
    """Rounds are left out."""

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:  # noqa: ARG002 (the protocol's)
        """The first times of every, 2 every, ... that are open; the end of a day belongs to it, so the eve counts."""
        found = np.empty(0)
        first, count = 1, 2 * horizon
        while len(found) < horizon:
            times = self.every * np.arange(first, first + count, dtype=np.float64)
            before = np.nextafter(times, 0.0)
            found = np.concatenate([found, times[self.open.reported(before) == before]])
            first, count = first + count, 2 * count
            if first > LONGEST + 2 * horizon and not len(found):
                raise DelayError(f"none of {first:,} times is open; change every or the opening hours")
        return found[:horizon]


class RegularArrivals(TimingSettings):
    """A decision at equal distances; every 1 is the paper's world."""

    every: PositiveFloat = Field(1.0, description="time between two decisions")
    open: OpenHours | None = Field(None, description="when decisions are made at all; the keys of the delay calendar")

    def build(self, context: BuildContext) -> Regular | OpenRegular:
        """The process that is also the default of a world, or one that leaves out times at which it is closed."""
        return Regular(self.every) if self.open is None else OpenRegular(self.every, self.open.build(context))


class Poisson(TimingSettings):
    """Decisions at random, at `rate` times per unit of time: a Poisson process; at each time `size` decisions."""

    rate: PositiveFloat = Field(description="times per unit of time at which somebody comes, on average")
    size: Annotated[int, Field(ge=1)] = Field(1, description="decisions at each of these times")

    regular: ClassVar[bool] = False
    """The times are random."""

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions, with independent exponential gaps; the last batch may be smaller."""
        times: Floats = np.cumsum(stream.exponential(1 / self.rate, -(-horizon // self.size)))
        return np.repeat(times, self.size)[:horizon]


class Batches(TimingSettings):
    """`size` decisions at a time, at the times every, 2 every, ..."""

    size: Annotated[int, Field(ge=1)] = Field(description="decisions of a batch, all at the same time")
    every: PositiveFloat = Field(1.0, description="time between two batches")

    @property
    def regular(self) -> bool:
        """Whether there are batches of one at distance 1."""
        return self.size == 1 and self.every == 1

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:  # noqa: ARG002 (the protocol's)
        """The times of all decisions; the last batch may be smaller."""
        return self.every * (np.arange(horizon) // self.size + 1).astype(np.float64)


class Ramp(TimingSettings):
    """A Poisson process whose rate goes from `start` to `end` over `duration`, linearly, and stays there."""

    start: Annotated[float, Field(ge=0)] = Field(0.0, description="decisions per unit of time at the beginning")
    end: PositiveFloat = Field(description="decisions per unit of time from the end of the ramp on")
    duration: PositiveFloat = Field(description="how long the rate grows")

    regular: ClassVar[bool] = False
    """The times are random."""

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions, by inverting the cumulative rate: exact, without rejection."""
        expected = np.cumsum(stream.exponential(1.0, horizon))
        whole_ramp = (self.start + self.end) / 2 * self.duration
        inside = np.minimum(expected, whole_ramp)
        # The root of start t + slope t^2 / 2 = expected, in the form that also holds for a slope near 0.
        slope = (self.end - self.start) / self.duration
        root = np.sqrt(np.maximum(self.start**2 + 2 * slope * inside, 0.0))
        return 2 * inside / (self.start + root) + (expected - inside) / self.end


class Trace(TimingSettings):
    """Decisions at recorded times: a CSV file with a column `time`, above 0 and never falling."""

    file: Annotated[str, Field(min_length=1)] = Field(
        description="CSV or Parquet file with the times of decisions in the column time, relative to the scenario"
    )

    _recorded: Floats = PrivateAttr()

    def build(self, context: BuildContext) -> Self:
        """The process with its times; the file is relative to the scenario."""
        times = read_column(context.folder / self.file, "time")
        wrong = np.diff(times, prepend=0.0) < 0
        wrong[0] = times[0] == 0
        if wrong.any():
            row = int(np.argmax(wrong)) + 1
            fault = "is before the row above; sort the rows" if row > 1 else "is not above 0; shift the times"
            raise row_fault(f"file: {self.file}", row, f"{times[row - 1]} {fault}", "time")
        if context.horizon is not None and len(times) < context.horizon:
            held = f"{self.file} has {len(times)} times but the horizon is {context.horizon}"
            raise ScenarioError(f"file: {held}; add rows or lower the horizon")
        return self.with_built(_recorded=times)

    @property
    def regular(self) -> bool:
        """Whether round t was at time t."""
        return bool(np.array_equal(self._recorded, np.arange(1, len(self._recorded) + 1)))

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:  # noqa: ARG002 (the protocol's)
        """The first recorded times."""
        return self._recorded[:horizon].copy()
