"""Oracle: is told the arms' true means and always pulls an arm of the largest one; its regret is zero."""

from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, SharedPolicy


class OracleState(NamedTuple):
    """The true means, as indices, and the first arm of the largest one."""

    indices: Floats
    best: int


def init(problem: Problem, parameters: Parameters) -> OracleState:  # noqa: ARG001
    """The state, which never changes: the means are known."""
    if problem.means is None:
        raise PolicyError("the oracle needs the arms' true means, and this problem does not give them")
    return OracleState(indices=problem.means.copy(), best=int(np.argmax(problem.means)))


@compiled
def decide(state: OracleState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """The best arm."""
    return state.best


POLICY = SharedPolicy(name="oracle", parameters=Parameters, init=init, decide=decide, knows_means=True)
