"""Missing parts: each is lost with some probability, on its own; a visit is skipped, a form not filled in."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from tpstream.model.arrays import Floats
from tpstream.model.protocols import DelayKind, Place, Schedule
from tpstream.model.settings import Settings


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

    def build(self, settings: MissingSettings, place: Place) -> Missing:  # noqa: ARG002 (the protocol's)
        """The delay for these settings."""
        return Missing(settings.p)


KIND: DelayKind = MissingKind()
