"""The readable form of a log: JSON lines, written through structlog; header first, then events, then the end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import structlog

from tpstream.log.file import LogFile
from tpstream.log.formats import Ending, decode_header
from tpstream.log.schema import TYPES, Columns, Header
from tpstream.model.arrays import Floats
from tpstream.model.errors import LogError, did_you_mean
from tpstream.model.events import KIND_NAMES, Event, Events

CHUNK = 1 << 22
"""Bytes that are decoded at a time."""
TAIL = 1 << 16
"""Bytes at the end of a file in which its last line is looked for first."""
CODES = {name: code for code, name in enumerate(KIND_NAMES)}

_encoder = msgspec.json.Encoder()


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last line of a complete log: how many events there are."""

    end: int


_BROKEN = (msgspec.DecodeError, ValueError, KeyError, OverflowError)
_events = msgspec.json.Decoder(Event)
_end = msgspec.json.Decoder(End)


def render(_: object, __: str, record: structlog.typing.EventDict) -> bytes:
    """The structlog renderer: one JSON object a line, a whole batch in one call."""
    lines: Sequence[Header | Event | End] = record["lines"]
    return _encoder.encode_lines(lines).removesuffix(b"\n")


class JsonLinesWriter:
    """Writes batches of events as lines."""

    def __init__(self, file: LogFile, header: Header) -> None:
        self._logger = structlog.wrap_logger(structlog.BytesLogger(file), processors=[render])  # type: ignore[arg-type]
        self._write([header])

    def write(self, events: Events) -> None:
        """Write a batch."""
        self._write(list(events))

    def end(self, count: int | None) -> None:
        """Write the end line."""
        if count is not None:
            self._write([End(count)])

    def _write(self, lines: Sequence[Header | Event | End]) -> None:
        self._logger.msg("lines", lines=lines)


@dataclass(frozen=True)
class JsonLinesReader:
    """Reads lines as columns, a chunk at a time."""

    path: Path
    header: Header
    ending: Ending
    first: int
    """Where the events begin, and where they end, in bytes."""
    last: int

    @staticmethod
    def open(path: Path) -> "JsonLinesReader":
        """Read the header and the last lines."""
        with path.open("rb") as file:
            line = file.readline()
            header = decode_header(path, line)
            first = file.tell()
            last, ending = _find_end(file, first)
        return JsonLinesReader(path, header, ending, first, last)

    def pieces(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names, piece by piece."""
        line = 2
        with self.path.open("rb") as file:
            file.seek(self.first)
            while (left := self.last - file.tell()) > 0:
                chunk = file.read(min(CHUNK, left))
                if file.tell() < self.last:
                    chunk += file.readline(self.last - file.tell())
                yield self._decode(chunk, names, line)
                line += chunk.count(b"\n")

    def _decode(self, chunk: bytes, names: Sequence[str], line: int) -> Columns:
        """The columns of some whole lines; an error names the line."""
        decoder = _decoder(tuple(names))
        try:
            return _to_columns(decoder.decode_lines(chunk), names, len(self.header.arms))
        except _BROKEN as first:
            for number, text in enumerate(chunk.splitlines(), line):
                try:
                    _to_columns(decoder.decode_lines(text), names, len(self.header.arms))
                except _BROKEN as error:
                    raise LogError(f"{self.path}: line {number} is broken: {_explain(error)}") from error
            raise LogError(f"{self.path}: lines {line} to {number}: {_explain(first)}") from first


@cache
def _decoder(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """A decoder of events that skips what is not needed for these columns."""
    needed = {*names, "kind", "seq"} if "indices" in names else set(names)
    return msgspec.json.Decoder(
        msgspec.defstruct(
            "Line", [(f.name, f.type, f.default) for f in msgspec.structs.fields(Event) if f.name in needed], gc=False
        )
    )


def _find_end(file: BinaryIO, first: int) -> tuple[int, Ending]:
    """Where the events end in bytes, and how: with an end line, or torn after some event."""
    size = file.seek(0, 2)
    tail = min(TAIL, size - first)
    while True:
        file.seek(size - tail)
        text = file.read(tail)
        lines = text.splitlines(keepends=True)
        if len(lines) > 2 or tail == size - first:  # noqa: PLR2004 (a cut line, an event, the end)
            break
        tail = min(2 * tail, size - first)
    torn = bool(lines) and not lines[-1].endswith(b"\n") and not _is_whole(lines[-1])
    end = None if torn or not lines else _try_end(lines[-1])
    if torn or end is not None:
        size -= len(lines.pop())
    seq = _try_seq(lines[-1]) if lines else -1
    return size, Ending(seq, end)


def _is_whole(line: bytes) -> bool:
    """Whether a line without its newline is all there: only its newline is torn off then."""
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return line.endswith(b"}")


def _try_end(line: bytes) -> int | None:
    try:
        return _end.decode(line).end
    except msgspec.DecodeError:
        return None


def _try_seq(line: bytes) -> int | None:
    """The number of the event in this line; None for a line that is none, which reading will find."""
    try:
        return _events.decode(line).seq
    except msgspec.DecodeError:
        return None


def _to_columns(lines: list[Any], names: Sequence[str], arms: int) -> Columns:
    columns: Columns = {}
    for name in names:
        column = map(attrgetter(name), lines)
        if name == "indices":
            if (indices := _indices(lines, arms)) is not None:
                columns[name] = indices
        elif name == "kind":
            columns[name] = np.array([CODES[kind] for kind in column], dtype=np.int8)
        else:
            columns[name] = np.array(list(column), dtype=TYPES[name])
    return columns


def _indices(events: list[Any], arms: int) -> Floats | None:
    """The index vectors of the pulls: a row for each, or none at all."""
    rows: list[Any] = [event.indices for event in events if event.kind == "pull" or event.indices is not None]
    given = sum(row is not None for row in rows)
    if not given:
        return None
    if given < len(rows):
        raise ValueError("indices are given for some pulls and not for others; give them for all or for none")
    for event in events:
        if event.indices is not None and (event.kind != "pull" or len(event.indices) != arms):
            raise ValueError(
                f"event {event.seq}, a {event.kind}, has {len(event.indices)} indices; "
                f"only pulls have some, one for each of the {arms} arms"
            )
    return np.array(rows, dtype=np.float64).reshape(-1, arms)


def _explain(error: Exception) -> str:
    if isinstance(error, KeyError):
        kind = str(error.args[0])
        return f"unknown kind {kind!r}{did_you_mean(kind, KIND_NAMES)}"
    return str(error)
