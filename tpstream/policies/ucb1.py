"""UCB1 without delay: is told at the pull what it will pay in total, which no real policy can know; for comparison."""

import math
from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import IndexParameters, SharedPolicy
from tpstream.policies.index import add, in_turn_or_largest, total


class Ucb1State(NamedTuple):
    """The number of pulls and the sum of their cumulative rewards, for every arm."""

    maxima: Floats
    random_ties: bool
    indices: Floats
    open_arms: Bools
    pulls: Ints
    sums: Floats


def init(problem: Problem, parameters: IndexParameters) -> Ucb1State:
    """The state before the first round: no pulls."""
    arms = problem.arms
    return Ucb1State(
        maxima=problem.maxima,
        random_ties=parameters.ties == "random",
        indices=np.zeros(arms),
        open_arms=np.ones(arms, dtype=np.bool_),
        pulls=np.zeros(arms, dtype=np.int64),
        sums=np.zeros((arms, 2)),
    )


@compiled
def on_pull(state: Ucb1State, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """Count the pull and the cumulative reward that is shown with it."""
    state.pulls[arm] += 1
    add(state.sums, arm, shown)


@compiled
def index(state: Ucb1State, arm: int, log: float) -> float:
    """mean(R) + Rbar sqrt(2 ln t / n)."""
    pulls = state.pulls[arm]
    if pulls == 0:
        return math.inf
    return float(total(state.sums, arm) / pulls + state.maxima[arm] * math.sqrt(2.0 * log / pulls))


@compiled
def decide(state: Ucb1State, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then an arm of the largest index."""
    log = math.log(round)
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, log)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.indices.size, state.random_ties, stream)


POLICY = SharedPolicy(
    name="ucb1",
    parameters=IndexParameters,
    init=init,
    decide=decide,
    on_pull=on_pull,
    clairvoyant=True,
    needs_maxima=True,
    needs_positive=True,
)
