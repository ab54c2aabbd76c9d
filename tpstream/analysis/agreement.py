"""Agreement: a number of ours beside a published one, both with their intervals."""

import math
from dataclasses import dataclass

import numpy as np

from tpstream.analysis.published import Z95
from tpstream.model.arrays import Floats

ALLOWED = 1.96
"""So many standard errors of the difference are allowed: two equal means differ by more in 5 % of comparisons."""


@dataclass(frozen=True)
class Agreement:
    """Our mean and a published one; `half` is half of a 95 % interval."""

    ours: float
    half: float
    published: float
    published_half: float

    @property
    def percent(self) -> float:
        """The difference in percent of the published number."""
        return 100 * (self.ours - self.published) / self.published

    @property
    def errors(self) -> float:
        """The difference in standard errors of the difference; the two have independent random numbers."""
        return (self.ours - self.published) / (math.hypot(self.half, self.published_half) / Z95)

    @property
    def agrees(self) -> bool:
        """Whether the difference is within what both intervals together allow."""
        return abs(self.errors) <= ALLOWED


def agreement(values: Floats, published: float, published_half: float) -> Agreement:
    """Our runs beside a published number, with the paper's kind of interval: 1.96 standard deviations of the mean."""
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Agreement(float(np.mean(values)), half, published, published_half)
