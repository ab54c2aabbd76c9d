"""TP-UCB-pooled: as TP-UCB-EW, with one root over the pooled variance of the groups in place of a sum of roots."""

import math
from typing import NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import SharedPolicy
from tpstream.policies.group_means import count_group, group_fields, set_term
from tpstream.policies.groups import CapParameters, cap_shares
from tpstream.policies.index import in_turn_or_largest, total


class PooledParameters(CapParameters):
    """Parameters: how ties are broken, the groups and what they pay at most, and how safe the bound is."""

    safe: bool = Field(
        default=False, description="widen the bound so that it holds for all counts that decisions can bring about"
    )


class TpUcbPooledState(NamedTuple):
    """What is known of every group of every arm."""

    maxima: Floats
    squares: Floats
    """p_k^2 of each group."""
    extra: float
    """What is added to 2 ln(t-1): 0, or (alpha - 1)/2 ln(phi + 1) for the safe form."""
    random_ties: bool
    indices: Floats
    open_arms: Bools
    groups: int
    unknown: Ints
    counts: Ints
    sums: Floats
    means: Floats
    mean_terms: Floats
    inverses: Floats
    """Sum over an arm's groups of p_k^2 / n_k."""
    inverse_terms: Floats


def init(problem: Problem, parameters: PooledParameters) -> TpUcbPooledState:
    """The state before the first round: no pulls."""
    arms, groups = problem.arms, parameters.assumed_groups(problem)
    return TpUcbPooledState(
        maxima=problem.maxima,
        squares=cap_shares(parameters.caps, groups) ** 2,
        extra=(groups - 1) / 2.0 * math.log(problem.span // groups + 1.0) if parameters.safe else 0.0,
        random_ties=parameters.ties == "random",
        indices=np.zeros(arms),
        open_arms=np.ones(arms, dtype=np.bool_),
        **group_fields(arms, groups),
        inverses=np.zeros((arms, 2)),
        inverse_terms=np.zeros(arms * groups),
    )


@compiled
def on_group(state: TpUcbPooledState, arm: int, slot: int, group: int, amount: float) -> None:  # noqa: ARG001
    """Count a Z_k; a group of which a part is lost is never complete and does not count."""
    place = count_group(state, arm, group, amount)
    set_term(state.inverses, state.inverse_terms, arm, place, state.squares[group] / state.counts[place])


@compiled
def index(state: TpUcbPooledState, arm: int, log: float) -> float:
    """Sum of mean(Z_k) + Rbar sqrt(2 ln(t-1) sum_k p_k^2 / n_k), p_k = 1/alpha; infinite if any n_k is 0.

    The safe form has 2 ln(t-1) + (alpha-1)/2 ln(phi+1) in place of 2 ln(t-1).
    """
    if state.unknown[arm] > 0:
        return math.inf
    width = math.sqrt((2.0 * log + state.extra) * total(state.inverses, arm))
    return float(total(state.means, arm) + state.maxima[arm] * width)


@compiled
def decide(state: TpUcbPooledState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.indices.size, state.random_ties, stream)


POLICY = SharedPolicy(
    name="tp-ucb-pooled",
    parameters=PooledParameters,
    init=init,
    decide=decide,
    on_group=on_group,
    needs_maxima=True,
    needs_positive=True,
)
