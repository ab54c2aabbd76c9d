"""The loops around a policy's functions.

This file is loaded once for each policy, under a name of its own and with that policy's functions in the place of
the empty ones below (see loader.py): Numba keeps compiled code on disk only for functions that call others by name.
"""

from typing import Any

import numpy as np

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.compiled import compiled, compiled_loop

PULL, PARTIAL, CLOSED = 0, 1, 2  # Kind's numbers; Numba wants plain ones


@compiled
def on_pull(state: Any, arm: int, slot: int, shown: float) -> None:
    """Nothing."""


@compiled
def on_partial(state: Any, arm: int, slot: int, part: int, value: float) -> None:
    """Nothing."""


@compiled
def on_closed(state: Any, arm: int, slot: int, credited: float) -> None:
    """Nothing."""


@compiled
def policy_decide(state: Any, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """Nothing to decide."""
    return 0


@compiled_loop
def decide(state: Any, round: int, stream: np.random.Generator) -> int:
    """The policy's decision."""
    return policy_decide(state, round, stream)


@compiled_loop
def hear(state: Any, capacity: int, kind: Bytes, pull: Ints, arm: Ints, part: Ints, value: Floats) -> None:
    """Tell the policy every event, in order."""
    for event in range(kind.size):
        slot = pull[event] % capacity
        if kind[event] == PARTIAL:
            on_partial(state, arm[event], slot, part[event], value[event])
        elif kind[event] == CLOSED:
            on_closed(state, arm[event], slot, value[event])
        elif kind[event] == PULL:
            on_pull(state, arm[event], slot, value[event])
