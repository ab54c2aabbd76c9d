"""Lags: the laws of those that come out of a formula. Their settings know how to draw them."""

import math
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat, model_validator

from tpstream.delays.lag_delay import LagDelay, LagKind, LagSettings, point_mass, scipy_stats
from tpstream.model.arrays import Floats
from tpstream.model.protocols import DelayKind, Place
from tpstream.model.settings import Settings

Size = tuple[int, int]


class Constant(Settings):
    """Every part comes later by the same lag."""

    lag: Annotated[float, Field(ge=0)]

    @property
    def keeps_whole(self) -> bool:
        """Whether the lag is a whole number."""
        return self.lag.is_integer()

    @property
    def distribution(self) -> Any:
        """All mass on the lag."""
        return point_mass(self.lag)

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:  # noqa: ARG002 (nothing is drawn)
        """The lag, again and again."""
        return np.full(size, self.lag)


class Nothing(Settings):
    """Parts arrive when they are due: the paper's world."""


class NothingKind:
    """The delay "none"."""

    settings: type[BaseModel] = Nothing

    def build(self, settings: Nothing, place: Place) -> LagDelay:  # noqa: ARG002 (the protocol's)
        """A lag of nothing."""
        return LagDelay(Constant(lag=0))


class WholeLag(LagSettings):
    """Lags that are whole rounds by nature."""

    @property
    def keeps_whole(self) -> bool:
        """They are."""
        return True


class RealLag(LagSettings):
    """Lags of any length; `whole` rounds them up to whole rounds."""

    whole: bool = False

    @property
    def keeps_whole(self) -> bool:
        """Not without being rounded."""
        return False


class Geometric(WholeLag):
    """Lags of 0, 1, 2, ... rounds: the failures before the first success of probability p; mean (1 - p) / p."""

    p: Annotated[float, Field(gt=0, le=1)]

    @property
    def distribution(self) -> Any:
        """P(lag = n) = p (1 - p)^n for n = 0, 1, 2, ..."""
        return scipy_stats().geom(self.p, loc=-1)

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """NumPy counts the trials, success included."""
        return stream.geometric(self.p, size).astype(np.float64) - 1


class Poisson(WholeLag):
    """Lags of 0, 1, 2, ... rounds with a Poisson distribution."""

    mean: Annotated[float, Field(gt=0, le=1e15)]

    @property
    def distribution(self) -> Any:
        """P(lag = n) = mean^n exp(-mean) / n!."""
        return scipy_stats().poisson(self.mean)

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """Poisson counts."""
        return stream.poisson(self.mean, size).astype(np.float64)


class Uniform(LagSettings):
    """Lags between low and high, all equally likely; with `whole` the whole numbers from low to high."""

    low: Annotated[float, Field(ge=0)] = 0.0
    high: PositiveFloat
    whole: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low = {self.low} is not below high = {self.high}; lower it, or use a constant")
        if self.whole and not (self.low.is_integer() and self.high.is_integer()):
            raise ValueError(f"whole lags need whole bounds, got low = {self.low} and high = {self.high}; round them")
        return self

    @property
    def keeps_whole(self) -> bool:
        """If that was asked for."""
        return self.whole

    @property
    def distribution(self) -> Any:
        """Uniform on the interval, or on the whole numbers in it, its ends included."""
        if self.whole:
            return scipy_stats().randint(int(self.low), int(self.high) + 1)
        return scipy_stats().uniform(self.low, self.high - self.low)

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """Uniform floats, or uniform whole numbers."""
        if self.whole:
            return stream.integers(int(self.low), int(self.high), size, endpoint=True).astype(np.float64)
        return stream.uniform(self.low, self.high, size)


class Lognormal(RealLag):
    """Lags whose logarithm is normal, with deviation sigma; give their median, or the logarithm's mean mu."""

    median: PositiveFloat | None = None
    mu: float | None = None
    sigma: PositiveFloat

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.median is None) == (self.mu is None):
            raise ValueError("needs the median or mu, and not both; give one of them")
        return self

    @property
    def location(self) -> float:
        """The mean of the logarithm."""
        return math.log(self.median) if self.median is not None else float(self.mu or 0.0)

    @property
    def distribution(self) -> Any:
        """Lognormal with median exp(mu)."""
        return scipy_stats().lognorm(self.sigma, scale=math.exp(self.location))

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """Exponentials of normal numbers."""
        return stream.lognormal(self.location, self.sigma, size)


class Weibull(RealLag):
    """Weibull lags: a shape below 1 has many short and a few long ones, 1 is exponential, above 1 they cluster."""

    shape: PositiveFloat
    scale: PositiveFloat

    @property
    def distribution(self) -> Any:
        """P(lag > x) = exp(-(x / scale)^shape)."""
        return scipy_stats().weibull_min(self.shape, scale=self.scale)

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """Scaled Weibull numbers."""
        return self.scale * stream.weibull(self.shape, size)


class Pareto(RealLag):
    """Heavy-tailed lags of at least `scale`; with a shape of at most 1 their mean is infinite."""

    shape: PositiveFloat
    scale: PositiveFloat

    @property
    def distribution(self) -> Any:
        """P(lag > x) = (scale / x)^shape for x from scale on."""
        return scipy_stats().pareto(self.shape, scale=self.scale)

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """NumPy's begin at 0."""
        return self.scale * (1 + stream.pareto(self.shape, size))


NONE: DelayKind = NothingKind()
CONSTANT: DelayKind = LagKind(Constant)
GEOMETRIC: DelayKind = LagKind(Geometric)
POISSON: DelayKind = LagKind(Poisson)
UNIFORM: DelayKind = LagKind(Uniform)
LOGNORMAL: DelayKind = LagKind(Lognormal)
WEIBULL: DelayKind = LagKind(Weibull)
PARETO: DelayKind = LagKind(Pareto)
