"""Smooth rewards: the span falls into equal groups whose sums are independent scaled Beta variables.

Z_k = maximum / groups * Beta(a_k, b_k), the world of the paper's synthetic settings; a_k = b_k = 1 is uniform.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.protocols import Place, RewardKind, Rewards
from tpstream.model.settings import Settings
from tpstream.rewards.settings import check_groups
from tpstream.rewards.spreads import SPREADS, Spread, SpreadName

Shape = tuple[PositiveFloat, ...]


class SmoothBetaSettings(Settings):
    """Keys of `[rewards]`: the groups, the Beta parameters that all arms share, and the spread within a group."""

    groups: Annotated[int, Field(ge=1)]
    a: Shape | None = None
    b: Shape | None = None
    spread: SpreadName = "even"


class SmoothBetaArmSettings(Settings):
    """Keys of an arm: its maximum, and its own Beta parameters if they differ from the shared ones."""

    maximum: PositiveFloat
    a: Shape | None = None
    b: Shape | None = None


@dataclass(frozen=True, eq=False)
class SmoothBetaArm:
    """An arm whose groups pay independent scaled Beta variables."""

    maximum: float
    width: int
    a: Floats
    b: Floats
    uniform: bool
    spread: Spread

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward: the sum over k of maximum / groups * a_k / (a_k + b_k)."""
        return self.maximum * float(np.mean(self.a / (self.a + self.b)))

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        size = (pulls, self.a.size)
        # Beta(1, 1) is uniform, and a uniform draw costs a tenth of a Beta draw.
        sums = stream.random(size) if self.uniform else stream.beta(self.a, self.b, size)
        sums *= self.maximum / self.a.size
        return self.spread(stream, sums, self.width)


class SmoothBeta:
    """The reward model "smooth-beta"."""

    settings: type[BaseModel] = SmoothBetaSettings
    arm_settings: type[BaseModel] = SmoothBetaArmSettings

    def build(self, settings: SmoothBetaSettings, arms: Sequence[SmoothBetaArmSettings], place: Place) -> Rewards:
        """The model for these settings; it guarantees its own groups."""
        groups = settings.groups
        check_groups(groups, place.span)
        shared_a = shape(settings.a, "rewards.a", np.ones(groups))
        shared_b = shape(settings.b, "rewards.b", np.ones(groups))
        built = []
        for number, arm in enumerate(arms):
            a = shape(arm.a, f"arms[{number}].a", shared_a)
            b = shape(arm.b, f"arms[{number}].b", shared_b)
            uniform = bool(np.all(a == 1) and np.all(b == 1))
            width = place.span // groups
            built.append(SmoothBetaArm(arm.maximum, width, a, b, uniform, SPREADS[settings.spread]))
        return Rewards(built, groups)


def shape(given: Shape | None, key: str, default: Floats) -> Floats:
    """The Beta parameters given under that key, one per group, or else the default."""
    if given is None:
        return default
    if len(given) != default.size:
        raise ScenarioError(f"{key}: has {len(given)} numbers but groups = {default.size}; give one per group")
    return np.array(given, dtype=np.float64)


KIND: RewardKind = SmoothBeta()
