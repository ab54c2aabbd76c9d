"""Lotteries: a pull buys tickets that are scratched one after another, one per part.

With `winners = "all"` every ticket wins the prize with the arm's probability, independently. With `winners = "one"`
there is a single winning card: each ticket is that card with the arm's probability as long as it was not found, so
that it is found at all with probability 1 - (1 - probability)^tickets.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.numba_support import compiled_loop, held_stream
from tpstream.model.settings import Settings
from tpstream.rewards.base import RewardSettings


class LotteryArmSettings(Settings):
    """Keys of an arm: the probability that a ticket wins, and the prize."""

    probability: Annotated[float, Field(ge=0, le=1)] = Field(description="that a ticket wins")
    prize: PositiveFloat = Field(description="what a winning ticket pays")


class LotterySettings(RewardSettings):
    """Keys of `[rewards]`: the tickets that a pull buys, and how many of them can win."""

    arm_settings = LotteryArmSettings

    tickets: Annotated[int, Field(ge=1)] = Field(
        description="tickets that a pull buys, one for each part: as many as the span"
    )
    winners: Literal["one", "all"] = Field(description="whether at most one ticket of a pull wins, or each may")

    def build(self, arms: Sequence[LotteryArmSettings], context: BuildContext) -> Rewards:
        """The model; with one winner it guarantees one group, else each ticket is a group."""
        if self.tickets != context.span:
            raise ScenarioError(f"rewards.tickets: {self.tickets} is not the span {context.span}; make them equal")
        single = self.winners == "one"
        built = [LotteryArm(self.tickets, arm.probability, arm.prize, single) for arm in arms]
        return Rewards(built, 1 if single else self.tickets)


@dataclass(frozen=True)
class LotteryArm:
    """An arm whose pulls buy tickets; with a `single` winner at most one of them wins."""

    tickets: int
    probability: float
    prize: float
    single: bool

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: the only winning card is found, or all tickets win."""
        return self.prize if self.single else self.tickets * self.prize

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward; of one winner, prize * (1 - (1 - probability)^tickets)."""
        if not self.single:
            return self.tickets * self.probability * self.prize
        if self.probability == 1:
            return self.prize
        return -self.prize * math.expm1(self.tickets * math.log1p(-self.probability))  # exact for small probabilities

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        wins = stream.random((pulls, self.tickets)) < self.probability
        if self.single:
            wins &= np.cumsum(wins, axis=1) == 1  # only the first one: then the card is found
        return np.multiply(wins, self.prize, dtype=np.float64)

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample` would return, from the same draws."""
        fill_tickets(held, out, self.probability, self.prize, self.single)


@compiled_loop
def fill_tickets(held: Any, out: Floats, probability: float, prize: float, single: bool) -> None:  # noqa: FBT001
    """Draw every ticket; with a `single` winner those after the first one win nothing."""
    stream = held_stream(held)
    for pull in range(out.shape[0]):
        found = False
        for ticket in range(out.shape[1]):
            wins = stream.random() < probability
            out[pull, ticket] = prize if wins and not (single and found) else 0.0
            found = found or wins
