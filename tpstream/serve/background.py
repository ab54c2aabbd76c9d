"""Snapshots that are written while a decider goes on: one at a time, and whatever happens to one stops no decision."""

import threading

from structlog.typing import FilteringBoundLogger

from tpstream.serve.snapshot import StateCopy, write_snapshot


class SnapshotWriter:
    """Writes snapshots one at a time, in a thread of its own or for a caller who waits.

    Parameters
    ----------
    log
        Is told what went wrong in the thread.
    """

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._one = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether the thread is writing one."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, copied: StateCopy) -> None:
        """Write one in the thread, which must not be busy."""
        self._thread = threading.Thread(target=self._write, args=(copied,), name="snapshot")
        self._thread.start()

    def wait(self) -> None:
        """Wait until the thread has written its snapshot."""
        if self._thread is not None:
            self._thread.join()

    def write(self, copied: StateCopy) -> str | None:
        """Write one now; why that is not possible, if it is not."""
        with self._one:
            return write_snapshot(copied)

    def _write(self, copied: StateCopy) -> None:
        try:
            reason = self.write(copied)
        except Exception as error:  # noqa: BLE001 (the log has everything: a snapshot is not worth a decision)
            reason = f"{type(error).__name__}: {error}"
        if reason is not None:
            self._log.warning("no snapshot", reason=reason)
