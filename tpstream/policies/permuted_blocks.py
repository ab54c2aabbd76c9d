"""Permuted blocks: fixed ratios of allocation, which hold exactly in every block of patients.

A block has so many places for each arm; the next patient gets one of the places that are left, each as likely, and a
new block begins when none is left. The places of an arm that is dropped are taken out.
"""

from typing import NamedTuple

import numpy as np
from pydantic import Field, PositiveInt

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, SharedPolicy


class PermutedBlocksParameters(Parameters):
    """Parameters: the ratio of the arms, and the size of a block."""

    ratio: tuple[PositiveInt, ...] | None = Field(None, description="a whole number for each arm; default: all equal")
    block: PositiveInt | None = Field(
        None, description="patients in a block, a multiple of the ratio's sum; default: twice that sum"
    )


class PermutedBlocksState(NamedTuple):
    """What is left of the present block."""

    indices: Floats
    open_arms: Bools
    probabilities: Floats
    places: Ints
    """Places of each arm in a whole block."""
    left: Ints


def init(problem: Problem, parameters: PermutedBlocksParameters) -> PermutedBlocksState:
    """The state before the first round: the first block has not begun."""
    arms = problem.arms
    ratio = (1,) * arms if parameters.ratio is None else parameters.ratio
    if len(ratio) != arms:
        raise PolicyError(f"ratio: has {len(ratio)} numbers for {arms} arms; give one for each")
    block = 2 * sum(ratio) if parameters.block is None else parameters.block
    if block % sum(ratio):
        raise PolicyError(f"block: {block} is not a multiple of {sum(ratio)}, the sum of the ratio; use one that is")
    return PermutedBlocksState(
        indices=np.full(arms, np.nan),
        open_arms=np.ones(arms, dtype=np.bool_),
        probabilities=np.full(arms, np.nan),
        places=np.array(ratio) * (block // sum(ratio)),
        left=np.zeros(arms, dtype=np.int64),
    )


@compiled
def count_left(state: PermutedBlocksState) -> int:
    """How many places are left for arms that are not dropped."""
    count = 0
    for arm in range(state.left.size):
        count += state.left[arm] if state.open_arms[arm] else 0
    return count


@compiled
def decide(state: PermutedBlocksState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """One of the places that are left, each as likely."""
    if count_left(state) == 0:
        for arm in range(state.left.size):
            state.left[arm] = state.places[arm]
    count = count_left(state)
    place, chosen = int(stream.random() * count), -1
    for arm in range(state.left.size):
        here = state.left[arm] if state.open_arms[arm] else 0
        state.probabilities[arm] = here / count
        if chosen < 0 and place < here:
            chosen = arm
        place -= here
    state.left[chosen] -= 1
    return chosen


POLICY = SharedPolicy(name="permuted-blocks", parameters=PermutedBlocksParameters, init=init, decide=decide)
