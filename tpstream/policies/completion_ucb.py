"""Completion-UCB: counts an open pull by the share of its reward that should have arrived at its age."""

import math

import numpy as np

from tpstream.model.numba_support import compiled
from tpstream.policies.completion import CompletionState, completion_policy, expect
from tpstream.policies.index import in_turn_or_largest, total


@compiled
def index(state: CompletionState, arm: int, log: float) -> float:
    """S / Ntilde + Rbar sqrt(2 ln(t-1) n) / Ntilde; S is all that was received, n the number of pulls."""
    weight = state.expected[arm]
    if weight == 0.0:
        return math.inf
    width = state.maxima[arm] * math.sqrt(2.0 * log * state.pulls[arm])
    return float((total(state.received, arm) + width) / weight)


@compiled
def decide(state: CompletionState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    expect(state)
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.start_rounds, state.random_ties, stream)


POLICY = completion_policy("completion-ucb", decide)
