"""The formats of a log: found by name, by a file's suffix or by its content; and what all of them share.

A log is *torn* if its end marker is missing: its run was killed or failed, or still goes on. What is there can be read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import msgspec

from tpstream.log.file import LogFile
from tpstream.log.schema import SCHEMA, Header
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import Columns, Events
from tpstream.model.registry import load_object


@dataclass(frozen=True)
class Ending:
    """How a log ends."""

    last: int | None
    """The seq of the last whole event; -1: there is none; None: unknown, since the last line is broken."""
    end: int | None
    """The number of events that the end marker tells; None for a torn log."""

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.end is not None

    @property
    def truncated(self) -> str | None:
        """After which event the log is torn, in words."""
        if self.complete:
            return None
        if self.last == -1:
            return "truncated before the first event"
        return "truncated after a broken event" if self.last is None else f"truncated after seq {self.last}"


class FormatWriter(Protocol):
    """Writes one log in one format; it is made with the file and the header, and flushes the file after every call."""

    def write(self, events: Events) -> None:
        """Write a batch of events."""
        ...

    def end(self, count: int | None) -> None:
        """Write the end marker, which tells the number of events; None leaves the log torn."""
        ...


class FormatReader(Protocol):
    """Reads one log in one format."""

    @property
    def header(self) -> Header:
        """The header."""
        ...

    @property
    def ending(self) -> Ending:
        """How the log ends."""
        ...

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names, batch by batch; "kind" must be among them if another has rows for pulls only."""
        ...


class _Version(msgspec.Struct):
    """The part of a header that is read first."""

    schema: int = SCHEMA


def encode_header(header: Header) -> bytes:
    """The header as JSON."""
    return msgspec.json.encode(header)


def decode_header(path: Path, text: bytes) -> Header:
    """The header from JSON; a schema of another version is an error that says so."""
    try:
        schema = msgspec.json.decode(text, type=_Version).schema
        if schema != SCHEMA:
            raise LogError(
                f"{path}: the log has schema {schema} and this version of tpstream reads {SCHEMA}; upgrade it"
            )
        header = msgspec.json.decode(text, type=Header)
    except msgspec.DecodeError as error:
        raise LogError(f"{path}: the header is broken or torn: {error}; there is no log to read") from error
    for name in ("means", "maxima"):
        if (count := len(getattr(header, name))) != len(header.arms):
            raise LogError(f"{path}: header: there are {count} {name} for {len(header.arms)} arms; correct it")
    return header


FormatName = Literal["jsonl", "arrow", "parquet"]


@dataclass(frozen=True)
class LogFormat:
    """One format: where its writer and reader are, and how it writes."""

    writer: str
    reader: str
    magic: bytes
    """How every file begins."""
    batch: int
    """Events that are written at a time."""
    streams: bool = True
    """Whether what was written can be read before the end."""


FORMATS: Mapping[FormatName, LogFormat] = {
    "jsonl": LogFormat("tpstream.log.jsonl:JsonLinesWriter", "tpstream.log.jsonl:JsonLinesReader", b"{", 8192),
    "arrow": LogFormat("tpstream.log.arrow:ArrowWriter", "tpstream.log.arrow:ArrowReader", b"\xff" * 4, 100_000),
    "parquet": LogFormat(
        "tpstream.log.parquet:ParquetWriter", "tpstream.log.parquet:ParquetReader", b"PAR1", 1_000_000, streams=False
    ),
}
SUFFIXES: Mapping[str, FormatName] = {f".{name}": name for name in FORMATS}


def find_format(path: Path, name: str | None = None) -> FormatName:
    """The format of a log to be written: the one named, else the one of the file's suffix."""
    if name is not None:
        if name not in FORMATS:
            raise UnknownNameError("format of a log", name, FORMATS)
        return cast(FormatName, name)
    if path.suffix not in SUFFIXES:
        raise LogError(f"{path}: the ending {path.suffix!r} names no format of a log; use {', '.join(SUFFIXES)}")
    return SUFFIXES[path.suffix]


def check_streams(name: str) -> None:
    """Refuse a format that cannot be written while a run goes on."""
    if not FORMATS[find_format(Path(), name)].streams:
        raise LogError(f"{name} cannot be written while a run goes on; write arrow and convert it")


def open_writer(name: FormatName, file: LogFile, header: Header) -> FormatWriter:
    """A writer that has written the header to the file."""
    writer: FormatWriter = load_object(FORMATS[name].writer)(file, header)
    return writer


def open_reader(path: Path) -> tuple[FormatName, FormatReader]:
    """The format that the content of a file shows, and a reader for it."""
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise LogError(f"{path}: the file is empty; its run ended before it began")
    for name, format in FORMATS.items():
        if start.startswith(format.magic):
            reader: Any = load_object(format.reader)
            return name, reader.open(path)
    if start.startswith(b"ARROW1"):
        raise LogError(f"{path}: this is an Arrow file with a footer; write it as an Arrow stream")
    raise LogError(f"{path}: this is not a log; logs are JSON lines, an Arrow stream or Parquet")
