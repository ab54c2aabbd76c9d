"""Numbers computed from all runs of two policies, with bootstrap intervals: ratios, and rounds where curves cross."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tpstream.analysis.intervals import LEVEL, RESAMPLES
from tpstream.model.arrays import Floats, Ints
from tpstream.paper.reproduction import Curves

SEED = 20220723
"""The seed of the resamples; it is fixed, so that the same runs give the same interval."""


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % bootstrap interval over runs."""

    value: float
    low: float
    high: float


def bootstrap(runs: int, statistic: Callable[[Floats], Floats]) -> Estimate:
    """The percentile interval of a statistic, a function of weights (resample, run) that add up to 1 in each row."""
    stream = np.random.default_rng(SEED)
    weights = stream.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    values = np.sort(statistic(weights))
    tail = (1 - LEVEL) / 2
    # Order statistics instead of interpolation, since a resample without a crossing is infinite.
    low, high = values[int(np.floor(tail * (RESAMPLES - 1)))], values[int(np.ceil((1 - tail) * (RESAMPLES - 1)))]
    return Estimate(float(statistic(np.full((1, runs), 1 / runs))[0]), float(low), float(high))


def ratio(numerator: Floats, denominator: Floats, scale: float = 1.0) -> Estimate:
    """The ratio of two means over the same runs; in percent with a scale of 100."""
    return bootstrap(len(numerator), lambda weights: scale * (weights @ numerator) / (weights @ denominator))


def crossing(first: Curves, second: Curves) -> Estimate:
    """The round from which on the first policy's mean regret is below the second's, to the end.

    The difference is taken as linear between checkpoints. The result is the first checkpoint if it is always below,
    infinite if it is not below at the end.
    """
    differences = first.regret - second.regret
    return bootstrap(len(differences), lambda weights: last_crossings(first.rounds, weights @ differences))


def last_crossings(rounds: Ints, differences: Floats) -> Floats:
    """The round after which each row of differences stays negative."""
    above = differences >= 0
    last = above.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)  # the last checkpoint that is not negative
    after = np.minimum(last + 1, above.shape[1] - 1)
    row = np.arange(len(differences))
    high, low = differences[row, last], differences[row, after]
    with np.errstate(invalid="ignore", divide="ignore"):
        places = rounds[last] + (rounds[after] - rounds[last]) * high / (high - low)
    places = np.where(last == above.shape[1] - 1, np.inf, places)
    return np.where(above.any(axis=1), places, rounds[0].astype(np.float64))
