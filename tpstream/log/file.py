"""The file of a log while it is written: each flush is written as a whole, and nothing is overwritten by accident."""

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tpstream.model.errors import LogError


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
        self._failed = False

    def write(self, data: bytes) -> int:
        """Keep the bytes for the next flush."""
        self._waiting.append(bytes(data))
        return len(data)

    def tell(self) -> int:
        """The number of bytes so far, with those that are kept for the next flush."""
        return self._size + sum(map(len, self._waiting))

    def flush(self) -> None:
        """Write what is kept; a flush that fails halfway is taken back as a whole, and nothing is written after it."""
        if self._failed:
            return
        rest = memoryview(b"".join(self._waiting))
        self._waiting.clear()
        size = self._size + len(rest)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except BaseException as error:
            self._failed = True
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self._size)
            if not isinstance(error, OSError):
                raise  # an interruption
            raise LogError(
                f"{self.path}: cannot write: {error.strerror}; what was written before can be read, "
                f"free space and run again with --force"
            ) from error
        self._size = size

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

    def close(self) -> None:
        """Close the file; one that was not published is removed."""
        self._file.close()
        if self._place != self.path:
            self._place.unlink(missing_ok=True)

    def remove(self) -> None:
        """Close the file and delete it; a log that it was to replace stays."""
        self._file.close()
        self._place.unlink(missing_ok=True)


def _occupied(path: Path) -> LogError:
    return LogError(f"{path}: there is a log already; choose another place, or overwrite it with --force")
