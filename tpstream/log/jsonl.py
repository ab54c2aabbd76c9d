"""The readable form of a log: JSON lines, written through structlog; header first, then events, then the end."""

import time
from pathlib import Path
from typing import BinaryIO, Self

import msgspec
import structlog

from tpstream.log.header import Header
from tpstream.model.errors import LogError
from tpstream.model.events import Event, Events

FLUSH_EVENTS = 8192
FLUSH_SECONDS = 0.5
"""A batch is written when it is this large or this old: a killed run loses no more."""

_encoder = msgspec.json.Encoder()


class End(msgspec.Struct, frozen=True):
    """The last line of a complete log: how many events there are."""

    end: int


def render(_: object, __: str, record: structlog.typing.EventDict) -> bytes:
    """The structlog renderer: one JSON object a line, a whole batch in one call."""
    lines: list[Header | Event | End] = record["lines"]
    return _encoder.encode_lines(lines).removesuffix(b"\n")


class JsonLinesSink:
    """Writes every event it hears to a file; use as a context manager."""

    suffix = ".jsonl"

    def __init__(self, path: Path, header: Header, *, force: bool = False) -> None:
        self.path = path
        self._header = header
        self._batch: list[Events] = []
        self._waiting = 0
        self._written = 0
        self._file = open_log(path, force=force)
        self._logger = structlog.wrap_logger(structlog.BytesLogger(self._file), processors=[render])
        self._flushed = time.monotonic()
        self._write([header])

    def hear(self, events: Events) -> None:
        """Keep the events and write a batch when it is large or old enough."""
        self._batch.append(events)
        self._waiting += len(events)
        if self._waiting >= FLUSH_EVENTS or time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write everything that was heard."""
        if self._batch:
            self._write([event for events in self._batch for event in events])
            self._written += self._waiting
            self._batch.clear()
            self._waiting = 0
        self._flushed = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Write what is left; only a run that came to its end gets an end line."""
        try:
            self.flush()
            if failure is None:
                self._write([End(self._written)])
        finally:
            self._file.close()

    def _write(self, lines: list[Header] | list[Event] | list[End]) -> None:
        try:
            self._logger.msg("lines", lines=lines)
        except OSError as error:
            raise LogError(
                f"{self.path}: cannot write: {error.strerror}; the log holds {self._written} events, "
                f"free space and run again with --force"
            ) from error


def open_log(path: Path, *, force: bool) -> BinaryIO:
    """A new file for a log; one that is there already is kept unless forced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("wb" if force else "xb")
    except FileExistsError as error:
        raise LogError(f"{path}: there is a log already; choose another place, or overwrite it with --force") from error
    except OSError as error:
        raise LogError(
            f"{path}: cannot create the log: {error.strerror}; choose a folder that can be written"
        ) from error
