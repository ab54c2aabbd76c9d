"""Completion-Thompson: Thompson sampling in which an open pull counts by the share of its reward that is due."""

import math

import numpy as np

from tpstream.model.numba_support import compiled
from tpstream.policies.completion import CompletionState, completion_policy, expect
from tpstream.policies.index import in_turn_or_largest, total


@compiled
def index(state: CompletionState, arm: int, normal: float) -> float:
    """A draw from N(S / Ntilde, Rbar^2 n / (4 Ntilde^2)); S is all that was received, n the number of pulls."""
    weight = state.expected[arm]
    if weight == 0.0:
        return math.inf
    deviation = 0.5 * state.maxima[arm] * math.sqrt(state.pulls[arm])
    return float((total(state.received, arm) + deviation * normal) / weight)


@compiled
def decide(state: CompletionState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then the largest draw."""
    expect(state)
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, stream.standard_normal())
    return in_turn_or_largest(state.indices, state.open_arms, round, state.start_rounds, state.random_ties, stream)


POLICY = completion_policy("completion-thompson", decide)
