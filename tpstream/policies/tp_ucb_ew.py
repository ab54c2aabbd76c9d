"""TP-UCB-EW: learns each group of parts by itself, as soon as the group is complete (paper, Algorithm 2).

The index is a sum over groups. It is kept as two sums per arm that change only when a group completes, so that a round
costs O(arms + groups); both are exact to the last bit (see index.py), whatever the order of the changes.
"""

import math
from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import GroupParameters, SharedPolicy
from tpstream.policies.index import add, exchange, in_turn_or_largest, total


class TpUcbEwState(NamedTuple):
    """What is known of every group of every arm."""

    bounds: Floats
    """Rbar / alpha, the most that a group of an arm can pay; one for each arm."""
    groups: int
    random_ties: bool
    indices: Floats
    open_arms: Bools
    unknown: Ints
    """How many groups of each arm never completed."""
    means: Floats
    """Sum over an arm's groups of their mean."""
    roots: Floats
    """Sum over an arm's groups of 1 / sqrt(n_k)."""
    counts: Ints
    """n_k at arm * groups + k."""
    sums: Floats
    """Sum of the completed Z_k at arm * groups + k."""
    terms: Floats
    """The present terms of a group in its arm's `means` and `roots`, at arm * groups + k."""


def init(problem: Problem, parameters: GroupParameters) -> TpUcbEwState:
    """The state before the first round: no pulls."""
    arms, groups = problem.arms, problem.assumed_groups(parameters.groups)
    return TpUcbEwState(
        bounds=problem.maxima / groups,
        groups=groups,
        random_ties=parameters.ties == "random",
        indices=np.zeros(arms),
        open_arms=np.ones(arms, dtype=np.bool_),
        unknown=np.full(arms, groups, dtype=np.int64),
        means=np.zeros((arms, 2)),
        roots=np.zeros((arms, 2)),
        counts=np.zeros(arms * groups, dtype=np.int64),
        sums=np.zeros((arms * groups, 2)),
        terms=np.zeros((arms * groups, 2)),
    )


@compiled
def on_group(state: TpUcbEwState, arm: int, slot: int, group: int, amount: float) -> None:  # noqa: ARG001
    """Count a Z_k, and replace the group's terms in the arm's two sums; with a lost part it never completes."""
    place = arm * state.groups + group
    count = state.counts[place] + 1
    if count == 1:
        state.unknown[arm] -= 1
    add(state.sums, place, amount)
    inverse = 1.0 / count
    mean, root = total(state.sums, place) * inverse, math.sqrt(inverse)
    exchange(state.means, arm, state.terms[place, 0], mean)
    add(state.roots, arm, root - state.terms[place, 1])  # exact: the old term is 0, or less than twice the new one
    state.counts[place] = count
    state.terms[place, 0] = mean
    state.terms[place, 1] = root


@compiled
def index(state: TpUcbEwState, arm: int, log: float) -> float:
    """Eq. 6 and 7: sum over k of mean(Z_k) + (Rbar/alpha) sqrt(2 ln(t-1) / n_k); infinite if any n_k is 0."""
    if state.unknown[arm] > 0:
        return math.inf
    return float(total(state.means, arm) + state.bounds[arm] * math.sqrt(2.0 * log) * total(state.roots, arm))


@compiled
def decide(state: TpUcbEwState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.indices.size, state.random_ties, stream)


POLICY = SharedPolicy(
    name="tp-ucb-ew",
    parameters=GroupParameters,
    init=init,
    decide=decide,
    on_group=on_group,
    needs_maxima=True,
    needs_positive=True,
)
