"""Epsilon-greedy: now and then an arm at random, else the arm that looks best."""

from typing import NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.greedy import EstimateParameters, estimate, fill_largest, greedy_policy
from tpstream.policies.group_means import group_fields
from tpstream.policies.index import close_indices, count_open, largest, nth_open


class EpsilonGreedyParameters(EstimateParameters):
    """Parameters: what it hears, and how often it explores."""

    epsilon: float = Field(0.1, ge=0, le=1, description="the probability of an arm at random")
    decay: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="from this round on epsilon falls as 1 / round; default: never"
    )


class EpsilonGreedyState(NamedTuple):
    """The means of every group of every arm."""

    epsilon: float
    decay: float
    random_ties: bool
    indices: Floats
    open_arms: Bools
    probabilities: Floats
    groups: int
    unknown: Ints
    counts: Ints
    sums: Floats
    means: Floats
    mean_terms: Floats


def init(problem: Problem, parameters: EpsilonGreedyParameters) -> EpsilonGreedyState:
    """The state before the first round: no pulls."""
    return EpsilonGreedyState(
        epsilon=parameters.epsilon,
        decay=np.inf if parameters.decay is None else parameters.decay,
        random_ties=parameters.ties == "random",
        indices=np.zeros(problem.arms),
        open_arms=np.ones(problem.arms, dtype=np.bool_),
        probabilities=np.zeros(problem.arms),
        **group_fields(problem.arms, parameters.assumed_groups(problem)),
    )


@compiled
def decide(state: EpsilonGreedyState, round: int, stream: np.random.Generator) -> int:
    """With probability epsilon min(1, decay / t) any arm, else an arm of the largest estimate."""
    arms = count_open(state.open_arms)
    epsilon = state.epsilon * min(1.0, state.decay / round)
    for arm in range(state.indices.size):
        state.indices[arm] = estimate(state, arm)
        state.probabilities[arm] = epsilon / arms if state.open_arms[arm] else 0.0
    close_indices(state.indices, state.open_arms)
    fill_largest(state, 1.0 - epsilon)
    if stream.random() < epsilon:
        return nth_open(state.open_arms, int(stream.random() * arms))
    return largest(state.indices, state.random_ties, stream)


POLICY = greedy_policy("epsilon-greedy", EpsilonGreedyParameters, init, decide)
