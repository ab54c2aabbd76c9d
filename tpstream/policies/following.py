"""How a policy in the shared form follows a record: it decides at every pull and hears what was recorded.

Like hearing.py, this file is loaded once for each policy, with that policy's functions in the place of the imported
ones (see loader.py).
"""

from typing import Any

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.compiled import compiled_loop
from tpstream.model.held_stream import held_stream
from tpstream.policies.hearing import PULL, Ear, policy_decide, tell, tell_received


@compiled_loop
def follow(
    state: Any,
    ear: Ear,
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
            tell_received(state, ear)
        if kind[event] == PULL:
            decided[0] = policy_decide(state, round[event], stream)
            if decided[0] != arm[event]:
                return event
        tell(state, ear, kind[event], arm[event], pull[event] % capacity, part[event], value[event])
    tell_received(state, ear)
    return -1
