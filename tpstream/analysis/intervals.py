"""Intervals: how sure a mean or a share over runs is."""

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
