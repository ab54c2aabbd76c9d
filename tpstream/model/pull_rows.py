"""Rows of arrays for pulls: which row an open one has, how the arrays grow, and how much room they may take.

A few bytes of a file can ask for any amount: a header that says a million parts, a footer that says a billion rows. So
whoever allocates what a log asks for compares it first.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tpstream.model.errors import LogError
from tpstream.model.memory import size_text

Row = TypeVar("Row", bound=np.generic)
MOST_ROOM = 10**9
"""Bytes of the arrays that hold what is known of every pull of a log; they are copied when they grow."""


class Ring:
    """Gives every open pull a row of its own: its number modulo the capacity."""

    def __init__(self, capacity: int = 1) -> None:
        self.capacity = capacity
        self.oldest = 1
        self.released: set[int] = set()

    def reserve(self, pull: int) -> int:
        """Make room for a pull; returns the capacity before, which `enlarge` needs if it has grown."""
        before = self.capacity
        while pull - self.oldest >= self.capacity:
            self.capacity *= 2
        return before

    def release(self, pull: int) -> None:
        """Free the row of a pull."""
        self.released.add(pull)
        while self.oldest in self.released:
            self.released.remove(self.oldest)
            self.oldest += 1

    def enlarge(self, rows: NDArray[Row], before: int, pull: int) -> NDArray[Row]:
        """An array of the new capacity, with the rows of all open pulls before this one at their new places."""
        grown = np.zeros((self.capacity, *rows.shape[1:]), dtype=rows.dtype)
        held = np.arange(max(self.oldest, pull - before), pull)
        grown[held % self.capacity] = rows[held % before]
        return grown


def longer(rows: NDArray[Row], more: int) -> NDArray[Row]:
    """The array with this many rows of zeros appended."""
    return np.concatenate([rows, np.zeros((more, *rows.shape[1:]), dtype=rows.dtype)])


def with_longer(fields: Any, names: tuple[str, ...], rows: int) -> Any:
    """A named tuple in which these fields have this many rows, the new ones zero."""
    return fields._replace(**{name: longer(getattr(fields, name), rows - len(getattr(fields, name))) for name in names})


def check_room(source: object, rows: int, row_bytes: float, what: str) -> None:
    """Raise LogError if so many rows of so many bytes are more than a log may take.

    Examples
    --------
    >>> check_room("wide.jsonl", 20_000, 250_000, "pulls of 1,000,000 parts")
    Traceback (most recent call last):
    tpstream.model.errors.LogError: wide.jsonl: 20,000 pulls of 1,000,000 parts take 5.0 GB, and 1.0 GB are the most ...
    """
    if rows * row_bytes > MOST_ROOM:
        raise LogError(
            f"{source}: {rows:,} {what} take {size_text(rows * row_bytes)}, and {size_text(MOST_ROOM)} are the most "
            f"that a log may take; give one of fewer pulls, or of a smaller span"
        )


def most_rows(row_bytes: int) -> int:
    """How many rows of so many bytes a log may take."""
    return MOST_ROOM // max(row_bytes, 1)
