"""Delayed UCB1-tuned: UCB1 with the variance that was seen in place of its largest possible value, on closed pulls."""

import math
from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import SharedPolicy
from tpstream.policies.closed_pulls import StartParameters, closed_fields, count_value, share, variance
from tpstream.policies.index import in_turn_or_largest


class DelayedUcb1TunedState(NamedTuple):
    """The closed pulls of every arm: their number, their sum and their squared deviations from the mean."""

    maxima: Floats
    random_ties: bool
    start_rounds: int
    indices: Floats
    closed: Ints
    sums: Floats
    deviations: Floats


def init(problem: Problem, parameters: StartParameters) -> DelayedUcb1TunedState:
    """The state before the first round: no pulls."""
    return DelayedUcb1TunedState(**closed_fields(problem, parameters))


@compiled
def on_closed(state: DelayedUcb1TunedState, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count the pull and its cumulative reward; a part that was lost counts as zero."""
    count_value(state.closed, state.sums, state.deviations, arm, credited)


@compiled
def index(state: DelayedUcb1TunedState, arm: int, log: float) -> float:
    """Rbar (x + sqrt(ln(t-1) / s min(1/4, V + sqrt(2 ln(t-1) / s)))); x, V: mean and variance of R / Rbar."""
    closed = state.closed[arm]
    if closed == 0:
        return math.inf
    spread = min(0.25, variance(state, arm) + math.sqrt(2.0 * log / closed))
    return float(state.maxima[arm] * (share(state, arm) + math.sqrt(log / closed * spread)))


@compiled
def decide(state: DelayedUcb1TunedState, round: int, stream: np.random.Generator) -> int:
    """The arms in turn during the start, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, round, state.start_rounds, state.random_ties, stream)


POLICY = SharedPolicy(
    name="delayed-ucb1-tuned",
    parameters=StartParameters,
    init=init,
    decide=decide,
    on_closed=on_closed,
    lost_as_zero=True,
    needs_maxima=True,
    needs_positive=True,
)
