"""What the forms of a log share: how a log ends, and its header as JSON.

The forms of a log: by name, by a file's suffix and by its content.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import msgspec

from tpstream.log.file import LogFile
from tpstream.log.schema import SCHEMA, Columns, Header
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import Events
from tpstream.model.registry import load_object


@dataclass(frozen=True)
class Ending:
    """How a log ends: `last` is the seq of its last whole event (-1: none; None: unknown), `end` what its end says."""

    last: int | None
    end: int | None

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.end is not None

    @property
    def truncated(self) -> str | None:
        """What is torn, in words."""
        if self.complete:
            return None
        if self.last == -1:
            return "truncated before the first event"
        return "truncated after a broken event" if self.last is None else f"truncated after seq {self.last}"


class Writer(Protocol):
    """Writes one log in one form; after every call the file is flushed."""

    def write(self, events: Events) -> None:
        """Write a batch."""
        ...

    def end(self, count: int | None) -> None:
        """Mark the log as complete, with so many events; None leaves it marked as torn."""
        ...


class LogReader(Protocol):
    """Reads one log in one form."""

    @property
    def header(self) -> Header:
        """The header."""
        ...

    @property
    def ending(self) -> Ending:
        """How the log ends."""
        ...

    def pieces(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names, piece by piece; those of no other name need be read."""
        ...


_header = msgspec.json.Decoder(Header)
_version = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encode_header(header: Header) -> bytes:
    """The header as JSON."""
    return msgspec.json.encode(header)


def decode_header(path: Path, text: bytes) -> Header:
    """The header from JSON; a schema of a later version is an error that says so."""
    try:
        version = _version.decode(text).get("schema", msgspec.Raw(b"1"))
        if (schema := msgspec.json.decode(version)) != SCHEMA:
            raise LogError(
                f"{path}: the log has schema {schema} and this version of tpstream reads {SCHEMA}; upgrade it"
            )
        header = _header.decode(text)
    except msgspec.DecodeError as error:
        raise LogError(f"{path}: the header is broken or torn: {error}; there is no log to read") from error
    for name in ("means", "maxima"):
        if (count := len(getattr(header, name))) != len(header.arms):
            raise LogError(f"{path}: header: there are {count} {name} for {len(header.arms)} arms; correct it")
    return header


FormName = Literal["jsonl", "arrow", "parquet"]


@dataclass(frozen=True)
class Form:
    """Where a form's writer and reader live, how its files begin, and how many events are written at a time."""

    writer: str
    reader: str
    magic: bytes
    batch: int
    streams: bool = True
    """Whether what was written can be read before the end."""


FORMS: Mapping[FormName, Form] = {
    "jsonl": Form("tpstream.log.jsonl:JsonLinesWriter", "tpstream.log.jsonl:JsonLinesReader", b"{", 8192),
    "arrow": Form("tpstream.log.arrow:ArrowWriter", "tpstream.log.arrow:ArrowReader", b"\xff\xff\xff\xff", 100_000),
    "parquet": Form(
        "tpstream.log.parquet:ParquetWriter", "tpstream.log.parquet:ParquetReader", b"PAR1", 1_000_000, streams=False
    ),
}
SUFFIXES: Mapping[str, FormName] = {f".{name}": name for name in FORMS}


def find_form(path: Path, name: str | None = None) -> FormName:
    """The form of a log to be written: the one named, else the one of the suffix."""
    if name is not None:
        if name not in FORMS:
            raise UnknownNameError("form of a log", name, FORMS)
        return cast(FormName, name)
    if path.suffix not in SUFFIXES:
        raise LogError(f"{path}: the ending {path.suffix!r} names no form of a log; use {', '.join(SUFFIXES)}")
    return SUFFIXES[path.suffix]


def check_streams(name: str) -> None:
    """Refuse a form that cannot be written while a run goes on."""
    if not FORMS[find_form(Path(), name)].streams:
        raise LogError(f"{name} cannot be written while a run goes on; write arrow and convert it")


def open_writer(form: FormName, file: LogFile, header: Header) -> Writer:
    """A writer that has put the header into the file."""
    writer: Writer = load_object(FORMS[form].writer)(file, header)
    return writer


def open_reader(path: Path) -> tuple[FormName, LogReader]:
    """The form that the content of a file shows, and a reader for it."""
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise LogError(f"{path}: the file is empty; its run ended before it began")
    for name, form in FORMS.items():
        if start.startswith(form.magic):
            reader: Any = load_object(form.reader)
            return name, reader.open(path)
    if start.startswith(b"ARROW1"):
        raise LogError(f"{path}: this is an Arrow file with a footer; write it as an Arrow stream")
    raise LogError(f"{path}: this is not a log; logs are JSON lines, an Arrow stream or Parquet")
