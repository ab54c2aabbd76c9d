"""Ramps: decisions at random at a rate that changes linearly and then stays; accrual that speeds up."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.protocols import ArrivalKind, Place
from tpstream.model.settings import Settings


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

    def build(self, settings: RampSettings, place: Place) -> Ramp:  # noqa: ARG002 (the protocol's)
        """The process for these settings."""
        return Ramp(settings.start, settings.end, settings.duration)


KIND: ArrivalKind = RampKind()
