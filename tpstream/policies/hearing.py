"""How a policy in the shared form hears events.

This file is loaded once for each policy, under a name of its own and with that policy's functions in the place of
the empty ones below (see loader.py): Numba keeps compiled code on disk only for functions that call others by name.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.compiled import compiled, compiled_loop
from tpstream.model.held_stream import held_stream

PULL, PARTIAL, CLOSED = 0, 1, 2  # Kind's numbers; Numba wants plain ones


@compiled
def on_pull(state: Any, arm: int, slot: int, shown: float) -> None:
    """Nothing."""


@compiled
def on_partial(state: Any, arm: int, slot: int, part: int, value: float) -> None:
    """Nothing."""


@compiled
def on_received(state: Any, arm: int, amount: float) -> None:
    """Nothing."""


@compiled
def on_group(state: Any, arm: int, group: int, amount: float) -> None:
    """Nothing."""


@compiled
def on_closed(state: Any, arm: int, slot: int, credited: float) -> None:
    """Nothing."""


@compiled
def policy_decide(state: Any, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """Nothing to decide."""
    return 0


class Ear(NamedTuple):
    """What a policy wants to hear, and what was heard in part."""

    shown: bool
    """The total at the pull."""
    partial: bool
    received: bool
    group: bool
    closed: bool
    width: int
    """Parts of a group."""
    amounts: Floats
    """What each arm was paid at the present instant."""
    filled: Ints
    """Parts received of a group, (slot, group)."""
    gathered: Floats
    """What they paid."""


@compiled_loop
def decide(state: Any, round: int, held: Any) -> int:
    """The policy's decision."""
    return policy_decide(state, round, held_stream(held))


@compiled
def tell_pull(state: Any, ear: Ear, arm: int, slot: int, shown: float) -> None:
    """Tell the policy of a pull; all groups of a new pull are empty."""
    if ear.group:
        for group in range(ear.filled.shape[1]):
            ear.filled[slot, group] = 0
            ear.gathered[slot, group] = 0.0
    on_pull(state, arm, slot, shown)


@compiled
def tell_partial(state: Any, ear: Ear, arm: int, slot: int, part: int, value: float) -> None:
    """Tell the policy of a part, and of its group if that is now complete."""
    if ear.partial:
        on_partial(state, arm, slot, part, value)
    if ear.received:
        ear.amounts[arm] += value
    if ear.group:
        group = (part - 1) // ear.width
        ear.filled[slot, group] += 1
        ear.gathered[slot, group] += value
        if ear.filled[slot, group] == ear.width:
            on_group(state, arm, group, ear.gathered[slot, group])


@compiled
def tell_received(state: Any, ear: Ear) -> None:
    """Tell the policy what each arm was paid at the instant that is over."""
    if ear.received:
        for arm in range(ear.amounts.size):
            if ear.amounts[arm] != 0.0:
                on_received(state, arm, ear.amounts[arm])
                ear.amounts[arm] = 0.0


@compiled
def tell(state: Any, ear: Ear, kind: int, arm: int, slot: int, part: int, value: float) -> None:
    """Tell the policy one event; late and dropped parts are not for it."""
    if kind == PARTIAL:
        tell_partial(state, ear, arm, slot, part, value)
    elif kind == CLOSED:
        on_closed(state, arm, slot, value)
    elif kind == PULL:
        tell_pull(state, ear, arm, slot, value)


@compiled_loop
def hear(
    state: Any, ear: Ear, capacity: int, time: Floats, kind: Bytes, pull: Ints, arm: Ints, part: Ints, value: Floats
) -> None:
    """Tell the policy every event, in order."""
    for event in range(kind.size):
        if event > 0 and time[event] != time[event - 1]:
            tell_received(state, ear)
        tell(state, ear, kind[event], arm[event], pull[event] % capacity, part[event], value[event])
    tell_received(state, ear)
