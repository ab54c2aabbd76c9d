"""Intervals: how sure a mean over runs is."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from tpstream.model.arrays import Floats

LEVEL = 0.95


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
    half = stats.t.ppf((1 + LEVEL) / 2, runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return Interval(mean, mean - half, mean + half)
