"""TP-UCB-FR: counts parts that have not arrived as zero and widens its bound to allow for them (paper, Algorithm 1)."""

import math
from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import GroupParameters, SharedPolicy
from tpstream.policies.index import add, in_turn_or_largest, total


class TpUcbFrState(NamedTuple):
    """The number of pulls and the sum of the partial rewards received, for every arm."""

    maxima: Floats
    groups: int
    width: int
    random_ties: bool
    indices: Floats
    pulls: Ints
    sums: Floats


def init(problem: Problem, parameters: GroupParameters) -> TpUcbFrState:
    """The state before the first round: no pulls."""
    arms, groups = problem.arms, problem.assumed_groups(parameters.groups)
    return TpUcbFrState(
        maxima=problem.maxima,
        groups=groups,
        width=problem.span // groups,
        random_ties=parameters.ties == "random",
        indices=np.zeros(arms),
        pulls=np.zeros(arms, dtype=np.int64),
        sums=np.zeros((arms, 2)),
    )


@compiled
def on_pull(state: TpUcbFrState, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """Count the pull; all its parts are zero so far."""
    state.pulls[arm] += 1


@compiled
def on_received(state: TpUcbFrState, arm: int, amount: float) -> None:
    """Add what was received, which counted as zero so far."""
    add(state.sums, arm, amount)


@compiled
def index(state: TpUcbFrState, arm: int, log: float) -> float:
    """Eq. 4 and 5: (parts received)/n + Rbar sqrt(2 ln(t-1) / (alpha n)) + phi (alpha+1) Rbar / (2n)."""
    pulls = state.pulls[arm]
    if pulls == 0:
        return math.inf
    maximum = state.maxima[arm]
    mean = total(state.sums, arm) / pulls
    unsure = maximum * math.sqrt(2.0 * log / (state.groups * pulls))
    missing = state.width * (state.groups + 1) * maximum / (2.0 * pulls)
    return float(mean + unsure + missing)


@compiled
def decide(state: TpUcbFrState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, round, state.indices.size, state.random_ties, stream)


POLICY = SharedPolicy(
    name="tp-ucb-fr",
    parameters=GroupParameters,
    init=init,
    decide=decide,
    on_pull=on_pull,
    on_received=on_received,
    lost_as_zero=True,
)
