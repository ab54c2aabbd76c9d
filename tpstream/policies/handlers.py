"""How events reach a policy in the shared form.

This file is loaded once for each policy, under a name of its own and with that policy's functions in the place of
the empty ones below (see loader.py), since Numba keeps machine code on disk only for functions that call others by
name. The compiled loops of the engines use the functions of that copy.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.events import CLOSED, DROPPED, PARTIAL, PULL, EventColumns
from tpstream.model.numba_support import compiled, compiled_loop, held_stream


@compiled
def on_pull(state: Any, arm: int, slot: int, shown: float) -> None:
    """Do nothing, for a policy without this handler."""


@compiled
def on_partial(state: Any, arm: int, slot: int, part: int, value: float) -> None:
    """Do nothing, for a policy without this handler."""


@compiled
def on_received(state: Any, arm: int, amount: float) -> None:
    """Do nothing, for a policy without this handler."""


@compiled
def on_group(state: Any, arm: int, slot: int, group: int, amount: float) -> None:
    """Do nothing, for a policy without this handler."""


@compiled
def on_lost(state: Any, arm: int, slot: int, part: int) -> None:
    """Do nothing, for a policy without this handler."""


@compiled
def on_closed(state: Any, arm: int, slot: int, credited: float) -> None:
    """Do nothing, for a policy without this handler."""


@compiled
def on_look(state: Any, stage: int) -> None:
    """Do nothing, for a policy without this handler."""


@compiled
def set_clock(state: Any, time: float) -> None:
    """Do nothing, for a policy whose state has no field `clock`; for the others `write_clock` stands here."""


@compiled
def show_probabilities(state: Any) -> None:
    """Do nothing, for a policy without this function, or where nobody asks for probabilities."""


@compiled
def probability(state: Any, arm: int) -> float:  # noqa: ARG001
    """Not a number, for a policy whose state has no field `probabilities`; for the others `read_probability`."""
    return np.nan


@compiled
def policy_decide(state: Any, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """Stand for the policy's `decide`, which every policy has."""
    return 0


@compiled
def write_clock(state: Any, time: float) -> None:
    """Write the time of what is told next to the state's field `clock`."""
    state.clock[0] = time


@compiled
def read_probability(state: Any, arm: int) -> float:
    """The probability with which the last decision was for this arm."""
    return float(state.probabilities[arm])


@compiled
def show_decision(state: Any, columns: EventColumns, row: int, decided: int) -> None:
    """Write the optional columns of a decision that are asked for, those that have rows, to this row."""
    if columns.indices.shape[0] > 0:
        for arm in range(state.indices.size):
            columns.indices[row, arm] = state.indices[arm]
    if columns.probabilities.shape[0] > 0:
        show_probabilities(state)
        for arm in range(state.indices.size):
            columns.probabilities[row, arm] = probability(state, arm)
        columns.probability[row] = probability(state, decided)


class Subscriptions(NamedTuple):
    """Which handlers a policy has, and what is remembered to call them."""

    shown: bool
    """The policy is shown a pull's total at the pull."""
    partial: bool
    received: bool
    group: bool
    lost: bool
    closed: bool
    width: int
    """How many parts a group has."""
    amounts: Floats
    """What each arm's pulls paid at the present time."""
    filled: Ints
    """How many parts of each group were delivered, (slot, group)."""
    gathered: Floats
    """What they paid, (slot, group)."""
    owners: Ints
    """The open pull of each slot, for `on_lost`; 0: none."""
    scale: Floats
    """Of a trial's endpoint: of part j that paid x the policy hears scale[j] x + shift[j]; empty: x itself."""
    shift: Floats
    heard: Floats
    """What the policy heard of the open pull of each slot so far, if there is an endpoint."""
    needs: Ints
    """Of each part: 1 if a pull is told as closed only if this part came, else 0; empty: every closing is told."""
    needed: int
    """How many parts that is."""
    came: Ints
    """How many of them came of the open pull of each slot."""


@compiled_loop
def decide(state: Any, round: int, held: Any) -> int:
    """Ask the policy for an arm."""
    return policy_decide(state, round, held_stream(held))


@compiled_loop
def tell_look(state: Any, time: float, stage: int) -> None:
    """Tell the policy that a trial looks at its results, or decides on them."""
    set_clock(state, time)
    on_look(state, stage)


@compiled_loop
def fill_probabilities(state: Any, probabilities: Floats) -> None:
    """Write the probability of every arm at the last decision."""
    show_probabilities(state)
    for arm in range(probabilities.size):
        probabilities[arm] = probability(state, arm)


@compiled
def notify_pull(state: Any, subscriptions: Subscriptions, pull: int, arm: int, slot: int, shown: float) -> None:
    """Tell the policy of a pull; no part of its groups is delivered so far."""
    if subscriptions.group:
        for group in range(subscriptions.filled.shape[1]):
            subscriptions.filled[slot, group] = 0
            subscriptions.gathered[slot, group] = 0.0
    if subscriptions.lost:
        subscriptions.owners[slot] = pull
    if subscriptions.scale.size > 0:
        subscriptions.heard[slot] = 0.0
    if subscriptions.needs.size > 0:
        subscriptions.came[slot] = 0
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
            on_group(state, arm, slot, group, subscriptions.gathered[slot, group])


@compiled
def notify_received(state: Any, subscriptions: Subscriptions) -> None:
    """Tell the policy what each arm's pulls paid at the present time, when all of that was delivered."""
    if subscriptions.received:
        for arm in range(subscriptions.amounts.size):
            if subscriptions.amounts[arm] != 0.0:
                on_received(state, arm, subscriptions.amounts[arm])
                subscriptions.amounts[arm] = 0.0


@compiled
def notify_closed(state: Any, subscriptions: Subscriptions, arm: int, slot: int, credited: float) -> None:
    """Tell the policy that a pull is closed, unless a part is missing without which it does not count."""
    if subscriptions.lost:
        subscriptions.owners[slot] = 0
    if subscriptions.needs.size == 0 or subscriptions.came[slot] == subscriptions.needed:
        on_closed(state, arm, slot, credited)


@compiled
def notify_lost(state: Any, subscriptions: Subscriptions, pull: int, arm: int, slot: int, part: int) -> None:
    """Tell the policy of a lost part; a pull that is closed has no slot any more."""
    if subscriptions.lost:
        on_lost(state, arm, slot if subscriptions.owners[slot] == pull else -1, part)


@compiled
def notify(
    state: Any, subscriptions: Subscriptions, kind: int, pull: int, arm: int, slot: int, part: int, value: float
) -> None:
    """Tell the policy one event; late parts are not told."""
    endpoint = subscriptions.scale.size > 0
    if kind == PARTIAL:
        if endpoint:
            value = subscriptions.scale[part - 1] * value + subscriptions.shift[part - 1]
            subscriptions.heard[slot] += value
        if subscriptions.needs.size > 0:
            subscriptions.came[slot] += subscriptions.needs[part - 1]
        notify_partial(state, subscriptions, arm, slot, part, value)
    elif kind == CLOSED:
        notify_closed(state, subscriptions, arm, slot, subscriptions.heard[slot] if endpoint else value)
    elif kind == PULL:
        notify_pull(state, subscriptions, pull, arm, slot, value)
    elif kind == DROPPED:
        notify_lost(state, subscriptions, pull, arm, slot, part)


@compiled_loop
def notify_events(
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
    """Tell the policy events, in order; if `decided` is not empty, let it also decide at every pull, as in a replay.

    Returns the place of the first pull for which the policy decides for another arm, or -1; its last decision is in
    decided[0].
    """
    for event in range(kind.size):
        set_clock(state, time[event])
        if decided.size > 0 and kind[event] == PULL:
            decided[0] = decide(state, round[event], held)
            if decided[0] != arm[event]:
                return event
        slot = pull[event] % capacity
        notify(state, subscriptions, kind[event], pull[event], arm[event], slot, part[event], value[event])
        if event == kind.size - 1 or time[event + 1] != time[event]:
            notify_received(state, subscriptions)
    return -1
