"""When snapshots are taken: now and then, one at a time, while decisions go on; one that fails stops nothing."""

import threading
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from tpstream.model.notes import logger
from tpstream.serve.changes import present_change
from tpstream.serve.journal import Journal
from tpstream.serve.live_state import LiveState
from tpstream.serve.snapshot import StateCopy, copy_state, write_snapshot


class Snapshots:
    """Takes the snapshots of a decider, in a thread of its own or for a caller who waits.

    Parameters
    ----------
    log
        The decider's log.
    every
        After how many events a snapshot is taken; None: never.
    events
        The events for which there need be none now.
    """

    def __init__(self, log: Path, every: int | None, events: int) -> None:
        self._path, self.every, self._last = log, every, events
        self._one = threading.Lock()
        self._thread: threading.Thread | None = None

    def take_if_due(self, state: LiveState, journal: Journal) -> None:
        """Copy the state if it is time for a snapshot, and let it be written while decisions go on; never raises."""
        if self.every is None or state.book.events - self._last < self.every or self._busy:
            return
        try:
            copied = self.copy(state, journal)
        except Exception as error:  # noqa: BLE001 (the log has everything: a snapshot is not worth an answer)
            copied = f"{type(error).__name__}: {error}"
        if isinstance(copied, str):
            self._logger().warning("no snapshot", reason=copied)
        else:
            self._thread = threading.Thread(target=self._write, args=(copied,), name="snapshot")
            self._thread.start()

    def take_last(self, state: LiveState, journal: Journal) -> None:
        """Take one at the end, if there is anything new; what keeps it from being written is a message."""
        if self.every is not None and self._last < state.book.events:
            copied = self.copy(state, journal)
            reason = copied if isinstance(copied, str) else self.write(copied)
            if reason is not None:
                self._logger().warning("no snapshot", reason=reason)

    def copy(self, state: LiveState, journal: Journal) -> StateCopy | str:
        """The state for a snapshot; why there can be none, if there can be none."""
        self._last = state.book.events
        return copy_state(state, journal, present_change(state, "a snapshot"))

    def write(self, copied: StateCopy) -> str | None:
        """Write one now; why that is not possible, if it is not."""
        with self._one:
            return write_snapshot(copied)

    def wait(self) -> None:
        """Wait until the thread has written its snapshot."""
        if self._thread is not None:
            self._thread.join()

    @property
    def _busy(self) -> bool:
        """Whether the thread is writing one."""
        return self._thread is not None and self._thread.is_alive()

    def _write(self, copied: StateCopy) -> None:
        try:
            reason = self.write(copied)
        except Exception as error:  # noqa: BLE001 (as above)
            reason = f"{type(error).__name__}: {error}"
        if reason is not None:
            self._logger().warning("no snapshot", reason=reason)

    def _logger(self) -> FilteringBoundLogger:
        return logger(log=str(self._path))
