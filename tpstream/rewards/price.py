"""Prices: a batch of identical perishable items is offered at a price until it is sold out or the span is over."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat
from scipy.special import gammainc, gammaincc

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.numba_support import compiled_loop, held_stream
from tpstream.model.settings import Settings
from tpstream.rewards.base import RewardSettings

MULTIPLIED = 10.0
"""Below this rate, NumPy draws Poisson variables by multiplying uniform ones."""


class PriceArmSettings(Settings):
    """Keys of an arm: a price, and how many items a day are asked for at that price, in expectation."""

    price: PositiveFloat = Field(description="price of one item")
    rate: Annotated[float, Field(ge=0, le=1e9)] = Field(description="items asked for in a round, on average")


class PriceSettings(RewardSettings):
    """Keys of `[rewards]`: the items of a batch, and the distribution of a day's demand."""

    arm_settings = PriceArmSettings
    money = True

    items: Annotated[int, Field(ge=1)] = Field(
        description="items of a batch; what is not sold within the span is thrown away"
    )
    demand: Literal["poisson"] = Field("poisson", description="distribution of the items asked for in a round")

    def build(self, arms: Sequence[PriceArmSettings], context: BuildContext) -> Rewards:
        """The model; a whole batch may sell on one day, so it guarantees one group."""
        return Rewards([make_arm(self.items, arm.price, arm.rate, context.span) for arm in arms], 1)


def make_arm(items: int, price: float, rate: float, span: int) -> "PriceArm":
    """The arm of these keys, which compiled code draws as well if it can."""
    return (FilledPriceArm if 0 < rate < MULTIPLIED else PriceArm)(items, price, rate, span)


@dataclass(frozen=True)
class PriceArm:
    """An arm whose pulls sell a batch at one price."""

    items: int
    price: float
    rate: float
    span: int

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: the whole batch is sold."""
        return self.price * self.items

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward: price * E[min(D, items)] with D ~ Poisson(rate * span).

        E[min(D, N)] = m P(D <= N - 2) + N P(D >= N) with m = E[D], and Poisson tails are incomplete gamma functions:
        P(D >= n) = P(n, m) and P(D < n) = Q(n, m).
        """
        expected = self.rate * self.span
        if expected == 0:
            return 0.0
        unfilled = expected * gammaincc(self.items - 1, expected)
        return float(self.price * (unfilled + self.items * gammainc(self.items, expected)))

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span): what each day's sales pay."""
        demand = stream.poisson(self.rate, (pulls, self.span))
        sold = np.minimum(np.cumsum(demand, axis=1), self.items)
        return np.diff(sold, axis=1, prepend=0) * self.price


class FilledPriceArm(PriceArm):
    """The same arm, drawn by compiled code as well: for rates at which NumPy draws demand by multiplication."""

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample` would return, from the same draws."""
        fill_sales(held, out, math.exp(-self.rate), self.items, self.price)


@compiled_loop
def fill_sales(held: Any, out: Floats, none: float, items: int, price: float) -> None:
    """Draw every day's demand, and sell what is left of the batch; `none` is the probability of a day without demand.

    Demand is the number of uniform draws whose product stays above that probability. Numba's own `poisson` would create
    arrays.
    """
    stream = held_stream(held)
    for pull in range(out.shape[0]):
        left = items
        for day in range(out.shape[1]):
            demand, product = 0, stream.random()
            while product > none:
                demand += 1
                product *= stream.random()
            sold = min(demand, left)
            left -= sold
            out[pull, day] = sold * price
