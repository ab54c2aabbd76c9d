"""The compiled loop for delays of whole rounds, windows and full logs.

This file is loaded once for each policy, with the policy's functions in the place of the imported ones; see
policies/loader.py. What is due in a round is a linked list of nodes. A pull appends all its nodes when it is made, part
by part, and pulls are made in order; so every list is in the canonical order, by pull and then part, without sorting.
"""

from typing import Any, NamedTuple

import numpy as np

from tpstream.engines.draws import CODES, IMPUTED
from tpstream.model.arrays import Floats, Ints
from tpstream.model.events import CLOSED, DROPPED, LATE, PARTIAL, PULL, EventColumns
from tpstream.model.numba_support import compiled, compiled_loop, held_stream
from tpstream.policies.handlers import (
    Subscriptions,
    notify,
    notify_pull,
    notify_received,
    policy_decide,
    set_clock,
    show_decision,
)

DONE, FLUSH, ROOM, INVALID = -1, -2, -3, -4
"""Why the loop returned, if not for an arm that needs its next block: all rounds are done, the arrays of events are
full, the memory is too small for the open pulls or for their latest part, a decision is no arm."""
ROUND, PENDING, LAST, WRITTEN, SHOWN, SLOTS, NODES, FREE, OPEN = range(9)
CURSOR = 9
"""Places of the cursor: the next round, a decision that waits (-1: none), the last round, events written, rows of
indices written, free slots, free nodes, the first free node, nodes on the lists."""


class LoopMemory(NamedTuple):
    """What the loop remembers: the blocks of the arms, the open pulls by slot, and the lists of what is due."""

    horizon: int
    rows: int
    """Rows of the optional columns for pulls; 0 if none of them is asked for."""
    drain: bool
    window: int
    """Rounds after which a pull is closed; -1: no window."""
    default: float
    """What a part that is missing at the closing counts as; NaN: nothing."""
    pool: Floats
    """The arms' blocks of rewards, (arm, pull, part)."""
    totals: Floats
    """The cumulative rewards of the blocks, (arm, pull)."""
    delays: Ints
    """Rounds from pull to part, (arm, pull, part), or one row for all; -1 - d: lost, which is known after d rounds."""
    calendar: Ints
    """For each round, the round in which what arrives then is handed out; empty: the same round."""
    plan: Ints
    """The delays of the pull that is made at present, after the calendar."""
    used: Ints
    """How many pulls of its block each arm has used."""
    pulls: Ints
    """For each slot: the pull's number, its arm, its nodes on the lists, its rewards, what it was credited with."""
    arms: Ints
    left: Ints
    rewards: Floats
    credited: Floats
    vacant: Ints
    """A stack of free slots."""
    node_slot: Ints
    """For each node: the slot of its pull, its code (part * CODES + kind + 1), and the next node of its list."""
    node_code: Ints
    node_next: Ints
    head: Ints
    """For each round, modulo the size: the first node, the last node and the number of nodes of its list."""
    tail: Ints
    length: Ints


@compiled_loop
def run_general(
    state: Any,
    held: Any,
    subscriptions: Subscriptions,
    memory: LoopMemory,
    columns: EventColumns,
    cursor: Ints,
    decisions: Ints,
) -> int:
    """Run the rounds up to cursor[LAST] and write their arms and events; returns an arm, or why it returned."""
    stream = held_stream(held)
    span = memory.rewards.shape[1]
    start = cursor[LAST] + 1 - decisions.size
    for round in range(cursor[ROUND], cursor[LAST] + 1):
        cursor[ROUND] = round
        set_clock(state, round)
        if is_full(memory, columns, cursor, memory.length[round % memory.head.size] + 2 * span + 2):
            return FLUSH
        if round <= memory.horizon:
            arm = cursor[PENDING]
            if arm < 0:
                arm = policy_decide(state, round, stream)
                cursor[PENDING] = arm
            if arm < 0 or arm >= memory.used.size:
                return INVALID
            row = memory.used[arm]
            if row == memory.pool.shape[1]:
                return int(arm)
            reach = make_plan(memory, round, arm, row)
            if reach < 0 or lacks_room(memory, cursor, round, reach):
                return ROOM
            cursor[PENDING] = -1
            decisions[round - start] = arm
            memory.used[arm] = row + 1
            slot = start_pull(memory, cursor, round, arm, row)
            shown = memory.totals[arm, row] if subscriptions.shown else np.nan
            if memory.rows > 0:
                show_decision(state, columns, cursor[SHOWN], arm)
                cursor[SHOWN] += 1
            write(columns, cursor, memory, round, slot, PULL, 0, shown)
            notify_pull(state, subscriptions, round, arm, slot, shown)
            schedule(memory, cursor, round, slot)
        deliver_due(state, subscriptions, memory, columns, cursor, round)
        notify_received(state, subscriptions)
    cursor[ROUND] = cursor[LAST] + 1
    return DONE


@compiled
def is_full(memory: LoopMemory, columns: EventColumns, cursor: Ints, events: int) -> bool:
    """Whether this many more events, or one more row of the columns for pulls, would not fit."""
    return bool(columns.kind.size - cursor[WRITTEN] < events or (memory.rows > 0 and cursor[SHOWN] == memory.rows))


@compiled
def lacks_room(memory: LoopMemory, cursor: Ints, round: int, reach: int) -> bool:
    """Whether there is no slot, node or list for a pull whose last part is due in `reach` rounds."""
    if not memory.drain:
        reach = min(reach, memory.horizon - round)
    nodes = 2 * memory.plan.size + 1
    return bool(cursor[SLOTS] == 0 or cursor[NODES] < nodes or reach >= memory.head.size)


@compiled
def make_plan(memory: LoopMemory, round: int, arm: int, row: int) -> int:
    """Look up when the parts of a new pull are due; returns the longest delay, or -1 if the calendar is too short."""
    one = memory.delays.shape[0] == 1
    longest = 0
    for part in range(memory.plan.size):
        delay = memory.delays[0, 0, part] if one else memory.delays[arm, row, part]
        due = delay if delay >= 0 else -1 - delay
        if memory.calendar.size > 0 and (memory.drain or round + due <= memory.horizon):
            if round + due >= memory.calendar.size:
                return -1
            due = memory.calendar[round + due] - round
        memory.plan[part] = due if delay >= 0 else -1 - due
        longest = max(longest, int(due))
    return longest


@compiled
def start_pull(memory: LoopMemory, cursor: Ints, round: int, arm: int, row: int) -> int:
    """Give a new pull a slot."""
    cursor[SLOTS] -= 1
    slot = memory.vacant[cursor[SLOTS]]
    memory.pulls[slot] = round
    memory.arms[slot] = arm
    memory.left[slot] = 0
    memory.credited[slot] = 0.0
    for part in range(memory.rewards.shape[1]):
        memory.rewards[slot, part] = memory.pool[arm, row, part]
    return int(slot)


@compiled
def schedule(memory: LoopMemory, cursor: Ints, round: int, slot: int) -> None:
    """Append every part of a pull, and its closing, to the list of the round in which it is due."""
    delays = memory.plan
    closing = 0
    for part in range(delays.size):
        closing = max(closing, delays[part] if delays[part] >= 0 else -1 - delays[part])
    if memory.window >= 0:
        closing = min(closing, memory.window)
    for part in range(delays.size):
        due = delays[part] if delays[part] >= 0 else -1 - delays[part]
        missing = delays[part] < 0 or due > closing
        if missing and not np.isnan(memory.default):
            append(memory, cursor, round + closing, slot, part + 1, IMPUTED)
        kind = DROPPED if delays[part] < 0 else LATE if due > closing else PARTIAL
        append(memory, cursor, round + due, slot, part + 1, kind)
    append(memory, cursor, round + closing, slot, 0, CLOSED)


@compiled
def append(memory: LoopMemory, cursor: Ints, due: int, slot: int, part: int, kind: int) -> None:
    """Append a node to the list of the round in which it is due, unless the run ends before.

    A pull that is still open at the end keeps its slot: the policy may look through all open pulls.
    """
    if due > memory.horizon and not memory.drain:
        if kind == CLOSED:
            memory.left[slot] += 1
        return
    node = cursor[FREE]
    cursor[FREE] = memory.node_next[node]
    cursor[NODES] -= 1
    cursor[OPEN] += 1
    memory.left[slot] += 1
    memory.node_slot[node] = slot
    memory.node_code[node] = part * CODES + kind + 1
    memory.node_next[node] = -1
    place = due % memory.head.size
    if memory.length[place] == 0:
        memory.head[place] = node
    else:
        memory.node_next[memory.tail[place]] = node
    memory.tail[place] = node
    memory.length[place] += 1


@compiled
def deliver_due(
    state: Any, subscriptions: Subscriptions, memory: LoopMemory, columns: EventColumns, cursor: Ints, round: int
) -> None:
    """Deliver everything on the list of this round, and free its nodes and the slots of finished pulls."""
    place = round % memory.head.size
    node = memory.head[place]
    for _ in range(memory.length[place]):
        slot, code = memory.node_slot[node], memory.node_code[node]
        part, kind = code // CODES, code % CODES - 1
        value = memory.rewards[slot, part - 1]
        if kind == IMPUTED:
            kind, value = PARTIAL, memory.default
        if kind == PARTIAL:
            memory.credited[slot] += value
        elif kind == CLOSED:
            value = memory.credited[slot]
        elif kind == DROPPED:
            value = np.nan
        notify(state, subscriptions, kind, memory.pulls[slot], memory.arms[slot], slot, part, value)
        write(columns, cursor, memory, round, slot, kind, part, value)
        following = memory.node_next[node]
        memory.node_next[node] = cursor[FREE]
        cursor[FREE] = node
        node = following
        memory.left[slot] -= 1
        if memory.left[slot] == 0:
            memory.vacant[cursor[SLOTS]] = slot
            cursor[SLOTS] += 1
    cursor[NODES] += memory.length[place]
    cursor[OPEN] -= memory.length[place]
    memory.length[place] = 0


@compiled
def write(
    columns: EventColumns, cursor: Ints, memory: LoopMemory, round: int, slot: int, kind: int, part: int, value: float
) -> None:
    """Write one event."""
    event = cursor[WRITTEN]
    columns.time[event] = round
    columns.kind[event] = kind
    columns.round[event] = min(round, memory.horizon)
    columns.pull[event] = memory.pulls[slot]
    columns.arm[event] = memory.arms[slot]
    columns.part[event] = part
    columns.value[event] = value
    cursor[WRITTEN] = event + 1
