"""Arrivals: when decisions are due.

Ramps: decisions at random at a rate that changes linearly and then stays; accrual that speeds up.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import ArrivalKind, BuildContext
from tpstream.model.settings import Settings
from tpstream.model.world import Regular
from tpstream.timing.column import read_column
from tpstream.timing.lags import scipy_stats


class RegularSettings(Settings):
    """A decision at equal distances; every 1 is the paper's world."""

    every: PositiveFloat = 1.0


class RegularKind:
    """The arrival process "regular"."""

    settings: type[BaseModel] = RegularSettings

    def build(self, settings: RegularSettings, place: BuildContext) -> Regular:  # noqa: ARG002 (the protocol's)
        """The process for these settings."""
        return Regular(settings.every)


class PoissonSettings(Settings):
    """Decisions at random, `rate` per unit of time: a Poisson process."""

    rate: PositiveFloat


@dataclass(frozen=True)
class Poisson:
    """A Poisson process: independent exponential gaps."""

    rate: float

    @property
    def regular(self) -> bool:
        """It is not."""
        return False

    @property
    def distribution(self) -> Any:
        """The distribution of a gap."""
        return scipy_stats().expon(scale=1 / self.rate)

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions."""
        times: Floats = np.cumsum(stream.exponential(1 / self.rate, horizon))
        return times


class PoissonKind:
    """The arrival process "poisson"."""

    settings: type[BaseModel] = PoissonSettings

    def build(self, settings: PoissonSettings, place: BuildContext) -> Poisson:  # noqa: ARG002 (the protocol's)
        """The process for these settings."""
        return Poisson(settings.rate)


class BatchesSettings(Settings):
    """`size` decisions at a time, at the times every, 2 every, ..."""

    size: Annotated[int, Field(ge=1)]
    every: PositiveFloat = 1.0


@dataclass(frozen=True)
class Batches:
    """Several decisions at the same time; the last batch may be smaller."""

    size: int
    every: float

    @property
    def regular(self) -> bool:
        """Only in batches of one, at distance 1."""
        return self.size == 1 and self.every == 1

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:  # noqa: ARG002 (the protocol's)
        """The times of all decisions."""
        return self.every * (np.arange(horizon) // self.size + 1).astype(np.float64)


class BatchesKind:
    """The arrival process "batches"."""

    settings: type[BaseModel] = BatchesSettings

    def build(self, settings: BatchesSettings, place: BuildContext) -> Batches:  # noqa: ARG002 (the protocol's)
        """The process for these settings."""
        return Batches(settings.size, settings.every)


class TraceSettings(Settings):
    """Decisions at recorded times: a CSV file with a column `time`, above 0 and never falling."""

    file: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, eq=False)
class Trace:
    """The recorded times, from the first on."""

    recorded: Floats

    @property
    def regular(self) -> bool:
        """Whether round t was at time t."""
        return bool(np.array_equal(self.recorded, np.arange(1, len(self.recorded) + 1)))

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:  # noqa: ARG002 (the protocol's)
        """The first recorded times."""
        return self.recorded[:horizon].copy()


class TraceKind:
    """The arrival process "trace"."""

    settings: type[BaseModel] = TraceSettings

    def build(self, settings: TraceSettings, place: BuildContext) -> Trace:
        """The process for these settings; the file is relative to the scenario."""
        times = read_column(place.folder / settings.file, "time")
        wrong = np.diff(times, prepend=0.0) < 0
        wrong[0] = times[0] == 0
        if wrong.any():
            row = int(np.argmax(wrong)) + 1
            fault = "is before the row above; sort the rows" if row > 1 else "is not above 0; shift the times"
            raise ScenarioError(f"file: {settings.file} row {row}, column time: {times[row - 1]} {fault}")
        if place.horizon is not None and len(times) < place.horizon:
            held = f"{settings.file} has {len(times)} times but the horizon is {place.horizon}"
            raise ScenarioError(f"file: {held}; add rows or lower the horizon")
        return Trace(times)


REGULAR: ArrivalKind = RegularKind()
POISSON: ArrivalKind = PoissonKind()
BATCHES: ArrivalKind = BatchesKind()
TRACE: ArrivalKind = TraceKind()


class RampSettings(Settings):
    """A Poisson process whose rate goes from `start` to `end` over `duration`, linearly, and stays there."""

    start: Annotated[float, Field(ge=0)] = 0.0
    end: PositiveFloat
    duration: PositiveFloat


@dataclass(frozen=True)
class Ramp:
    """An inhomogeneous Poisson process, by inverting its cumulative rate: exact, without rejection."""

    start: float
    end: float
    duration: float

    @property
    def regular(self) -> bool:
        """It is not."""
        return False

    def cumulative(self, times: Floats) -> Floats:
        """How many decisions are expected up to these times; at the times drawn, a Poisson process of rate 1."""
        ramp = np.minimum(times, self.duration)
        growth = (self.end - self.start) / (2 * self.duration)
        expected: Floats = (self.start + growth * ramp) * ramp + self.end * (times - ramp)
        return expected

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:
        """The times of all decisions."""
        expected = np.cumsum(stream.exponential(1.0, horizon))
        whole_ramp = (self.start + self.end) / 2 * self.duration
        inside = np.minimum(expected, whole_ramp)
        # The root of start t + slope t^2 / 2 = expected, in the form that also holds for a slope near 0.
        slope = (self.end - self.start) / self.duration
        root = np.sqrt(np.maximum(self.start**2 + 2 * slope * inside, 0.0))
        return 2 * inside / (self.start + root) + (expected - inside) / self.end


class RampKind:
    """The arrival process "ramp"."""

    settings: type[BaseModel] = RampSettings

    def build(self, settings: RampSettings, place: BuildContext) -> Ramp:  # noqa: ARG002 (the protocol's)
        """The process for these settings."""
        return Ramp(settings.start, settings.end, settings.duration)


RAMP: ArrivalKind = RampKind()
