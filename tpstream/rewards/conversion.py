"""Conversions: most pulls pay nothing; a few pay once, an amount with a heavy tail, some time later.

A pull converts with the arm's probability p. It then pays min(X, maximum) with ln X ~ Normal(ln median, sigma^2), in
part J with P(J = j) proportional to (1 - h)^(j - 1), a geometric time cut at the span. With m = ln maximum, u = ln
median and the normal distribution function Phi, the mean of a pull is

    p (exp(u + sigma^2 / 2) Phi((m - u) / sigma - sigma) + maximum (1 - Phi((m - u) / sigma))).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PositiveFloat
from scipy.special import ndtr

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.numba_support import compiled_loop, held_stream
from tpstream.model.settings import Settings
from tpstream.rewards.base import RewardSettings


class ConversionArmSettings(Settings):
    """Keys of an arm: how often a pull converts, and how much a conversion pays."""

    probability: Annotated[float, Field(ge=0, le=1, description="Probability that a pull pays anything.")]
    median: Annotated[PositiveFloat, Field(description="The amount that half of the conversions exceed.")]
    sigma: Annotated[float, Field(ge=0, description="Standard deviation of the logarithm of the amount.")] = 1.0
    maximum: Annotated[PositiveFloat, Field(description="Larger amounts are cut to this.")]


class ConversionSettings(RewardSettings):
    """Rare single payments of very different amounts, some time after the pull."""

    arm_settings = ConversionArmSettings

    hazard: Annotated[
        float,
        Field(gt=0, lt=1, description="Probability that a conversion which is still to come happens in the next part."),
    ] = 0.1

    def build(self, arms: Sequence[ConversionArmSettings], context: BuildContext) -> Rewards:
        """The model; everything may come in one part, so it guarantees one group."""
        for number, arm in enumerate(arms):
            if arm.maximum < arm.median:
                raise ScenarioError(f"arms[{number}].maximum: {arm.maximum} is below the median {arm.median}; raise it")
        times = np.cumsum((1 - self.hazard) ** np.arange(context.span))
        built = [
            ConversionArm(arm.probability, arm.median, arm.sigma, arm.maximum, times[:-1] / times[-1]) for arm in arms
        ]
        return Rewards(built, 1)


@dataclass(frozen=True, eq=False)
class ConversionArm:
    """An arm whose pulls convert rarely; `times` are the probabilities P(J <= j) for j = 1 up to before the span."""

    probability: float
    median: float
    sigma: float
    maximum: float
    times: Floats

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""
        if self.sigma == 0:
            return self.probability * self.median
        cut = math.log(self.maximum / self.median) / self.sigma
        below = self.median * math.exp(self.sigma**2 / 2) * ndtr(cut - self.sigma)
        return float(self.probability * (below + self.maximum * ndtr(-cut)))

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        converts = stream.random(pulls) < self.probability
        part = np.searchsorted(self.times, stream.random(pulls), side="right")
        amounts = np.minimum(stream.lognormal(math.log(self.median), self.sigma, pulls), self.maximum)
        parts = np.zeros((pulls, len(self.times) + 1))
        parts[np.arange(pulls), part] = converts * amounts
        return parts

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample` would return, from the same draws."""
        converts, part = np.empty(len(out), dtype=np.bool_), np.empty(len(out), dtype=np.int64)
        scale = math.log(self.median)
        fill_conversions(held, out, converts, part, self.probability, self.times, scale, self.sigma, self.maximum)


@compiled_loop
def fill_conversions(
    held: Any,
    out: Floats,
    converts: Bools,
    part: Ints,
    probability: float,
    times: Floats,
    scale: float,
    sigma: float,
    maximum: float,
) -> None:
    """Draw which pulls convert, then in which part each would, then the amounts; `scale` is ln median."""
    stream = held_stream(held)
    for pull in range(out.shape[0]):
        converts[pull] = stream.random() < probability
    for pull in range(out.shape[0]):
        part[pull] = np.searchsorted(times, stream.random(), side="right")
    for pull in range(out.shape[0]):
        amount = min(stream.lognormal(scale, sigma), maximum)
        for place in range(out.shape[1]):
            out[pull, place] = amount if converts[pull] and place == part[pull] else 0.0
