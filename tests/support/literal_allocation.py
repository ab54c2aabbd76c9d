"""Limits of allocation once more, by a slow search."""

import math

import numpy as np

from tpstream.model.arrays import Floats


def lifted(shares: Floats, minimum: float, maximum: float) -> Floats:
    """C times each share, cut at the limits, with the c that makes the sum 1, found by halving an interval."""
    low, high = -400.0, 400.0
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(math.exp(middle) * shares, minimum, maximum).sum() < 1 else (low, middle)
    return np.clip(math.exp(low) * shares, minimum, maximum)
