"""Rows of arrays for open pulls: which row a pull has, and how the arrays grow when more pulls are open."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Row = TypeVar("Row", bound=np.generic)


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
