"""Missing parts: each is lost with some probability, on its own; a visit is skipped, a form not filled in.

Drop-out: after a random moment nothing more comes of a pull; a patient moves away, a customer leaves.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, DelayKind, Schedule
from tpstream.model.settings import Settings
from tpstream.timing.lags import scipy_stats


class MissingSettings(Settings):
    """Each part is lost with probability p, independently; that shows when it would have come."""

    p: Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class Missing:
    """Loses each part with probability p."""

    p: float

    @property
    def whole(self) -> bool:
        """No offset is changed."""
        return True

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """The schedule with more lost parts."""
        return Schedule(schedule.offsets, schedule.lost | (stream.random(schedule.lost.shape) < self.p))


class MissingKind:
    """The delay "missing"."""

    settings: type[BaseModel] = MissingSettings

    def build(self, settings: MissingSettings, place: BuildContext) -> Missing:  # noqa: ARG002 (the protocol's)
        """The delay for these settings."""
        return Missing(settings.p)


MISSING: DelayKind = MissingKind()


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

    def build(self, settings: DropoutSettings, place: BuildContext) -> Dropout:  # noqa: ARG002 (the protocol's)
        """The delay for these settings."""
        return Dropout(settings.mean or 1 / (settings.rate or 1.0))


DROPOUT: DelayKind = DropoutKind()
