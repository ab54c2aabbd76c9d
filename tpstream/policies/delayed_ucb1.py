"""Delayed-UCB1: learns from the cumulative rewards of closed pulls only (Joulani et al. 2013).

With `groups` its bound counts every closed pull as that many independent groups (Hoeffding's inequality).
"""

import math
from typing import NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import AutoGroups, SharedPolicy
from tpstream.policies.closed_pulls import StartParameters, closed_fields
from tpstream.policies.groups import (
    choice_fields,
    choose_groups,
    count_complete,
    forget_parts,
    is_due,
    with_chosen_groups,
)
from tpstream.policies.index import add, in_turn_or_largest, total


class DelayedParameters(StartParameters):
    """Parameters: how ties are broken, how it starts, and the groups that it assumes."""

    groups: AutoGroups = Field(
        1,
        description='independent groups of parts, each of which pays at most maximum / groups; "auto": chosen from '
        "what was seen",
    )


class DelayedUcb1State(NamedTuple):
    """The number of closed pulls and the sum of their cumulative rewards, for every arm."""

    maxima: Floats
    random_ties: bool
    start_rounds: int
    indices: Floats
    open_arms: Bools
    closed: Ints
    sums: Floats
    groups: Ints
    """One number, which only `groups = "auto"` changes; the fields from here on serve its choice (groups.py)."""
    divisors: Ints
    shares: Floats
    paid: Floats
    complete: Ints
    complete_sums: Floats
    complete_deviations: Floats


def init(problem: Problem, parameters: DelayedParameters) -> DelayedUcb1State:
    """The state before the first round: no pulls."""
    auto = parameters.groups == "auto"
    fields = closed_fields(problem, parameters)
    del fields["deviations"]
    return DelayedUcb1State(
        **fields,
        groups=np.array([1 if auto else problem.assumed_groups(int(parameters.groups))]),
        **choice_fields(problem, wanted=auto),
    )


@compiled
def on_closed(state: DelayedUcb1State, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count the pull and its cumulative reward; a part that was lost counts as zero."""
    state.closed[arm] += 1
    add(state.sums, arm, credited)


@compiled
def index(state: DelayedUcb1State, arm: int, log: float) -> float:
    """mean(R) + Rbar sqrt(2 ln(t-1) / (alpha s)) over the s closed pulls; infinite while there are none."""
    closed = state.closed[arm]
    if closed == 0:
        return math.inf
    width = state.maxima[arm] * math.sqrt(2.0 * log / (state.groups[0] * closed))
    return float(total(state.sums, arm) / closed + width)


@compiled
def decide(state: DelayedUcb1State, round: int, stream: np.random.Generator) -> int:
    """The arms in turn during the start, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.start_rounds, state.random_ties, stream)


@compiled
def auto_on_pull(state: DelayedUcb1State, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """Make room for the parts of a pull."""
    forget_parts(state, slot)


@compiled
def auto_on_closed(state: DelayedUcb1State, arm: int, slot: int, credited: float) -> None:
    """Count the pull as ever, and for the choice of the groups."""
    on_closed(state, arm, slot, credited)
    count_complete(state, arm, slot, credited)


@compiled
def auto_decide(state: DelayedUcb1State, round: int, stream: np.random.Generator) -> int:
    """Choose the groups again where it is due, then decide as ever."""
    if is_due(round):
        state.groups[0] = choose_groups(state)
    return decide(state, round, stream)


FIXED = SharedPolicy(
    name="delayed-ucb1",
    parameters=DelayedParameters,
    init=init,
    decide=decide,
    on_closed=on_closed,
    lost_as_zero=True,
    needs_maxima=True,
    needs_positive=True,
)
POLICY = with_chosen_groups(FIXED, "groups", decide=auto_decide, on_pull=auto_on_pull, on_closed=auto_on_closed)
