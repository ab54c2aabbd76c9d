"""Thompson sampling with Beta posteriors of rewards that are made binary by a draw (Agrawal and Goyal 2012).

A completed group k of an arm pays Z_k, from 0 to Rbar / alpha. It counts as a success with probability Z_k alpha /
Rbar. With S_k successes in n_k groups, theta_k ~ Beta(1 + S_k, 1 + n_k - S_k), and the index is (Rbar / alpha) sum_k
theta_k. The prior is uniform, so half of the maximum is expected of an arm that was never seen.
"""

from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.best_arm import quadrature_fields
from tpstream.policies.index import in_turn_or_largest


class BetaPosteriorState(NamedTuple):
    """The successes and failures of every group of every arm, and what waits for its draw."""

    maxima: Floats
    random_ties: bool
    decided: Ints
    """The round of the last decision."""
    indices: Floats
    groups: int
    successes: Floats
    """1 + S_k at [arm, k]."""
    failures: Floats
    """1 + n_k - S_k at [arm, k]."""
    queued: Ints
    """How many groups wait for their draw; the n-th is in row n // groups of the queue."""
    queue_arms: Ints
    queue_groups: Ints
    queue_shares: Floats
    """Z_k alpha / Rbar, the probability of a success."""
    probabilities: Floats
    open_arms: Bools
    units: Floats
    nodes: Floats
    weights: Floats
    integrals: Floats
    cuts: Floats
    panel: Floats


QUEUES = ("queue_arms", "queue_groups", "queue_shares")


def init_posterior(problem: Problem, groups: int, *, random_ties: bool) -> BetaPosteriorState:
    """The state before the first round: no pulls."""
    arms = problem.arms
    return BetaPosteriorState(
        maxima=problem.maxima,
        random_ties=random_ties,
        decided=np.zeros(1, dtype=np.int64),
        indices=np.zeros(arms),
        groups=groups,
        successes=np.ones((arms, groups)),
        failures=np.ones((arms, groups)),
        queued=np.zeros(1, dtype=np.int64),
        queue_arms=np.zeros((1, groups), dtype=np.int64),
        queue_groups=np.zeros((1, groups), dtype=np.int64),
        queue_shares=np.zeros((1, groups)),
        **quadrature_fields(problem.maxima),
    )


@compiled
def observe(state: BetaPosteriorState, arm: int, group: int, amount: float) -> None:
    """Put a completed group into the queue: whether it counts as a success is drawn at the next decision."""
    row, column = state.queued[0] // state.groups, state.queued[0] % state.groups
    state.queue_arms[row, column] = arm
    state.queue_groups[row, column] = group
    state.queue_shares[row, column] = amount * state.groups / state.maxima[arm]
    state.queued[0] += 1


@compiled
def count_queued(state: BetaPosteriorState, stream: np.random.Generator) -> None:
    """Draw for every group in the queue, in the order of the events, whether it is a success."""
    for place in range(state.queued[0]):
        row, column = place // state.groups, place % state.groups
        arm, group = state.queue_arms[row, column], state.queue_groups[row, column]
        if stream.random() < state.queue_shares[row, column]:
            state.successes[arm, group] += 1.0
        else:
            state.failures[arm, group] += 1.0
    state.queued[0] = 0


@compiled
def index(state: BetaPosteriorState, arm: int, stream: np.random.Generator) -> float:
    """(Rbar / alpha) sum_k theta_k, theta_k ~ Beta(1 + S_k, 1 + n_k - S_k)."""
    theta = 0.0
    for group in range(state.groups):
        theta += stream.beta(state.successes[arm, group], state.failures[arm, group])
    return float(state.maxima[arm] / state.groups * theta)


@compiled
def decide(state: BetaPosteriorState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then the largest draw from the posteriors of the arms."""
    state.decided[0] = round
    count_queued(state, stream)
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, stream)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.indices.size, state.random_ties, stream)
