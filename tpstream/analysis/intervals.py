"""How sure is a mean, a share or a ratio of means over runs? 95 % intervals.

- `t_interval`: Student's interval for a mean. That of a bounded quantity (patients of a trial, shares, regret) is cut
  at the bounds (`Interval.within`). The true mean is never outside of them, so a cut interval covers it as often as an
  uncut one. docs/columns.md has the coverage at 2, 5 and 20 runs.
- `bootstrap_interval`: the bootstrap interval for a mean (Efron 1987, bias-corrected and accelerated).
- `wilson_interval`: Wilson's interval for a share (Wilson 1927).
- `paired_share_interval`: Newcombe's interval for the difference of two shares in the same runs (Newcombe 1998).
- `fieller_interval`: Fieller's interval for a ratio of two paired means (Fieller 1954).

`paired` uses them for the difference of two policies in the same runs.

`recovery` uses them for the value of partial feedback. A policy that waits until a pull is complete loses R_wait, one
that is shown the total at the pull loses R_clairvoyant; the difference is what the delay costs. A policy that learns
from parts recovers the fraction

    (R_wait - R_policy) / (R_wait - R_clairvoyant)

of that cost: 0 is as good as waiting, 1 as good as seeing everything at once; it may also be negative or above 1.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats

LEVEL = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""The standard normal quantile of (1 + LEVEL) / 2; a number, since a short run needs no SciPy."""
RESAMPLES = 2000
"""The number of bootstrap resamples."""
MOST_CORRECTED = 1000
"""Up to this many runs the bootstrap is bias-corrected; beyond, that changes nothing and takes long."""
CLAIRVOYANT, WAITING = "ucb1", "delayed-ucb1"
"""The kinds of policies whose regrets define what the delay costs."""
INFORMED = ("oracle", "ucb1")
"""Kinds of policies that are told what no real policy can know: the means, or a pull's total at once."""
SHOWN_TOTALS = "hears=pull"
"""A parameter that makes a policy one of these."""


def is_informed(policy: str) -> bool:
    """Whether the policy of this label, as in "ucb1" or "progressive-thompson:hears=pull", knows too much."""
    return policy.partition(":")[0].lower() in INFORMED or SHOWN_TOTALS in policy.replace(" ", "")


@dataclass(frozen=True, eq=False)
class Interval:
    """Means over runs with their 95 % interval; the bounds are NaN if there is only one run, all is NaN without any."""

    mean: Floats
    low: Floats
    high: Floats

    def within(self, least: Floats | float, most: Floats | float) -> "Interval":
        """The interval cut at the bounds of what is averaged, which no mean can leave but by rounding."""
        least, most = np.fmin(least, self.mean), np.fmax(most, self.mean)
        return Interval(self.mean, np.clip(self.low, least, most), np.clip(self.high, least, most))

    def columns(self, name: str) -> dict[str, float]:
        """The three numbers of a single mean as columns of a table: NAME, NAME_low, NAME_high."""
        return {name: float(self.mean), f"{name}_low": float(self.low), f"{name}_high": float(self.high)}


def t_interval(values: Floats) -> Interval:
    """Student's interval for the mean over the first axis."""
    runs = len(values)
    unknown = np.full(values.shape[1:], np.nan)
    if runs == 0:
        return Interval(unknown, unknown, unknown)
    mean = values.mean(axis=0)
    if runs == 1:
        return Interval(mean, unknown, unknown)
    half = t_quantile(runs) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return Interval(mean, mean - half, mean + half)


def t_reach(counts: Any, deviations: Any) -> Floats:
    """How far Student's intervals reach from means, each over so many values with this deviation; NaN below two."""
    from scipy.special import stdtrit  # noqa: PLC0415 (as below)

    some = np.maximum(np.asarray(counts, dtype=np.float64), 2)
    reach = stdtrit(some - 1, (1 + LEVEL) / 2) * deviations / np.sqrt(some)
    return np.where(np.asarray(counts) > 1, reach, np.nan)


def t_quantile(runs: int) -> float:
    """The half-width of Student's interval for a mean over this many runs, in standard errors."""
    from scipy.special import stdtrit  # noqa: PLC0415 (a short run needs no SciPy)

    return float(stdtrit(runs - 1, (1 + LEVEL) / 2))


def bootstrap_interval(values: Floats) -> tuple[float, float]:
    """The bootstrap interval for the mean; the resamples are always the same, so the result is repeatable."""
    runs = len(values)
    if runs == 1:
        return np.nan, np.nan
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    from scipy.stats import bootstrap  # noqa: PLC0415 (takes longer to import than a short run)

    found = bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, 1_000_000 // runs),
        confidence_level=LEVEL,
        method="BCa" if runs <= MOST_CORRECTED else "percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(found.low), float(found.high)


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's interval for the share p = successes / trials.

    With z the normal quantile and n the trials, its bounds are (2 n p + z^2 +- z sqrt(4 n p (1 - p) + z^2)) / (2 (n +
    z^2)). Unlike the normal approximation it holds near 0 and 1. NaN without trials.
    """
    if trials == 0:
        return np.nan, np.nan
    z, share = NORMAL_QUANTILE, successes / trials
    scale = 2 * (trials + z**2)
    centre = (2 * trials * share + z**2) / scale
    half = z / scale * math.sqrt(4 * trials * share * (1 - share) + z**2)
    return 0.0 if successes == 0 else centre - half, 1.0 if successes == trials else centre + half


def paired_share_interval(one: Floats, other: Floats) -> Interval:
    """The share of runs with a 1 in `one` minus that in `other`, with Newcombe's interval (his method 10).

    With p and q the two shares, l and u the ends of their Wilson intervals and phi the correlation of the pairs,
    corrected towards 0, the ends are p - q - sqrt(a^2 - 2 phi a b + b^2) with a = p - l_p and b = u_q - q, and p - q +
    sqrt(c^2 - 2 phi c d + d^2) with c = u_p - p and d = q - l_q. So it stays between -1 and 1, and unlike Student's it
    has a width if all pairs are equal. NaN without runs or where a value is NaN.
    """
    runs = len(one)
    if runs == 0 or np.isnan(one).any():
        return t_interval(np.empty(0))
    first, second, both = int(one.sum()), int(other.sum()), int((one * other).sum())
    (low_p, high_p), (low_q, high_q) = wilson_interval(first, runs), wilson_interval(second, runs)
    p, q = first / runs, second / runs
    product = both * (runs - first - second + both) - (first - both) * (second - both)
    corrected = max(product - runs / 2, 0.0) if product > 0 else product
    scale = math.sqrt(first * (runs - first) * second * (runs - second))
    phi = corrected / scale if scale else 0.0
    below = math.sqrt((p - low_p) ** 2 - 2 * phi * (p - low_p) * (high_q - q) + (high_q - q) ** 2)
    above = math.sqrt((high_p - p) ** 2 - 2 * phi * (high_p - p) * (q - low_q) + (q - low_q) ** 2)
    return Interval(*(np.array(end) for end in (p - q, p - q - below, p - q + above)))


def fieller_interval(numerators: Floats, denominators: Floats) -> tuple[float, float]:
    """Fieller's interval for the ratio of two paired means; the denominators' mean must differ from 0 at 5 %.

    It holds all ratios r that a t test does not reject: (mean(n) - r mean(d))^2 <= t^2 var(n - r d) / runs. The bounds
    are the roots of that quadratic in r.
    """
    runs = len(numerators)
    spread = t_quantile(runs) ** 2 / runs * np.cov(numerators, denominators, ddof=1)
    numerator, denominator = numerators.mean(), denominators.mean()
    square = denominator**2 - spread[1, 1]
    middle = numerator * denominator - spread[0, 1]
    root = np.sqrt(max(middle**2 - square * (numerator**2 - spread[0, 0]), 0.0))
    return float((middle - root) / square), float((middle + root) / square)


@dataclass(frozen=True)
class Contrast:
    """A policy's final regret minus another's, run by run on the same random numbers, with its 95 % interval."""

    first: str
    second: str
    runs: int
    difference: float
    low: float
    high: float
    bootstrap_low: float
    bootstrap_high: float
    wins: float
    """The share of runs in which the first one lost less; runs that are equal count half."""
    saving: float
    """How many times more runs an unpaired comparison would need for an interval as narrow."""


def paired_interval(one: Floats, other: Floats, most: float = np.inf) -> Interval:
    """The mean of differences run by run, `most` the largest possible one, with Student's interval."""
    return t_interval(one - other).within(-most, most)


def paired(first: str, second: str, one: Floats, other: Floats, most: float = np.inf) -> Contrast:
    """The contrast of two policies from their regrets in the same runs, of which `most` is the largest possible."""
    if len(one) == 0:
        return Contrast(first, second, 0, *(np.nan,) * 7)
    differences = one - other
    interval = paired_interval(one, other, most)
    with np.errstate(divide="ignore", invalid="ignore"):
        saving = float((one.var() + other.var()) / differences.var())
    wins = float(np.mean(differences < 0) + np.mean(differences == 0) / 2)
    mean, low, high = (float(value) for value in (interval.mean, interval.low, interval.high))
    return Contrast(first, second, len(one), mean, low, high, *bootstrap_interval(differences), wins, saving)


def recovery(own: Floats, waiting: Floats, clairvoyant: Floats, most: float = np.inf) -> dict[str, float]:
    """The recovery of a policy from final regrets, each array with one number for each of the same runs.

    `most` is the largest possible regret, and therefore the largest possible cost.

    It is told as columns of a table: the number of `runs`; the `fraction` of the delay's cost that the policy recovers
    with Fieller's interval (`low`, `high`); the `cost`, which is the regret of the waiting policy minus that of the
    clairvoyant one, with Student's (`cost_low`, `cost_high`). Fraction and interval are NaN if the cost does not differ
    from 0 at 5 %: then the ratio has no bounded interval.
    """
    gains, costs = waiting - own, waiting - clairvoyant
    cost = t_interval(costs).within(-most, most)
    fraction = low = high = np.nan
    if cost.low > 0 or cost.high < 0:
        fraction = float(gains.mean() / costs.mean())
        low, high = fieller_interval(gains, costs)
    return {"runs": len(own), "fraction": fraction, "low": low, "high": high, **cost.columns("cost")}
