"""Delayed UCB1-tuned: UCB1 with the variance that was seen in place of its largest possible value, on closed pulls."""

import math

import numpy as np

from tpstream.model.numba_support import compiled
from tpstream.policies.closed_pulls import ClosedState, StartParameters, closed_policy, init, share, variance
from tpstream.policies.index import in_turn_or_largest


@compiled
def index(state: ClosedState, arm: int, log: float) -> float:
    """Rbar (x + sqrt(ln(t-1) / s min(1/4, V + sqrt(2 ln(t-1) / s)))); x, V: mean and variance of R / Rbar."""
    closed = state.closed[arm]
    if closed == 0:
        return math.inf
    spread = min(0.25, variance(state, arm) + math.sqrt(2.0 * log / closed))
    return float(state.maxima[arm] * (share(state, arm) + math.sqrt(log / closed * spread)))


@compiled
def decide(state: ClosedState, round: int, stream: np.random.Generator) -> int:
    """The arms in turn during the start, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.start_rounds, state.random_ties, stream)


POLICY = closed_policy("delayed-ucb1-tuned", StartParameters, init, decide)
