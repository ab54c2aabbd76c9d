"""The sink: a subscriber that writes what it hears to a log, in any form.

Conversion: a log in another form, without loss.
"""

import time
from math import inf
from pathlib import Path
from typing import Self

from tpstream.log.file import LogFile
from tpstream.log.formats import FORMS, check_streams, find_form, open_writer
from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header, check_finite
from tpstream.model.events import Events

FLUSH_SECONDS = 0.5
"""A batch is written when it is as large as its form likes, or this old: a killed run loses no more."""


class Sink:
    """Writes every event it hears to a file; use as a context manager.

    The form is the one named, else the one of the file's suffix. Only a run that came to its end gets an end mark; one
    that failed keeps what it told, and leaves no file if it told nothing. `staged` is for copies: the file gets its
    name only at its end.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        *,
        form: str | None = None,
        force: bool = False,
        staged: bool = False,
        patience: float = FLUSH_SECONDS,
    ) -> None:
        name = find_form(path, form)
        if not staged:
            check_streams(name)
        self.path = path
        self._limit = FORMS[name].batch
        self._staged = staged
        self._patience = patience
        self._batch: list[Events] = []
        self._waiting = 0
        self._written = 0
        self._finished = False
        self._file = LogFile(path, force=force)
        self._flushed = time.monotonic()
        try:
            self._writer = open_writer(name, self._file, header)
            if not (staged or self._file.replaces):
                self._file.publish()
        except BaseException:
            self._file.remove()
            raise

    def hear(self, events: Events) -> None:
        """Keep the events and write a batch when it is large or old enough."""
        self._batch.append(events)
        self._waiting += len(events)
        if self._waiting >= self._limit or time.monotonic() - self._flushed >= self._patience:
            self.flush()

    def flush(self) -> None:
        """Write everything that was heard."""
        self._flushed = time.monotonic()
        if not self._waiting:
            return
        events = self._batch[0] if len(self._batch) == 1 else Events.join(self._batch)
        self._batch.clear()
        self._waiting = 0
        check_finite(events)
        for first in range(0, len(events), self._limit):
            part = events.cut(first, first + self._limit)
            self._writer.write(part)
            self._written += len(part)
            if not self._staged:
                self._file.publish()

    def finish(self, end: int | None) -> None:
        """Write what is left and the end, which counts so many events; None for a log that stays torn."""
        self.flush()
        self._writer.end(end)
        self._file.publish()
        self._finished = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Write what is left, and the end of a run that came to it."""
        try:
            if failure is not None:
                self.flush()
            elif not self._finished:
                self.flush()
                self.finish(self._written)
        finally:
            if failure is not None and not self._written:
                self._file.remove()
            else:
                self._file.close()


def convert(log: str | Path | Log, target: str | Path, *, force: bool = False) -> Log:
    """Write a log again, in the form of the target's suffix; a torn log stays marked as torn.

    The target has its name only once it is whole, so that a broken conversion is not taken for a torn log.
    """
    source = log if isinstance(log, Log) else read_log(log)
    with Sink(Path(target), source.header, force=force, staged=True, patience=inf) as sink:
        for batch in source.batches():
            sink.hear(batch)
        sink.finish(source.reader.ending.end)
    return read_log(target)
