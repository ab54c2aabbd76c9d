"""Delayed-UCB1: learns from the cumulative rewards of closed pulls only (Joulani et al. 2013)."""

import math
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import IndexParameters, SharedPolicy
from tpstream.policies.index import add, in_turn_or_largest, total


class DelayedParameters(IndexParameters):
    """Parameters: how ties are broken, and what is pulled in the first rounds, when nothing is known."""

    start: Literal["round-robin", "random"] = Field(
        "round-robin",
        description="first rounds: the arms in turn for a whole span, or each arm once and then ties among the unknown",
    )


class DelayedUcb1State(NamedTuple):
    """The number of closed pulls and the sum of their cumulative rewards, for every arm."""

    maxima: Floats
    random_ties: bool
    start_rounds: int
    indices: Floats
    closed: Ints
    sums: Floats


def init(problem: Problem, parameters: DelayedParameters) -> DelayedUcb1State:
    """The state before the first round: no pulls."""
    arms = problem.arms
    return DelayedUcb1State(
        maxima=problem.maxima,
        random_ties=parameters.ties == "random",
        start_rounds=problem.span if parameters.start == "round-robin" else arms,
        indices=np.zeros(arms),
        closed=np.zeros(arms, dtype=np.int64),
        sums=np.zeros((arms, 2)),
    )


@compiled
def on_closed(state: DelayedUcb1State, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count the pull and its cumulative reward."""
    state.closed[arm] += 1
    add(state.sums, arm, credited)


@compiled
def index(state: DelayedUcb1State, arm: int, log: float) -> float:
    """mean(R) + Rbar sqrt(2 ln(t-1) / s) over the s closed pulls; infinite while there are none."""
    closed = state.closed[arm]
    if closed == 0:
        return math.inf
    return float(total(state.sums, arm) / closed + state.maxima[arm] * math.sqrt(2.0 * log / closed))


@compiled
def decide(state: DelayedUcb1State, round: int, stream: np.random.Generator) -> int:
    """The arms in turn during the start, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, round, state.start_rounds, state.random_ties, stream)


POLICY = SharedPolicy(
    name="delayed-ucb1",
    parameters=DelayedParameters,
    init=init,
    decide=decide,
    on_closed=on_closed,
    lost_as_zero=True,
)
