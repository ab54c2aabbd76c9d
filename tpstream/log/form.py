"""What the forms of a log share: how a log ends, and its header as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from tpstream.log.columns import Columns
from tpstream.log.header import SCHEMA, Header
from tpstream.model.errors import LogError
from tpstream.model.events import Events


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


class Reader(Protocol):
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
