"""The formats of a log: found by name, by a file's suffix or by its content; and how all of them write their files.

While a log is written, each flush of its file is written as a whole, and nothing is overwritten by accident.
A log is *torn* if its end marker is missing: its run was killed or failed, or still goes on. What is there can be read.
The end marker tells the number of events and the SHA-256 of the file, with zeros in the place of its own digits, so
that damage to a complete log is found when its events have been read. It is no protection against someone who computes
another one.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import Events

DIGITS = b"0" * 64
"""What stands for the SHA-256 of a log in its end marker while it is computed."""


class LogFile:
    """A new file to which a format's writer adds bytes; each flush is one write, so that a kill tears one at most.

    The file gets its name with `publish`, when there is something to read in it. A log of that name that is there
    already is an error; with `force` it stays until then and is replaced.
    """

    closed = False
    """pyarrow reads this attribute before it writes."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = path
        try:
            self.replaces = path.exists()
            if self.replaces and not force:
                raise _occupied(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._place = path.with_name(f"{path.name}.{os.getpid()}.partial")
            self._file: BinaryIO = self._place.open("wb", buffering=0)
        except OSError as error:
            raise LogError(
                f"{path}: cannot create the log: {error.strerror}; choose a folder that can be written"
            ) from error
        self._waiting: list[bytes] = []
        self._size = 0
        self._failure: LogError | None = None
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Keep the bytes for the next flush."""
        self._waiting.append(bytes(data))
        return len(data)

    def tell(self) -> int:
        """The number of bytes so far, with those that are kept for the next flush."""
        return self._size + sum(map(len, self._waiting))

    def flush(self) -> None:
        """Write what is kept; a flush that fails halfway is taken back as a whole, and nothing is written after it."""
        if self._failure is not None:
            raise self._failure
        rest = memoryview(b"".join(self._waiting))
        self._waiting.clear()
        self._failure = LogError(f"{self.path}: writing was interrupted; what was written before can be read")
        data = rest
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self._size)
            if not isinstance(error, OSError):
                raise  # an interruption
            left = "what was written before can be read" if self._place == self.path else "nothing of it is left"
            told = f"{self.path}: cannot write: {error.strerror}; {left}, free space and repeat the command"
            self._failure = LogError(f"{told} with --force" if self._place == self.path else told)
            raise self._failure from error
        self._failure = None
        self._size += len(data)
        self._digest.update(data)

    def seal(self) -> None:
        """Flush for the last time, with the SHA-256 of the file in the place of the zeros that stand for it."""
        data = b"".join(self._waiting)
        self._digest.update(data)
        place = data.rindex(DIGITS)
        self._waiting = [data[:place], self._digest.hexdigest().encode(), data[place + len(DIGITS) :]]
        self.flush()

    def publish(self) -> None:
        """Give the file its name, and so replace a log of that name."""
        if self._place == self.path:
            return
        try:
            if not self.replaces and self.path.exists():
                raise _occupied(self.path)  # by another run that began after this one
            self._place.replace(self.path)
        except OSError as error:
            raise LogError(f"{self.path}: cannot create the log: {error.strerror}") from error
        self._place = self.path

    def close(self, *, keep: bool = True) -> None:
        """Close the file; one that was not published, or is not to be kept, is deleted. A log to be replaced stays."""
        self._file.close()
        if self._place != self.path or not keep:
            self._place.unlink(missing_ok=True)


def _occupied(path: Path) -> LogError:
    return LogError(f"{path}: there is a log already; choose another place, or overwrite it with --force")


class FormatWriter(Protocol):
    """Writes one log in one format; it is made with the file and the header, and flushes the file after every call."""

    def write(self, events: Events) -> None:
        """Write a batch of events."""

    def end(self, count: int | None) -> None:
        """Write the end marker, which tells the number of events; None leaves the log torn."""


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
SUFFIXES = {".jsonl": "jsonl", ".arrows": "arrow", ".parquet": "parquet"}
"""The format that the ending of a file names; `.arrows` is the registered ending of an Arrow IPC stream."""
OLD_SUFFIXES = {".arrow": "arrow"}
"""Endings that logs had before; such files are read and written as ever."""


def find_format(path: Path, name: str | None = None) -> str:
    """The format of a log to be written: the one named, else the one of the file's suffix."""
    if name is not None:
        if name not in FORMATS:
            raise UnknownNameError("format of a log", name, FORMATS)
        return name
    known = SUFFIXES | OLD_SUFFIXES
    if path.suffix not in known:
        raise LogError(f"{path}: the ending {path.suffix!r} names no format of a log; use {', '.join(SUFFIXES)}")
    return known[path.suffix]


def suffix_of(name: str) -> str:
    """The ending of files in that format."""
    return next(suffix for suffix, format in SUFFIXES.items() if format == name)


def check_streams(name: str) -> None:
    """Refuse a format that cannot be written while a run goes on."""
    if not FORMATS[find_format(Path(), name)].streams:
        raise LogError(f"{name} cannot be written while a run goes on; write arrow and convert it")
