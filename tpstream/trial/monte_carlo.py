"""How sure is a number that was found by simulating many trials? Estimates with their Monte Carlo errors.

Each estimate has a standard error and a 95 % interval over the simulated trials:

- a probability p over n trials: sqrt(p (1 - p) / n), Wilson's interval;
- a mean: the standard deviation divided by sqrt(n), Student's interval;
- a standard deviation s: sqrt((m4 - s^4 (n - 3) / (n - 1)) / n) / (2 s) with m4 the fourth central moment, and the
  normal interval, cut at 0;
- a quantile: the interval between two order statistics, which covers it whatever the distribution is; the error is
  its half-width divided by the normal quantile;
- the root of a mean square r: that of the mean square divided by 2 r; the interval is the root of Student's.
"""

from typing import NamedTuple

import numpy as np

from tpstream.analysis.intervals import LEVEL, NORMAL_QUANTILE, t_interval, wilson_interval
from tpstream.model.arrays import Bools, Floats

FEW = 2
"""Fewer trials than these have no error."""


class Estimate(NamedTuple):
    """A value, its Monte Carlo standard error and 95 % interval, and from how many trials it comes."""

    value: float
    error: float
    low: float
    high: float
    trials: int


def share_of(hits: Bools) -> Estimate:
    """The probability of an event, from whether it happened in each trial."""
    trials, found = len(hits), int(np.count_nonzero(hits))
    if not trials:
        return unknown()
    share = found / trials
    return Estimate(share, float(np.sqrt(share * (1 - share) / trials)), *wilson_interval(found, trials), trials)


def mean_of(values: Floats, least: float = -np.inf, most: float = np.inf) -> Estimate:
    """The mean of a quantity, which cannot leave its bounds; trials in which it is not known (NaN) are left out."""
    known = values[~np.isnan(values)]
    if not len(known):
        return unknown()
    found = t_interval(known).within(least, most)
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) >= FEW else np.nan
    return Estimate(float(found.mean), error, float(found.low), float(found.high), len(known))


def deviation_of(values: Floats) -> Estimate:
    """The standard deviation of a quantity between trials."""
    known = values[~np.isnan(values)]
    trials = len(known)
    if trials < FEW:
        return unknown(trials)
    found = float(known.std(ddof=1))
    if found == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0, trials)
    fourth = float(((known - known.mean()) ** 4).mean())
    square = max(fourth - found**4 * (trials - 3) / (trials - 1), 0.0) / trials
    error = float(np.sqrt(square)) / (2 * found)
    return Estimate(found, error, max(found - NORMAL_QUANTILE * error, 0.0), found + NORMAL_QUANTILE * error, trials)


def quantile_of(values: Floats, level: float) -> Estimate:
    """A quantile of a quantity, as NumPy interpolates it, with the interval between two order statistics."""
    from scipy.stats import binom  # noqa: PLC0415 (slow to import)

    known = np.sort(values[~np.isnan(values)])
    trials = len(known)
    if trials < FEW:
        return Estimate(float(known[0]), np.nan, np.nan, np.nan, trials) if trials else unknown()
    ends = binom.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], trials, level)
    low, high = known[max(int(ends[0]) - 1, 0)], known[min(int(ends[1]), trials - 1)]
    error = float(high - low) / (2 * NORMAL_QUANTILE)
    return Estimate(float(np.quantile(known, level)), error, float(low), float(high), trials)


def root_mean_square_of(errors: Floats) -> Estimate:
    """The root of the mean square of the errors of an estimate."""
    square = mean_of(errors**2, least=0.0)
    root = float(np.sqrt(square.value))
    error = square.error / (2 * root) if root else square.error
    return Estimate(root, error, float(np.sqrt(square.low)), float(np.sqrt(square.high)), square.trials)


def extreme_of(values: Floats, *, largest: bool) -> Estimate:
    """The smallest or largest value that was seen; it says nothing about what may be seen in more trials."""
    known = values[~np.isnan(values)]
    if not len(known):
        return unknown()
    return Estimate(float(known.max() if largest else known.min()), np.nan, np.nan, np.nan, len(known))


def unknown(trials: int = 0) -> Estimate:
    """What cannot be estimated."""
    return Estimate(np.nan, np.nan, np.nan, np.nan, trials)
