"""The merge of the written events of a sparse log with its zeros: a compiled loop over both in the order of the schema.

The zeros of a pull come in the order of its parts, and so do those that are repeated at its closing, where feedback is
hidden. So a heap with one entry for each pull that has a zero to come, by time, then pull, gives all of them in order.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.events import CLOSED, PULL
from tpstream.model.numba_support import compiled, compiled_loop


class Merge(NamedTuple):
    """The state of the merge: the zeros of open pulls that are next, in a heap by time, pull and part."""

    nominal: Floats
    """When the parts of a pull are due, after the pull."""
    known: NDArray[np.uint8]
    closings: Floats
    pulled: Floats
    """The time of every pull."""
    arms: Ints
    """Its arm."""
    parts: Ints
    """Its next part that has no event."""
    again: NDArray[np.uint8]
    """A bit for every part that is repeated as a zero at the closing."""
    repeats: Ints
    """Its next such part."""
    heap: Ints
    """Pulls that have such a part, less one; the first `numbers[0]` entries are a binary heap."""
    numbers: Ints
    """The size of the heap; the number of the last decision; the next event of the batch."""


class Merged(NamedTuple):
    """Rows of merged events: for a written one only its place in the batch, for a zero -1 and its columns."""

    origin: Ints
    time: Floats
    round: Ints
    pull: Ints
    arm: Ints
    part: Ints
    shown: Bools
    """Whether a zero is repeated; a log in which nothing is hidden has no such column."""


def empty_rows(count: int) -> Merged:
    """Room for so many events."""
    origin, round, pull, arm, part = np.empty((5, count), dtype=np.int64)
    return Merged(origin, np.empty(count), round, pull, arm, part, np.empty(count, dtype=np.bool_))


def cut(rows: Merged, count: int) -> Merged:
    """The first rows."""
    return Merged._make(column[:count] for column in rows)


@compiled_loop
def merge(columns: Any, state: Merge, rows: Merged) -> int:
    """Merge the rest of a batch with zeros until the rows are full; the number of rows that were filled."""
    time, kind, round, pull, arm, part = columns
    span, count = state.nominal.size, 0
    while state.numbers[2] < kind.size and count < rows.origin.size:
        event = state.numbers[2]
        if kind[event] == PULL:
            key = (time[event], 0, 0, 0)  # decisions come first at their time
        else:
            key = (time[event], pull[event], span + 1 if kind[event] == CLOSED else part[event], 0)
        count = fill(state, rows, count, key)
        if count == rows.origin.size:
            break
        rows.origin[count] = event
        count += 1
        state.numbers[2] += 1
        if kind[event] == PULL:
            state.numbers[1] = round[event]
            state.pulled[pull[event] - 1] = time[event]
            state.arms[pull[event] - 1] = arm[event]
            _open(state, pull[event] - 1)
    return count


@compiled_loop
def fill(state: Merge, rows: Merged, count: int, key: tuple[float, int, int, int]) -> int:
    """Add the zeros that come before a time, pull, part and place among its events; the number of rows with them."""
    while state.numbers[0] and count < rows.origin.size:
        row = state.heap[0]
        due, part, again = _next_zero(state, row)
        if (due, row + 1, part, again) >= key:
            break
        rows.origin[count] = -1
        rows.time[count] = due
        rows.round[count] = state.numbers[1]
        rows.pull[count] = row + 1
        rows.arm[count] = state.arms[row]
        rows.part[count] = part
        rows.shown[count] = again == 1
        count += 1
        _go_on(state, row, again)
        if _is_done(state, row):
            state.numbers[0] -= 1
            state.heap[0] = state.heap[state.numbers[0]]
        _sift_down(state)
    return count


@compiled
def _next_zero(state: Merge, row: int) -> tuple[float, int, int]:
    """When the next zero of a pull comes, its part, and 1 if it is a repeated one, else 0."""
    part, repeated, closing = state.parts[row], state.repeats[row], state.closings[row]
    if part > state.nominal.size:
        return closing, repeated, 1
    due = min(state.pulled[row] + state.nominal[part - 1], closing)
    if repeated <= state.nominal.size and (closing, repeated) < (due, part):
        return closing, repeated, 1
    return due, part, 0


@compiled
def _go_on(state: Merge, row: int, again: int) -> None:
    """Go to the next part that has no event, or that is repeated; one more than the span if there is none."""
    if again:
        part = state.repeats[row] + 1
        while part <= state.nominal.size and not state.again[row, part // 8] & (1 << (part % 8)):
            part += 1
        state.repeats[row] = part
    else:
        part = state.parts[row] + 1
        while part <= state.nominal.size and state.known[row, part // 8] & (1 << (part % 8)):
            part += 1
        state.parts[row] = part


@compiled
def _is_done(state: Merge, row: int) -> bool:
    """Whether no zero of a pull is to come."""
    return bool(min(state.parts[row], state.repeats[row]) > state.nominal.size)


@compiled
def _is_before(state: Merge, one: int, other: int) -> bool:
    """Whether the next zero of one pull comes before that of another one."""
    return bool((_next_zero(state, one)[0], one) < (_next_zero(state, other)[0], other))


@compiled
def _open(state: Merge, row: int) -> None:
    """Put a new pull on the heap, if a zero of it is to come."""
    state.parts[row] = state.repeats[row] = 0
    _go_on(state, row, 0)
    _go_on(state, row, 1)
    if _is_done(state, row):
        return
    heap, place = state.heap, state.numbers[0]
    heap[place] = row
    state.numbers[0] += 1
    while place and _is_before(state, heap[place], heap[(place - 1) // 2]):
        above = (place - 1) // 2
        heap[place], heap[above] = heap[above], heap[place]
        place = above


@compiled
def _sift_down(state: Merge) -> None:
    """Move the first entry of the heap to its place."""
    heap, size, place = state.heap, state.numbers[0], 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _is_before(state, heap[below + 1], heap[below]):
            below += 1
        if not _is_before(state, heap[below], heap[place]):
            return
        heap[place], heap[below] = heap[below], heap[place]
        place = below
