"""TP-UCB-FR: counts parts that have not arrived as zero and widens its bound to allow for them (paper, Algorithm 1).

With `caps`, group k pays at most p_k Rbar, which narrows both terms of the bound.
"""

import math
from typing import NamedTuple

import numpy as np
from pydantic import Field, model_validator

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import AutoGroups, SharedPolicy
from tpstream.policies.groups import (
    CapParameters,
    cap_shares,
    choice_fields,
    choose_groups,
    count_complete,
    forget_parts,
    is_due,
    with_chosen_groups,
)
from tpstream.policies.index import add, in_turn_or_largest, total


class FrParameters(CapParameters):
    """Parameters: how ties are broken, the groups that it assumes, and what these pay at most."""

    groups: AutoGroups | None = Field(  # type: ignore[assignment]  # more than its base class
        None, description='groups the policy assumes; default: the environment\'s; "auto": chosen from what was seen'
    )

    @model_validator(mode="after")
    def _check_choice(self) -> "FrParameters":
        if self.groups == "auto" and self.caps is not None:
            raise ValueError('caps: there is one for each group, so groups = "auto" takes none; give one of them')
        return self


class TpUcbFrState(NamedTuple):
    """The number of pulls and the sum of the partial rewards received, for every arm."""

    maxima: Floats
    span: int
    effective: Floats
    """1 / sum_k p_k^2, which is alpha for equal shares p_k = 1 / alpha; one number."""
    pending: Floats
    """2 phi sum_k k p_k, which is phi (alpha + 1) for equal shares; one number."""
    random_ties: bool
    indices: Floats
    open_arms: Bools
    pulls: Ints
    sums: Floats
    divisors: Ints
    """The fields from here on serve the choice of `groups = "auto"` (groups.py)."""
    shares: Floats
    paid: Floats
    complete: Ints
    complete_sums: Floats
    complete_deviations: Floats


def init(problem: Problem, parameters: FrParameters) -> TpUcbFrState:
    """The state before the first round: no pulls."""
    arms, auto = problem.arms, parameters.groups == "auto"
    groups = 1 if auto else parameters.assumed_groups(problem)
    width = problem.span // groups
    effective, pending = float(groups), float(width * (groups + 1))
    if parameters.caps is not None:
        shares = cap_shares(parameters.caps, groups)
        effective = 1.0 / math.fsum(shares**2)
        pending = 2.0 * width * math.fsum(np.arange(1, groups + 1) * shares)
    return TpUcbFrState(
        maxima=problem.maxima,
        span=problem.span,
        effective=np.array([effective]),
        pending=np.array([pending]),
        random_ties=parameters.ties == "random",
        indices=np.zeros(arms),
        open_arms=np.ones(arms, dtype=np.bool_),
        pulls=np.zeros(arms, dtype=np.int64),
        sums=np.zeros((arms, 2)),
        **choice_fields(problem, wanted=auto),
    )


@compiled
def on_pull(state: TpUcbFrState, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """Count the pull; all its parts are zero so far, and those that are lost stay so."""
    state.pulls[arm] += 1


@compiled
def on_received(state: TpUcbFrState, arm: int, amount: float) -> None:
    """Add what was received, which counted as zero so far."""
    add(state.sums, arm, amount)


@compiled
def index(state: TpUcbFrState, arm: int, log: float) -> float:
    """Eq. 4 and 5: (parts received)/n + Rbar sqrt(2 ln(t-1) / (alpha n)) + phi (alpha+1) Rbar / (2n).

    With caps p_k: (parts received)/n + Rbar sqrt(2 ln(t-1) sum_k p_k^2 / n) + phi Rbar sum_k (k p_k) / n.
    """
    pulls = state.pulls[arm]
    if pulls == 0:
        return math.inf
    maximum = state.maxima[arm]
    mean = total(state.sums, arm) / pulls
    unsure = maximum * math.sqrt(2.0 * log / (state.effective[0] * pulls))
    missing = state.pending[0] * maximum / (2.0 * pulls)
    return float(mean + unsure + missing)


@compiled
def decide(state: TpUcbFrState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.indices.size, state.random_ties, stream)


@compiled
def auto_on_pull(state: TpUcbFrState, arm: int, slot: int, shown: float) -> None:
    """Count the pull, and make room for its parts."""
    on_pull(state, arm, slot, shown)
    forget_parts(state, slot)


@compiled
def auto_on_closed(state: TpUcbFrState, arm: int, slot: int, credited: float) -> None:
    """Count the pull for the choice of the groups."""
    count_complete(state, arm, slot, credited)


@compiled
def auto_decide(state: TpUcbFrState, round: int, stream: np.random.Generator) -> int:
    """Choose the groups again where it is due, then decide as ever."""
    if is_due(round):
        groups = choose_groups(state)
        state.effective[0] = groups
        state.pending[0] = state.span // groups * (groups + 1)
    return decide(state, round, stream)


FIXED = SharedPolicy(
    name="tp-ucb-fr",
    parameters=FrParameters,
    init=init,
    decide=decide,
    on_pull=on_pull,
    on_received=on_received,
    lost_as_zero=True,
    needs_maxima=True,
    needs_positive=True,
)
POLICY = with_chosen_groups(FIXED, "effective", decide=auto_decide, on_pull=auto_on_pull, on_closed=auto_on_closed)
