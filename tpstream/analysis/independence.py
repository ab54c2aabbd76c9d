"""Are the groups of a pull independent? A permutation test, exact whatever their distribution.

The statistic adds up, over arms and pairs of groups, n r^2: pulls of the arm times the squared correlation of the two
groups. If groups are independent, the values of each group may be exchanged among the pulls of an arm without changing
anything; so the observed statistic is one more of those after random exchanges, and the chance that it is the largest
of a hundred is 1 %. Once ten are as large, that cannot happen any more, and the exchanges end early (Besag and Clifford
1991).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpstream.model.arrays import Floats

LEVEL = 0.01
"""The chance that independent groups are called dependent."""
PERMUTATIONS = 99
ENOUGH = 10
"""So many statistics as large as the observed one decide that it is nothing special."""
FEWEST = 10
"""An arm with fewer complete pulls is left out."""
SEED = 20220723
"""Of the permutations: the same logs always give the same answer."""


@dataclass(frozen=True, eq=False)
class Independence:
    """The p-value (NaN if there are too few pulls), and the correlation of every two groups as a mean over arms."""

    p_value: float
    correlations: Floats

    @property
    def holds(self) -> bool:
        """Whether independence is not contradicted; so also if there is nothing to test."""
        return not self.p_value <= LEVEL

    @property
    def mean_correlation(self) -> float:
        """The mean over all pairs of groups; 0 for a single group."""
        pairs = self.correlations[np.triu_indices(len(self.correlations), 1)]
        return float(pairs.mean()) if pairs.size else 0.0


def examine(arms: Sequence[Floats]) -> Independence:
    """Test the groups (columns) of the pulls (rows) of every arm."""
    groups = arms[0].shape[1]
    scores = [standardise(sums) for sums in arms if len(sums) >= FEWEST]
    if not scores or groups == 1:
        return Independence(1.0 if groups == 1 else math.nan, np.eye(groups))
    weights = [len(score) for score in scores]
    correlations = np.average([score.T @ score for score in scores], axis=0, weights=weights)
    return Independence(permutation_p_value(scores), correlations)


def permutation_p_value(scores: Sequence[Floats]) -> float:
    """The share of permutations whose statistic is as large as the observed one, which counts as one of them."""
    stream = np.random.default_rng(SEED)
    observed = statistic(scores) * (1 - 1e-9)  # rounding must not decide between equal numbers
    larger = 0
    for done in range(1, PERMUTATIONS + 1):
        larger += statistic([stream.permuted(score, axis=0) for score in scores]) >= observed
        if larger == ENOUGH:
            return larger / done
    return (1 + larger) / (1 + PERMUTATIONS)


def standardise(sums: Floats) -> Floats:
    """Columns with mean 0 and norm 1, so that products of two are correlations; a constant one is 0."""
    centred = sums - sums.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    constant = norms <= 1e-12 * np.sqrt(len(sums)) * np.abs(sums).max(axis=0)
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, norms))


def statistic(scores: Sequence[Floats]) -> float:
    """The sum over arms and pairs of groups of n r^2."""
    total = 0.0
    for score in scores:
        correlations = score.T @ score
        total += len(score) * float((correlations**2).sum() - (np.diagonal(correlations) ** 2).sum()) / 2
    return total
