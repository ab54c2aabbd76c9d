"""Tests of survival in two arms: the log-rank test, and the difference of restricted mean survival times.

A patient was followed for a time, at the end of which he died (`died`) or was still alive (censored). Large z speak for
the treatment: fewer deaths than expected, or more time lived.
"""

import math
from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Bools, Floats
from tpstream.model.numba_support import cached

WHOLE = 1 - 1e-12
"""Who was followed for this share of a time was followed to its end: times are rounded sums."""


class RestrictedMean(NamedTuple):
    """The area below a Kaplan-Meier curve up to a time, and its variance."""

    mean: float
    variance: float


def log_rank_z(times: Floats, died: Bools, treated: Bools) -> float:
    """The log-rank statistic, expected less observed deaths of the treated over its deviation; NaN without deaths.

    Where d of n patients at risk die at one time, of whom m are treated, d m / n deaths of the treated are expected,
    with the hypergeometric variance d (m / n) (1 - m / n) (n - d) / (n - 1).

    Examples
    --------
    >>> times, died = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, True])
    >>> round(log_rank_z(times, died, np.array([False, False, True, True])), 4)
    1.6977
    """
    order = np.argsort(times, kind="stable")
    return float(_log_rank(times[order], died[order], treated[order]))


@cached
def _log_rank(times: Floats, died: Bools, treated: Bools) -> float:
    """The statistic of patients in the order of their times."""
    at_risk, of_treated = times.size, int(treated.sum())
    less, variance, patient = 0.0, 0.0, 0
    while patient < times.size:
        deaths, deaths_of_treated, left, left_of_treated, time = 0, 0, 0, 0, times[patient]
        while patient < times.size and times[patient] == time:
            deaths += died[patient]
            deaths_of_treated += died[patient] and treated[patient]
            left += 1
            left_of_treated += treated[patient]
            patient += 1
        share = of_treated / at_risk
        less += deaths * share - deaths_of_treated
        if at_risk > 1:
            variance += deaths * share * (1.0 - share) * (at_risk - deaths) / (at_risk - 1)
        at_risk -= left
        of_treated -= left_of_treated
    return less / math.sqrt(variance) if variance > 0.0 else math.nan


def restricted_mean(times: Floats, died: Bools, until: float) -> RestrictedMean:
    """The restricted mean survival time of one arm up to `until`, with Greenwood's variance.

    With d deaths among n at risk at times t_i, and A_i the area below the curve from t_i to `until`, the variance is
    the sum over i of A_i^2 d_i / (n_i (n_i - d_i)). Nobody knows the curve after the last time, if it is not at 0 by
    then: both are NaN while nobody is followed to `until`, but for the rounding of a sum of times.

    Examples
    --------
    >>> found = restricted_mean(np.array([1.0, 2.0, 4.0]), np.array([True, False, True]), 3.0)
    >>> found.mean, round(found.variance, 4)
    (2.3333333333333335, 0.2963)
    """
    order = np.argsort(times, kind="stable")
    return RestrictedMean(*_restricted_mean(times[order], died[order], until))


@cached
def _restricted_mean(times: Floats, died: Bools, until: float) -> tuple[float, float]:
    """The mean and the variance of patients in the order of their times."""
    areas, terms = np.zeros(times.size), np.zeros(times.size)
    at_risk, alive, last, steps, patient = times.size, 1.0, 0.0, 0, 0
    mean = 0.0
    if times[-1] < WHOLE * until and not _all_died_last(times, died):
        return math.nan, math.nan
    while patient < times.size and times[patient] <= until:
        deaths, left, time = 0, 0, times[patient]
        while patient < times.size and times[patient] == time:
            deaths += died[patient]
            left += 1
            patient += 1
        if deaths > 0:
            mean += alive * (time - last)
            areas[steps] = mean  # the area before t_i
            terms[steps] = deaths / (at_risk * (at_risk - deaths)) if deaths < at_risk else 0.0
            alive *= 1.0 - deaths / at_risk
            last, steps = time, steps + 1
        at_risk -= left
    mean += alive * (until - last)
    variance = 0.0
    for step in range(steps):
        variance += (mean - areas[step]) ** 2 * terms[step]
    return mean, variance


@cached
def _all_died_last(times: Floats, died: Bools) -> bool:
    """Whether the curve ends at 0, since all who were followed longest died."""
    patient = times.size - 1
    while patient >= 0 and times[patient] == times[-1]:
        if not died[patient]:
            return False
        patient -= 1
    return True


def restricted_mean_z(times: Floats, died: Bools, treated: Bools, until: float) -> float:
    """The difference of restricted mean survival times over its standard error; NaN where that is 0 or not known.

    Examples
    --------
    >>> times, died = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, True, True])
    >>> round(restricted_mean_z(times, died, np.array([False, False, True, True]), 3.5), 4)
    4.4272
    """
    one, other = (restricted_mean(times[arm], died[arm], until) for arm in (treated, ~treated))
    variance = one.variance + other.variance
    return (one.mean - other.mean) / math.sqrt(variance) if variance > 0 else math.nan
