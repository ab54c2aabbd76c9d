"""Beta-UCB: the posterior mean of a success probability plus a confidence width (Villar, Bowden and Wason 2015).

A closed pull that was credited with R counts as R / Rbar successes and 1 - R / Rbar failures. The prior Beta(a, b)
counts as a + b pulls, so every arm has an index from the first round on.
"""

import math
from typing import NamedTuple

import numpy as np
from pydantic import PositiveFloat

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import IndexParameters
from tpstream.policies.closed_pulls import PRIOR, closed_policy, count_successes, success_fields
from tpstream.policies.index import close_indices, largest, total


class BetaUcbParameters(IndexParameters):
    """Parameters: the prior, and how ties are broken."""

    prior: tuple[PositiveFloat, PositiveFloat] = PRIOR


class BetaUcbState(NamedTuple):
    """The closed pulls of every arm: their number, and their successes."""

    maxima: Floats
    random_ties: bool
    indices: Floats
    open_arms: Bools
    prior: Floats
    closed: Ints
    sums: Floats


def init(problem: Problem, parameters: BetaUcbParameters) -> BetaUcbState:
    """The state before the first round: no pulls."""
    return BetaUcbState(**success_fields(problem, parameters))


@compiled
def index(state: BetaUcbState, arm: int, log: float) -> float:
    """Rbar ((a + S) / m + sqrt(2 ln t / m)), with m = a + b + s for s closed pulls, S of them successes."""
    size = state.prior[0] + state.prior[1] + state.closed[arm]
    mean = (state.prior[0] + total(state.sums, arm)) / size
    return float(state.maxima[arm] * (mean + math.sqrt(2.0 * log / size)))


@compiled
def decide(state: BetaUcbState, round: int, stream: np.random.Generator) -> int:
    """An arm of the largest index."""
    log = math.log(round)
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    close_indices(state.indices, state.open_arms)
    return largest(state.indices, state.random_ties, stream)


POLICY = closed_policy("beta-ucb", BetaUcbParameters, init, decide, count_successes)
