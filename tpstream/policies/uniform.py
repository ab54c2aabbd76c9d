"""Uniform: an arm at random in every round, each with the same probability, as in a trial with equal allocation."""

from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, SharedPolicy


class UniformState(NamedTuple):
    """Only the number of arms, as that of the indices, and equal probabilities."""

    indices: Floats
    probabilities: Floats


def init(problem: Problem, parameters: Parameters) -> UniformState:  # noqa: ARG001
    """The state, which never changes: no indices."""
    return UniformState(indices=np.full(problem.arms, np.nan), probabilities=np.full(problem.arms, 1.0 / problem.arms))


@compiled
def decide(state: UniformState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """Any arm, with equal probability."""
    return int(stream.random() * state.indices.size)


POLICY = SharedPolicy(name="uniform", parameters=Parameters, init=init, decide=decide)
