"""The file of a decider's log: lines are added, flushed to disk together, and taken back together if that fails.

One process writes a log at a time. Of a batch that was not flushed as a whole, whole lines may stay after a kill; the
caller was told of none of them.
"""

import errno
import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tpstream.log.jsonl import LONGEST
from tpstream.log.schema import decode_header
from tpstream.model.errors import DeciderError, LogError

BEGINNING = b'{"schema":'
"""How the first line of a log begins."""
CHUNK = 1 << 22
"""Bytes that are read at a time."""
PROBE = 1 << 16
"""Bytes that must find room before a log goes on whose disk was full."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What the system says when there is no room: on the disk, for this user, in this file."""


class Journal:
    """An open log file, locked against other writers.

    Parameters
    ----------
    path
        The file; it is created if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            make_folder(path.parent)
            self._file: BinaryIO = os.fdopen(
                os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b", buffering=0
            )
        except OSError as error:
            raise DeciderError(
                f"{path}: cannot open the log: {error.strerror}; choose a folder that can be written"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise DeciderError(
                f"{path}: another decider writes this log; there is one writer for each log, so stop that one first"
            ) from error
        self.size = os.fstat(self._file.fileno()).st_size
        """The bytes that are known to be on disk."""
        self.digest = hashlib.sha256()
        """The SHA-256 of these bytes, once `read_to` or `append` was called for all of them."""
        self.failed = False
        """Whether the last write was taken back."""
        self._hashed = 0

    def _require_own(self) -> None:
        """Raise LogError unless this is a decider's log, or the part of its first line that a kill left."""
        with self.path.open("rb") as file:
            line = file.readline(LONGEST)
        if line.endswith(b"\n"):
            own = decode_header(self.path, line).decider is not None
        else:
            own = line.startswith(BEGINNING) or BEGINNING.startswith(line)
        if not own:
            raise LogError(f"{self.path}: was not written by a decider; choose another place for the log")

    def cut_tail(self) -> int:
        """Cut off what follows the last whole line; the number of bytes that were cut.

        A file that is no decider's log is left as it is: LogError.
        """
        self._require_own()
        end, size = self.size, self.size
        while end:
            start = max(0, end - CHUNK)
            self._file.seek(start)
            found = self._file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._file.fileno(), end)
            os.fsync(self._file.fileno())
        self.size = end
        return size - end

    def rewind(self) -> None:
        """Let `read_to` begin at the beginning again."""
        self.digest, self._hashed = hashlib.sha256(), 0

    def read_to(self, size: int) -> str:
        """The SHA-256 of the bytes up to this size; they are read from where the last call ended."""
        left = size - self._hashed
        self._file.seek(self._hashed)
        while left > 0:
            data = self._file.read(min(CHUNK, left))
            if not data:
                break
            self.digest.update(data)
            left -= len(data)
        self._hashed = size
        return self.digest.hexdigest()

    def append(self, data: bytes) -> None:
        """Add whole lines and flush them to disk; DeciderError if that fails, and then nothing of them is there.

        An interrupt takes them back, too.
        """
        self.failed = True  # until all is done, whatever comes between
        try:
            self._file.seek(self.size)
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fdatasync(self._file.fileno())
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self.size)
                os.fsync(self._file.fileno())
            if isinstance(error, OSError):
                raise self._unwritten(error, "nothing of this was decided or credited, ") from error
            raise
        self.size += len(data)
        self.digest.update(data)
        self._hashed = self.size
        self.failed = False

    def _unwritten(self, error: OSError, consequence: str) -> DeciderError:
        """What the system said when the log could not be written; only a disk without room is called full."""
        full = error.errno in FULL
        remedy = "free space and ask again" if full else "see to the disk and ask again"
        return DeciderError(
            f"{self.path}: cannot write: {error.strerror}; {consequence}{remedy}", reason="full" if full else "disk"
        )

    def _probe(self) -> None:
        """Raise OSError if there is still no room."""
        try:
            self._file.seek(self.size)
            written = self._file.write(bytes(PROBE))
            os.fdatasync(self._file.fileno())
            if written < PROBE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.ftruncate(self._file.fileno(), self.size)

    def require_room(self) -> None:
        """Raise DeciderError at once if the last write failed and there is still no room."""
        if not self.failed:
            return
        try:
            self._probe()
        except OSError as error:
            raise self._unwritten(error, "") from error
        self.failed = False

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def sync_folder(self) -> None:
        """Let the file's name be on disk, too."""
        flush_folder(self.path.parent)

    def close(self) -> None:
        """Close the file, and so unlock it."""
        self._file.close()


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, and let their names be on disk."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in reversed(missing):
        flush_folder(one.parent)


def flush_folder(folder: Path) -> None:
    """Let the names of the files of a folder be on disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
