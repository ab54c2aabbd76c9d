"""Lag delays: every part arrives later by a lag that is drawn, one for each part or one for the whole pull.

Lags: the laws of those that come out of a formula. Their settings know how to draw them.

Empirical lags: drawn with replacement from lags that were observed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, Self

import numpy as np
from pydantic import BaseModel, Field, PositiveFloat, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, DelayKind, Schedule
from tpstream.model.settings import Settings
from tpstream.timing.column import read_column

Per = Literal["part", "pull"]


class LagSettings(Settings):
    """Keys that drawn lags share: whether each part has a lag of its own or the whole pull has one."""

    per: Per = "part"


class Law(Protocol):
    """The law of a lag: how it is drawn, and the same as a distribution of SciPy."""

    @property
    def keeps_whole(self) -> bool:
        """Whether every lag is a whole number."""
        ...

    @property
    def distribution(self) -> Any:
        """The law as a frozen distribution of scipy.stats, before any rounding up."""
        ...

    def draw(self, stream: np.random.Generator, size: tuple[int, int]) -> Floats:
        """Lags of at least 0, before any rounding up."""
        ...


@dataclass(frozen=True)
class LagDelay:
    """Adds lags of that law; lost parts have lags, too: their loss shows when they would have come."""

    law: Law
    per: Per = "part"
    round_up: bool = False

    @property
    def whole(self) -> bool:
        """Whether whole offsets stay whole."""
        return self.round_up or self.law.keeps_whole

    @property
    def distribution(self) -> Any:
        """The distribution of a lag, before it is rounded up where that was asked for."""
        return self.law.distribution

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """The schedule with a lag added to every offset."""
        pulls, span = schedule.offsets.shape
        lags = self.law.draw(stream, (pulls, span if self.per == "part" else 1))
        if self.round_up:
            lags = np.ceil(lags)
        return Schedule(schedule.offsets + lags, schedule.lost)


class LagKind:
    """A delay whose settings are the law of its lags."""

    def __init__(self, settings: type[BaseModel]) -> None:
        self.settings = settings

    def build(self, settings: Any, place: BuildContext) -> LagDelay:  # noqa: ARG002 (the protocol's)
        """The delay for these settings."""
        return LagDelay(settings, getattr(settings, "per", "part"), getattr(settings, "whole", False))


def point_mass(value: float) -> Any:
    """The distribution of a number that is certain."""
    return discrete([value], [1.0])


def discrete(values: Any, probabilities: Any) -> Any:
    """The distribution that takes these values with these probabilities."""
    return scipy_stats().rv_discrete(values=(values, probabilities))


def scipy_stats() -> Any:
    """The distributions of SciPy: slow to load, and needed only by those who compare, never by a run."""
    from scipy import stats  # noqa: PLC0415 (that is why)

    return stats


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

    def build(self, settings: Nothing, place: BuildContext) -> LagDelay:  # noqa: ARG002 (the protocol's)
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


class EmpiricalSettings(LagSettings):
    """Lags drawn from observed ones: a CSV file with a column `lag`, or a list; `whole` rounds them up."""

    file: Annotated[str | None, Field(min_length=1)] = None
    lags: Annotated[list[Annotated[float, Field(ge=0)]] | None, Field(min_length=1)] = None
    whole: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.file is None) == (self.lags is None):
            raise ValueError("needs a file or lags, and not both; give one of them")
        return self


@dataclass(frozen=True, eq=False)
class Observed:
    """The law that gives each observed lag the same probability."""

    lags: Floats

    @property
    def keeps_whole(self) -> bool:
        """Whether every observed lag is a whole number."""
        return bool((self.lags == np.floor(self.lags)).all())

    @property
    def distribution(self) -> Any:
        """The frequencies of the observed lags."""
        values, counts = np.unique(self.lags, return_counts=True)
        return discrete(values, counts / len(self.lags))

    def draw(self, stream: np.random.Generator, size: tuple[int, int]) -> Floats:
        """Observed lags, with replacement."""
        drawn: Floats = self.lags[stream.integers(len(self.lags), size=size)]
        return drawn


class Empirical:
    """The delay "empirical"."""

    settings: type[BaseModel] = EmpiricalSettings

    def build(self, settings: EmpiricalSettings, place: BuildContext) -> LagDelay:
        """The delay for these settings; the file is relative to the scenario."""
        lags: Sequence[float] | Floats = settings.lags or ()
        if settings.file is not None:
            lags = read_column(place.folder / settings.file, "lag")
        return LagDelay(Observed(np.array(lags, dtype=np.float64)), settings.per, settings.whole)


EMPIRICAL: DelayKind = Empirical()
