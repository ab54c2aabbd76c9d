"""TP-UCB-FR-exact: TP-UCB-FR with what is really missing at the moment in place of the most that could be missing.

A group that can no longer complete, since a part of it is lost or its pull was closed without it, is not missing: from
then on what it did not pay counts as zero, as in TP-UCB-FR.
"""

import math
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import SharedPolicy
from tpstream.policies.groups import CapParameters, cap_shares
from tpstream.policies.index import add, in_turn_or_largest, total


class FrExactParameters(CapParameters):
    """Parameters: how ties are broken, the groups and what they pay at most, and what counts as received."""

    form: Literal["count", "value"] = Field(
        "count", description="what counts as received: every part, or only groups that are complete"
    )


class TpUcbFrExactState(NamedTuple):
    """The number of pulls, what was received, and what is missing, for every arm."""

    maxima: Floats
    shares: Floats
    """p_k of each group: it pays at most p_k Rbar."""
    width: int
    spread: float
    """Sum of p_k^2."""
    random_ties: bool
    indices: Floats
    open_arms: Bools
    pulls: Ints
    sums: Floats
    missing: Floats
    """Sum of p_k over the groups of open pulls that can still complete."""
    awaited: Ints
    """Whether each group of an open pull can still complete, (slot, group)."""


def init(problem: Problem, parameters: FrExactParameters) -> TpUcbFrExactState:
    """The state before the first round: no pulls."""
    arms, groups = problem.arms, parameters.assumed_groups(problem)
    shares = cap_shares(parameters.caps, groups)
    return TpUcbFrExactState(
        maxima=problem.maxima,
        shares=shares,
        width=problem.span // groups,
        spread=1.0 / groups if parameters.caps is None else math.fsum(shares**2),
        random_ties=parameters.ties == "random",
        indices=np.zeros(arms),
        open_arms=np.ones(arms, dtype=np.bool_),
        pulls=np.zeros(arms, dtype=np.int64),
        sums=np.zeros((arms, 2)),
        missing=np.zeros((arms, 2)),
        awaited=np.zeros((1, groups), dtype=np.int64),
    )


@compiled
def on_pull(state: TpUcbFrExactState, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """Count the pull; all its groups are missing."""
    state.pulls[arm] += 1
    for group in range(state.shares.size):
        state.awaited[slot, group] = 1
        add(state.missing, arm, state.shares[group])


@compiled
def on_received(state: TpUcbFrExactState, arm: int, amount: float) -> None:
    """Add what was received."""
    add(state.sums, arm, amount)


@compiled
def give_up(state: TpUcbFrExactState, arm: int, slot: int, group: int) -> None:
    """Wait for a group no longer."""
    if state.awaited[slot, group] == 1:
        state.awaited[slot, group] = 0
        add(state.missing, arm, -state.shares[group])


@compiled
def on_group(state: TpUcbFrExactState, arm: int, slot: int, group: int, amount: float) -> None:  # noqa: ARG001
    """A group is complete."""
    give_up(state, arm, slot, group)


@compiled
def value_on_group(state: TpUcbFrExactState, arm: int, slot: int, group: int, amount: float) -> None:
    """A group is complete, and what it paid is received as a whole."""
    give_up(state, arm, slot, group)
    add(state.sums, arm, amount)


@compiled
def on_lost(state: TpUcbFrExactState, arm: int, slot: int, part: int) -> None:
    """The part's group can no longer complete."""
    if slot >= 0:
        give_up(state, arm, slot, (part - 1) // state.width)


@compiled
def on_closed(state: TpUcbFrExactState, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """No group of the pull can complete any more."""
    for group in range(state.shares.size):
        give_up(state, arm, slot, group)


@compiled
def index(state: TpUcbFrExactState, arm: int, log: float) -> float:
    """received/n + Rbar sqrt(2 ln(t-1) sum p_k^2 / n) + Rbar (sum of p_k over missing groups)/n, p_k = 1/alpha.

    Received are all parts (form "count"), or the sums of the complete groups (form "value").
    """
    pulls = state.pulls[arm]
    if pulls == 0:
        return math.inf
    maximum = state.maxima[arm]
    known = total(state.sums, arm) + maximum * total(state.missing, arm)
    return float(known / pulls + maximum * math.sqrt(2.0 * log * state.spread / pulls))


@compiled
def decide(state: TpUcbFrExactState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.indices.size, state.random_ties, stream)


COUNT = SharedPolicy(
    name="tp-ucb-fr-exact",
    parameters=FrExactParameters,
    init=init,
    decide=decide,
    on_pull=on_pull,
    on_received=on_received,
    on_group=on_group,
    on_lost=on_lost,
    on_closed=on_closed,
    per_pull=("awaited",),
    lost_as_zero=True,
    needs_maxima=True,
    needs_positive=True,
)
VALUE = replace(COUNT, on_received=None, on_group=value_on_group)
POLICY = replace(COUNT, variant=lambda parameters: VALUE if parameters.form == "value" else COUNT)
