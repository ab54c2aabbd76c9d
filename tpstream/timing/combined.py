"""Delays that depend on the arm or on the reward, and the lump that holds all parts of a pull back to one moment."""

from typing import Annotated, Self, cast

import numpy as np
from pydantic import Field, PrivateAttr

from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.interfaces import BuildContext, DelayProcess, DrawnDelay, Moves, Schedule
from tpstream.timing.kinds import InnerDelay, TimingSettings, build_inner
from tpstream.timing.lags import NoDelay, Per


class ByArm(TimingSettings):
    """A delay for each arm by its name, as in `arms = { low = { kind = "constant", lag = 3 } }`; one for the others."""

    arms: dict[str, InnerDelay] = Field(description="a delay for each arm, by its name")
    others: InnerDelay | None = Field(None, description="the delay of all other arms; default: none")

    _delays: dict[int, DelayProcess] = PrivateAttr(default_factory=dict)

    def build(self, context: BuildContext) -> Self:
        """The delay with the delays of the arms, by their numbers."""
        delays = {}
        for name, table in self.arms.items():
            if name not in context.names:
                near, names = did_you_mean(name, context.names), ", ".join(context.names)
                raise ScenarioError(f"arms.{name}: there is no such arm{near}; use names of {names}")
            delays[context.names.index(name)] = build_inner(table, context, f"arms.{name}")
        if self.others is not None:
            others = build_inner(self.others, context, "others")
            delays = {arm: delays.get(arm, others) for arm in range(len(context.names))}
        return self.with_built(_delays=delays)

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole, whatever the arm."""
        return all(delay.whole for delay in self._delays.values())

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:
        """The schedule after the delay of this arm; without one it stays as it is."""
        return self._delays[arm].apply(schedule, rewards, arm, stream) if arm in self._delays else schedule

    @property
    def inner(self) -> tuple[DelayProcess, ...]:
        """The delays of the arms."""
        return tuple(self._delays.values())

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:
        """What the delay of this arm does, where all are drawn."""
        return cast("DrawnDelay", self._delays[arm]).moves(rewards, arm, stream) if arm in self._delays else Moves()


class RewardDependent(TimingSettings):
    """One delay for rewards below the threshold, one for the others; of each part, or of the pull's sum."""

    threshold: float = Field(description="rewards below it meet one delay, all others the other one")
    below: InnerDelay | None = Field(None, description="the delay of rewards below the threshold; default: none")
    above: InnerDelay | None = Field(None, description="the delay of rewards from the threshold on; default: none")
    per: Per = Field("part", description="whether the reward of each part counts, or the sum of the pull")

    _below: DelayProcess = PrivateAttr(NoDelay())
    _above: DelayProcess = PrivateAttr(NoDelay())

    def build(self, context: BuildContext) -> Self:
        """The delay with the delays of the two sides."""
        if self.below is None and self.above is None:
            raise ScenarioError('below: give a delay for below or above, as in { kind = "constant", lag = 3 }')
        sides = {"below": self.below, "above": self.above}
        return self.with_built(
            **{f"_{key}": build_inner(table, context, key) for key, table in sides.items() if table is not None}
        )

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole on both sides."""
        return self._below.whole and self._above.whole

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:
        """The schedule after the delay that the reward asks for.

        Both are always drawn: the rewards decide which lag counts, and not what is drawn next.
        """
        low = self._below.apply(schedule, rewards, arm, stream)
        high = self._above.apply(schedule, rewards, arm, stream)
        bad = self._bad(rewards)
        return Schedule(np.where(bad, low.offsets, high.offsets), np.where(bad, low.lost, high.lost))

    @property
    def inner(self) -> tuple[DelayProcess, ...]:
        """The delays of the two sides."""
        return self._below, self._above

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:
        """What the delay that the reward asks for does, where both are drawn."""
        low = cast("DrawnDelay", self._below).moves(rewards, arm, stream)
        high = cast("DrawnDelay", self._above).moves(rewards, arm, stream)
        bad = self._bad(rewards)
        lags = [np.zeros((1, 1)) if side.lags is None else side.lags for side in (low, high)]
        limits = [np.full((1, 1), np.inf) if side.limits is None else side.limits for side in (low, high)]
        return Moves(np.where(bad, *lags), np.where(bad, *limits))

    def _bad(self, rewards: Floats) -> Bools:
        """Whether what is compared with the threshold is below it: each part, or the pull's sum."""
        paid = rewards if self.per == "part" else rewards.sum(axis=1, keepdims=True)
        return paid < self.threshold


class Lump(TimingSettings):
    """The whole reward comes `at` that time after the pull (default: with the last part), once all parts are there.

    If earlier delays made a part later than that time, the others wait for it: nothing comes before it is due.
    """

    at: Annotated[float | None, Field(ge=0)] = Field(
        None, description="time after the pull at which everything arrives; default: with the last part"
    )

    def build(self, context: BuildContext) -> Self:
        """The same; a time before the last part is due is refused."""
        last = context.nominal[-1]
        if self.at is not None and self.at < last:
            raise ScenarioError(f"at: {self.at} is before the last part is due; give at least {last:g}")
        return self

    @property
    def whole(self) -> bool:
        """Whether the time is whole; without one the lump comes with the last part."""
        return self.at is None or self.at.is_integer()

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """The schedule with one offset for all parts of a pull."""
        moments = np.maximum(schedule.offsets.max(axis=1, keepdims=True), self.at or 0.0)
        return Schedule(np.repeat(moments, schedule.offsets.shape[1], axis=1), schedule.lost)
