"""The choice of an arm with the largest index."""

import math

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.compiled import compiled

TIE = 1e-12
"""Indices are equal if they differ by less than this share: what is equal on paper differs in its last bits here."""


@compiled
def largest(indices: Floats, random_ties: bool, stream: np.random.Generator) -> int:  # noqa: FBT001
    """An arm of the largest index; among equals a random one, or the first. The stream is used for ties only."""
    best = indices[0]
    for arm in range(1, indices.size):
        best = max(best, indices[arm])
    enough = best if math.isinf(best) else best - TIE * abs(best)
    first, equals = -1, 0
    for arm in range(indices.size):
        if indices[arm] >= enough:
            first = arm if equals == 0 else first
            equals += 1
    if equals == 1 or not random_ties:
        return first
    skip = int(stream.random() * equals)
    for arm in range(first, indices.size):
        if indices[arm] >= enough:
            if skip == 0:
                return arm
            skip -= 1
    return first
