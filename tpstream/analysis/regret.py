"""Which arm is best; pseudo-regret: what was lost against it, in expectation, counted at the pulls; counts of pulls."""

from collections.abc import Sequence

import numpy as np

from tpstream.model.arrays import Arms, Bools, Floats, Ints

LINEAR, GEOMETRIC = 101, 60
"""The number of checkpoints of a curve, evenly spaced and spaced by ratio, before equal ones are merged."""
EQUAL = 1e-12
"""Means that differ by less than this share of the largest one are equal: they differ by rounding only."""


def best_arms(means: Floats) -> Bools:
    """Whether each arm has the largest mean."""
    best: Bools = means >= means.max() - EQUAL * abs(means.max())
    return best


def no_best_arm(arms: Sequence[str], means: Floats) -> str | None:
    """Why no arm is better than all others; None if one is.

    If all arms are equally good, or there is one only, then nothing can be lost, and what a table says about the best
    arm is not defined.
    """
    best = [arm for arm, is_best in zip(arms, best_arms(means), strict=True) if is_best]
    if len(arms) == 1:
        return f"{arms[0]} is the only arm: there is nothing to choose, and regret is 0 whatever a policy does"
    if len(best) == len(arms):
        return f"arms {', '.join(best)} are equally good: no best arm, and regret is 0 whatever is pulled"
    if len(best) > 1:
        return f"arms {', '.join(best)} are equally good: no single best arm; columns about the best arm count them all"
    return None


def all_equal(means: Floats) -> bool:
    """Whether no arm is better than another, so that columns about the best arm are not defined."""
    return bool(best_arms(means).all())


def checkpoints(horizon: int) -> Ints:
    """The rounds at which curves are kept: dense enough for a plain and for a logarithmic axis, and the last one."""
    even = np.linspace(1, horizon, LINEAR)
    ratio = np.geomspace(1, horizon, GEOMETRIC)
    return np.unique(np.concatenate([even, ratio]).round().astype(np.int64))


def pseudo_regret(counts: Ints, means: Floats) -> Floats:
    """The sum over rounds of mu* - mu_i, from the number of pulls of each arm (last axis)."""
    regret: Floats = counts @ (means.max() - means)
    return regret


def regret_by_round(arms: Arms, means: Floats) -> Floats:
    """The cumulative pseudo-regret after every round."""
    return np.cumsum(means.max() - means[arms])


class PullCounts:
    """Counts the pulls of every arm up to each checkpoint, from the arms of the rounds as they come."""

    def __init__(self, number_of_arms: int, rounds: Ints) -> None:
        self._rounds = rounds
        self._counts = np.zeros((len(rounds), number_of_arms), dtype=np.int64)
        self.done = 0
        """How many rounds were counted."""

    def add(self, arms: Ints) -> None:
        """Count the arms of the next rounds."""
        first, last = self.done + 1, self.done + len(arms)
        begin, end = np.searchsorted(self._rounds, [first, last])
        # Every round is counted in the row of the next checkpoint; all rows at once.
        cuts = np.concatenate([[0], self._rounds[begin:end] - self.done, [len(arms)]])
        rows, width = np.repeat(np.arange(end - begin + 1), np.diff(cuts)), self._counts.shape[1]
        counts = np.bincount(rows * width + arms, minlength=(end - begin + 1) * width).reshape(-1, width)
        self._counts[begin : end + 1] += counts[: len(self._counts) - begin]
        self.done = last

    def counts(self) -> Ints:
        """The number of pulls of each arm up to and including each checkpoint, of shape (rounds, arms)."""
        return self._counts.cumsum(axis=0)
