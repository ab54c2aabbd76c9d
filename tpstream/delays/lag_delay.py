"""Lag delays: every part arrives later by a lag that is drawn, one for each part or one for the whole pull."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import BaseModel

from tpstream.model.arrays import Floats
from tpstream.model.protocols import Place, Schedule
from tpstream.model.settings import Settings

Per = Literal["part", "pull"]


class LagSettings(Settings):
    """Keys that drawn lags share: whether each part has a lag of its own or the whole pull has one."""

    per: Per = "part"


class Law(Protocol):
    """The law of a lag: how it is drawn, and the same as a distribution of SciPy."""

    @property
    def keeps_whole(self) -> bool:
        """Whether every lag is a whole number."""
        ...

    @property
    def distribution(self) -> Any:
        """The law as a frozen distribution of scipy.stats, before any rounding up."""
        ...

    def draw(self, stream: np.random.Generator, size: tuple[int, int]) -> Floats:
        """Lags of at least 0, before any rounding up."""
        ...


@dataclass(frozen=True)
class LagDelay:
    """Adds lags of that law; lost parts have lags, too: their loss shows when they would have come."""

    law: Law
    per: Per = "part"
    round_up: bool = False

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole."""
        return self.round_up or self.law.keeps_whole

    @property
    def distribution(self) -> Any:
        """The distribution of a lag, before it is rounded up where that was asked for."""
        return self.law.distribution

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """The schedule with a lag added to every offset."""
        pulls, span = schedule.offsets.shape
        lags = self.law.draw(stream, (pulls, span if self.per == "part" else 1))
        if self.round_up:
            lags = np.ceil(lags)
        return Schedule(schedule.offsets + lags, schedule.lost)


class LagKind:
    """A delay whose settings are the law of its lags."""

    def __init__(self, settings: type[BaseModel]) -> None:
        self.settings = settings

    def build(self, settings: Any, place: Place) -> LagDelay:  # noqa: ARG002 (the protocol's)
        """The delay for these settings."""
        return LagDelay(settings, getattr(settings, "per", "part"), getattr(settings, "whole", False))


def point_mass(value: float) -> Any:
    """The distribution of a number that is certain."""
    return discrete([value], [1.0])


def discrete(values: Any, probabilities: Any) -> Any:
    """The distribution that takes these values with these probabilities."""
    return scipy_stats().rv_discrete(values=(values, probabilities))


def scipy_stats() -> Any:
    """The distributions of SciPy: slow to load, and needed only by those who compare, never by a run."""
    from scipy import stats  # noqa: PLC0415 (that is why)

    return stats
