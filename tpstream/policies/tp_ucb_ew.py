"""TP-UCB-EW: learns each group of parts by itself, as soon as the group is complete (paper, Algorithm 2).

The index is a sum over groups. It is kept as two sums per arm that change only when a group completes, so that a round
costs O(arms + groups); both are exact to the last bit (see sums.py), whatever the order of the changes.
"""

import math
from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.compiled import compiled
from tpstream.model.problem import Problem
from tpstream.policies.choice import largest
from tpstream.policies.form import GroupParameters, SharedPolicy
from tpstream.policies.sums import add, total


class TpUcbEwState(NamedTuple):
    """What is known of every group of every arm, and the unfinished groups of the open pulls."""

    maxima: Floats
    groups: int
    width: int
    group_of: Ints
    """The group of every part; part 0 does not exist."""
    random_ties: bool
    indices: Floats
    unknown: Ints
    """Groups of an arm that never completed."""
    means: Floats
    """Sum over an arm's groups of their mean."""
    roots: Floats
    """Sum over an arm's groups of 1 / sqrt(n_k)."""
    counts: Ints
    """n_k at arm * groups + k."""
    sums: Floats
    """Sum of the completed Z_k at arm * groups + k."""
    filled: Ints
    """Parts received of a group, per open pull."""
    gathered: Floats
    """What they paid."""


def init(problem: Problem, parameters: GroupParameters) -> TpUcbEwState:
    """Nothing is known."""
    arms, groups = problem.arms, problem.assumed_groups(parameters.groups)
    return TpUcbEwState(
        maxima=problem.maxima,
        groups=groups,
        width=problem.span // groups,
        group_of=(np.arange(problem.span + 1) - 1) // (problem.span // groups),
        random_ties=parameters.ties == "random",
        indices=np.zeros(arms),
        unknown=np.full(arms, groups, dtype=np.int64),
        means=np.zeros((arms, 2)),
        roots=np.zeros((arms, 2)),
        counts=np.zeros(arms * groups, dtype=np.int64),
        sums=np.zeros((arms * groups, 2)),
        filled=np.zeros((1, groups), dtype=np.int64),
        gathered=np.zeros((1, groups)),
    )


@compiled
def on_pull(state: TpUcbEwState, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """All groups of a new pull are empty."""
    for group in range(state.groups):
        state.filled[slot, group] = 0
        state.gathered[slot, group] = 0.0


@compiled
def on_partial(state: TpUcbEwState, arm: int, slot: int, part: int, value: float) -> None:
    """Put the part in its group; a full group is complete."""
    group = state.group_of[part]
    state.filled[slot, group] += 1
    state.gathered[slot, group] += value
    if state.filled[slot, group] == state.width:
        complete(state, arm, group, state.gathered[slot, group])


@compiled
def complete(state: TpUcbEwState, arm: int, group: int, value: float) -> None:
    """Learn Z_k, and exchange the group's old share of the arm's two sums for its new one."""
    place = arm * state.groups + group
    before = state.counts[place]
    if before == 0:
        state.unknown[arm] -= 1
    else:
        add(state.means, arm, -total(state.sums, place) / before)
        add(state.roots, arm, -1.0 / math.sqrt(before))
    add(state.sums, place, value)
    state.counts[place] = before + 1
    add(state.means, arm, total(state.sums, place) / (before + 1))
    add(state.roots, arm, 1.0 / math.sqrt(before + 1))


@compiled
def index(state: TpUcbEwState, arm: int, log: float) -> float:
    """Eq. 6 and 7: sum over k of mean(Z_k) + (Rbar/alpha) sqrt(2 ln(t-1) / n_k); infinite if any n_k is 0."""
    if state.unknown[arm] > 0:
        return math.inf
    unsure = state.maxima[arm] / state.groups * math.sqrt(2.0 * log) * total(state.roots, arm)
    return float(total(state.means, arm) + unsure)


@compiled
def decide(state: TpUcbEwState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then an arm of the largest index."""
    arms = state.indices.size
    log = math.log(max(round - 1, 1))
    for arm in range(arms):
        state.indices[arm] = index(state, arm, log)
    if round <= arms:
        return round - 1
    return largest(state.indices, state.random_ties, stream)


POLICY = SharedPolicy(
    name="tp-ucb-ew",
    parameters=GroupParameters,
    init=init,
    decide=decide,
    on_pull=on_pull,
    on_partial=on_partial,
    per_pull=("filled", "gathered"),
)
