"""My reward: every part of a pull pays the same price or nothing, by chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, RewardKind, Rewards
from tpstream.model.settings import Settings


class MyRewardSettings(Settings):
    """Keys of `[rewards]`: what a part pays if it pays."""

    price: PositiveFloat = 1.0


class MyRewardArmSettings(Settings):
    """Keys of an arm: the probability that a part pays."""

    chance: Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class MyRewardArm:
    """How the pulls of one arm pay; mean and maximum are exact, since regret is measured by them."""

    chance: float
    price: float
    span: int

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""
        return self.span * self.chance * self.price

    @property
    def maximum(self) -> float:
        """The largest cumulative reward that a pull can pay."""
        return self.span * self.price

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls: a new array of shape (pulls, span), drawn from the stream only."""
        pays = stream.random((pulls, self.span)) < self.chance
        return np.where(pays, self.price, 0.0)


class MyReward:
    """What a scenario finds under the name: the keys of its tables, and how the rewards are built from them."""

    settings: type[BaseModel] = MyRewardSettings
    arm_settings: type[BaseModel] = MyRewardArmSettings

    def build(self, settings: MyRewardSettings, arms: Sequence[MyRewardArmSettings], place: BuildContext) -> Rewards:
        """The model; it promises so many groups of parts, each paying at most maximum / groups (None: no promise)."""
        return Rewards([MyRewardArm(arm.chance, settings.price, place.span) for arm in arms], groups=place.span)


KIND: RewardKind = MyReward()
PLUGINS = {"rewards": {"my-reward": KIND}}
