"""Lags: parts that arrive later. A lag is that of one part or of the whole pull; a lost part has lags, too."""

import math
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PrivateAttr, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, Moves, Schedule
from tpstream.model.recorded_files import read_column
from tpstream.timing.kinds import TimingSettings

Per = Literal["part", "pull"]
Size = tuple[int, int]


class SampledDelay(TimingSettings):
    """A delay whose draws do not depend on when parts get there."""

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:
        """What happens to the parts of pulls of one arm that pay these rewards (pulls, span)."""
        raise NotImplementedError

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:
        """The schedule after the delay."""
        return self.moves(rewards, arm, stream).applied(schedule)


class NoDelay(SampledDelay):
    """Parts arrive when they are due: the paper's world."""

    whole: ClassVar[bool] = True
    """No offset is changed."""

    @property
    def absent(self) -> bool:
        """Always true: such a table is left out, as if it were not there."""
        return True

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:  # noqa: ARG002 (the protocol's)
        """Nothing happens."""
        return Moves()


class Constant(SampledDelay):
    """Every part comes later by the same lag."""

    lag: Annotated[float, Field(ge=0)] = Field(description="how much later every part arrives")

    @property
    def whole(self) -> bool:
        """Whether the lag is a whole number."""
        return self.lag.is_integer()

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:  # noqa: ARG002 (the protocol's)
        """The lag for every part."""
        return Moves(lags=np.full((len(rewards), 1), self.lag))


class RandomLag(SampledDelay):
    """Lags that are drawn: one for each part, or one for the whole pull."""

    per: Per = Field("part", description="whether each part has a lag of its own, or all parts of a pull share one")

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """Lags of at least 0."""
        raise NotImplementedError

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:  # noqa: ARG002 (the protocol's)
        """A lag for every part, or for every pull."""
        pulls, span = rewards.shape
        return Moves(lags=self.draw(stream, (pulls, span if self.per == "part" else 1)))


class Geometric(RandomLag):
    """Lags of 0, 1, 2, ... rounds: the failures before the first success of probability p; mean (1 - p) / p."""

    p: Annotated[float, Field(gt=0, le=1)] = Field(
        description="probability to arrive in each round; the mean lag is (1 - p) / p"
    )

    whole: ClassVar[bool] = True
    """Every lag is a whole number."""

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """P(lag = n) = p (1 - p)^n; NumPy counts the trials, the success included."""
        return stream.geometric(self.p, size).astype(np.float64) - 1


class Poisson(RandomLag):
    """Lags of 0, 1, 2, ... rounds with a Poisson distribution; a mean of 0 is no delay."""

    mean: Annotated[float, Field(ge=0, le=1e15)] = Field(description="mean lag")

    whole: ClassVar[bool] = True
    """Every lag is a whole number."""

    @property
    def absent(self) -> bool:
        """Whether every lag is 0."""
        return self.mean == 0

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """P(lag = n) = mean^n exp(-mean) / n!."""
        return stream.poisson(self.mean, size).astype(np.float64)


class Uniform(RandomLag):
    """Lags between low and high, all equally likely; with `whole` the whole numbers. A high of 0 is no delay."""

    low: Annotated[float, Field(ge=0)] = Field(0.0, description="smallest lag")
    high: NonNegativeFloat = Field(description="largest lag")
    whole: bool = Field(default=False, description="only the whole numbers from low to high")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low >= self.high > 0 or self.low > self.high:
            raise ValueError(f"low = {self.low} is not below high = {self.high}; lower it, or use a constant")
        if self.whole and not (self.low.is_integer() and self.high.is_integer()):
            raise ValueError(f"whole lags need whole bounds, got low = {self.low} and high = {self.high}; round them")
        return self

    @property
    def absent(self) -> bool:
        """Whether every lag is 0."""
        return self.high == 0

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """Uniform on the interval, or on the whole numbers in it, both ends included."""
        if self.whole:
            return stream.integers(int(self.low), int(self.high), size, endpoint=True).astype(np.float64)
        return stream.uniform(self.low, self.high, size)


class ContinuousLag(RandomLag):
    """Lags of any length; with `whole` they are rounded up to whole rounds."""

    whole: bool = Field(default=False, description="whether lags are rounded up to whole numbers")

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """Lags of at least 0, rounded up if that is asked for."""
        lags = self.draw_exact(stream, size)
        return np.ceil(lags) if self.whole else lags

    def draw_exact(self, stream: np.random.Generator, size: Size) -> Floats:
        """Lags of at least 0, before they are rounded up."""
        raise NotImplementedError


class Lognormal(ContinuousLag):
    """Lags whose logarithm is normal, with deviation sigma; give their median (0 is no delay), or its logarithm mu."""

    exactly_one = ("median", "mu")

    median: NonNegativeFloat | None = Field(None, description="median lag; give this or mu")
    mu: float | None = Field(None, description="mean of the logarithm of the lag; give this or median")
    sigma: PositiveFloat = Field(description="standard deviation of the logarithm of the lag")

    @property
    def absent(self) -> bool:
        """Whether every lag is 0."""
        return self.median == 0

    def draw_exact(self, stream: np.random.Generator, size: Size) -> Floats:
        """Lognormal with median exp(mu)."""
        if self.median == 0:
            return np.zeros(size)
        mu = float(self.mu or 0.0) if self.median is None else math.log(self.median)
        return stream.lognormal(mu, self.sigma, size)


class Weibull(ContinuousLag):
    """Weibull lags: a shape below 1 has many short and a few long ones, 1 is exponential; a scale of 0 is no delay."""

    shape: PositiveFloat = Field(
        description="shape: below 1 many short and a few long lags, 1 is exponential, above 1 they cluster"
    )
    scale: NonNegativeFloat = Field(description="scale: 63 % of the lags are smaller")

    @property
    def absent(self) -> bool:
        """Whether every lag is 0."""
        return self.scale == 0

    def draw_exact(self, stream: np.random.Generator, size: Size) -> Floats:
        """P(lag > x) = exp(-(x / scale)^shape)."""
        return self.scale * stream.weibull(self.shape, size)


class Pareto(ContinuousLag):
    """Heavy-tailed lags of at least `scale` (0 is no delay); with a shape of at most 1 their mean is infinite."""

    shape: PositiveFloat = Field(
        description="shape: the smaller it is, the longer are the longest lags; at most 1: infinite mean"
    )
    scale: NonNegativeFloat = Field(description="smallest lag")

    @property
    def absent(self) -> bool:
        """Whether every lag is 0."""
        return self.scale == 0

    def draw_exact(self, stream: np.random.Generator, size: Size) -> Floats:
        """P(lag > x) = (scale / x)^shape for x from scale on; NumPy's variables begin at 0."""
        return self.scale * (1 + stream.pareto(self.shape, size))


class Empirical(RandomLag):
    """Lags drawn from observed ones: a CSV file with a column `lag`, or a list; `whole` rounds them up."""

    exactly_one = ("file", "lags")

    file: Annotated[str | None, Field(min_length=1)] = Field(
        None, description="CSV or Parquet file with recorded lags in the column lag; give this or lags"
    )
    lags: Annotated[list[Annotated[float, Field(ge=0)]] | None, Field(min_length=1)] = Field(
        None, description="recorded lags, which are drawn with replacement; give this or file"
    )
    whole: bool = Field(default=False, description="whether lags are rounded up to whole numbers")

    _observed: Floats = PrivateAttr()

    def build(self, context: BuildContext) -> Self:
        """The delay with its observed lags; the file is relative to the scenario."""
        if self.file is None:
            observed = np.array(self.lags, dtype=np.float64)
        else:
            observed = read_column(context.folder / self.file, "lag")
        rounded = np.ceil(observed)
        whole = self.whole or bool((observed == rounded).all())
        return self.model_copy(update={"whole": whole}).with_built(_observed=rounded if self.whole else observed)

    def draw(self, stream: np.random.Generator, size: Size) -> Floats:
        """Observed lags with replacement, each with the same probability."""
        drawn: Floats = self._observed[stream.integers(len(self._observed), size=size)]
        return drawn
