"""Losses: parts that never arrive, one by one (a missed visit) or all after some moment (a patient who drops out).

A lost part keeps its time and has lags, too: the loss is known when the part would have come.
"""

import math
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, PositiveFloat, PrivateAttr, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, Moves
from tpstream.model.world import Timing
from tpstream.timing.kinds import TimingSettings
from tpstream.timing.lags import SampledDelay

Probability = Annotated[float, Field(ge=0, le=1)]
Time = Annotated[float, Field(ge=0)]
LARGEST = 600.0
"""The logarithm of a factor of the hazard is cut to this, so that sums of products stay finite."""


class Missing(SampledDelay):
    """Each part is lost with probability p, independently; that shows when it would have come."""

    p: Probability = Field(description="probability that a part is lost")

    whole: ClassVar[bool] = True
    """No offset is changed."""

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:  # noqa: ARG002 (the protocol's)
        """Lost parts, whenever they come."""
        return Moves(limits=np.where(stream.random(rewards.shape) < self.p, -np.inf, np.inf))


class Dropout(SampledDelay):
    """What comes after a random moment is lost: give its rate, its mean, `probability` with `by`, or a curve.

    A rate, a mean and a probability by a time are those of an exponential moment. The curve lists times with the
    probability to have left by then, linear between them. With `informative` b, after a part that paid x the hazard of
    leaving is exp(-b x / unit) times the usual one: who does badly leaves sooner. The unit is given, or the maximum of
    the arm divided by the span. Delays that are listed before it count: a part that they make late can be lost though
    it was due in time.
    """

    exactly_one = ("rate", "mean", "probability", "curve")

    rate: PositiveFloat | None = Field(None, description="drop-outs per unit of time")
    mean: PositiveFloat | None = Field(None, description="mean time to the drop-out")
    probability: Annotated[float | None, Field(gt=0, lt=1)] = Field(
        None, description="probability to have left by the time that is given with the key by"
    )
    by: PositiveFloat | None = Field(None, description="time after the pull for which the probability is given")
    curve: Annotated[list[tuple[Time, Probability]] | None, Field(min_length=1)] = Field(
        None, description="times after the pull, each with the probability to have left by then"
    )
    informative: float = Field(0.0, description="how much longer those stay who do well; 0: the values do not matter")
    unit: PositiveFloat | None = Field(
        None, description="in what unit informative counts what a part paid; default: the arm's maximum / span"
    )

    whole: ClassVar[bool] = True
    """No offset is changed."""

    _due: Floats = PrivateAttr()
    _units: Floats | None = PrivateAttr()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.probability is None) != (self.by is None):
            raise ValueError("probability and by belong together, as in probability = 0.2, by = 365; give both")
        times, left = zip(*(self.curve or [(0.0, 0.0)]), strict=True)
        if list(times) != sorted(set(times)) or list(left) != sorted(left):
            raise ValueError(f"curve: times must rise and probabilities never fall, got {self.curve}; sort them")
        return self

    def build(self, context: BuildContext) -> Self:
        """The delay with the times at which parts are due and, for `informative`, the unit of what each arm pays."""
        return self.with_built(_due=context.nominal, _units=self._read_units(context) if self.informative else None)

    def _read_units(self, context: BuildContext) -> Floats:
        """In what unit the rewards of each arm are counted: the one that is given, or the maximum over the span."""
        if self.unit is not None:
            return np.full(len(context.names), self.unit)
        if not context.maxima:
            raise ScenarioError("informative: the maxima of the arms are not known here; set unit, or leave it out")
        for name, maximum in zip(context.names, context.maxima, strict=True):
            if math.isnan(maximum):
                raise ScenarioError(
                    f"informative: the rewards of arm {name!r} have no maximum; set unit, the value of a part at which "
                    f"the hazard is exp(-{self.informative:g}) times the usual one"
                )
        return np.array(context.maxima) / context.span

    def moves(self, rewards: Floats, arm: int, stream: np.random.Generator) -> Moves:
        """For every pull the moment of dropping out, after which its parts are lost.

        It is where the cumulative hazard reaches an exponential number of mean 1.
        """
        drawn = stream.exponential(1.0, (len(rewards), 1))
        if self._units is None:
            return Moves(limits=self.time_of(drawn))
        factors = np.exp(np.clip(-self.informative * rewards / self._units[arm], -LARGEST, LARGEST))
        # Before the first part the hazard is the usual one; after part j it is factors[j] times that.
        steps = np.hstack([np.ones((len(rewards), 1)), factors])
        usual = self.hazard(np.concatenate([[0.0], self._due]))
        grown = np.full(len(self._due), np.inf)
        np.subtract(usual[1:], usual[:-1], out=grown, where=np.isfinite(usual[1:]))  # infinite: by then all have left
        reached = np.hstack([np.zeros((len(rewards), 1)), np.cumsum(steps[:, :-1] * grown, axis=1)])
        last = np.count_nonzero(reached <= drawn, axis=1) - 1
        rows = np.arange(len(rewards))
        rest = (drawn[:, 0] - reached[rows, last]) / steps[rows, last]
        return Moves(limits=self.time_of(usual[last] + rest)[:, np.newaxis])

    def hazard(self, times: Floats) -> Floats:
        """The usual cumulative hazard up to these times: -log of the probability to have stayed."""
        if self.curve is None:
            return times / self._mean
        with np.errstate(divide="ignore"):
            hazard: Floats = -np.log1p(-np.interp(times, *self._points))
        return hazard

    def time_of(self, hazard: Floats) -> Floats:
        """When the usual cumulative hazard reaches these values; infinite: never."""
        if self.curve is None:
            return hazard * self._mean
        points, left = self._points
        probability = -np.expm1(-hazard)
        # Where the curve is flat nobody leaves: of two points with one probability np.interp goes on from the later.
        return np.where(probability > left[-1], np.inf, np.interp(probability, left, points))

    @property
    def _points(self) -> Floats:
        """The times of the curve, which begins with nobody having left at time 0, and its probabilities."""
        curve = self.curve or []
        return np.array([(0.0, 0.0), *curve] if curve[0][0] > 0 else curve).T

    @property
    def _mean(self) -> float:
        """The mean of an exponential moment."""
        if self.probability is not None and self.by is not None:
            return -self.by / math.log1p(-self.probability)
        return self.mean or 1 / (self.rate or 1.0)


def can_lose(timing: Timing) -> bool:
    """Whether a part can be lost, or come after its pull was closed; one that users wrote is taken to lose parts."""
    calendars = () if timing.calendar is None else timing.calendar.delays
    stages = [*timing.delays, *calendars, *(stage.delay for stage in timing.later)]
    return timing.window is not None or timing.process is not None or any(_can_lose(delay) for delay in stages)


def _can_lose(delay: Any) -> bool:
    """Whether a delay, or one inside of it, can lose parts."""
    inner = getattr(delay, "inner", None)
    if inner is not None:
        return any(_can_lose(one) for one in inner)
    return isinstance(delay, Missing | Dropout) or not isinstance(delay, TimingSettings)
