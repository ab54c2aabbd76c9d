"""The formats of a log: found by name, by a file's suffix or by its content; and what all of them share.

While a log is written, each flush of its file is written as a whole, and nothing is overwritten by accident.
A log is *torn* if its end marker is missing: its run was killed or failed, or still goes on. What is there can be read.
The end marker tells the number of events and the SHA-256 of the file, with zeros in the place of its own digits, so
that damage to a complete log is found when its events have been read. It is no protection against someone who computes
another one.
"""

import hashlib
import mmap
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from tpstream.log.schema import Header
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import Columns, Events

DIGITS = b"0" * 64
"""What stands for the SHA-256 of a log in its end marker while it is computed."""
CHUNK = 1 << 22
"""Bytes that are hashed at a time; between them a check can be given up."""
SMALL = 1 << 18
"""Bytes of a file that is hashed at once: a thread would cost as much."""


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
            self._failure = LogError(
                f"{self.path}: cannot write: {error.strerror}; what was written before can be read, "
                f"free space and run again with --force"
            )
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


class WholenessCheck:
    """Compares a file with the SHA-256 of its end marker; large ones in a thread, from now on, while events are read.

    Hashing takes 10 to 40 % of the time of reading, and no part of Python.

    Parameters
    ----------
    path
        The file.
    sha256
        What its end marker tells: the SHA-256 of the file with zeros in the place of these digits.
    """

    def __init__(self, path: Path, sha256: str) -> None:
        self._path, self._told = path, sha256
        self._found: str | None = None
        self._failure: OSError | ValueError | None = None
        self._given_up = False
        self._thread: threading.Thread | None = None
        if path.stat().st_size > SMALL:
            self._thread = threading.Thread(target=self._hash, name="tpstream-sha256", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Wait for the end; LogError if the bytes of the file are not those that were written."""
        if self._thread is None:
            self._hash()
        else:
            self._thread.join()
        if self._failure is not None:
            raise self._failure
        if self._found != self._told:
            raise LogError(
                f"{self._path}: the log is damaged: it has not the SHA-256 that its end marker tells; "
                f"take an undamaged copy, or make the run again"
            )

    def give_up(self) -> None:
        """Stop soon: nobody asks any more."""
        self._given_up = True

    def _hash(self) -> None:
        try:
            self._found = self._digest()
        except (OSError, ValueError) as error:
            self._failure = error

    def _digest(self) -> str | None:
        """The SHA-256 of the file with zeros for its digits; None if they are not in it, or if it was given up."""
        digits, digest = self._told.encode(), hashlib.sha256()
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place = data.rfind(digits)
            if place < 0:
                return None
            with memoryview(data) as view:
                for first in range(0, place, CHUNK):
                    if self._given_up:
                        return None
                    digest.update(view[first : min(first + CHUNK, place)])
                digest.update(DIGITS)
                digest.update(view[place + len(digits) :])
        return digest.hexdigest()


class FormatWriter(Protocol):
    """Writes one log in one format; it is made with the file and the header, and flushes the file after every call."""

    def write(self, events: Events) -> None:
        """Write a batch of events."""

    def end(self, count: int | None) -> None:
        """Write the end marker, which tells the number of events; None leaves the log torn."""


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
    written: "FormatReader | None" = None
    """Of a sparse log: the reader of the events that are in the file, without the zeros that are put in."""
    last_round: int | None = None
    """The round of the last whole event of a log that is not complete; None if there is none, or it is not needed."""
    sha256: str | None = None
    """The SHA-256 that the end marker tells; None for a torn log, or an end marker that tells none."""

    verify: Callable[[], None] = lambda: None
    """Raises LogError if the file is not as it was written, by its SHA-256."""

    @property
    def complete(self) -> bool:
        """Whether the log proves that it is all there: an end marker without a SHA-256 could stand anywhere."""
        return self.end is not None and self.sha256 is not None


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Take what decoding raises for damage to the log: no error of a library, and no traceback, reaches the user."""
    try:
        yield
    except (ValueError, LookupError, ArithmeticError, NotImplementedError, RecursionError) as error:
        raise LogError(f"{path}: the log is damaged: {type(error).__name__}: {error}") from error


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
