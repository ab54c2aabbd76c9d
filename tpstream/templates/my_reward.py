"""My reward: every part of a pull pays a price with some probability, else nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, RewardKind, Rewards
from tpstream.model.settings import Settings


class MyRewardSettings(Settings):
    """Keys of the [rewards] table: what a part pays if it pays."""

    price: PositiveFloat = 1.0


class MyRewardArmSettings(Settings):
    """Keys of an [[arms]] table: the probability that a part pays."""

    chance: Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class MyRewardArm:
    """How the pulls of one arm pay. Regret is computed from the mean, so it must be exact, and so must the maximum."""

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
        """The partial rewards of the next pulls: a new array of shape (pulls, span), drawn only from the stream."""
        pays = stream.random((pulls, self.span)) < self.chance
        return np.where(pays, self.price, 0.0)


class MyRewardKind:
    """What is registered under the name: the keys of the tables, and how the rewards are built from them."""

    settings: type[BaseModel] = MyRewardSettings
    arm_settings: type[BaseModel] = MyRewardArmSettings

    def build(self, settings: MyRewardSettings, arms: Sequence[MyRewardArmSettings], place: BuildContext) -> Rewards:
        """The rewards of all arms.

        `groups` promises that the span falls into so many equal groups of parts, each of which pays at most
        maximum / groups; None promises nothing.
        """
        return Rewards([MyRewardArm(arm.chance, settings.price, place.span) for arm in arms], groups=place.span)


KIND: RewardKind = MyRewardKind()
PLUGINS = {"rewards": {"my-reward": KIND}}
