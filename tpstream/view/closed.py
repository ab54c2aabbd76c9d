"""What closed pulls paid, as the page draws it: the mean of each arm up to a time, with Student's 95 % interval.

Sums are those of distances from the first payment of the arm. So no digits are lost where payments are large and alike,
and sums of neighbouring bins can still be added up. For an arm with n closed pulls, whose distances d from the first
payment b have the sums D and Q = sum of d^2, the mean is b + D / n and the sum of squares about it Q - D^2 / n.
"""

from typing import Any

import numpy as np

from tpstream.analysis.intervals import t_reach
from tpstream.model.arrays import Floats, Ints
from tpstream.view.axis import merge_pairs


class ClosedPulls:
    """Sums over the payments of closed pulls, by bin of time and arm."""

    def __init__(self, bins: int, arms: int) -> None:
        self._first = np.full(arms, np.nan)
        self._sums = np.zeros((bins, arms, 2))
        """Of the distances from the arm's first payment, and of their squares."""

    def add(self, place: Ints, arm: Ints, paid: Floats, weight: float = 1.0) -> None:
        """Add closed pulls: the bin of each, its arm and what it paid; each stands for so many."""
        if not len(arm):
            return
        fresh, at = np.unique(arm, return_index=True)
        new = np.isnan(self._first[fresh])
        self._first[fresh[new]] = paid[at[new]]
        distance, arms = paid - self._first[arm], len(self._first)
        begin = int(place.min())
        shape = (int(place.max()) + 1 - begin, arms)
        cell = (place - begin) * arms + arm
        for power in (1, 2):
            found = np.bincount(cell, distance**power, shape[0] * arms).reshape(shape)
            self._sums[begin : begin + shape[0], :, power - 1] += weight * found

    def merge(self, doublings: int) -> None:
        """Take neighbouring bins together."""
        merge_pairs(self._sums, doublings)

    def means(self, counts: Any, groups: Ints, each: float = 1.0) -> tuple[Floats, Floats]:
        """The mean of each group of arms at the end of each bin, and how far its interval reaches; NaN if unknown.

        `counts` are the numbers of closed pulls by bin and arm, `groups` is the group of each arm, from 0 on, and
        `each` is how many pulls one that was seen stands for.
        """
        number = np.cumsum(counts, axis=0, dtype=np.float64)
        sums = np.cumsum(self._sums[: len(number)], axis=0)
        some = np.maximum(number, 1.0)
        mean = np.nan_to_num(self._first) + sums[..., 0] / some
        square = sums[..., 1] - sums[..., 0] ** 2 / some
        of_group = groups[:, np.newaxis] == np.arange(groups.max(initial=-1) + 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            total = number @ of_group
            together = (number * mean) @ of_group / total
            apart = number * (mean - np.nan_to_num(together)[:, groups]) ** 2
            seen = total / each
            spread = np.sqrt(np.maximum((square + apart) @ of_group, 0.0) / total * seen / (seen - 1))
            return together, t_reach(seen, spread)
