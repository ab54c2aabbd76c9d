"""A ring of rows, one for each open pull, that grows when more pulls are open than it has rows.

Growth: arrays that get more rows.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Row = TypeVar("Row", bound=np.generic)


class Ring:
    """Gives every open pull a row of its own: its id modulo the capacity."""

    def __init__(self, capacity: int = 1) -> None:
        self.capacity = capacity
        self.oldest = 1
        self.released: set[int] = set()

    def reserve(self, pull: int) -> int:
        """Make room for a pull; returns the capacity from before, from which `enlarge` moves the rows."""
        before = self.capacity
        while pull - self.oldest >= self.capacity:
            self.capacity *= 2
        return before

    def release(self, pull: int) -> None:
        """The pull's row is free."""
        self.released.add(pull)
        while self.oldest in self.released:
            self.released.remove(self.oldest)
            self.oldest += 1

    def enlarge(self, rows: NDArray[Row], before: int, pull: int) -> NDArray[Row]:
        """The rows of all pulls before this one, each at its place in the larger ring."""
        grown = np.zeros((self.capacity, *rows.shape[1:]), dtype=rows.dtype)
        held = np.arange(max(self.oldest, pull - before), pull)
        grown[held % self.capacity] = rows[held % before]
        return grown


def longer(rows: NDArray[Row], more: int) -> NDArray[Row]:
    """The array with more rows, of zeros."""
    return np.concatenate([rows, np.zeros((more, *rows.shape[1:]), dtype=rows.dtype)])


def with_longer(fields: Any, names: tuple[str, ...], rows: int) -> Any:
    """A named tuple in which these fields have that many rows."""
    return fields._replace(**{name: longer(getattr(fields, name), rows - len(getattr(fields, name))) for name in names})
