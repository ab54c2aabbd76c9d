"""The readable format of a log: JSON lines, written through structlog; header first, then events, then the end."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

import msgspec
import numpy as np
import structlog

from tpstream.log.formats import DIGITS, LogFile
from tpstream.log.guard import FormatReader
from tpstream.log.schema import Header, decode_header
from tpstream.model.errors import LogError, did_you_mean
from tpstream.model.events import COLUMN, COLUMN_NAMES, KIND_NAMES, PULL, Column, Columns, Event, Events

CHUNK = 1 << 22
"""Bytes that are decoded at a time."""
TAIL = 1 << 16
"""Bytes at the end of a file in which its last line is looked for first."""
LONGEST = 50_000_000
"""Bytes of a line."""
CODES = {name: code for code, name in enumerate(KIND_NAMES)}

_BROKEN = (msgspec.DecodeError, ValueError, KeyError, OverflowError)
"""What a line raises that is no event."""
_encoder = msgspec.json.Encoder()
Decoded = TypeVar("Decoded")


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The last line of a complete log: the number of its events, and the SHA-256 of the file."""

    end: Annotated[int, msgspec.Meta(ge=0)]
    sha256: str | None = None


def render(_: object, __: str, record: structlog.typing.EventDict) -> bytes:
    """The structlog renderer: one JSON object a line, a whole batch in one call."""
    lines: Sequence[Header | Event | End] = record["lines"]
    return _encoder.encode_lines(lines).removesuffix(b"\n")


def encode_lines(lines: Sequence[Header | Event]) -> bytes:
    """Whole lines, for a log that is written event by event."""
    return _encoder.encode_lines(lines)


def to_events(lines: Sequence[Event], header: Header) -> Events:
    """Events one by one as arrays."""
    return Events(**_to_columns(list(lines), _stored(header, COLUMN_NAMES), len(header.arms)))


class Writer:
    """Writes batches of events as lines."""

    def __init__(self, file: LogFile, header: Header) -> None:
        self._file = file
        self._logger = structlog.wrap_logger(structlog.BytesLogger(file), processors=[render])  # type: ignore[arg-type]
        self._logger.msg("lines", lines=[header])

    def write(self, events: Events) -> None:
        """Write a batch of events."""
        self._logger.msg("lines", lines=list(events))

    def end(self, count: int | None) -> None:
        """Write the end line; nothing for a torn log."""
        if count is not None:
            self._file.write(_encoder.encode(End(count, DIGITS.decode())) + b"\n")
            self._file.seal()


def open_reader(path: Path) -> FormatReader:
    """Read the header and the last lines."""
    with path.open("rb") as file:
        header = decode_header(path, file.readline(LONGEST))
        first = file.tell()
        stop, event, end = _find_end(path, file, first)
    last = event.seq if isinstance(event, Event) else event
    batches = partial(read_between, path, header, first, stop)
    if end is None:
        return FormatReader(header, last, None, batches, last_round=event.round if isinstance(event, Event) else None)
    return FormatReader(header, last, end.end, batches, sha256=end.sha256)


class Tail:
    """Reads a log that is being written: each time the whole lines that are new."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            self.header = decode_header(path, file.readline(LONGEST))
            self._place = file.tell()
        self._line = 2
        self.end: int | None = None
        """The number of events that the end line tells; None as long as there is none."""

    def read(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names of the events that are new, a chunk at a time."""
        with self._path.open("rb") as file:
            file.seek(self._place)
            while self.end is None and (chunk := file.read(CHUNK) + file.readline(LONGEST)):
                lines = chunk[: chunk.rfind(b"\n") + 1]
                last = lines[lines.rfind(b"\n", 0, -1) + 1 :]
                end = _try_decode(last, End)
                events = lines if end is None else lines.removesuffix(last)
                if events:
                    yield _decode(self._path, len(self.header.arms), events, _stored(self.header, names), self._line)
                self.end = None if end is None else end.end
                self._place += len(lines)
                self._line += lines.count(b"\n")
                if len(lines) < len(chunk):
                    return  # the rest is not written yet


def read_between(
    path: Path, header: Header, first: int, stop: int, names: Sequence[str], *, line: int = 2
) -> Iterator[Columns]:
    """The columns of these names from the lines between two bytes, a chunk at a time; `line` numbers the first one."""
    arms, names = len(header.arms), _stored(header, names)
    with path.open("rb") as file:
        file.seek(first)
        while (left := stop - file.tell()) > 0:
            chunk = file.read(min(CHUNK, left))
            if file.tell() < stop:
                chunk += file.readline(min(LONGEST, stop - file.tell()))
            yield _decode(path, arms, chunk, names, line)
            line += chunk.count(b"\n")


def _stored(header: Header, names: Sequence[str]) -> Sequence[str]:
    """Those of the names that a log with this header can have."""
    return [name for name in names if not COLUMN[name].outside or name in header.world_columns]


def _decode(path: Path, arms: int, chunk: bytes, names: Sequence[str], line: int) -> Columns:
    """The columns of some whole lines; an error names the line."""
    decoder = _decoder(tuple(names))
    try:
        return _to_columns(decoder.decode_lines(chunk), names, arms)
    except _BROKEN as first:
        for number, text in enumerate(chunk.splitlines(), line):
            try:
                _to_columns(decoder.decode_lines(text), names, arms)
            except _BROKEN as error:
                raise LogError(f"{path}: line {number} is broken: {_explain(error)}") from error
        raise LogError(f"{path}: lines {line} to {number}: {_explain(first)}") from first


@cache
def _decoder(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """A decoder of events that skips what is not needed for these columns; `seq` is for error messages."""
    needed = {*names, "seq"} if any(COLUMN[name].optional for name in names) else set(names)
    fields = [(field.name, field.type, field.default) for field in msgspec.structs.fields(Event)]
    line = msgspec.defstruct("Line", [field for field in fields if field[0] in needed], gc=False)
    return msgspec.json.Decoder(line)


def _find_end(path: Path, file: BinaryIO, first: int) -> tuple[int, Event | int | None, End | None]:
    """The byte at which the events end, the last event, and the end line; None for a torn log.

    Instead of an event: -1 if there is none, None if the last line is no event.
    """
    size = file.seek(0, 2)
    tail = min(TAIL, size - first)
    while True:
        file.seek(size - tail)
        lines = file.read(tail).splitlines(keepends=True)
        if len(lines) > 2 or tail == size - first:  # noqa: PLR2004 (a cut line, an event, the end)
            break
        if tail > LONGEST:
            raise LogError(f"{path}: its last line has more than {LONGEST:,} bytes, as no event has; this is no log")
        tail = min(2 * tail, size - first)
    if not lines:
        return size, -1, None
    # A line of which only the newline is torn off is whole.
    torn = not lines[-1].endswith(b"\n") and _try_decode(lines[-1], dict) is None
    end = None if torn else _try_decode(lines[-1], End)
    if torn or end is not None:
        size -= len(lines.pop())
    # A line that is no event is an error once it is read.
    event = _try_decode(lines[-1], Event) if lines else None
    return size, event or (None if lines else -1), end


def _try_decode(line: bytes, type: type[Decoded]) -> Decoded | None:
    """What is in this line, if it is of that type."""
    try:
        return msgspec.json.decode(line, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError):  # the second for bytes that are no UTF-8
        return None


def _to_columns(lines: list[Any], names: Sequence[str], arms: int) -> Columns:
    """The columns of decoded lines; an optional column that no line has is left out."""
    columns: Columns = {}
    for column in (COLUMN[name] for name in names):
        values = [getattr(line, column.name) for line in lines]
        if column.name == "kind":
            values = [CODES[kind] for kind in values]
        elif column.optional:
            if values.count(None) == len(values) and not column.outside:
                continue
            values = _check_optional(lines, column, arms)
        rows = np.array(values, dtype=column.type)
        columns[column.name] = rows.reshape(-1, arms) if column.per_arm else rows
    return columns


def _check_optional(lines: list[Any], column: Column, arms: int) -> list[Any]:
    """The values of an optional column that some line has: all lines must have it, or all pulls and nothing else."""
    name, values = column.name, []
    for line in lines:
        value = getattr(line, name)
        belongs = not column.per_pull or line.kind == KIND_NAMES[PULL]
        if value is not None and (not belongs or (column.per_arm and len(value) != arms)):
            raise ValueError(
                f"event {line.seq}, a {line.kind}, has {len(value) if column.per_arm else 'a value of'} {name}; "
                f"only pulls have {name}{f', one for each of the {arms} arms' if column.per_arm else ''}"
            )
        if belongs:
            values.append(value)
    if None in values and not column.nullable:
        which = "pulls" if column.per_pull else "events"
        raise ValueError(f"{name} are given for some {which} and not for others; give them for all or for none")
    return values


def _explain(error: Exception) -> str:
    if isinstance(error, KeyError):
        kind = str(error.args[0])
        return f"unknown kind {kind!r}{did_you_mean(kind, KIND_NAMES)}"
    return str(error)
