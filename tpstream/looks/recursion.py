"""The joint distribution of test statistics at successive looks, by recursive numerical integration.

At a look with the fraction I of the information, the standardised statistic Z is such that S = Z sqrt(I) is a Brownian
motion with drift at time I: increments of S are independent and normal, with mean drift * dI and variance dI. The drift
is the effect, in standard errors at the full information. `Ongoing` is the density of S among trials that went on at
all looks so far, on the nodes of a Gauss-Legendre rule; the one of the next look follows from it by an integral
(Armitage, McPherson and Rowe 1969).
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr

from tpstream.model.arrays import Floats

NODES = 12
"""Gauss-Legendre nodes in each panel; a panel is at most as wide as the standard deviation of an increment."""
FARTHEST = 9.0
"""Standard deviations of an increment beyond which a density counts as 0 (its tail is below 1e-18)."""
_RULE = np.polynomial.legendre.leggauss(NODES)


@dataclass(frozen=True, eq=False)
class Ongoing:
    """Trials that went on at all looks so far: S at some nodes, and the probability that stands for each of them."""

    information: float
    nodes: Floats
    masses: Floats
    drift: float

    @classmethod
    def start(cls, drift: float = 0.0) -> Self:
        """Before the first look: S = 0 for sure."""
        return cls(0.0, np.zeros(1), np.ones(1), drift)

    @property
    def probability(self) -> float:
        """That a trial went on."""
        return float(self.masses.sum())

    def below(self, information: float, value: float) -> float:
        """The probability that a trial went on and that Z at this later information lies below the value."""
        step = information - self.information
        standardised = (value * math.sqrt(information) - self.nodes - self.drift * step) / math.sqrt(step)
        return float(self.masses @ ndtr(standardised))

    def above(self, information: float, value: float) -> float:
        """The probability that a trial went on and that Z at this later information lies above the value."""
        step = information - self.information
        standardised = (self.nodes + self.drift * step - value * math.sqrt(information)) / math.sqrt(step)
        return float(self.masses @ ndtr(standardised))

    def after(self, information: float, low: float, high: float, finest: float) -> Self:
        """Those that go on after a look at this information, where Z has to lie between `low` and `high`.

        `finest` is the least information that is gained between looks that follow.
        """
        step = information - self.information
        deviation, centres = math.sqrt(step), self.nodes + self.drift * step
        least, most = centres.min() - FARTHEST * deviation, centres.max() + FARTHEST * deviation
        least, most = max(least, low * math.sqrt(information)), min(most, high * math.sqrt(information))
        if least >= most:
            return type(self)(information, np.zeros(1), np.zeros(1), self.drift)
        panels = math.ceil((most - least) / min(deviation, math.sqrt(finest)))
        edges = np.linspace(least, most, panels + 1)
        half = (edges[1] - edges[0]) / 2
        nodes = (edges[:-1, np.newaxis] + half * (1 + _RULE[0])).ravel()
        kernel = np.exp(-0.5 * ((nodes[:, np.newaxis] - centres) / deviation) ** 2)
        densities = kernel @ self.masses / (deviation * math.sqrt(2 * math.pi))
        return type(self)(information, nodes, densities * half * np.tile(_RULE[1], panels), self.drift)


def finest_step(information: Floats) -> float:
    """The least information that is gained between two looks, or before the first."""
    return float(np.diff(information, prepend=0.0).min())


def crossing_probabilities(
    information: Floats, lower: Floats, upper: Floats, drift: float = 0.0
) -> tuple[Floats, Floats]:
    """The probabilities that Z leaves the region between `lower` and `upper` first at each look: below, and above."""
    finest = finest_step(information)
    ongoing, below, above = Ongoing.start(drift), [], []
    for level, low, high in zip(information, lower, upper, strict=True):
        below.append(ongoing.below(level, low))
        above.append(ongoing.above(level, high))
        ongoing = ongoing.after(level, low, high, finest)
    return np.array(below), np.array(above)
