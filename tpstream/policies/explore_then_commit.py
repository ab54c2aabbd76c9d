"""Explore-then-commit: every arm some times, in turn, then for ever the arm that looks best.

The choice waits until there is an estimate of every arm; until then the arms are pulled in turn.
"""

from typing import NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.best_arm import fill_certain
from tpstream.policies.greedy import EstimateParameters, estimate, fill_largest, greedy_policy
from tpstream.policies.group_means import group_fields
from tpstream.policies.index import close_indices, in_turn, largest

NOT_YET = -1


class ExploreThenCommitParameters(EstimateParameters):
    """Parameters: what it hears, and how often it tries every arm."""

    tries: int = Field(10, ge=1, description="pulls of every arm before the choice")


class ExploreThenCommitState(NamedTuple):
    """The means of every group of every arm, and the choice."""

    tries: int
    random_ties: bool
    choice: Ints
    """The arm that was chosen; -1: none so far."""
    indices: Floats
    open_arms: Bools
    probabilities: Floats
    groups: int
    unknown: Ints
    counts: Ints
    sums: Floats
    means: Floats
    mean_terms: Floats


def init(problem: Problem, parameters: ExploreThenCommitParameters) -> ExploreThenCommitState:
    """The state before the first round: no pulls."""
    return ExploreThenCommitState(
        tries=parameters.tries,
        random_ties=parameters.ties == "random",
        choice=np.full(1, NOT_YET),
        indices=np.zeros(problem.arms),
        open_arms=np.ones(problem.arms, dtype=np.bool_),
        probabilities=np.zeros(problem.arms),
        **group_fields(problem.arms, parameters.assumed_groups(problem)),
    )


@compiled
def decide(state: ExploreThenCommitState, round: int, stream: np.random.Generator) -> int:
    """The arms in turn for `tries` pulls each, and on until all have estimates; then an arm of the largest one."""
    arms = state.indices.size
    unknown = 0
    for arm in range(arms):
        state.indices[arm] = estimate(state, arm)
        unknown += state.unknown[arm] if state.open_arms[arm] else 0
    close_indices(state.indices, state.open_arms)
    if state.choice[0] != NOT_YET and not state.open_arms[state.choice[0]]:
        state.choice[0] = NOT_YET
    if state.choice[0] == NOT_YET and (round <= state.tries * arms or unknown > 0):
        fill_certain(state, in_turn(state.open_arms, round))
        return in_turn(state.open_arms, round)
    if state.choice[0] != NOT_YET:
        fill_certain(state, state.choice[0])
    else:
        for arm in range(arms):
            state.probabilities[arm] = 0.0
        fill_largest(state, 1.0)
        state.choice[0] = largest(state.indices, state.random_ties, stream)
    return int(state.choice[0])


POLICY = greedy_policy("explore-then-commit", ExploreThenCommitParameters, init, decide)
