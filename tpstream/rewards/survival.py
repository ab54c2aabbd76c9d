"""Survival: part j pays the time that a patient lived inside the interval that ends with visit j.

The visits v_1, v_2, ... end the intervals, the first of which begins at v_0 = 0. With the time T of death, part j pays

    min(max(T - v_{j-1}, 0), v_j - v_{j-1}),

so that the parts add up to min(T, v_span), whose expectation is the restricted mean survival time. T has the cumulative
hazard H(t): piecewise linear (hazards that are constant between given times) or (t / scale)^shape (Weibull). It is
drawn by H(T) = E with a standard exponential E.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from pydantic import Field, PositiveFloat
from scipy.special import exprel, gamma, gammainc

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.settings import Settings
from tpstream.rewards.base import OneOrList, RewardSettings

Hazard = Annotated[float, Field(ge=0)]


class SurvivalArmSettings(Settings):
    """Keys of an arm: its hazard, piecewise constant, or scale and shape of a Weibull distribution."""

    hazard: OneOrList[Hazard] | None = Field(
        None, description="deaths in a unit of time per patient alive; or a list, one for each piece of time"
    )
    changes: list[PositiveFloat] = Field([], description="times at which the hazard changes, one fewer than hazards")
    scale: PositiveFloat | None = Field(
        None, description="instead of hazard: of a Weibull distribution, the time by which 63 % die"
    )
    shape: PositiveFloat | None = Field(
        None, description="of a Weibull distribution: above 1 the hazard grows with time, below 1 it falls; default: 1"
    )


class SurvivalSettings(RewardSettings):
    """Time that a patient lives between visits; the sum is the time lived up to the last visit."""

    arm_settings = SurvivalArmSettings

    def build(self, arms: Sequence[SurvivalArmSettings], context: BuildContext) -> Rewards:
        """The model; if intervals are equally long every part is a group, else all parts are one."""
        visits = context.nominal
        if visits[-1] <= 0:
            raise ScenarioError("visits: survival rewards are paid for time up to the last visit; give visits after 0")
        lengths = np.diff(visits, prepend=0.0)
        built = [SurvivalArm(read_deaths(arm, f"arms[{number}]"), visits) for number, arm in enumerate(arms)]
        return Rewards(built, context.span if np.allclose(lengths, lengths[0], rtol=1e-12, atol=0) else 1)


class Deaths(Protocol):
    """The distribution of the time of death."""

    def times(self, exponentials: Floats) -> Floats:
        """The times T with H(T) = E for each of these E; infinite for who never dies."""

    def lived(self, until: Floats) -> Floats:
        """The expected time lived up to each of these times: the integral of exp(-H) from 0 on."""


@dataclass(frozen=True, eq=False)
class PiecewiseDeaths:
    """Deaths with a hazard that is constant from each of the `starts`, the first of which is 0, to the next."""

    starts: Floats
    hazards: Floats

    def _cumulative(self) -> Floats:
        """H at the starts."""
        return np.concatenate([[0.0], np.cumsum(self.hazards[:-1] * np.diff(self.starts))])

    def times(self, exponentials: Floats) -> Floats:
        """The times of death."""
        reached = self._cumulative()
        piece = np.searchsorted(reached, exponentials, side="right") - 1
        hazards, waits = self.hazards[piece], np.full(len(exponentials), np.inf)  # where the last hazard is 0
        np.divide(exponentials - reached[piece], hazards, out=waits, where=hazards > 0)
        times: Floats = self.starts[piece] + waits
        return times

    def lived(self, until: Floats) -> Floats:
        """The expected time lived: in a piece of length d, exp(-H) (1 - exp(-h d)) / h, or exp(-H) d if h = 0."""
        ends = np.append(self.starts[1:], np.inf)
        inside = np.clip(until[:, np.newaxis], self.starts, ends) - self.starts
        lived: Floats = (inside * exprel(-self.hazards * inside)) @ np.exp(-self._cumulative())
        return lived


@dataclass(frozen=True)
class WeibullDeaths:
    """Deaths with H(t) = (t / scale)^shape."""

    scale: float
    shape: float

    def times(self, exponentials: Floats) -> Floats:
        """The times of death."""
        return self.scale * exponentials ** (1 / self.shape)

    def lived(self, until: Floats) -> Floats:
        """The expected time lived: scale Gamma(1 + 1/shape) P(1/shape, (t / scale)^shape), P the incomplete gamma."""
        power = 1 / self.shape
        lived: Floats = self.scale * gamma(1 + power) * gammainc(power, (until / self.scale) ** self.shape)
        return lived


def read_deaths(arm: SurvivalArmSettings, key: str) -> Deaths:
    """The distribution that these keys describe."""
    if (arm.hazard is None) == (arm.scale is None):
        raise ScenarioError(f"{key}.hazard: give either this or scale")
    if arm.hazard is None:
        assert arm.scale is not None  # noqa: S101 (either is there)
        if arm.changes:
            raise ScenarioError(f"{key}.changes: belongs to hazard; leave it out, or give hazards instead of scale")
        return WeibullDeaths(arm.scale, 1.0 if arm.shape is None else arm.shape)
    if arm.shape is not None:
        raise ScenarioError(f"{key}.shape: belongs to scale; leave it out, or give scale instead of hazard")
    hazards = arm.hazard if isinstance(arm.hazard, list) else [arm.hazard]
    if len(hazards) != len(arm.changes) + 1:
        raise ScenarioError(
            f"{key}.changes: has {len(arm.changes)} times for {len(hazards)} hazards; give one fewer than hazards"
        )
    if sorted(set(arm.changes)) != arm.changes:
        raise ScenarioError(f"{key}.changes: must rise, got {arm.changes}")
    return PiecewiseDeaths(np.array([0.0, *arm.changes]), np.array(hazards, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class SurvivalArm:
    """An arm whose patients die like this, seen at these visits."""

    deaths: Deaths
    visits: Floats

    @property
    def part_means(self) -> Floats:
        """The expectation of each part: the expected time lived up to a visit, less that up to the one before."""
        return np.diff(self.deaths.lived(self.visits), prepend=0.0)

    @property
    def part_maxima(self) -> Floats:
        """The largest value of each part: the time between visits."""
        return np.diff(self.visits, prepend=0.0)

    @property
    def mean(self) -> float:
        """The expectation of a pull's cumulative reward: the restricted mean survival time."""
        return float(self.deaths.lived(self.visits[-1:])[0])

    @property
    def maximum(self) -> float:
        """The largest cumulative reward: alive at the last visit."""
        return float(self.visits[-1])

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The partial rewards of the next pulls, of shape (pulls, span)."""
        died = self.deaths.times(stream.standard_exponential(pulls))
        lived = np.minimum(died[:, np.newaxis], self.visits)
        return np.diff(lived, axis=1, prepend=0.0)
