"""Normal visits: each part of a pull is a normal variable, such as a measurement of a patient at a visit.

Part j is mean_j + deviation_j Z_j, where the standard normal variables Z of one patient correlate (see
latent_normal.py). Parts may be negative and have no maximum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.settings import Settings
from tpstream.rewards.base import OneOrList, RewardSettings, per_part
from tpstream.rewards.latent_normal import CORRELATION, Correlation, correlated_normals, fill_correlated, lower_factor

Deviation = Annotated[float, Field(ge=0)]


class NormalArmSettings(Settings):
    """Keys of an arm: mean and standard deviation of each part."""

    mean: OneOrList[float] = Field(description="expectation of a part; or a list, one for each part")
    deviation: OneOrList[Deviation] = Field(description="standard deviation of a part; or a list, one for each part")


class NormalSettings(RewardSettings):
    """Visits that are normal variables, such as measurements of a patient; visits of one patient may correlate."""

    arm_settings = NormalArmSettings

    correlation: Correlation = CORRELATION

    def build(self, arms: Sequence[NormalArmSettings], context: BuildContext) -> Rewards:
        """The model; parts have any sign and no maximum, so it guarantees no groups."""
        lower, built = lower_factor(self.correlation, context.span), []
        for number, arm in enumerate(arms):
            means = per_part(arm.mean, context.span, f"arms[{number}].mean")
            deviations = per_part(arm.deviation, context.span, f"arms[{number}].deviation")
            built.append(NormalArm(means, deviations, lower))
        return Rewards(built, None, signed=True)


@dataclass(frozen=True, eq=False)
class NormalArm:
    """An arm whose part j is normal with mean_j and deviation_j."""

    part_means: Floats
    """The expectation of each part."""
    deviations: Floats
    lower: Floats
    maximum: None = None

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward: the sum of the parts' means."""
        return float(self.part_means.sum())

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        return self._scaled(correlated_normals(stream, pulls, self.lower))

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample` would return, from the same draws."""
        fill_correlated(held, out, self.lower)
        self._scaled(out)

    def _scaled(self, normals: Floats) -> Floats:
        """The parts of these standard normal variables, in their memory."""
        normals *= self.deviations
        normals += self.part_means
        return normals
