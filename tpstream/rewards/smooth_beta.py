"""Smooth rewards: the span falls into equal groups whose sums are independent scaled Beta variables.

Z_k = maximum / groups * Beta(a_k, b_k), the world of the paper's synthetic settings; a_k = b_k = 1 is uniform. A
spread says how the sum of a group is divided among its consecutive parts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.numba_support import compiled_loop, held_stream
from tpstream.model.settings import Settings
from tpstream.rewards.base import RewardSettings, check_groups

SpreadName = Literal["even", "first", "last", "single", "random"]
EVEN = -1
"""Stands for equal shares where compiled code is told the place of the part that pays all."""
Spread = Callable[[np.random.Generator, Floats, int], Floats]
"""From a stream, the sums of the groups (pulls, groups) and the width of a group to the parts (pulls, span)."""


def spread_even(stream: np.random.Generator, sums: Floats, width: int) -> Floats:  # noqa: ARG001 (nothing is drawn)
    """Every part of the group pays the same."""
    return np.repeat(sums / width, width, axis=1)


def spread_at(place: int, stream: np.random.Generator, sums: Floats, width: int) -> Floats:  # noqa: ARG001 (nothing is drawn)
    """The part at that place of the group pays all."""
    parts = np.zeros((*sums.shape, width))
    parts[:, :, place] = sums
    return parts.reshape(sums.shape[0], -1)


def spread_single(stream: np.random.Generator, sums: Floats, width: int) -> Floats:
    """One part of the group, each as likely as the others, pays all."""
    parts = np.zeros(sums.size * width)
    places = stream.integers(width, size=sums.size)
    parts[np.arange(0, parts.size, width) + places] = sums.ravel()
    return parts.reshape(sums.shape[0], -1)


def spread_random(stream: np.random.Generator, sums: Floats, width: int) -> Floats:
    """Every part of the group pays a random proportion, uniform over all ways to divide (flat Dirichlet)."""
    if width == 1:
        return sums  # the only proportion is 1, and an exponential of exactly 0 could not be scaled to it
    # Independent exponentials divided by their sum are a flat Dirichlet.
    parts = stream.standard_exponential((*sums.shape, width))
    parts *= (sums / parts.sum(axis=2))[:, :, np.newaxis]
    return parts.reshape(sums.shape[0], -1)


SPREADS: Mapping[SpreadName, Spread] = {
    "even": spread_even,
    "first": partial(spread_at, 0),
    "last": partial(spread_at, -1),
    "single": spread_single,
    "random": spread_random,
}


Shape = tuple[PositiveFloat, ...]


class SmoothBetaArmSettings(Settings):
    """Keys of an arm: its maximum, and its own Beta parameters if they differ from the shared ones."""

    maximum: PositiveFloat = Field(description="largest cumulative reward of a pull")
    a: Shape | None = Field(
        None, description="first parameters of the Beta distributions of this arm, one for each group"
    )
    b: Shape | None = Field(
        None, description="second parameters of the Beta distributions of this arm, one for each group"
    )


class SmoothBetaSettings(RewardSettings):
    """Keys of `[rewards]`: the groups, the Beta parameters that all arms share, and the spread within a group."""

    arm_settings = SmoothBetaArmSettings

    groups: Annotated[int, Field(ge=1)] = Field(
        description="equal groups of parts, which are independent; it divides the span"
    )
    a: Shape | None = Field(
        None, description="first parameters of the Beta distributions, one for each group; default: 1"
    )
    b: Shape | None = Field(
        None, description="second parameters of the Beta distributions, one for each group; default: 1"
    )
    spread: SpreadName = Field("even", description="how the reward of a group is spread over its parts")

    def build(self, arms: Sequence[SmoothBetaArmSettings], context: BuildContext) -> Rewards:
        """The model; it guarantees its own groups."""
        check_groups(self.groups, context.span)
        shared_a = shape(self.a, "rewards.a", np.ones(self.groups))
        shared_b = shape(self.b, "rewards.b", np.ones(self.groups))
        width, spread = context.span // self.groups, SPREADS[self.spread]
        built = []
        for number, arm in enumerate(arms):
            a = shape(arm.a, f"arms[{number}].a", shared_a)
            b = shape(arm.b, f"arms[{number}].b", shared_b)
            # What the others draw, compiled code would draw or add up differently.
            model = FilledSmoothBetaArm if self.spread in {"even", "first", "last"} else SmoothBetaArm
            built.append(model(arm.maximum, width, a, b, spread))
        return Rewards(built, self.groups)


@dataclass(frozen=True, eq=False)
class SmoothBetaArm:
    """An arm whose groups pay independent scaled Beta variables."""

    maximum: float
    width: int
    a: Floats
    b: Floats
    spread: Spread

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward: the sum over k of maximum / groups * a_k / (a_k + b_k)."""
        return self.maximum * float((self.a / (self.a + self.b)).mean())

    @cached_property
    def uniform(self) -> bool:
        """Whether all groups are uniform: Beta(1, 1) is, and a uniform draw costs a tenth of a Beta draw."""
        return bool((self.a == 1).all() and (self.b == 1).all())

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        size = (pulls, self.a.size)
        sums = stream.random(size) if self.uniform else stream.beta(self.a, self.b, size)
        sums *= self.maximum / self.a.size
        return self.spread(stream, sums, self.width)


class FilledSmoothBetaArm(SmoothBetaArm):
    """The same arm, drawn by compiled code as well: for spreads that draw nothing themselves."""

    def fill(self, held: Any, out: Floats) -> None:
        """Write what `sample` would return, from the same draws."""
        place = self.spread.args[0] % self.width if isinstance(self.spread, partial) else EVEN
        fill_groups(held, out, self.a, self.b, self.uniform, self.maximum, place)


@compiled_loop
def fill_groups(held: Any, out: Floats, a: Floats, b: Floats, uniform: bool, maximum: float, place: int) -> None:  # noqa: FBT001
    """Draw the sums of all groups and give each to its parts: in equal shares, or to the part at that place."""
    stream, groups = held_stream(held), a.size
    width = out.shape[1] // groups
    for pull in range(out.shape[0]):
        for group in range(groups):
            total = (stream.random() if uniform else stream.beta(a[group], b[group])) * (maximum / groups)
            share = total / width if place == EVEN else 0.0
            for part in range(group * width, (group + 1) * width):
                out[pull, part] = share
            if place != EVEN:
                out[pull, group * width + place] = total


def shape(given: Shape | None, key: str, default: Floats) -> Floats:
    """The Beta parameters given under that key, one per group, or else the default."""
    if given is None:
        return default
    if len(given) != default.size:
        raise ScenarioError(f"{key}: has {len(given)} numbers but groups = {default.size}; give one per group")
    return np.array(given, dtype=np.float64)
