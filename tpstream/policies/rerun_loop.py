"""A policy decides again on recorded events, whatever it decided before: what arrived moves with the pull.

This file is loaded once for each policy, with the policy's functions in the place of the imported ones; see loader.py.
"""

from typing import Any

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.events import LOOK, PULL
from tpstream.model.numba_support import compiled_loop, held_stream
from tpstream.policies.handlers import Subscriptions, notify, notify_received, on_look, policy_decide, set_clock


@compiled_loop
def decide_again(
    state: Any,
    subscriptions: Subscriptions,
    held: Any,
    capacity: int,
    time: Floats,
    kind: Bytes,
    round: Ints,
    pull: Ints,
    part: Ints,
    value: Floats,
    arms: Ints,
) -> int:
    """Let the policy decide at every pull, and tell it the events of the pull for the arm that it chose.

    Writes the arm of every pull to `arms`. Of a look, `part` is the stage. Returns the place of the first decision for
    something that is no arm, or -1.
    """
    stream = held_stream(held)
    for event in range(kind.size):
        if event > 0 and time[event] != time[event - 1]:
            notify_received(state, subscriptions)
        set_clock(state, time[event])
        if kind[event] == LOOK:
            notify_received(state, subscriptions)
            on_look(state, part[event])
            continue
        number = pull[event]
        if kind[event] == PULL:
            arms[number - 1] = policy_decide(state, round[event], stream)
            if arms[number - 1] < 0 or arms[number - 1] >= state.indices.size:
                return event
        arm, slot = arms[number - 1], number % capacity
        notify(state, subscriptions, kind[event], number, arm, slot, part[event], value[event])
    return -1
