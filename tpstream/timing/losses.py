"""Losses: parts that never arrive, one by one (a missed visit) or all after some moment (a patient who drops out).

A lost part keeps its time: the loss is known when the part would have come.
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import DelayKind, Schedule
from tpstream.timing.kinds import BuiltInTiming, TimingSettings


class Missing(TimingSettings):
    """Each part is lost with probability p, independently; that shows when it would have come."""

    p: Annotated[float, Field(ge=0, le=1)]

    whole: ClassVar[bool] = True
    """No offset is changed."""

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """The schedule with more lost parts."""
        return Schedule(schedule.offsets, schedule.lost | (stream.random(schedule.lost.shape) < self.p))


class Dropout(TimingSettings):
    """What would come after an exponential time is lost; give the rate per unit of time, or the mean time.

    Delays that are listed before it count: a part that they make late can be lost though it was due in time.
    """

    exactly_one = ("rate", "mean")

    rate: PositiveFloat | None = None
    mean: PositiveFloat | None = None

    whole: ClassVar[bool] = True
    """No offset is changed."""

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """The schedule in which the parts after the pull's moment of dropping out are lost."""
        mean = self.mean or 1 / (self.rate or 1.0)
        moments = stream.exponential(mean, (len(schedule.offsets), 1))
        return Schedule(schedule.offsets, schedule.lost | (schedule.offsets > moments))


MISSING: DelayKind = BuiltInTiming(Missing)
DROPOUT: DelayKind = BuiltInTiming(Dropout)
