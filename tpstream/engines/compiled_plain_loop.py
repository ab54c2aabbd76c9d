"""The compiled loop for the paper's world without a log; loaded once for each policy, see policies/loader.py."""

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
)

DONE, INVALID = -1, -2


class PlainMemory(NamedTuple):
    """Memory of the loop for the paper's world."""

    pool: Floats
    """The arms' blocks of rewards, (arm, pull, part)."""
    totals: Floats
    """The pulls' cumulative rewards, (arm, pull)."""
    sums: Floats
    """The pulls' group sums, (arm, pull, group)."""
    used: Ints
    """Pulls that an arm took from its block."""
    arms: Ints
    """Of the open pulls."""
    rewards: Floats
    """Of the open pulls, (slot, part)."""
    credits: Floats
    """Their cumulative rewards."""
    groups: Floats
    """Their group sums, (slot, group)."""
    due: Floats
    """What each arm will be paid in the coming rounds, (arm, round modulo span)."""


@compiled_loop
def run_plain(
    state: Any, held: Any, subscriptions: Subscriptions, plain: PlainMemory, cursor: Ints, decisions: Ints
) -> int:
    """Rounds of the paper's world without a log: part j of a pull arrives j - 1 rounds after it.

    Decides rounds cursor[0] to cursor[2] and writes their arms. Returns DONE when they are done, or the arm whose block
    of rewards is used up, or INVALID for a decision that is no arm; the decision then waits in cursor[1].
    """
    stream = held_stream(held)
    span = plain.arms.size
    last = cursor[2]
    start = last + 1 - decisions.size
    slot = cursor[0] % span
    for round in range(cursor[0], last + 1):
        cursor[0] = round  # also for whoever asks in which round a policy raised
        arm = cursor[1]
        if arm < 0:
            arm = policy_decide(state, round, stream)
        cursor[1] = arm
        if arm < 0 or arm >= plain.used.size:
            return INVALID
        row = plain.used[arm]
        if row == plain.totals.shape[1]:
            return int(arm)
        cursor[1] = -1
        plain.used[arm] = row + 1
        total = plain.totals[arm, row]
        decisions[round - start] = arm
        plain.arms[slot] = arm
        plain.credits[slot] = total
        on_pull(state, arm, slot, total if subscriptions.shown else np.nan)
        take_rewards(subscriptions, plain, arm, row, slot)
        deliver(state, subscriptions, plain, round, slot)
        slot = slot + 1 if slot + 1 < span else 0
    cursor[0] = last + 1
    return DONE


@compiled
def take_rewards(subscriptions: Subscriptions, plain: PlainMemory, arm: int, row: int, slot: int) -> None:
    """Put a new pull's rewards where their delivery will look for them."""
    span = plain.arms.size
    if subscriptions.partial:
        for part in range(span):
            plain.rewards[slot, part] = plain.pool[arm, row, part]
    if subscriptions.received:
        for part in range(span - slot):
            plain.due[arm, slot + part] += plain.pool[arm, row, part]
        for part in range(span - slot, span):
            plain.due[arm, slot + part - span] += plain.pool[arm, row, part]
    if subscriptions.group:
        for group in range(plain.groups.shape[1]):
            plain.groups[slot, group] = plain.sums[arm, row, group]


@compiled
def deliver(state: Any, subscriptions: Subscriptions, plain: PlainMemory, round: int, slot: int) -> None:
    """Everything due in this round, in order of the pulls; the oldest of them may be complete."""
    if subscriptions.partial:
        deliver_parts(state, subscriptions, plain, round, slot)
    elif subscriptions.group or subscriptions.closed:
        deliver_groups(state, subscriptions, plain, round, slot)
    if subscriptions.received:
        for arm in range(plain.due.shape[0]):
            if plain.due[arm, slot] != 0.0:
                on_received(state, arm, plain.due[arm, slot])
                plain.due[arm, slot] = 0.0


@compiled
def deliver_parts(state: Any, subscriptions: Subscriptions, plain: PlainMemory, round: int, newest: int) -> None:
    """Every part due in this round, in order of the pulls; the oldest of them may be complete."""
    span = plain.arms.size
    slot = place_of(newest, min(span, round) - 1, span)
    for part in range(min(span, round), 0, -1):
        on_partial(state, plain.arms[slot], slot, part, plain.rewards[slot, part - 1])
        if subscriptions.group and part % subscriptions.width == 0:
            group = part // subscriptions.width - 1
            on_group(state, plain.arms[slot], group, plain.groups[slot, group])
        if subscriptions.closed and part == span:
            on_closed(state, plain.arms[slot], slot, plain.credits[slot])
        slot = slot + 1 if slot + 1 < span else 0


@compiled
def deliver_groups(state: Any, subscriptions: Subscriptions, plain: PlainMemory, round: int, newest: int) -> None:
    """Every group complete in this round, in order of the pulls; the oldest of them may be complete."""
    span = plain.arms.size
    groups = 0
    if subscriptions.group:
        groups = plain.groups.shape[1] if round >= span else round // subscriptions.width
    if round >= span:
        slot = place_of(newest, span - 1, span)
        if subscriptions.group:
            on_group(state, plain.arms[slot], groups - 1, plain.groups[slot, groups - 1])
            groups -= 1
        if subscriptions.closed:
            on_closed(state, plain.arms[slot], slot, plain.credits[slot])
    slot = place_of(newest, groups * subscriptions.width - 1, span)
    for group in range(groups - 1, -1, -1):
        on_group(state, plain.arms[slot], group, plain.groups[slot, group])
        slot += subscriptions.width
        if slot >= span:
            slot -= span


@compiled
def place_of(newest: int, back: int, span: int) -> int:
    """The slot of the pull so many rounds before the newest one, less than a span; a division would cost more."""
    slot = newest - back
    return slot if slot >= 0 else slot + span
