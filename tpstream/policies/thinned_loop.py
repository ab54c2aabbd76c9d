"""A policy decides on recorded decisions, and keeps those on which it agrees with the record.

This file is loaded once for each policy, with the policy's functions in the place of the imported ones; see loader.py.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Bools, Bytes, Floats, Ints
from tpstream.model.events import CLOSED, PULL
from tpstream.model.numba_support import compiled, compiled_loop, held_stream
from tpstream.policies.handlers import Subscriptions, notify, notify_received, policy_decide, set_clock

DONE = -1
"""What the loop returns at the end."""
KEPT, OLDEST, MOST = 0, 1, 2
"""Places in `Thinning.place`."""


class Thinning(NamedTuple):
    """What is known of every recorded decision, and how far the loop is."""

    wanted: Bools
    """Whether the decision is kept if the policy agrees."""
    decided: Ints
    """The policy's arm where it was asked, -1 if it chose none; else -2."""
    numbers: Ints
    """The number of a decision among those that are kept, from 1; 0: it is not kept."""
    released: Bools
    """Of each kept decision, by its number: whether it is closed."""
    place: Ints
    """The number of kept decisions, the oldest of them that is open, and how many are kept at most."""
    memory: Ints
    """The arrays of the policy's state, as whole numbers."""
    before: Ints
    """The same as they were before the policy was asked."""


@compiled
def copy(source: Ints, target: Ints) -> None:
    """Copy an array into another; in a loop, since compiled code makes no arrays here."""
    for place in range(source.size):
        target[place] = source[place]


@compiled
def ask(state: Any, stream: np.random.Generator, thinning: Thinning, row: int, time: float, arm: int) -> bool:
    """Let the policy decide, and keep the decision if it is for the recorded arm; else its state is put back.

    Returns whether the policy decided for an arm at all.
    """
    copy(thinning.memory, thinning.before)
    set_clock(state, time)
    number = thinning.place[KEPT] + 1
    decided = policy_decide(state, number, stream)
    thinning.decided[row] = decided
    if decided == arm:
        thinning.place[KEPT] = number
        thinning.numbers[row] = number
    elif 0 <= decided < state.indices.size:
        copy(thinning.before, thinning.memory)
    else:
        return False
    return True


@compiled
def release(thinning: Thinning, number: int) -> None:
    """Note that a kept decision is closed, and find the oldest one that is open."""
    thinning.released[number] = True
    while thinning.released[thinning.place[OLDEST]]:
        thinning.place[OLDEST] += 1


@compiled_loop
def decide_thinned(
    state: Any,
    subscriptions: Subscriptions,
    held: Any,
    capacity: int,
    thinning: Thinning,
    first: int,
    time: Floats,
    kind: Bytes,
    pull: Ints,
    arm: Ints,
    part: Ints,
    value: Floats,
) -> int:
    """Ask the policy at every wanted decision; tell it the events of those on which it agrees, and nothing else.

    A policy that does not agree is as if it had not been asked, but random numbers are not drawn again. Returns the
    place of a decision for which there is no row, or at which the policy chose something that is no arm; DONE at the
    end.
    """
    stream = held_stream(held)
    for event in range(first, kind.size):
        if event > 0 and time[event] != time[event - 1]:
            notify_received(state, subscriptions)
        row = pull[event] - 1
        if kind[event] == PULL and thinning.wanted[row]:
            kept = thinning.place[KEPT]
            if kept == thinning.place[MOST]:
                return DONE
            if kept + 1 - thinning.place[OLDEST] >= capacity:
                return event
            if not ask(state, stream, thinning, row, time[event], arm[event]):
                return event
        number = thinning.numbers[row]
        if number == 0:
            continue
        set_clock(state, time[event])
        notify(state, subscriptions, kind[event], number, arm[event], number % capacity, part[event], value[event])
        if kind[event] == CLOSED:
            release(thinning, number)
    return DONE
