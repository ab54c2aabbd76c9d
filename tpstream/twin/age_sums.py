"""Sums over open decisions by arm and age, which the estimates of another policy are made from."""

import numpy as np

from tpstream.analysis.open_values import ArmAges
from tpstream.model.arrays import Floats, Ints


class AgeSums:
    """Sums over the decisions of each group, such as an arm, and each age that a decision has been observed for.

    Parameters
    ----------
    decisions
        The decisions, and what they paid.
    group
        The group of each decision, from 0.
    groups
        How many groups there are.
    ages
        The number of ages that count.
    """

    def __init__(self, decisions: ArmAges, group: Ints, groups: int, ages: int) -> None:
        self.count = decisions.count
        self.observed = np.minimum(decisions.observed, ages)
        """The number of ages, among those that count, for which each decision was observed."""
        whole = decisions.age < self.observed[decisions.row]
        self._row, self._age = decisions.row[whole], decisions.age[whole]
        self._amount = decisions.amount[whole]
        self._group, self._shape = group, (groups, ages)

    def reached(self, weights: Floats | None = None) -> Floats:
        """For each group and age the number of decisions that were observed through it, or their weights."""
        groups, ages = self._shape
        place = self._group * (ages + 1) + self.observed
        ends = np.bincount(place, weights=weights, minlength=groups * (ages + 1)).reshape(groups, ages + 1)
        found: Floats = np.cumsum(ends[:, ::-1], axis=1)[:, ::-1][:, 1:].astype(np.float64)
        return found

    def paid(self, weights: Floats | None = None) -> Floats:
        """For each group and age what these decisions paid, or that times their weights."""
        groups, ages = self._shape
        amount = self._amount if weights is None else self._amount * weights[self._row]
        place = self._group[self._row] * ages + self._age
        return _add(place, amount, groups * ages).reshape(groups, ages)

    def received(self, factors: Floats) -> Floats:
        """For each decision the sum over its observed ages of what it paid times a factor of its group and the age."""
        amount = self._amount * factors[self._group[self._row], self._age]
        return _add(self._row, amount, self.count)

    def seen(self, curve: Floats) -> Floats:
        """For each decision the sum over its observed ages of the number of its group and the age."""
        return self._sums(curve)[self._group, self.observed]

    def unseen(self, curve: Floats) -> Floats:
        """For each decision the sum over the ages that it was not observed for."""
        sums = self._sums(curve)
        rest: Floats = (sums[:, -1:] - sums)[self._group, self.observed]
        return rest

    @staticmethod
    def _sums(curve: Floats) -> Floats:
        sums: Floats = np.concatenate([np.zeros((len(curve), 1)), np.cumsum(curve, axis=1)], axis=1)
        return sums


def _add(place: Ints, amount: Floats, places: int) -> Floats:
    """The sum of the amounts at each place."""
    sums: Floats = np.bincount(place, weights=amount, minlength=places).astype(np.float64, copy=False)
    return sums


def divide(sums: Floats, counts: Floats) -> Floats:
    """Quotients; 0 where nothing is counted."""
    return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
