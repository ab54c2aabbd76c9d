"""When is a lead clear to somebody who looks every day? Boundaries that allow it, by spending the error over a plan.

Estimates of several days share decisions, so their joint covariance is known: that of days s and t is the sum over
decisions of F_s,i F_t,i, where F_t,i is the error of decision i in the estimate of day t. Without a difference, the
standardised differences of all days are jointly normal with this correlation. The plan says when the last look is; up
to a day of which a share of the plan has passed, that share of the error may have been spent. The boundary of a day is
the number that is crossed for the first time on this day with the probability that may be spent on it.

The boundary of a day uses only what was known on it, and the same random numbers every day. So analysing again on a
later day gives the same boundaries for the earlier ones.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tpstream.model.arrays import Floats

PATHS = 50_000
"""Simulated courses of the standardised difference."""
SEED = 19970401
"""The seed of the courses: the same data always give the same boundaries."""
RIDGE = 1e-9
"""Added to the variances before factorising: estimates of neighbouring days can be equal."""


def boundaries(covariance: Floats, spent: Floats) -> Floats:
    """The boundary of every look for the absolute standardised difference; infinite where nothing may be spent.

    Parameters
    ----------
    covariance
        That of the differences of all looks.
    spent
        How much of the error may have been spent up to each look; never decreasing.

    Examples
    --------
    >>> import numpy as np
    >>> [round(float(bound), 1) for bound in boundaries(np.eye(1), np.array([0.05]))]
    [2.0]
    """
    deviations = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    correlation = covariance / np.outer(deviations, deviations)
    np.fill_diagonal(correlation, 1 + RIDGE)
    factor = np.linalg.cholesky(correlation)
    steps = _steps(len(spent))
    heights = np.abs(factor.astype(np.float32) @ steps)
    alive = np.ones(PATHS, dtype=np.bool_)
    bounds = np.full(len(spent), np.inf)
    crossed = 0
    for look, height in enumerate(heights):
        height[~alive] = 0.0
        more = round(float(spent[look]) * PATHS) - crossed
        if more < 1:
            continue
        bounds[look] = np.partition(height, -more)[-more]
        alive &= height < bounds[look]
        crossed = PATHS - int(np.count_nonzero(alive))
    return bounds


@lru_cache(maxsize=1)
def _steps(looks: int) -> NDArray[np.float32]:
    """Independent standard normal numbers, of shape (looks, paths): those of a look are the same in every analysis."""
    return np.stack(
        [np.random.default_rng([SEED, look]).standard_normal(PATHS, dtype=np.float32) for look in range(looks)]
    )
