"""My policy: a random arm in some rounds, else the arm that has paid most per pull so far."""

from typing import NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, SharedPolicy
from tpstream.policies.index import largest


class MyPolicyParameters(Parameters):
    """Parameters, as in a [[policies]] table or in "my-policy:explore=0.2"."""

    explore: float = Field(0.1, ge=0, le=1, description="the share of rounds with a random arm")


class MyPolicyState(NamedTuple):
    """All that the policy remembers, as arrays and numbers; `indices`, one for each arm, is required."""

    explore: float
    indices: Floats
    pulls: Ints
    sums: Floats


def init(problem: Problem, parameters: MyPolicyParameters) -> MyPolicyState:
    """The state before the first round; this function is ordinary Python."""
    arms = problem.arms
    return MyPolicyState(
        explore=parameters.explore, indices=np.zeros(arms), pulls=np.zeros(arms, dtype=np.int64), sums=np.zeros(arms)
    )


# The functions below are compiled by Numba: write loops over plain numbers, use `math`, and make no new arrays.


@compiled
def on_pull(state: MyPolicyState, arm: int, slot: int, total: float) -> None:  # noqa: ARG001 (asked for by the interface)
    """Called when a pull was made."""
    state.pulls[arm] += 1


@compiled
def on_received(state: MyPolicyState, arm: int, amount: float) -> None:
    """Called with what pulls of an arm paid at one time; tpstream.policies.base has the other events to hear of."""
    state.sums[arm] += amount


@compiled
def decide(state: MyPolicyState, round: int, stream: np.random.Generator) -> int:
    """The arm to pull in this round; draw only here, and only from the stream."""
    arms = state.indices.size
    for arm in range(arms):
        state.indices[arm] = state.sums[arm] / max(state.pulls[arm], 1)
    if round <= arms:
        return round - 1
    if stream.random() < state.explore:
        return int(stream.random() * arms)
    return largest(state.indices, random_ties=True, stream=stream)


POLICY = SharedPolicy(
    name="my-policy",
    parameters=MyPolicyParameters,
    init=init,
    decide=decide,
    on_pull=on_pull,
    on_received=on_received,
)
PLUGINS = {"policies": {"my-policy": POLICY}}
