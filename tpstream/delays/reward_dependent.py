"""Reward-dependent delays: bad outcomes are reported sooner, or later, than good ones."""

from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from tpstream.delays.lag_delay import Per
from tpstream.delays.tables import InnerDelay, build_inner
from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.protocols import DelayKind, DelayProcess, Place, Schedule
from tpstream.model.settings import Settings


class RewardDependentSettings(Settings):
    """One delay for rewards below the threshold, one for the others; of each part, or of the pull's sum."""

    threshold: float
    below: InnerDelay | None = None
    above: InnerDelay | None = None
    per: Per = "part"


@dataclass(frozen=True, eq=False)
class RewardDependent:
    """Applies one of two delays, by what a part (or the whole pull) pays; None: no delay.

    Both are always drawn, so that the rewards decide which lag counts and not what is drawn next.
    """

    threshold: float
    below: DelayProcess | None
    above: DelayProcess | None
    per: Per

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole in both cases."""
        return all(delay.whole for delay in (self.below, self.above) if delay is not None)

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:
        """The schedule after the delay that fits the reward."""
        low, high = (
            schedule if delay is None else delay.apply(schedule, rewards, arm, stream)
            for delay in (self.below, self.above)
        )
        paid = rewards if self.per == "part" else rewards.sum(axis=1, keepdims=True)
        bad = paid < self.threshold
        return Schedule(np.where(bad, low.offsets, high.offsets), np.where(bad, low.lost, high.lost))


class RewardDependentKind:
    """The delay "reward-dependent"."""

    settings: type[BaseModel] = RewardDependentSettings

    def build(self, settings: RewardDependentSettings, place: Place) -> RewardDependent:
        """The delay for these settings."""
        if settings.below is None and settings.above is None:
            raise ScenarioError('below: give a delay for below or above, as in { kind = "constant", lag = 3 }')
        below = None if settings.below is None else build_inner(settings.below, place, "below")
        above = None if settings.above is None else build_inner(settings.above, place, "above")
        return RewardDependent(settings.threshold, below, above, settings.per)


KIND: DelayKind = RewardDependentKind()
