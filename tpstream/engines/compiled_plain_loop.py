"""The compiled loop for the paper's world without a log.

This file is loaded once for each policy, with the policy's functions in the place of the imported ones; see
policies/loader.py.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.numba_support import compiled, compiled_loop, held_stream
from tpstream.policies.handlers import (
    Subscriptions,
    on_closed,
    on_group,
    on_partial,
    on_pull,
    on_received,
    policy_decide,
    set_clock,
)

DONE, INVALID = -1, -2
"""Why the loop returned, if not for an arm that needs its next block: all rounds are done, a decision is no arm."""


class PlainMemory(NamedTuple):
    """What the loop remembers; arrays that only handlers need which the policy lacks have no rows."""

    pool: Floats
    """The arms' blocks of rewards, (arm, pull, part)."""
    totals: Floats
    """The pulls' cumulative rewards, (arm, pull)."""
    sums: Floats
    """The pulls' group sums, (arm, pull, group)."""
    used: Ints
    """How many pulls of its block each arm has used."""
    arms: Ints
    """The arm of the open pull of each slot."""
    rewards: Floats
    """The rewards of the open pulls, (slot, part)."""
    credits: Floats
    """The cumulative rewards of the open pulls."""
    groups: Floats
    """The group sums of the open pulls, (slot, group)."""
    due: Floats
    """What each arm's pulls will pay in the coming rounds, (arm, round modulo span)."""


@compiled_loop
def run_plain(
    state: Any, held: Any, subscriptions: Subscriptions, memory: PlainMemory, cursor: Ints, decisions: Ints
) -> int:
    """Run rounds cursor[0] to cursor[2]: part j of a pull arrives j - 1 rounds after it.

    Writes the arms of the rounds to `decisions`. Returns DONE when all are done, or the arm whose block of rewards is
    used up, or INVALID for a decision that is no arm; the decision then waits in cursor[1] for the next call.
    """
    stream = held_stream(held)
    span = memory.arms.size
    last = cursor[2]
    start = last + 1 - decisions.size
    slot = cursor[0] % span
    for round in range(cursor[0], last + 1):
        cursor[0] = round  # also for the error of a policy that raises
        set_clock(state, round)
        arm = cursor[1]
        if arm < 0:
            arm = policy_decide(state, round, stream)
        cursor[1] = arm
        if arm < 0 or arm >= memory.used.size:
            return INVALID
        row = memory.used[arm]
        if row == memory.totals.shape[1]:
            return int(arm)
        cursor[1] = -1
        memory.used[arm] = row + 1
        total = memory.totals[arm, row]
        decisions[round - start] = arm
        memory.arms[slot] = arm
        memory.credits[slot] = total
        on_pull(state, arm, slot, total if subscriptions.shown else np.nan)
        take_rewards(subscriptions, memory, arm, row, slot)
        deliver(state, subscriptions, memory, round, slot)
        slot = slot + 1 if slot + 1 < span else 0
    cursor[0] = last + 1
    return DONE


@compiled
def take_rewards(subscriptions: Subscriptions, memory: PlainMemory, arm: int, row: int, slot: int) -> None:
    """Copy a new pull's rewards from the block to where they are delivered from."""
    span = memory.arms.size
    if subscriptions.partial:
        for part in range(span):
            memory.rewards[slot, part] = memory.pool[arm, row, part]
    if subscriptions.received:
        for part in range(span - slot):
            memory.due[arm, slot + part] += memory.pool[arm, row, part]
        for part in range(span - slot, span):
            memory.due[arm, slot + part - span] += memory.pool[arm, row, part]
    if subscriptions.group:
        for group in range(memory.groups.shape[1]):
            memory.groups[slot, group] = memory.sums[arm, row, group]


@compiled
def deliver(state: Any, subscriptions: Subscriptions, memory: PlainMemory, round: int, slot: int) -> None:
    """Call the handlers for all that is due in this round, in order of the pulls."""
    if subscriptions.partial:
        deliver_parts(state, subscriptions, memory, round, slot)
    elif subscriptions.group or subscriptions.closed:
        deliver_groups(state, subscriptions, memory, round, slot)
    if subscriptions.received:
        for arm in range(memory.due.shape[0]):
            if memory.due[arm, slot] != 0.0:
                on_received(state, arm, memory.due[arm, slot])
                memory.due[arm, slot] = 0.0


@compiled
def deliver_parts(state: Any, subscriptions: Subscriptions, memory: PlainMemory, round: int, newest: int) -> None:
    """Tell every part that is due in this round, in order of the pulls, with the group or pull that it completes."""
    span = memory.arms.size
    slot = place_of(newest, min(span, round) - 1, span)
    for part in range(min(span, round), 0, -1):
        on_partial(state, memory.arms[slot], slot, part, memory.rewards[slot, part - 1])
        if subscriptions.group and part % subscriptions.width == 0:
            group = part // subscriptions.width - 1
            on_group(state, memory.arms[slot], slot, group, memory.groups[slot, group])
        if subscriptions.closed and part == span:
            on_closed(state, memory.arms[slot], slot, memory.credits[slot])
        slot = slot + 1 if slot + 1 < span else 0


@compiled
def deliver_groups(state: Any, subscriptions: Subscriptions, memory: PlainMemory, round: int, newest: int) -> None:
    """Tell every group that is complete in this round, in order of the pulls, and the pull that is complete."""
    span = memory.arms.size
    groups = 0
    if subscriptions.group:
        groups = memory.groups.shape[1] if round >= span else round // subscriptions.width
    if round >= span:
        slot = place_of(newest, span - 1, span)
        if subscriptions.group:
            on_group(state, memory.arms[slot], slot, groups - 1, memory.groups[slot, groups - 1])
            groups -= 1
        if subscriptions.closed:
            on_closed(state, memory.arms[slot], slot, memory.credits[slot])
    slot = place_of(newest, groups * subscriptions.width - 1, span)
    for group in range(groups - 1, -1, -1):
        on_group(state, memory.arms[slot], slot, group, memory.groups[slot, group])
        slot += subscriptions.width
        if slot >= span:
            slot -= span


@compiled
def place_of(newest: int, back: int, span: int) -> int:
    """The slot of the pull made `back` rounds before the newest one, back < span; the remainder would be slower."""
    slot = newest - back
    return slot if slot >= 0 else slot + span
