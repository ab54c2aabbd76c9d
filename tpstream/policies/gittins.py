"""Gittins index: how large a sure payment would have to be to be as good as an arm, with later rewards discounted.

A closed pull that was credited with R counts as R / Rbar successes and 1 - R / Rbar failures. With the prior Beta(a, b)
an arm with s successes in n closed pulls has the mean m = (a + s) / (a + b + n), and its index is Rbar (m + e(s, n)),
with e from gittins_table.py. Between whole numbers of successes e is interpolated; beyond the table's last row, N, it
falls as 1 / n, as it does for large n: e(s', N) (a + b + N) / (a + b + n), with the s' that has the same mean.

The discount 0 leaves the mean alone ("current belief"). With immediate outcomes the rule earns most of all rules if
rewards are discounted for ever; with delays it is a heuristic.
"""

from typing import NamedTuple

import numpy as np
from pydantic import Field, PositiveFloat

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import IndexParameters
from tpstream.policies.closed_pulls import PRIOR, closed_policy, count_successes, success_fields
from tpstream.policies.gittins_table import gittins_table
from tpstream.policies.index import close_indices, largest, total


class GittinsParameters(IndexParameters):
    """Parameters: how much later rewards count, the prior, and how ties are broken."""

    discount: float = Field(
        0.999, ge=0, le=0.9999, description="what a reward is worth one pull later; 0: the largest posterior mean"
    )
    prior: tuple[PositiveFloat, PositiveFloat] = PRIOR


class GittinsState(NamedTuple):
    """The closed pulls of every arm, and the table of indices."""

    maxima: Floats
    random_ties: bool
    indices: Floats
    open_arms: Bools
    prior: Floats
    closed: Ints
    sums: Floats
    """Successes, of all closed pulls."""
    excess: Floats
    """By how much the index exceeds the mean, at n (n + 1) / 2 + s."""
    rows: int


def init(problem: Problem, parameters: GittinsParameters) -> GittinsState:
    """The state before the first round: no pulls."""
    excess = gittins_table(parameters.discount, parameters.prior, problem.horizon)
    return GittinsState(**success_fields(problem, parameters), excess=excess, rows=int(np.sqrt(2 * len(excess))))


@compiled
def index(state: GittinsState, arm: int) -> float:
    """Rbar (m + e(s, n))."""
    a, b, n = state.prior[0], state.prior[1], state.closed[arm]
    mean = (a + total(state.sums, arm)) / (a + b + n)
    row = min(n, state.rows - 1)
    successes = total(state.sums, arm) if row == n else mean * (a + b + row) - a
    successes = min(max(successes, 0.0), float(row))
    whole = int(successes)
    first = row * (row + 1) // 2 + whole
    part = successes - whole
    excess = state.excess[first] * (1.0 - part)
    if part > 0.0:
        excess += state.excess[first + 1] * part
    return float(state.maxima[arm] * (mean + excess * (a + b + row) / (a + b + n)))


@compiled
def decide(state: GittinsState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """An arm of the largest index."""
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm)
    close_indices(state.indices, state.open_arms)
    return largest(state.indices, state.random_ties, stream)


POLICY = closed_policy("gittins", GittinsParameters, init, decide, count_successes)
