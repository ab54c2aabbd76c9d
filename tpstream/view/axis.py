"""Axes with a fixed number of bins: when a value lies beyond the last one, bins are merged in pairs."""

import math

import numpy as np
from numpy.typing import NDArray

from tpstream.model.arrays import Floats, Ints

FINEST = 2.0**-20
"""The width with which bins begin if the first values are all the same, and not whole."""


class Axis:
    """Bins of equal width from an origin on; the width doubles as often as it must.

    It begins as 1 if the first values are whole numbers, so that every bin has the same number of rounds, and else
    with the power of two for which the first values fit.

    Parameters
    ----------
    size
        The number of bins, a power of two.
    origin
        Where the first bin begins; None: at the first value.

    Examples
    --------
    >>> import numpy as np
    >>> axis = Axis(4, origin=0.0)
    >>> axis.fit(np.array([0.0, 3.0])), axis.width
    (0, 1.0)
    >>> axis.fit(np.array([9.0])), axis.width
    (2, 4.0)
    >>> axis.places(np.array([0.0, 3.0, 9.0])).tolist()
    [0, 0, 2]
    """

    def __init__(self, size: int, origin: float | None = None) -> None:
        self.size = size
        self.origin = origin or 0.0
        self._begun = origin is not None
        self.width = 0.0
        self.used = 0
        """The number of bins up to the last one that a value fell into."""

    def fit(self, values: Floats) -> int:
        """Make room for these values, of which there must be one; returns how often the width was doubled for it."""
        smallest, largest = float(values.min()), float(values.max())
        if not self._begun:
            self.origin, self._begun = smallest, True
        reach = max(largest - self.origin, 0.0)
        if not self.width:
            whole = bool((values == np.floor(values)).all())
            self.width = 1.0 if whole else 2.0 ** math.floor(math.log2(reach / self.size)) if reach else FINEST
            self._widen(reach)
            doublings = 0  # nothing is in the bins yet
        else:
            doublings = self._widen(reach)
        self.used = max(-(-self.used // 2**doublings), int(reach / self.width) + 1)
        return doublings

    def _widen(self, reach: float) -> int:
        doublings = 0
        while reach / self.width >= self.size:
            self.width *= 2
            doublings += 1
        return doublings

    def places(self, values: Floats) -> Ints:
        """The bin of each value; one before the origin is in the first bin."""
        places = ((values - self.origin) / self.width).astype(np.int64)
        return np.clip(places, 0, self.size - 1, out=places)


def merge_pairs(bins: NDArray[np.generic], doublings: int, axis: int = 0) -> None:
    """Add up every 2 ** doublings neighbours along an axis, in place; what is left behind is zero."""
    rows = np.moveaxis(bins, axis, 0)
    for _ in range(min(doublings, len(rows).bit_length())):
        half = len(rows) // 2
        rows[:half] = rows[0::2] + rows[1::2]  # type: ignore[operator]
        rows[half:] = 0
