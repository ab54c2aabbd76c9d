"""Delays by arm: each arm has its own, since one treatment is read out sooner than another.

Reward-dependent delays: bad outcomes are reported sooner, or later, than good ones.

Lumps: the whole reward of a pull arrives at one delayed moment, the classical delayed feedback.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.interfaces import BuildContext, DelayKind, DelayProcess, Schedule
from tpstream.model.settings import Settings
from tpstream.timing.kinds import InnerDelay, build_inner
from tpstream.timing.lags import Per


class ByArmSettings(Settings):
    """A delay for each arm by its name, as in `arms = { low = { kind = "constant", lag = 3 } }`; one for the others."""

    arms: dict[str, InnerDelay]
    others: InnerDelay | None = None


@dataclass(frozen=True, eq=False)
class ByArm:
    """Applies the delay of the pulls' arm; arms without one are not delayed."""

    delays: Mapping[int, DelayProcess]

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole, whatever the arm."""
        return all(delay.whole for delay in self.delays.values())

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:
        """The schedule after the delay of this arm."""
        return self.delays[arm].apply(schedule, rewards, arm, stream) if arm in self.delays else schedule


class ByArmKind:
    """The delay "by-arm"."""

    settings: type[BaseModel] = ByArmSettings

    def build(self, settings: ByArmSettings, place: BuildContext) -> ByArm:
        """The delay for these settings."""
        delays = {}
        for name, table in settings.arms.items():
            if name not in place.names:
                near = did_you_mean(name, place.names)
                raise ScenarioError(f"arms.{name}: there is no such arm{near}; use names of {', '.join(place.names)}")
            delays[place.names.index(name)] = build_inner(table, place, f"arms.{name}")
        if settings.others is not None:
            others = build_inner(settings.others, place, "others")
            delays = {arm: delays.get(arm, others) for arm in range(len(place.names))}
        return ByArm(delays)


BY_ARM: DelayKind = ByArmKind()


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

    def build(self, settings: RewardDependentSettings, place: BuildContext) -> RewardDependent:
        """The delay for these settings."""
        if settings.below is None and settings.above is None:
            raise ScenarioError('below: give a delay for below or above, as in { kind = "constant", lag = 3 }')
        below = None if settings.below is None else build_inner(settings.below, place, "below")
        above = None if settings.above is None else build_inner(settings.above, place, "above")
        return RewardDependent(settings.threshold, below, above, settings.per)


REWARD_DEPENDENT: DelayKind = RewardDependentKind()


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

    def build(self, settings: LumpSettings, place: BuildContext) -> Lump:
        """The delay for these settings."""
        last = place.span - 1
        if settings.at is not None and settings.at < last:
            raise ScenarioError(f"at: {settings.at} is before the last part is due; give at least {last}, the span - 1")
        return Lump(float(last) if settings.at is None else settings.at)


LUMP: DelayKind = LumpKind()
