"""The formats of a log: found by name, by a file's suffix or by its content; and what all of them share.

A log is *torn* if its end marker is missing: its run was killed or failed, or still goes on. What is there can be read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tpstream.log.schema import Header
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import Columns, Events


class FormatWriter(Protocol):
    """Writes one log in one format; it is made with the file and the header, and flushes the file after every call."""

    def write(self, events: Events) -> None:
        """Write a batch of events."""
        ...

    def end(self, count: int | None) -> None:
        """Write the end marker, which tells the number of events; None leaves the log torn."""
        ...


@dataclass(frozen=True, eq=False)
class FormatReader:
    """An open log in one format: its header, how it ends, and how its events are read."""

    header: Header
    last: int | None
    """The seq of the last whole event; -1: there is none; None: unknown, since the last line is broken."""
    end: int | None
    """The number of events that the end marker tells; None for a torn log."""
    batches: Callable[[Sequence[str]], Iterator[Columns]]
    """Reads the columns of these names, batch by batch; "kind" must be among them if one has rows for pulls only."""


@dataclass(frozen=True)
class LogFormat:
    """How one format writes; its `Writer` and `open_reader` are in the module of its name."""

    magic: bytes
    """How every file begins."""
    batch: int
    """Events that are written at a time."""
    streams: bool = True
    """Whether what was written can be read before the end."""


FORMATS: Mapping[str, LogFormat] = {
    "jsonl": LogFormat(b"{", 8192),
    "arrow": LogFormat(b"\xff" * 4, 100_000),
    "parquet": LogFormat(b"PAR1", 1_000_000, streams=False),
}
SUFFIXES = {f".{name}": name for name in FORMATS}


def find_format(path: Path, name: str | None = None) -> str:
    """The format of a log to be written: the one named, else the one of the file's suffix."""
    if name is not None:
        if name not in FORMATS:
            raise UnknownNameError("format of a log", name, FORMATS)
        return name
    if path.suffix not in SUFFIXES:
        raise LogError(f"{path}: the ending {path.suffix!r} names no format of a log; use {', '.join(SUFFIXES)}")
    return SUFFIXES[path.suffix]


def check_streams(name: str) -> None:
    """Refuse a format that cannot be written while a run goes on."""
    if not FORMATS[find_format(Path(), name)].streams:
        raise LogError(f"{name} cannot be written while a run goes on; write arrow and convert it")
