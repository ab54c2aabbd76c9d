"""Delayed UCB-V: Bernstein's bound with the empirical variance, on closed pulls (Audibert et al. 2009)."""

import math

import numpy as np

from tpstream.model.numba_support import compiled
from tpstream.policies.closed_pulls import ClosedState, StartParameters, closed_policy, init, share, variance
from tpstream.policies.index import in_turn_or_largest


@compiled
def index(state: ClosedState, arm: int, log: float) -> float:
    """Rbar (x + sqrt(2 ln(t-1) V / s) + 3 ln(t-1) / s); x and V are the mean and variance of R / Rbar."""
    closed = state.closed[arm]
    if closed == 0:
        return math.inf
    unsure = math.sqrt(2.0 * log * variance(state, arm) / closed) + 3.0 * log / closed
    return float(state.maxima[arm] * (share(state, arm) + unsure))


@compiled
def decide(state: ClosedState, round: int, stream: np.random.Generator) -> int:
    """The arms in turn during the start, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.start_rounds, state.random_ties, stream)


POLICY = closed_policy("delayed-ucb-v", StartParameters, init, decide)
