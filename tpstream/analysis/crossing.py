"""Crossings: from which round on one policy's mean regret is below another's, with a bootstrap interval over runs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tpstream.analysis.intervals import LEVEL, RESAMPLES
from tpstream.model.arrays import Floats, Ints

SEED = 20220723
"""Of the resamples; fixed, so that the same runs give the same interval."""


@dataclass(frozen=True)
class Estimate:
    """A number computed from all runs, with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


def bootstrap(runs: int, statistic: Callable[[Floats], Floats]) -> Estimate:
    """The percentile interval of a statistic; it is given weights of the runs (resample, run) that add up to 1 each."""
    stream = np.random.default_rng(SEED)
    weights = stream.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    values = np.sort(statistic(weights))
    tail = (1 - LEVEL) / 2
    # Order statistics, not interpolation: a resample without a crossing is infinite.
    low, high = values[int(np.floor(tail * (RESAMPLES - 1)))], values[int(np.ceil((1 - tail) * (RESAMPLES - 1)))]
    return Estimate(float(statistic(np.full((1, runs), 1 / runs))[0]), float(low), float(high))


def crossing(rounds: Ints, first: Floats, second: Floats) -> Estimate:
    """From which round on the first's mean regret (run, round) is below the second's, to the end.

    Between checkpoints the difference is taken as linear. The first checkpoint if it is below all along; infinite if
    it is not below at the end.
    """
    difference = first - second
    return bootstrap(len(difference), lambda weights: last_crossings(rounds, weights @ difference))


def last_crossings(rounds: Ints, differences: Floats) -> Floats:
    """The place after which each row stays negative."""
    above = differences >= 0
    last = above.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)  # the last checkpoint that is not negative
    after = np.minimum(last + 1, above.shape[1] - 1)
    row = np.arange(len(differences))
    high, low = differences[row, last], differences[row, after]
    with np.errstate(invalid="ignore", divide="ignore"):
        places = rounds[last] + (rounds[after] - rounds[last]) * high / (high - low)
    places = np.where(last == above.shape[1] - 1, np.inf, places)
    return np.where(above.any(axis=1), places, rounds[0].astype(np.float64))


def ratio(numerator: Floats, denominator: Floats) -> Estimate:
    """The ratio of two means over the same runs."""
    return bootstrap(len(numerator), lambda weights: (weights @ numerator) / (weights @ denominator))
