"""How a policy in the shared form hears events.

This file is loaded once for each policy, under a name of its own and with that policy's functions in the place of
the empty ones below (see loader.py): Numba keeps compiled code on disk only for functions that call others by name.

How a policy in the shared form follows a record: it decides at every pull and hears what was recorded.

Like hearing.py, this file is loaded once for each policy, with that policy's functions in the place of the imported
ones (see loader.py).
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.numba_support import compiled, compiled_loop, held_stream

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


class Subscriptions(NamedTuple):
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
def notify_pull(state: Any, subscriptions: Subscriptions, arm: int, slot: int, shown: float) -> None:
    """Tell the policy of a pull; all groups of a new pull are empty."""
    if subscriptions.group:
        for group in range(subscriptions.filled.shape[1]):
            subscriptions.filled[slot, group] = 0
            subscriptions.gathered[slot, group] = 0.0
    on_pull(state, arm, slot, shown)


@compiled
def notify_partial(state: Any, subscriptions: Subscriptions, arm: int, slot: int, part: int, value: float) -> None:
    """Tell the policy of a part, and of its group if that is now complete."""
    if subscriptions.partial:
        on_partial(state, arm, slot, part, value)
    if subscriptions.received:
        subscriptions.amounts[arm] += value
    if subscriptions.group:
        group = (part - 1) // subscriptions.width
        subscriptions.filled[slot, group] += 1
        subscriptions.gathered[slot, group] += value
        if subscriptions.filled[slot, group] == subscriptions.width:
            on_group(state, arm, group, subscriptions.gathered[slot, group])


@compiled
def notify_received(state: Any, subscriptions: Subscriptions) -> None:
    """Tell the policy what each arm was paid at the instant that is over."""
    if subscriptions.received:
        for arm in range(subscriptions.amounts.size):
            if subscriptions.amounts[arm] != 0.0:
                on_received(state, arm, subscriptions.amounts[arm])
                subscriptions.amounts[arm] = 0.0


@compiled
def notify(state: Any, subscriptions: Subscriptions, kind: int, arm: int, slot: int, part: int, value: float) -> None:
    """Tell the policy one event; late and dropped parts are not for it."""
    if kind == PARTIAL:
        notify_partial(state, subscriptions, arm, slot, part, value)
    elif kind == CLOSED:
        on_closed(state, arm, slot, value)
    elif kind == PULL:
        notify_pull(state, subscriptions, arm, slot, value)


@compiled_loop
def hear(
    state: Any,
    subscriptions: Subscriptions,
    capacity: int,
    time: Floats,
    kind: Bytes,
    pull: Ints,
    arm: Ints,
    part: Ints,
    value: Floats,
) -> None:
    """Tell the policy every event, in order."""
    for event in range(kind.size):
        if event > 0 and time[event] != time[event - 1]:
            notify_received(state, subscriptions)
        notify(state, subscriptions, kind[event], arm[event], pull[event] % capacity, part[event], value[event])
    notify_received(state, subscriptions)


@compiled_loop
def follow(
    state: Any,
    subscriptions: Subscriptions,
    held: Any,
    capacity: int,
    time: Floats,
    kind: Bytes,
    round: Ints,
    pull: Ints,
    arm: Ints,
    part: Ints,
    value: Floats,
    decided: Ints,
) -> int:
    """Tell the policy recorded events and let it decide at every pull; the place of the first other arm, or -1.

    The events are whole stretches from one decision to the next. The policy's last decision is in decided[0].
    """
    stream = held_stream(held)
    for event in range(kind.size):
        if event > 0 and time[event] != time[event - 1]:
            notify_received(state, subscriptions)
        if kind[event] == PULL:
            decided[0] = policy_decide(state, round[event], stream)
            if decided[0] != arm[event]:
                return event
        notify(state, subscriptions, kind[event], arm[event], pull[event] % capacity, part[event], value[event])
    notify_received(state, subscriptions)
    return -1
