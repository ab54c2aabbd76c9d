"""Uniform: an arm at random in every round, each with the same probability, as in a trial with equal allocation."""

from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Bools, Floats
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, SharedPolicy
from tpstream.policies.index import count_open, nth_open


class UniformState(NamedTuple):
    """The arms that are not dropped, and their equal probabilities."""

    indices: Floats
    open_arms: Bools
    probabilities: Floats


def init(problem: Problem, parameters: Parameters) -> UniformState:  # noqa: ARG001
    """The state before the first round: no indices."""
    arms = problem.arms
    return UniformState(np.full(arms, np.nan), np.ones(arms, dtype=np.bool_), np.full(arms, 1.0 / arms))


@compiled
def decide(state: UniformState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """Any arm, with equal probability."""
    arms = count_open(state.open_arms)
    for arm in range(state.indices.size):
        state.probabilities[arm] = 1.0 / arms if state.open_arms[arm] else 0.0
    return nth_open(state.open_arms, int(stream.random() * arms))


POLICY = SharedPolicy(name="uniform", parameters=Parameters, init=init, decide=decide)
