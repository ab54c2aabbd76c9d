"""Lotteries: a pull buys tickets that are scratched one after another, one per part.

With `winners = "all"` every ticket wins the prize with the arm's probability, independently. With `winners = "one"`
there is a single winning card: each ticket is that card with the arm's probability as long as it was not found, so
that it is found at all with probability 1 - (1 - probability)^tickets.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import ArmRewards, BuildContext, RewardKind, Rewards
from tpstream.model.settings import Settings


class LotterySettings(Settings):
    """Keys of `[rewards]`: the tickets that a pull buys, and how many of them can win."""

    tickets: Annotated[int, Field(ge=1)]
    winners: Literal["one", "all"]


class LotteryArmSettings(Settings):
    """Keys of an arm: the probability that a ticket wins, and the prize."""

    probability: Annotated[float, Field(ge=0, le=1)]
    prize: PositiveFloat


@dataclass(frozen=True)
class ManyWinners:
    """An arm in which every ticket can win."""

    tickets: int
    probability: float
    prize: float

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: all tickets win."""
        return self.tickets * self.prize

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""
        return self.tickets * self.probability * self.prize

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        wins = stream.random((pulls, self.tickets)) < self.probability
        return np.multiply(wins, self.prize, dtype=np.float64)


@dataclass(frozen=True)
class OneWinner:
    """An arm with a single winning card."""

    tickets: int
    probability: float
    prize: float

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: the card is found."""
        return self.prize

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward: prize * (1 - (1 - probability)^tickets)."""
        if self.probability == 1:
            return self.prize
        return -self.prize * math.expm1(self.tickets * math.log1p(-self.probability))  # exact for small probabilities

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        wins = stream.random((pulls, self.tickets)) < self.probability
        wins &= np.cumsum(wins, axis=1) == 1  # only the first one: then the card is found
        return np.multiply(wins, self.prize, dtype=np.float64)


class Lottery:
    """The reward model "lottery"."""

    settings: type[BaseModel] = LotterySettings
    arm_settings: type[BaseModel] = LotteryArmSettings

    def build(self, settings: LotterySettings, arms: Sequence[LotteryArmSettings], place: BuildContext) -> Rewards:
        """The model for these settings; with one winner it guarantees one group, else each ticket is a group."""
        tickets = settings.tickets
        if tickets != place.span:
            raise ScenarioError(f"rewards.tickets: {tickets} is not the span {place.span}; make them equal")
        model = OneWinner if settings.winners == "one" else ManyWinners
        built: list[ArmRewards] = [model(tickets, arm.probability, arm.prize) for arm in arms]
        return Rewards(built, 1 if settings.winners == "one" else tickets)


KIND: RewardKind = Lottery()
