"""Whether a log is whole: its bytes are compared with the SHA-256 of its end marker, beside the reading of its events.

Hashing takes 10 to 40 % of the time of reading, and no part of Python: a thread does it meanwhile.
"""

import hashlib
import mmap
import threading
from pathlib import Path

from tpstream.log.formats import DIGITS
from tpstream.model.errors import LogError

CHUNK = 1 << 22
"""Bytes that are hashed at a time; between them a check can be given up."""
SMALL = 1 << 18
"""Bytes of a file that is hashed at once: a thread would cost as much."""


class WholenessCheck:
    """Compares a file with its SHA-256; large ones in a thread, from now on.

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
