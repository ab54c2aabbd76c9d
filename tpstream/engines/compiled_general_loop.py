"""The compiled loop for whole-round delays, windows and full logs; loaded once for each policy, see policies/loader.py.

What is due in a round is a list of nodes. A pull puts all its nodes on the lists when it is made, part by part, and
pulls are made in order; so every list is in the canonical order, by pull and then part, without being sorted.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.events import EventColumns
from tpstream.model.numba_support import compiled, compiled_loop, held_stream
from tpstream.policies.handlers import (
    CLOSED,
    PARTIAL,
    PULL,
    Subscriptions,
    notify_partial,
    notify_pull,
    notify_received,
    on_closed,
    policy_decide,
)

LATE, DROPPED, IMPUTED = 3, 4, 5
KINDS = 8
DONE, FLUSH, ROOM, INVALID = -1, -2, -3, -4
"""Why the loop came back, besides an arm that needs a block: all rounds done, the events' columns are full, more
pulls are open or later parts are due than there is room for, a decision is no arm."""
ROUND, PENDING, LAST, WRITTEN, SHOWN, SLOTS, NODES, FREE, OPEN = range(9)
CURSOR = 9
"""Places of the cursor: the next round, a decision that waits (-1: none), the last round, events written, rows of
indices written, free slots, free nodes, the first free node, parts and closings still to come."""


class LoopMemory(NamedTuple):
    """Memory of the loop for whole-round delays and for logs: what is due in each round, as lists of nodes."""

    horizon: int
    drain: bool
    window: int
    """Rounds after which a pull is closed; -1: none."""
    default: float
    """What a part that is missing at the closing counts as; NaN: nothing."""
    pool: Floats
    """The arms' blocks of rewards, (arm, pull, part)."""
    delays: Ints
    """The rounds from pull to part, (arm, pull, part), or one row for all; -1 - d: lost, which shows after d rounds."""
    calendar: Ints
    """The round in which what arrives in a round is handed out; empty: the same."""
    plan: Ints
    """The delays of the pull that is made at present, after the calendar."""
    used: Ints
    pulls: Ints
    """Of the slots: the pull's id, its arm, nodes still to come, rewards, what was credited."""
    arms: Ints
    left: Ints
    rewards: Floats
    credited: Floats
    vacant: Ints
    """A stack of free slots."""
    node_slot: Ints
    node_code: Ints
    """part * KINDS + kind."""
    node_next: Ints
    head: Ints
    """First and last node, and number of nodes, of the round that is this modulo the size."""
    tail: Ints
    length: Ints


@compiled_loop
def run_general(
    state: Any,
    held: Any,
    subscriptions: Subscriptions,
    general: LoopMemory,
    columns: EventColumns,
    cursor: Ints,
    decisions: Ints,
) -> int:
    """Rounds with whole-round delays, windows and a full log; returns an arm or why it came back."""
    stream = held_stream(held)
    span = general.rewards.shape[1]
    start = cursor[LAST] + 1 - decisions.size
    for round in range(cursor[ROUND], cursor[LAST] + 1):
        cursor[ROUND] = round
        if is_full(columns, cursor, general.length[round % general.head.size] + 2 * span + 2):
            return FLUSH
        if round <= general.horizon:
            arm = cursor[PENDING]
            if arm < 0:
                arm = policy_decide(state, round, stream)
                cursor[PENDING] = arm
            if arm < 0 or arm >= general.used.size:
                return INVALID
            row = general.used[arm]
            if row == general.pool.shape[1]:
                return int(arm)
            reach = make_plan(general, round, arm, row)
            if reach < 0 or lacks_room(general, cursor, round, reach):
                return ROOM
            cursor[PENDING] = -1
            decisions[round - start] = arm
            general.used[arm] = row + 1
            slot = start_pull(general, cursor, round, arm, row)
            shown = credit_total(general, slot) if subscriptions.shown else np.nan
            show_indices(state, columns, cursor)
            write(columns, cursor, general, round, slot, PULL, 0, shown)
            notify_pull(state, subscriptions, arm, slot, shown)
            schedule(general, cursor, round, slot)
        deliver_due(state, subscriptions, general, columns, cursor, round)
        notify_received(state, subscriptions)
    cursor[ROUND] = cursor[LAST] + 1
    return DONE


@compiled
def is_full(columns: EventColumns, cursor: Ints, events: int) -> bool:
    """Whether so many events more, or one more row of indices, would not fit."""
    rows = columns.indices.shape[0]
    return bool(columns.kind.size - cursor[WRITTEN] < events or (rows > 0 and cursor[SHOWN] == rows))


@compiled
def lacks_room(general: LoopMemory, cursor: Ints, round: int, reach: int) -> bool:
    """Whether there is no slot, node or list for a pull that reaches so many rounds ahead."""
    if not general.drain:
        reach = min(reach, general.horizon - round)
    nodes = 2 * general.plan.size + 1
    return bool(cursor[SLOTS] == 0 or cursor[NODES] < nodes or reach >= general.head.size)


@compiled
def show_indices(state: Any, columns: EventColumns, cursor: Ints) -> None:
    """Write the indices behind the decision, if they are asked for."""
    if columns.indices.shape[0] > 0:
        for arm in range(state.indices.size):
            columns.indices[cursor[SHOWN], arm] = state.indices[arm]
        cursor[SHOWN] += 1


@compiled
def make_plan(general: LoopMemory, round: int, arm: int, row: int) -> int:
    """Look up when the parts of a new pull are due; returns the longest delay, or -1 if the calendar is too short."""
    one = general.delays.shape[0] == 1
    longest = 0
    for part in range(general.plan.size):
        delay = general.delays[0, 0, part] if one else general.delays[arm, row, part]
        due = delay if delay >= 0 else -1 - delay
        if general.calendar.size > 0 and (general.drain or round + due <= general.horizon):
            if round + due >= general.calendar.size:
                return -1
            due = general.calendar[round + due] - round
        general.plan[part] = due if delay >= 0 else -1 - due
        longest = max(longest, int(due))
    return longest


@compiled
def start_pull(general: LoopMemory, cursor: Ints, round: int, arm: int, row: int) -> int:
    """Give a new pull a slot."""
    cursor[SLOTS] -= 1
    slot = general.vacant[cursor[SLOTS]]
    general.pulls[slot] = round
    general.arms[slot] = arm
    general.left[slot] = 0
    general.credited[slot] = 0.0
    for part in range(general.rewards.shape[1]):
        general.rewards[slot, part] = general.pool[arm, row, part]
    return int(slot)


@compiled
def credit_total(general: LoopMemory, slot: int) -> float:
    """A pull's cumulative reward, added in the order of its parts."""
    total = 0.0
    for part in range(general.rewards.shape[1]):
        total += general.rewards[slot, part]
    return total


@compiled
def schedule(general: LoopMemory, cursor: Ints, round: int, slot: int) -> None:
    """Put every part and the closing of a pull on the list of the round in which it is due, in order of parts."""
    delays = general.plan
    closing = 0
    for part in range(delays.size):
        closing = max(closing, delays[part] if delays[part] >= 0 else -1 - delays[part])
    if general.window >= 0:
        closing = min(closing, general.window)
    for part in range(delays.size):
        due = delays[part] if delays[part] >= 0 else -1 - delays[part]
        missing = delays[part] < 0 or due > closing
        if missing and not np.isnan(general.default):
            append(general, cursor, round + closing, slot, (part + 1) * KINDS + IMPUTED)
        kind = DROPPED if delays[part] < 0 else LATE if due > closing else PARTIAL
        append(general, cursor, round + due, slot, (part + 1) * KINDS + kind)
    append(general, cursor, round + closing, slot, CLOSED)


@compiled
def append(general: LoopMemory, cursor: Ints, due: int, slot: int, code: int) -> None:
    """Put a node at the end of a round's list, unless time ends before."""
    if due > general.horizon and not general.drain:
        return
    node = cursor[FREE]
    cursor[FREE] = general.node_next[node]
    cursor[NODES] -= 1
    cursor[OPEN] += 1
    general.left[slot] += 1
    general.node_slot[node] = slot
    general.node_code[node] = code
    general.node_next[node] = -1
    place = due % general.head.size
    if general.length[place] == 0:
        general.head[place] = node
    else:
        general.node_next[general.tail[place]] = node
    general.tail[place] = node
    general.length[place] += 1


@compiled
def deliver_due(
    state: Any, subscriptions: Subscriptions, general: LoopMemory, columns: EventColumns, cursor: Ints, round: int
) -> None:
    """Everything on the list of this round; pulls were scheduled in order, so the list is in order."""
    place = round % general.head.size
    node = general.head[place]
    for _ in range(general.length[place]):
        slot, code = general.node_slot[node], general.node_code[node]
        arm, part, kind = general.arms[slot], code // KINDS, code % KINDS
        value = general.rewards[slot, part - 1]
        if kind == DROPPED:
            value = np.nan
        if kind == CLOSED:
            value = general.credited[slot]
            on_closed(state, arm, slot, value)
        elif kind in (PARTIAL, IMPUTED):
            value = general.default if kind == IMPUTED else value
            kind = PARTIAL
            general.credited[slot] += value
            notify_partial(state, subscriptions, arm, slot, part, value)
        write(columns, cursor, general, round, slot, kind, part, value)
        following = general.node_next[node]
        general.node_next[node] = cursor[FREE]
        cursor[FREE] = node
        node = following
        general.left[slot] -= 1
        if general.left[slot] == 0:
            general.vacant[cursor[SLOTS]] = slot
            cursor[SLOTS] += 1
    cursor[NODES] += general.length[place]
    cursor[OPEN] -= general.length[place]
    general.length[place] = 0


@compiled
def write(
    columns: EventColumns, cursor: Ints, general: LoopMemory, round: int, slot: int, kind: int, part: int, value: float
) -> None:
    """Write one event."""
    event = cursor[WRITTEN]
    columns.time[event] = round
    columns.kind[event] = kind
    columns.round[event] = min(round, general.horizon)
    columns.pull[event] = general.pulls[slot]
    columns.arm[event] = general.arms[slot]
    columns.part[event] = part
    columns.value[event] = value
    cursor[WRITTEN] = event + 1


@compiled_loop
def follow(
    state: Any,
    subscriptions: Subscriptions,
    stream: np.random.Generator,
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
    """Tell the policy recorded events and let it decide at every pull; the first pull of another arm, or -1.

    The events are whole stretches from one decision to the next. The policy's last decision is in decided[0].
    """
    for event in range(kind.size):
        slot = pull[event] % capacity
        if event > 0 and (kind[event] == PULL or time[event] != time[event - 1]):
            notify_received(state, subscriptions)
        if kind[event] == PARTIAL:
            notify_partial(state, subscriptions, arm[event], slot, part[event], value[event])
        elif kind[event] == CLOSED:
            on_closed(state, arm[event], slot, value[event])
        elif kind[event] == PULL:
            decided[0] = policy_decide(state, round[event], stream)
            if decided[0] != arm[event]:
                return event
            notify_pull(state, subscriptions, arm[event], slot, value[event])
    notify_received(state, subscriptions)
    return -1
