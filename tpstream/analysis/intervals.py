"""Intervals: how sure a mean or a share over runs is.

The value of partial information: which fraction of the delay's cost a policy recovers.

A policy that waits for everything loses R_wait, one that is told everything at once R_clairvoyant; the difference is
what the delay costs. A policy that learns from parts recovers

    (R_wait - R_policy) / (R_wait - R_clairvoyant)

of it: 0 is as good as waiting, 1 as good as being told at once; it may be negative, or more than 1. All three are
paired by run on common random numbers, and the fraction is that of the means over runs. Its interval is Fieller's: all
ratios that a t test at 5 % does not reject. It is bounded only if the cost itself differs from 0 at that level;
otherwise there is no telling, and fraction and interval are NaN.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats

LEVEL = 0.95
RESAMPLES = 2000
"""Resamples behind a bootstrap interval."""
CORRECTED = 1000
"""Up to so many runs the bootstrap is bias-corrected and accelerated; beyond, that changes nothing and costs much."""


@dataclass(frozen=True, eq=False)
class Interval:
    """A mean over runs (first axis) with its 95 % interval; NaN bounds where there is only one run."""

    mean: Floats
    low: Floats
    high: Floats


def t_interval(values: Floats) -> Interval:
    """Student's interval for the mean over the first axis."""
    runs = len(values)
    mean = values.mean(axis=0)
    if runs == 1:
        return Interval(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan))
    half = t_quantile(runs) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return Interval(mean, mean - half, mean + half)


def t_quantile(runs: int) -> float:
    """How many standard errors Student's interval for a mean over so many runs reaches to each side."""
    return float(_stats().t.ppf((1 + LEVEL) / 2, runs - 1))


def bootstrap_interval(values: Floats) -> tuple[float, float]:
    """The bootstrap interval (BCa) for the mean of some runs; always from the same resamples, so it is repeatable."""
    runs = len(values)
    if runs == 1:
        return np.nan, np.nan
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    found = (
        _stats()
        .bootstrap(
            (values,),
            np.mean,
            n_resamples=RESAMPLES,
            batch=max(1, 1_000_000 // runs),
            confidence_level=LEVEL,
            method="BCa" if runs <= CORRECTED else "percentile",
            rng=np.random.default_rng(0),
        )
        .confidence_interval
    )
    return float(found.low), float(found.high)


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's interval for a share; unlike the usual one it holds near 0 and 1."""
    if trials == 0:
        return np.nan, np.nan
    found = _stats().binomtest(successes, trials).proportion_ci(LEVEL, method="wilson")
    return float(found.low), float(found.high)


def _stats() -> Any:
    """scipy.stats, which takes longer to import than a short run takes."""
    from scipy import stats  # noqa: PLC0415 (that is why)

    return stats


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
