"""Binary visits: each part of a pull is 0 or 1, such as a patient's response at a visit.

Part j is 1 if a normal variable of the patient lies below the p_j quantile, so that it is 1 with probability p_j; the
normal variables of one patient correlate (see latent_normal.py). Or a table says how often each pattern of visits is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from scipy.special import ndtri

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.settings import Settings
from tpstream.rewards.base import OneOrList, RewardSettings, per_part
from tpstream.rewards.latent_normal import CORRELATION, Correlation, correlated_normals, fill_correlated, lower_factor

TOLERANCE = 1e-9
"""How far the probabilities of patterns may be from a sum of 1 by rounding."""

Probability = Annotated[float, Field(ge=0, le=1)]


class BinaryArmSettings(Settings):
    """Keys of an arm: how likely a 1 is at each visit, or how likely each pattern of visits is."""

    probability: OneOrList[Probability] | None = Field(
        None, description="that a part is 1; or a list, one for each part"
    )
    patterns: Mapping[str, Probability] | None = Field(
        None,
        description='instead: the probability of each pattern of visits, e.g. { "00" = 0.5, "01" = 0.2, "11" = 0.3 }',
    )


class BinarySettings(RewardSettings):
    """Visits that are 0 or 1, such as responses of a patient; visits of one patient may correlate."""

    arm_settings = BinaryArmSettings

    correlation: Correlation = CORRELATION

    def build(self, arms: Sequence[BinaryArmSettings], context: BuildContext) -> Rewards:
        """The model, with every part as a group: a part pays at most 1 of `span`."""
        lower = lower_factor(self.correlation, context.span)
        built: list[BinaryArm | PatternArm] = []
        for number, arm in enumerate(arms):
            if (arm.probability is None) == (arm.patterns is None):
                raise ScenarioError(f"arms[{number}].probability: give either this or patterns")
            if arm.probability is not None:
                probabilities = per_part(arm.probability, context.span, f"arms[{number}].probability")
                built.append(BinaryArm(probabilities, lower))
            if arm.patterns is not None:
                if self.correlation != 0:
                    raise ScenarioError(
                        f"arms[{number}].patterns: say already how visits go together; leave out rewards.correlation"
                    )
                built.append(read_patterns(arm.patterns, context.span, f"arms[{number}].patterns"))
        return Rewards(built, context.span)


@dataclass(frozen=True, eq=False)
class BinaryArm:
    """An arm whose part j is 1 with probability p_j."""

    part_means: Floats
    """The expectation of each part: p_j."""
    lower: Floats

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward: the sum of p_j."""
        return float(self.part_means.sum())

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: every part is 1."""
        return float(self.part_means.size)

    @cached_property
    def _quantiles(self) -> Floats:
        quantiles: Floats = ndtri(self.part_means)
        return quantiles

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        parts: Floats = (correlated_normals(stream, pulls, self.lower) < self._quantiles).astype(np.float64)
        return parts

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample` would return, from the same draws."""
        fill_correlated(held, out, self.lower)
        np.less(out, self._quantiles, out=out)


@dataclass(frozen=True, eq=False)
class PatternArm:
    """An arm whose pulls show one of these patterns (patterns, span), each with its probability."""

    patterns: Floats
    probabilities: Floats

    @property
    def part_means(self) -> Floats:
        """The expectation of each part."""
        return self.probabilities @ self.patterns

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward."""
        return float(self.part_means.sum())

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: every part is 1."""
        return float(self.patterns.shape[1])

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        steps = np.cumsum(self.probabilities)[:-1]
        return self.patterns[np.searchsorted(steps, stream.random(pulls), side="right")]


def read_patterns(patterns: Mapping[str, float], span: int, key: str) -> PatternArm:
    """The arm of these patterns; raises ScenarioError if they are not patterns of the span, with a sum of 1."""
    for pattern in patterns:
        if len(pattern) != span or set(pattern) - {"0", "1"}:
            raise ScenarioError(f"{key}: {pattern!r} is not a pattern; write a 0 or a 1 for each of {span} parts")
    total = sum(patterns.values())
    if abs(total - 1) > TOLERANCE:
        raise ScenarioError(f"{key}: the probabilities have the sum {total:g}; make it 1")
    rows = np.array([[float(sign) for sign in pattern] for pattern in patterns])
    return PatternArm(rows, np.array(list(patterns.values()), dtype=np.float64))
