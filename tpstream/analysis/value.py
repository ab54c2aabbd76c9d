"""The value of partial information: which fraction of the delay's cost a policy recovers.

A policy that waits for everything loses R_wait, one that is told everything at once R_clairvoyant; the difference is
what the delay costs. A policy that learns from parts recovers

    (R_wait - R_policy) / (R_wait - R_clairvoyant)

of it: 0 is as good as waiting, 1 as good as being told at once; it may be negative, or more than 1. All three are
paired by run on common random numbers, and the fraction is that of the means over runs. Its interval is Fieller's: all
ratios that a t test at 5 % does not reject. It is bounded only if the cost itself differs from 0 at that level;
otherwise there is no telling, and fraction and interval are NaN.
"""

from dataclasses import dataclass

import numpy as np

from tpstream.analysis.intervals import t_interval, t_quantile
from tpstream.model.arrays import Floats

CLAIRVOYANT, WAITING = "ucb1", "delayed-ucb1"
"""The kinds of policies that are the two ends of the scale."""


@dataclass(frozen=True)
class Recovery:
    """Which fraction of the delay's cost a policy recovers, with Fieller's 95 % interval; NaN where undefined."""

    policy: str
    runs: int
    fraction: float
    low: float
    high: float
    cost: float
    """What the delay costs: the regret of waiting minus that of the clairvoyant policy."""
    cost_low: float
    cost_high: float


def recovery(policy: str, own: Floats, waiting: Floats, clairvoyant: Floats) -> Recovery:
    """The recovery of a policy from the final regrets in the same runs."""
    runs = len(own)
    if runs < 2:  # noqa: PLR2004 (an interval needs two)
        alone = float((waiting - clairvoyant).mean()) if runs else np.nan
        return Recovery(policy, runs, np.nan, np.nan, np.nan, alone, np.nan, np.nan)
    gain, costs = waiting - own, waiting - clairvoyant
    cost = t_interval(costs)
    known = (float(cost.mean), float(cost.low), float(cost.high))
    if known[1] <= 0 <= known[2]:
        return Recovery(policy, runs, np.nan, np.nan, np.nan, *known)
    return Recovery(policy, runs, float(gain.mean() / costs.mean()), *fieller(gain, costs), *known)


def fieller(numerators: Floats, denominators: Floats) -> tuple[float, float]:
    """Fieller's interval for the ratio of two paired means; the denominator's must differ from 0 at the same level.

    The ratios r with (mean(n) - r mean(d))^2 <= t^2 var(n - r d) / runs, an interval between two roots in r.
    """
    runs = len(numerators)
    scale = t_quantile(runs) ** 2 / runs
    spread = scale * np.cov(numerators, denominators, ddof=1)
    numerator, denominator = numerators.mean(), denominators.mean()
    square = denominator**2 - spread[1, 1]
    middle = numerator * denominator - spread[0, 1]
    root = np.sqrt(max(middle**2 - square * (numerator**2 - spread[0, 0]), 0.0))
    return float((middle - root) / square), float((middle + root) / square)
