"""Sparse logs: a part that paid nothing has no event. Reading puts these events in, `without_zeros` takes them out.

The rule: a part of which a sparse log has no event paid 0 at its nominal time, or at the closing of its pull if that is
earlier. The nominal time is that of the pull plus the part's visit or, if the scenario names no visits, plus part - 1.
So parts that are lost, late or delayed must be written; zeros may be. In a log of payments a part is a period of age,
and that nothing came in it is known at its end: pull time + part. Where feedback is hidden (`reveal`), zeros that are
repeated at the closing are left out, too: reading repeats every zero that was withheld, written or not.

A log is read twice. First it is noted which parts have events, since an event may come long after the part's nominal
time, and when pulls are closed; this takes some 40 bytes and a bit per part for each pull. Then the written events are
merged with the zeros, in the order of the schema, batch by batch. Events are numbered anew. What is wrong in the
written events stays wrong, for the rules of a log to find.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tpstream.log.contract import Checker
from tpstream.log.guard import FormatReader
from tpstream.log.schema import Header
from tpstream.log.sparse_merge import Merge, Merged, cut, empty_rows, fill, merge
from tpstream.model.arrays import Bools, Bytes, Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import (
    CLOSED,
    COLUMN,
    COLUMN_NAMES,
    COLUMNS,
    KIND_NAMES,
    LATE,
    NO_PULL,
    OUTSIDE_COLUMNS,
    PART_KINDS,
    PARTIAL,
    PULL,
    Columns,
    Events,
    about_looks,
)
from tpstream.model.numba_support import compiled_loop
from tpstream.model.pull_rows import check_room, longer, most_rows

CHUNK = 100_000
"""Events that a batch of a filled log has at most."""
NAMES = tuple(column.name for column in COLUMNS if not column.optional)
"""The columns that are read whichever are asked for."""


class Parts(NamedTuple):
    """What is known of every pull, a row for each; and where the log ends."""

    known: NDArray[np.uint8]
    """A bit for every part that has an event."""
    closings: Floats
    """When the pull is closed; infinite for one that is open at the end."""
    end: float
    """The time up to which zeros are put in after the last written event; -inf: none are."""
    again: NDArray[np.uint8]
    """A bit for every part that is repeated as a zero at the closing: one without an event, or one that is withheld."""


def nominal_times(header: Header) -> Floats:
    """When the parts of a pull are due, counted from the pull: at its visits, if the scenario names any.

    Of payments: when the period of a part ends.
    """
    visits = header.scenario.get("visits")
    if isinstance(visits, list) and len(visits) == header.span:
        return np.array(visits, dtype=np.float64)
    parts = np.arange(header.span, dtype=np.float64)
    return np.minimum(parts + 1, header.window or header.span) if header.payments else parts


def part_kinds(header: Header) -> tuple[int, ...]:
    """The kinds of events that say what became of a part; a late payment says nothing about a period."""
    return tuple(kind for kind in PART_KINDS if not (header.payments and kind == LATE))


def filled(reader: FormatReader, path: Path) -> FormatReader:
    """The reader of a sparse log that gives the zeros too; `written` is the one that does not."""
    return replace(reader, batches=partial(_filled_batches, reader, path), written=reader)


def _filled_batches(reader: FormatReader, path: Path, names: Sequence[str]) -> Iterator[Columns]:
    """The columns of these names with the zeros, batch by batch."""
    _check_end(reader, path)
    header = reader.header
    parts = _read_parts(reader, path, part_kinds(header))
    pulls = len(parts.closings)
    state = Merge(
        nominal=nominal_times(header),
        known=parts.known,
        closings=parts.closings,
        pulled=np.zeros(pulls),
        arms=np.zeros(pulls, dtype=np.int64),
        parts=np.zeros(pulls, dtype=np.int64),
        again=parts.again,
        repeats=np.zeros(pulls, dtype=np.int64),
        heap=np.zeros(pulls, dtype=np.int64),
        numbers=np.zeros(3, dtype=np.int64),
    )
    needed = [*NAMES, *(["shown"] if header.reveal != "all" else [])]
    needed += [name for name in header.world_columns if name in OUTSIDE_COLUMNS and name in names]
    optional = [name for name in names if name not in needed]
    numbering = Numbering()
    for columns in reader.batches([*needed, *optional]):
        written = tuple(columns[name] for name in ("time", "kind", "round", "pull", "arm", "part"))
        first, state.numbers[2] = 0, 0
        while state.numbers[2] < len(columns["seq"]):
            rows = empty_rows(CHUNK)
            chunk = numbering.assemble(columns, cut(rows, merge(written, state, rows)))
            pulled = int(np.count_nonzero(chunk["kind"] == PULL))
            chunk |= {name: columns[name][first : first + pulled] for name in optional if name in columns}
            first += pulled
            yield {name: chunk[name] for name in names if name in chunk}
    columns = {name: COLUMN[name].empty(0) for name in needed}
    while count := fill(state, rows := empty_rows(CHUNK), 0, (parts.end, pulls + 1, 0, 0)):
        chunk = numbering.assemble(columns, cut(rows, count))
        yield {name: chunk[name] for name in names if name in chunk}


def _check_end(reader: FormatReader, path: Path) -> None:
    """Refuse a torn log of a world with delays: a part without an event may be a zero or under way."""
    delays = [key for key in ("delays", "visit_spread", "window") if reader.header.scenario.get(key)]
    if not reader.complete and delays:
        raise LogError(
            f"{path}: the log is torn, and its scenario has {' and '.join(delays)}: of a part without an event it "
            f"cannot be said whether it paid nothing or was under way; use a complete log, or a torn one with its zeros"
        )


class Numbering:
    """Makes columns of merged rows, and numbers the events: a zero moves those after it on by one."""

    def __init__(self) -> None:
        self._last = -1
        """The number of the last written event."""
        self._zeros = 0
        """Zeros so far."""

    def assemble(self, columns: Columns, rows: Merged) -> Columns:
        """The columns of merged rows, from those of the written events."""
        is_zero = rows.origin < 0
        chosen = rows.origin[~is_zero]
        merged: Columns = {"value": np.zeros(len(is_zero)), "kind": np.full(len(is_zero), PARTIAL, dtype=np.int8)}
        merged |= {name: getattr(rows, name) for name in Merged._fields if name in columns}
        merged |= {name: COLUMN[name].missing(len(is_zero)) for name in OUTSIDE_COLUMNS if name in columns}
        for name, column in merged.items():
            column[~is_zero] = columns[name][chosen]
        numbers = np.full(len(is_zero), self._last)
        numbers[~is_zero] = columns["seq"][chosen]
        # A gap in the written numbers stays one; a zero follows on the written event before it.
        before = np.maximum.accumulate(np.where(is_zero, -1, np.arange(len(is_zero))))
        numbers = np.where(before < 0, self._last, numbers[before])
        merged["seq"] = numbers + self._zeros + np.cumsum(is_zero)
        self._last, self._zeros = int(numbers[-1]), self._zeros + int(np.count_nonzero(is_zero))
        return merged


def _read_parts(reader: FormatReader, path: Path, kinds: Sequence[int]) -> Parts:
    """Note which parts have an event of these kinds, when pulls are closed, and when the log ends."""
    header, pulls, last = reader.header, 0, -np.inf
    known, closings = np.zeros((0, header.span // 8 + 1), dtype=np.uint8), np.zeros(0)
    chosen = np.zeros(len(KIND_NAMES), dtype=np.bool_)
    chosen[list(kinds)] = True
    names = ["seq", "time", "kind", "pull", "part", *(["value", "shown"] if header.reveal == "positive" else [])]
    withheld = np.zeros_like(known)
    for columns in reader.batches(names):
        _check_ranges(path, columns, pulls, header.span)
        pulls += int(np.count_nonzero(columns["kind"] == PULL))
        if pulls > len(closings):
            row_bytes = 3 * known.shape[1]  # those that are withheld, and those that are repeated
            check_room(path, pulls, row_bytes, f"pulls of {header.span:,} parts")
            more = max(pulls, min(2 * len(closings), most_rows(row_bytes))) - len(closings)
            known, closings = longer(known, more), np.append(closings, np.full(more, np.inf))
            withheld = longer(withheld, more)
        if "shown" in columns:
            zero = _is_zero(columns["kind"], columns["value"]) & ~columns["shown"]
            row, part = columns["pull"][zero] - 1, columns["part"][zero]
            np.bitwise_or.at(withheld, (row, part // 8), (1 << (part % 8)).astype(np.uint8))
        _note(columns["kind"], columns["time"], columns["pull"], columns["part"], chosen, known, closings)
        last = float(columns["time"][-1]) if len(columns["time"]) else last
    until = header.until
    if until is not None and until < last:
        raise LogError(f"{path}: header: until is {until:g}, but the last event is at time {last:g}; correct it")
    end = -np.inf if not reader.complete else last if until is None else until
    again = ~known | withheld if header.reveal == "positive" else withheld
    return Parts(known[:pulls], closings[:pulls], end, again[:pulls])


def _check_ranges(path: Path, columns: Columns, pulls: int, span: int) -> None:
    """Refuse numbers of pulls and parts for which there is no row; the rules of a log find everything else."""
    if about_looks(columns["kind"]).any():
        raise LogError(f"{path}: a log with the looks of a trial has all events; it cannot be sparse")
    is_pull = columns["kind"] == PULL
    made = pulls + np.cumsum(is_pull)
    expected = np.where(is_pull, made, np.clip(columns["pull"], np.where(columns["kind"] >= NO_PULL, 0, 1), made))
    for name, wrong, what in (
        ("pull", columns["pull"] != expected, "pulls are numbered 1, 2, ... as they are made"),
        ("part", (columns["part"] < 0) | (columns["part"] > span), f"the span is {span}"),
    ):
        if wrong.any():
            place = int(np.argmax(wrong))
            raise LogError(f"{path}: event {columns['seq'][place]}: {name} {columns[name][place]}; {what}")


@compiled_loop
def _note(kind: Bytes, time: Floats, pull: Ints, part: Ints, chosen: Bools, known: Any, closings: Floats) -> None:
    """Mark the parts of events of the chosen kinds, and keep the times of closings."""
    for event in range(kind.size):
        if kind[event] == CLOSED:
            closings[pull[event] - 1] = min(closings[pull[event] - 1], time[event])
        elif chosen[kind[event]]:
            known[pull[event] - 1, part[event] // 8] |= 1 << (part[event] % 8)


def without_zeros(reader: FormatReader, path: Path) -> tuple[Header, Iterator[Events]]:
    """The header and the events of the same log as a sparse one: without the zeros that reading puts in again.

    Raises LogError if the log breaks a rule, since that would be hidden, or if a part has no event although its time
    has come: in a sparse log it would count as a zero.
    """
    _check_end(reader, path)
    parts = _read_parts(reader, path, part_kinds(reader.header))
    until = None if not reader.complete or np.isinf(parts.end) else parts.end
    return msgspec.structs.replace(reader.header, sparse=True, until=until), _without_zeros(reader, path, parts)


def _without_zeros(reader: FormatReader, path: Path, parts: Parts) -> Iterator[Events]:
    gone = _read_parts(reader, path, [kind for kind in part_kinds(reader.header) if kind != PARTIAL]).known
    nominal, pulled, count = nominal_times(reader.header), np.zeros(len(parts.closings)), 0
    checker = Checker(reader.header)
    for columns in reader.batches(COLUMN_NAMES):
        events = Events(**columns)
        broken = checker.first_broken(events)
        if broken is not None:
            raise broken.error(path)
        is_pull = events.kind == PULL
        pulled[events.pull[is_pull] - 1] = events.time[is_pull]
        row, part = events.pull - 1, np.maximum(events.part, 1)
        due = np.minimum(pulled[row] + nominal[part - 1], parts.closings[row])
        is_zero = _is_zero(events.kind, events.value)
        stays = ~is_zero | (events.time != due) | _is_marked(gone, row, part)
        if events.shown is not None:
            stays = np.where(events.shown, ~is_zero, stays)  # one that is shown repeats one that was withheld
        left = {name: rows if COLUMN[name].per_pull else rows[stays] for name, rows in columns.items()}
        left["seq"] = np.arange(count, count + len(left["seq"]))
        count += len(left["seq"])
        yield Events(**left)
    pull, number = _first_unknown(parts, pulled, nominal)
    if pull:
        raise LogError(
            f"{path}: part {number} of pull {pull} has no event although its time has come: it is under way, and in a "
            f"sparse log it would count as a zero; run the scenario with drain = true"
        )


def _is_zero(kind: Bytes, value: Floats) -> Bools:
    """Whether an event says that a part paid nothing."""
    zero: Bools = (kind == PARTIAL) & (value == 0) & ~np.signbit(value)
    return zero


def _is_marked(known: NDArray[np.uint8], row: Ints, part: Ints) -> Bools:
    marked: Bools = (known[row, part // 8] >> (part % 8) & 1) > 0
    return marked


@compiled_loop
def _first_unknown(parts: Parts, pulled: Floats, nominal: Floats) -> tuple[int, int]:
    """The first pull and part of which there is no event although its time has come; zeros if there is none."""
    for row in range(pulled.size):
        for part in range(1, nominal.size + 1):
            due = min(pulled[row] + nominal[part - 1], parts.closings[row])
            if due <= parts.end and not parts.known[row, part // 8] & (1 << (part % 8)):
                return row + 1, part
    return 0, 0
