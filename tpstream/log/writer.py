"""The writer of a log: a subscriber that writes the events it hears, in any format; and the conversion of a log."""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from math import inf
from pathlib import Path
from typing import Self

import msgspec
import numpy as np

from tpstream.log.formats import FORMATS, FormatWriter, LogFile, check_streams, find_format
from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header
from tpstream.model.errors import LogError
from tpstream.model.events import COLUMN_NAMES, COLUMNS, Events, Kind
from tpstream.model.limits import LARGEST
from tpstream.model.registry import load_object

FLUSH_SECONDS = 0.5
"""Events are written when there are as many as the format writes at a time, or this long after the last time."""
ENOUGH = 0.9
"""Batches of this share of what the format writes at a time are written as they are: to fill them up means a copy."""
MOST_WAITING = 2
"""Batches that may wait for the thread; a run that is faster than its log then waits."""


class LogWriter:
    """Writes every event that it hears to a file; use it as a context manager.

    Events that are borrowed, as compiled loops hand them over, are written by a thread, so that the loop goes on. What
    the thread raises is raised by the next call, and nothing is written after it.

    The format is the one named, else the one of the file's suffix. Only a run that came to its end gets an end marker;
    one that failed keeps what was written before, and leaves no file if that is nothing. With `staged`, for copies, the
    file gets its name only at its end. `patience` is the time in seconds after which events are written.
    """

    borrows = True

    def __init__(
        self,
        path: Path,
        header: Header,
        *,
        format: str | None = None,
        force: bool = False,
        staged: bool = False,
        patience: float = FLUSH_SECONDS,
    ) -> None:
        name = find_format(path, format)
        if not staged:
            check_streams(name)
        self.path = path
        self._limit = FORMATS[name].batch
        self._staged = staged
        self._patience = patience
        self._batch: list[Events] = []
        self._waiting = 0
        self._written = 0
        self._finished = False
        self._failed = False
        self._thread: ThreadPoolExecutor | None = None
        self._pending: deque[Future[None]] = deque()
        self._file = LogFile(path, force=force)
        self._flushed = time.monotonic()
        try:
            self._writer: FormatWriter = load_object(f"tpstream.log.{name}:Writer")(self._file, header)
            if not (staged or self._file.replaces):
                self._file.publish()
        except BaseException:
            self._file.close(keep=False)
            raise

    def hear(self, events: Events) -> "Future[None] | None":
        """Keep the events; write those that are kept when there are enough of them or the last time is long ago.

        Returns what has to be done before the arrays of borrowed events are used again, if that is not so by now.
        """
        self._waiting += len(events)
        enough = self._waiting >= ENOUGH * self._limit or time.monotonic() - self._flushed >= self._patience
        if not enough:
            self._batch.append(events.copy() if events.borrowed else events)
            return None
        self._batch.append(events)
        if not events.borrowed:
            self.flush()
            return None
        self._settle(MOST_WAITING - 1)
        self._thread = self._thread or ThreadPoolExecutor(1, "tpstream-log")
        self._pending.append(self._thread.submit(self._write, self._take()))
        return self._pending[-1]

    def flush(self) -> None:
        """Write everything that was heard so far."""
        self._settle()
        self._write(self._take())

    def _settle(self, most: int = 0) -> None:
        """Wait until at most that many batches wait for the thread, and raise what it raised."""
        while len(self._pending) > most:
            self._pending.popleft().result()

    def _take(self) -> Events:
        """The events that were kept, which are not kept any longer."""
        events = self._batch[0] if len(self._batch) == 1 else Events.join(self._batch)
        self._batch.clear()
        self._waiting = 0
        self._flushed = time.monotonic()
        return events

    def _write(self, events: Events) -> None:
        """Write events in batches of the format's size, unless writing failed before."""
        if self._failed:
            return
        self._failed = True
        _check_finite(events)
        for first in range(0, len(events), self._limit):
            part = events.cut(first, first + self._limit) if len(events) > self._limit else events
            self._writer.write(part)
            self._written += len(part)
            if not self._staged:
                self._file.publish()
        self._failed = False

    def finish(self, end: int | None) -> None:
        """Write what is left and the end marker with this number of events; None for a log that stays torn."""
        self.flush()
        self._writer.end(end)
        self._file.publish()
        self._finished = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Write what is left, and the end marker unless the run failed.

        What the thread raised is not raised over the error by which the run ends: as a rule it is its cause.
        """
        try:
            with nullcontext() if failure is None else suppress(Exception):
                self.flush()
            if failure is None and not (self._finished or self._failed):
                self.finish(self._written)
        finally:
            if self._thread is not None:
                self._thread.shutdown()
            self._file.close(keep=self._finished or self._written > 0)


def _check_finite(events: Events) -> None:
    """Refuse what nobody could read: a number that is infinite, or missing where the schema wants one; a giant time."""
    for column in COLUMNS:
        numbers = getattr(events, column.name)
        if numbers is None or column.per_arm or column.type is not np.float64:
            continue
        wrong = np.isinf(numbers) if column.nullable else ~np.isfinite(numbers)
        if wrong.any():
            seq = events.seq[events.kind == Kind.PULL] if column.per_pull else events.seq
            place, name = int(np.argmax(wrong)), column.name
            raise LogError(f"event {seq[place]} has the {name} {numbers[place]}; {name}s must be finite")
    if len(events) and abs(latest := float(events.time[-1])) > LARGEST:
        raise LogError(f"event {events.seq[-1]} has the time {latest:g}; times of logs go up to {LARGEST:g}")


def convert(log: str | Path | Log, target: str | Path, *, force: bool = False, sparse: bool | None = None) -> Log:
    """Write a log again, in the format of the target's suffix; a torn log stays marked as torn.

    With `sparse` the events of parts that paid nothing are left out, without it they are written; by default the copy
    has the events that the log has. The target gets its name only once it is whole, so that a conversion that failed is
    not taken for a torn log.
    """
    source = log if isinstance(log, Log) else read_log(log)
    written = source.reader.written or source.reader
    end, header = written.end if written.complete else None, source.header
    batches: Iterator[Events] = (Events(**columns) for columns in written.batches(COLUMN_NAMES))
    if sparse is not None and sparse != header.sparse:
        source.require_all("a change of what it leaves out")
        until = header.until if header.payments else None
        header, batches = msgspec.structs.replace(header, sparse=False, until=until), source.batches()
        if sparse:
            from tpstream.log.sparse import without_zeros  # noqa: PLC0415 (compiled, and seldom needed)

            header, batches = without_zeros(written, source.path)
    with LogWriter(Path(target), header, force=force, staged=True, patience=inf) as writer:
        read = 0
        for batch in batches:
            read += len(batch)
            writer.hear(batch)
        source.verify()
        writer.finish(end if end is None or header is source.header else end + read - (written.last or 0) - 1)
    return read_log(target)
