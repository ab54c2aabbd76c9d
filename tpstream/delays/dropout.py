"""Drop-out: after a random moment nothing more comes of a pull; a patient moves away, a customer leaves."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, PositiveFloat, model_validator

from tpstream.delays.lag_delay import scipy_stats
from tpstream.model.arrays import Floats
from tpstream.model.protocols import DelayKind, Place, Schedule
from tpstream.model.settings import Settings


class DropoutSettings(Settings):
    """What would come after an exponential time is lost; give the rate per unit of time, or the mean time."""

    rate: PositiveFloat | None = None
    mean: PositiveFloat | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.rate is None) == (self.mean is None):
            raise ValueError("needs the rate or the mean, and not both; give one of them")
        return self


@dataclass(frozen=True)
class Dropout:
    """Loses the parts of a pull that would come after its moment; that shows when they would have come.

    Delays that are listed before it count: a part that they make late can be lost though it was due in time.
    """

    mean: float

    @property
    def whole(self) -> bool:
        """No offset is changed."""
        return True

    @property
    def distribution(self) -> Any:
        """The distribution of the moment, from the pull."""
        return scipy_stats().expon(scale=self.mean)

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """The schedule with the parts after the moment lost."""
        moments = stream.exponential(self.mean, (len(schedule.offsets), 1))
        return Schedule(schedule.offsets, schedule.lost | (schedule.offsets > moments))


class DropoutKind:
    """The delay "dropout"."""

    settings: type[BaseModel] = DropoutSettings

    def build(self, settings: DropoutSettings, place: Place) -> Dropout:  # noqa: ARG002 (the protocol's)
        """The delay for these settings."""
        return Dropout(settings.mean or 1 / (settings.rate or 1.0))


KIND: DelayKind = DropoutKind()
