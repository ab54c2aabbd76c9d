"""The messages of an Arrow stream, looked at before they are decoded: where they start and how much they claim to hold.

A compressed message of a few bytes can claim to hold any number of values, and Arrow allocates what it claims. So the
numbers are read from a message's metadata, a FlatBuffer whose tables are those of Arrow's format (`Message.fbs`): in a
table the place of field n is given, relative to the table, by entry n of its list of places; 0 means that it is absent.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tpstream.model.errors import LogError

MOST_ROWS = 2**22
"""Events that a batch may hold, some 4 million."""
MOST_BYTES = 2**31
"""Bytes that a batch may take in memory."""


@dataclass(frozen=True)
class Message:
    """One whole message: its type, e.g. "record batch", the byte where it starts, and what it claims to hold."""

    type: str
    start: int
    rows: int
    bytes: int
    """What its values take once they are decompressed."""


def whole_messages(path: Path, source: Any) -> list[Message]:
    """The messages of a stream that are all there; LogError for one that claims more than a log's batch holds."""
    found = []
    source.seek(0)
    with suppress(pa.ArrowException, OSError, EOFError):
        while True:
            start = source.tell()
            message = pa.ipc.read_message(source)
            try:
                one = _describe(message, start)
            except (struct.error, ValueError) as error:
                raise LogError(f"{path}: the message at byte {start} is damaged: {error}") from error
            if one.rows > MOST_ROWS or one.bytes > MOST_BYTES:
                raise LogError(
                    f"{path}: the batch at byte {start} claims {one.rows:,} events in {one.bytes:,} bytes; "
                    f"a batch holds at most {MOST_ROWS:,} events and {MOST_BYTES:,} bytes: write smaller ones"
                )
            found.append(one)
    return found


def _describe(message: Any, start: int) -> Message:
    """What the metadata of a message say."""
    if message.type not in {"record batch", "dictionary"}:
        return Message(message.type, start, 0, 0)
    data = message.metadata.to_pybytes()
    batch = _table(data, _table(data, 0, None), 2)  # the message's header
    if message.type == "dictionary":
        batch = _table(data, batch, 1)  # its data
    rows = _number(data, batch, 0)
    compressed = _place(data, batch, 3) is not None
    return Message(message.type, start, rows, sum(_sizes(data, batch, message.body, compressed=compressed)))


def _sizes(data: bytes, batch: int, body: Any, *, compressed: bool) -> Iterator[int]:
    """What each buffer of a batch takes once it is decompressed: a compressed one begins with this number."""
    place = _place(data, batch, 2)
    if place is None:
        return
    vector = place + _unpack("<I", data, place)
    for number in range(_unpack("<I", data, vector)):
        offset, length = struct.unpack_from("<qq", data, vector + 4 + 16 * number)
        if not compressed or not length:
            yield length
            continue
        if not 0 <= offset <= len(body) - 8:
            raise ValueError(f"buffer {number} lies outside of the message")
        claimed: int = _unpack("<q", body, offset)
        yield length if claimed == -1 else claimed  # -1: this one was left as it is
        if claimed < -1:
            raise ValueError(f"buffer {number} claims {claimed} bytes")


def _place(data: bytes, table: int, field: int) -> int | None:
    """Where a field of a table is; None if it is absent."""
    places = table - _unpack("<i", data, table)
    size = _unpack("<H", data, places)
    entry = 4 + 2 * field
    offset = _unpack("<H", data, places + entry) if entry < size else 0
    return table + offset if offset else None


def _table(data: bytes, table: int, field: int | None) -> int:
    """Where the table in a field starts; the root table of the data if no field is given."""
    place = 0 if field is None else _place(data, table, field)
    if place is None:
        raise ValueError("its metadata lack a table")
    return place + _unpack("<I", data, place)


def _number(data: bytes, table: int, field: int) -> int:
    """The 64-bit integer in a field; 0 if it is absent."""
    place = _place(data, table, field)
    return 0 if place is None else _unpack("<q", data, place)


def _unpack(format: str, data: Any, place: int) -> int:
    if place < 0:
        raise ValueError("its metadata point to before their start")
    number: int = struct.unpack_from(format, data, place)[0]
    return number
