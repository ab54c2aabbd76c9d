"""Contrasts: one policy's regret minus another's, run by run on the same random numbers."""

from dataclasses import dataclass

import numpy as np

from tpstream.analysis.intervals import bootstrap_interval, t_interval
from tpstream.model.arrays import Floats


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


def paired(first: str, second: str, one: Floats, other: Floats) -> Contrast:
    """The contrast of two policies from their regrets in the same runs."""
    if len(one) == 0:
        return Contrast(first, second, 0, *(np.nan,) * 7)
    differences = one - other
    interval = t_interval(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        saving = float((one.var() + other.var()) / differences.var())
    wins = float(np.mean(differences < 0) + np.mean(differences == 0) / 2)
    mean, low, high = (float(value) for value in (interval.mean, interval.low, interval.high))
    return Contrast(first, second, len(one), mean, low, high, *bootstrap_interval(differences), wins, saving)
