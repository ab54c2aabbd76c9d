"""Gittins indices of a Bernoulli arm with a Beta prior, by calibration against an arm that pays lambda for sure.

After s successes in n pulls, the value of an arm from which one may change for ever to a sure lambda is, multiplied by
1 - discount, V = max(lambda, C), and C = p (1 - discount + discount V') + (1 - p) discount V'', with p the posterior
mean and V', V'' the values after a success and a failure. The index is the lambda at which C = lambda. C - lambda is
convex and falls with lambda, so a Newton step from either side of its root stops short of it, and the larger of the two
is taken.

V is found backwards from a number of pulls so large that what could still be learned hardly counts; there the better of
the two is kept for ever. States whose mean is far from lambda need no recursion: the change is sure there, or never
made.
"""

import math
from functools import lru_cache

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.numba_support import cached

GRID = 1500
"""Values of lambda, at equal distances on the scale of arcsin(sqrt(lambda)), on which all posteriors are as wide."""
AHEAD = 2.5
"""How many pulls the recursion looks ahead of the table, in units of 1 / (1 - discount)."""
FAR = 6.0
"""In how many standard deviations from lambda a mean counts as far, besides a few pulls."""
STEP, MOST = 256, 1024
"""Tables have a multiple of this many rows, at most so many."""


def gittins_table(discount: float, prior: tuple[float, float], pulls: int) -> Floats:
    """By how much the index exceeds the posterior mean, at n (n + 1) / 2 + s for s successes in n pulls.

    Parameters
    ----------
    discount : float
        What a reward is worth if it comes one pull later, from 0 to below 1.
    prior : (float, float)
        a and b of the Beta prior.
    pulls : int
        The largest n that is asked for; the table has more rows, but never more than `MOST`.

    Examples
    --------
    >>> float(round(0.5 + gittins_table(0.99, (1.0, 1.0), 10)[0], 4))
    0.8699
    """
    rows = min(STEP * math.ceil((pulls + 1) / STEP), MOST)
    return _table(discount, prior, rows, GRID, AHEAD)


@lru_cache(maxsize=8)
def _table(discount: float, prior: tuple[float, float], rows: int, grid: int, ahead: float) -> Floats:
    """The table, which is computed once in a process."""
    excess = np.zeros(rows * (rows + 1) // 2)
    if discount > 0:  # else nothing that is learned counts
        levels = rows + math.ceil(ahead / (1 - discount))
        _calibrate(discount, *prior, rows, levels, np.sin(np.linspace(0, math.pi / 2, grid + 1)) ** 2, excess)
    excess.setflags(write=False)
    return excess


@cached
def _calibrate(discount: float, a: float, b: float, rows: int, levels: int, grid: Floats, excess: Floats) -> None:
    """Write the excess of the index over the mean in each state."""
    values, slopes = np.empty(levels + 2), np.empty(levels + 2)
    stays, changes = np.empty(levels + 2), np.empty(levels + 2)
    above, falls = np.zeros(excess.size), np.full(excess.size, -1.0)
    for n in range(rows):
        for s in range(n + 1):
            above[n * (n + 1) // 2 + s] = (a + s) / (a + b + n)
    for step in range(1, grid.size):
        sure = grid[step]
        for s in range(levels + 1):
            mean = (a + s) / (a + b + levels)
            values[s], slopes[s] = max(mean, sure), 1.0 if mean <= sure else 0.0
        known = levels
        for n in range(levels - 1, -1, -1):
            centre, reach = sure * (a + b + n) - a, FAR * math.sqrt(sure * (1.0 - sure) * (a + b + n)) + 20.0
            low, high = max(0, int(centre - reach)), min(n, int(centre + reach))
            if high + 1 > known:  # a state from which no change is made any more
                values[high + 1], slopes[high + 1] = (a + high + 1.0) / (a + b + n + 1.0), 0.0
            known = high
            _step_back(values, slopes, stays, changes, low, high, a, 1.0 / (a + b + n), discount, sure)
            if n < rows:
                place = n * (n + 1) // 2
                _find_roots(above, falls, excess, place, stays, changes, low, high, grid[step - 1], sure)
    for n in range(rows):
        for s in range(n + 1):
            excess[n * (n + 1) // 2 + s] -= (a + s) / (a + b + n)


@cached
def _step_back(
    values: Floats,
    slopes: Floats,
    stays: Floats,
    changes: Floats,
    low: int,
    high: int,
    a: float,
    share: float,
    discount: float,
    sure: float,
) -> None:
    """From V after n + 1 pulls to C and V after n pulls, of the states from `low` to `high`, and their slopes."""
    for s in range(low, high + 1):
        p = (a + s) * share
        success, failure = discount * p, discount * (1.0 - p)
        stays[s] = p * (1.0 - discount) + success * values[s + 1] + failure * values[s]
        changes[s] = success * slopes[s + 1] + failure * slopes[s]
        values[s] = max(stays[s], sure)
        slopes[s] = 1.0 if stays[s] <= sure else changes[s]


@cached
def _find_roots(
    above: Floats,
    falls: Floats,
    roots: Floats,
    place: int,
    stays: Floats,
    changes: Floats,
    low: int,
    high: int,
    before: float,
    sure: float,
) -> None:
    """Write the root of C - lambda of the states in which it is between the last lambda and this one.

    `above` and `falls` are C - lambda and its slope at the last lambda, while it was positive.
    """
    for s in range(low, high + 1):
        state = place + s
        if above[state] > 0.0:
            rest, fall = stays[s] - sure, changes[s] - 1.0
            if rest <= 0.0:
                roots[state] = max(before - above[state] / falls[state], sure - rest / fall)
            above[state], falls[state] = rest, fall
