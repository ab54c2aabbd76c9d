"""TP-UCB-FR and Delayed-UCB1 with random decisions; what each policy knows is recorded at every decision."""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies import delayed_ucb1, tp_ucb_fr
from tpstream.policies.base import GroupParameters, SharedPolicy
from tpstream.policies.delayed_ucb1 import DelayedParameters, DelayedUcb1State, decide as decide_delayed
from tpstream.policies.index import total
from tpstream.policies.tp_ucb_fr import FrParameters, TpUcbFrState, decide as decide_fr

NOTES = ("notes", Floats)
"""What was received of each arm, and the number of pulls that it is taken to be of: (rounds, arms, 2)."""
FrNotes = NamedTuple("FrNotes", [*TpUcbFrState.__annotations__.items(), NOTES])  # type: ignore[misc]
DelayedNotes = NamedTuple("DelayedNotes", [*DelayedUcb1State.__annotations__.items(), NOTES])  # type: ignore[misc]


def init_fr(problem: Problem, parameters: GroupParameters) -> Any:
    """The state of the policy, and an empty record."""
    return FrNotes(
        *tp_ucb_fr.init(problem, FrParameters(**parameters.model_dump())), np.zeros((problem.horizon, problem.arms, 2))
    )


def init_delayed(problem: Problem, parameters: DelayedParameters) -> Any:
    """The state of the policy, and an empty record."""
    return DelayedNotes(*delayed_ucb1.init(problem, parameters), np.zeros((problem.horizon, problem.arms, 2)))


@compiled
def overrule_fr(state: Any, round: int, stream: np.random.Generator) -> int:
    """Record what the policy knows, and pull a random arm."""
    decide_fr(state, round, stream)
    for arm in range(state.indices.size):
        state.notes[round - 1, arm, 0] = total(state.sums, arm)
        state.notes[round - 1, arm, 1] = state.pulls[arm]
    return int(stream.random() * state.indices.size)


@compiled
def overrule_delayed(state: Any, round: int, stream: np.random.Generator) -> int:
    """Record what the policy knows, and pull a random arm."""
    decide_delayed(state, round, stream)
    for arm in range(state.indices.size):
        state.notes[round - 1, arm, 0] = total(state.sums, arm)
        state.notes[round - 1, arm, 1] = state.closed[arm]
    return int(stream.random() * state.indices.size)


FR = SharedPolicy(
    name="noting-fr",
    parameters=GroupParameters,
    init=init_fr,
    decide=overrule_fr,
    on_pull=tp_ucb_fr.on_pull,
    on_received=tp_ucb_fr.on_received,
)
DELAYED = SharedPolicy(
    name="noting-delayed",
    parameters=DelayedParameters,
    init=init_delayed,
    decide=overrule_delayed,
    on_closed=delayed_ucb1.on_closed,
)
