"""What policies share that learn each group of parts by itself: the mean of every group, and their sum for each arm.

A group counts when all its parts were delivered. One of which a part is lost, or comes after its pull was closed, never
counts: what it would have paid is not known, and no zero is put in its place.
"""

from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.numba_support import compiled
from tpstream.policies.index import add, exchange, total


def group_fields(arms: int, groups: int) -> dict[str, Any]:
    """The fields of a state that keeps the groups' means, before the first round."""
    places = arms * groups
    return {
        "groups": groups,
        "unknown": np.full(arms, groups, dtype=np.int64),
        "counts": np.zeros(places, dtype=np.int64),
        "sums": np.zeros((places, 2)),
        "means": np.zeros((arms, 2)),
        "mean_terms": np.zeros(places),
    }


@compiled
def count_group(state: Any, arm: int, group: int, amount: float) -> int:
    """Count a completed group and exchange its mean in the arm's sum of means; returns its place."""
    place = arm * state.groups + group
    if state.counts[place] == 0:
        state.unknown[arm] -= 1
    state.counts[place] += 1
    add(state.sums, place, amount)
    mean = total(state.sums, place) / state.counts[place]
    exchange(state.means, arm, state.mean_terms[place], mean)
    state.mean_terms[place] = mean
    return int(place)


@compiled
def set_term(sums: Floats, terms: Floats, arm: int, place: int, term: float) -> None:
    """Exchange the term of a group in another sum over the groups of an arm."""
    exchange(sums, arm, terms[place], term)
    terms[place] = term
