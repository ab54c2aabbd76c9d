"""Delayed MOSS-anytime: stops exploring an arm with many closed pulls (Degenne, Perchet 2016)."""

import math
from typing import NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.closed_pulls import StartParameters, closed_fields, closed_policy, share
from tpstream.policies.index import in_turn_or_largest


class MossParameters(StartParameters):
    """Parameters: how it starts, how ties are broken, and how much it explores."""

    a: float = Field(1.35, gt=0, allow_inf_nan=False, description="(1 + a) / 2 multiplies what is under the root")


class DelayedMossState(NamedTuple):
    """The closed pulls of every arm: their number and their sum."""

    maxima: Floats
    random_ties: bool
    start_rounds: int
    indices: Floats
    open_arms: Bools
    closed: Ints
    sums: Floats
    deviations: Floats
    factor: float
    """(1 + a) / 2."""


def init(problem: Problem, parameters: MossParameters) -> DelayedMossState:
    """The state before the first round: no pulls."""
    return DelayedMossState(**closed_fields(problem, parameters), factor=(1.0 + parameters.a) / 2.0)


@compiled
def index(state: DelayedMossState, arm: int, round: int) -> float:
    """Rbar (x + sqrt((1+a)/2 max(0, ln(t / (K s))) / s)); x is the mean of R / Rbar."""
    closed = state.closed[arm]
    if closed == 0:
        return math.inf
    log = math.log(max(round / (state.indices.size * closed), 1.0))
    return float(state.maxima[arm] * (share(state, arm) + math.sqrt(state.factor * log / closed)))


@compiled
def decide(state: DelayedMossState, round: int, stream: np.random.Generator) -> int:
    """The arms in turn during the start, then an arm of the largest index."""
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, round)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.start_rounds, state.random_ties, stream)


POLICY = closed_policy("delayed-moss", MossParameters, init, decide)
