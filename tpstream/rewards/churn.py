"""Churn: a customer is active part by part (a day, a month) until leaving for good, and pays while active.

Of one customer the probability of leaving before a part is q, so that the number D of parts before leaving has
P(D >= j) = (1 - q)^j. Customers differ: q ~ Beta(a, b) with a = concentration * churn and b = concentration *
(1 - churn), so that its mean is `churn`, and

    P(D >= j) = product over i < j of (b + i) / (a + b + i),

the beta-geometric distribution: those who are still there are those who leave rarely. Part j of a customer with
D >= j is paid with probability activity_j, independently of the other parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PositiveFloat

from tpstream.model.arrays import Floats, Ints
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.numba_support import compiled_loop, held_stream
from tpstream.model.settings import Settings
from tpstream.rewards.base import OneOrList, RewardSettings, per_part

LEAST = 1e-12
"""Probabilities of leaving below this are drawn as this one: nobody of them leaves within any span."""

Probability = Annotated[float, Field(ge=0, le=1)]


class ChurnArmSettings(Settings):
    """Keys of an arm: how its customers leave, how active they are until then, and what an active part pays."""

    churn: Annotated[
        float, Field(gt=0, lt=1, description="Probability of leaving before a part, on average over customers.")
    ]
    concentration: Annotated[
        PositiveFloat | None,
        Field(description="How alike customers are: small for very different ones. Default: all are the same."),
    ] = None
    activity: Annotated[
        OneOrList[Probability],
        Field(description="Probability that a part is paid as long as the customer is there; or a list, one per part."),
    ] = 1.0
    payment: Annotated[PositiveFloat, Field(description="What an active part pays.")] = 1.0


class ChurnSettings(RewardSettings):
    """Customers who pay, part by part, until they leave for good; all keys are those of the arms."""

    arm_settings = ChurnArmSettings

    def build(self, arms: Sequence[ChurnArmSettings], context: BuildContext) -> Rewards:
        """The model, with every part as a group.

        A part pays at most maximum / span, as smoothness asks for, but parts of one customer are not independent.
        """
        return Rewards(
            [make_arm(arm, context.span, f"arms[{number}]") for number, arm in enumerate(arms)], context.span
        )


def make_arm(arm: ChurnArmSettings, span: int, key: str) -> "ChurnArm":
    """The arm of these keys; raises ScenarioError if activities are not one for each part."""
    return ChurnArm(arm.churn, arm.concentration, per_part(arm.activity, span, f"{key}.activity"), arm.payment)


@dataclass(frozen=True, eq=False)
class ChurnArm:
    """An arm whose pulls win customers; `activity` has a probability for each part."""

    churn: float
    concentration: float | None
    activity: Floats
    payment: float = 1.0
    mean: float = field(init=False)
    """The expected cumulative reward: payment * sum of activity_j P(D >= j)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", self.payment * float(self.activity @ self.staying()))

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: every part is paid."""
        return self.payment * len(self.activity)

    def staying(self) -> Floats:
        """The probabilities P(D >= j) that a customer is still there at part j = 1, 2, ..."""
        if self.concentration is None:
            return np.cumprod(np.full(len(self.activity), 1 - self.churn))
        before = np.arange(len(self.activity))
        leaving = self.concentration * self.churn
        return np.cumprod(1 - leaving / (self.concentration + before))

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        leaving = np.full(pulls, self.churn)
        if self.concentration is not None:
            leaving = stream.beta(self.concentration * self.churn, self.concentration * (1 - self.churn), pulls)
        lasted = stream.geometric(np.maximum(leaving, LEAST)) - 1  # D
        active = stream.random((pulls, len(self.activity))) < self.activity
        there = np.arange(len(self.activity)) < lasted[:, np.newaxis]
        parts: Floats = np.multiply(active & there, self.payment, dtype=np.float64)
        return parts

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample` would return, from the same draws."""
        leaving, lasted = np.full(len(out), self.churn), np.empty(len(out), dtype=np.int64)
        fill_customers(held, out, leaving, lasted, self.concentration or 0.0, self.activity, self.payment)


@compiled_loop
def fill_customers(
    held: Any, out: Floats, leaving: Floats, lasted: Ints, concentration: float, activity: Floats, payment: float
) -> None:
    """Draw how likely each customer is to leave, then how long each stays, then the parts; concentration 0: all alike.

    `leaving` comes with the mean of the probabilities in every place; `lasted` is room for the times.
    """
    stream = held_stream(held)
    if concentration > 0:
        for pull in range(leaving.size):
            mean = leaving[pull]
            leaving[pull] = stream.beta(concentration * mean, concentration * (1 - mean))
    for pull in range(leaving.size):
        lasted[pull] = stream.geometric(max(leaving[pull], LEAST)) - 1
    for pull in range(out.shape[0]):
        for part in range(out.shape[1]):
            active = stream.random() < activity[part]
            out[pull, part] = payment if active and part < lasted[pull] else 0.0
