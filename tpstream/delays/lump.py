"""Lumps: the whole reward of a pull arrives at one delayed moment, the classical delayed feedback."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.protocols import DelayKind, Place, Schedule
from tpstream.model.settings import Settings


class LumpSettings(Settings):
    """The whole reward comes `at` that time after the pull (default: with the last part), once all parts are there."""

    at: Annotated[float | None, Field(ge=0)] = None


@dataclass(frozen=True)
class Lump:
    """Holds all parts of a pull back until the last one, and at least until a time after the pull.

    If earlier delays made a part later than that time, the others wait for it: nothing comes before it is due.
    """

    at: float

    @property
    def whole(self) -> bool:
        """Whether that time is whole."""
        return self.at.is_integer()

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """The schedule with one offset for all parts of a pull."""
        moments = np.maximum(schedule.offsets.max(axis=1, keepdims=True), self.at)
        return Schedule(np.repeat(moments, schedule.offsets.shape[1], axis=1), schedule.lost)


class LumpKind:
    """The delay "lump"."""

    settings: type[BaseModel] = LumpSettings

    def build(self, settings: LumpSettings, place: Place) -> Lump:
        """The delay for these settings."""
        last = place.span - 1
        if settings.at is not None and settings.at < last:
            raise ScenarioError(f"at: {settings.at} is before the last part is due; give at least {last}, the span - 1")
        return Lump(float(last) if settings.at is None else settings.at)


KIND: DelayKind = LumpKind()
