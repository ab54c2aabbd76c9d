"""Pseudo-regret: what was lost against the best arm, in expectation, at the pulls themselves."""

import numpy as np

from tpstream.model.arrays import Floats, Ints

LINEAR, GEOMETRIC = 101, 60
"""How many checkpoints a curve has, evenly spaced and spaced by ratio, before equal ones are merged."""


def checkpoints(horizon: int) -> Ints:
    """The rounds at which curves are kept: dense enough for a plain and for a logarithmic axis, and the last one."""
    even = np.linspace(1, horizon, LINEAR)
    ratio = np.geomspace(1, horizon, GEOMETRIC)
    return np.unique(np.concatenate([even, ratio]).round().astype(np.int64))


def count_pulls(arms: Ints, number_of_arms: int, rounds: Ints) -> Ints:
    """How often each arm was pulled up to and including each of the rounds; of shape (rounds, arms)."""
    stretch = np.searchsorted(rounds, np.arange(1, rounds[-1] + 1))
    counts = np.zeros((len(rounds), number_of_arms), dtype=np.int64)
    np.add.at(counts, (stretch, arms[: rounds[-1]]), 1)
    return counts.cumsum(axis=0)


def pseudo_regret(counts: Ints, means: Floats) -> Floats:
    """The sum over rounds of mu* - mu_i, from how often each arm was pulled (last axis)."""
    regret: Floats = counts @ (means.max() - means)
    return regret


def regret_by_round(arms: Ints, means: Floats) -> Floats:
    """The cumulative pseudo-regret after every round."""
    return np.cumsum(means.max() - means[arms])
