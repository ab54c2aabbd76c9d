"""The choice of an arm with the largest index."""

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.compiled import compiled


@compiled
def largest(indices: Floats, random_ties: bool, stream: np.random.Generator) -> int:  # noqa: FBT001
    """An arm of the largest index; among equals a random one, or the first. The stream is used for ties only."""
    first, equals = 0, 1
    for arm in range(1, indices.size):
        if indices[arm] > indices[first]:
            first, equals = arm, 1
        elif indices[arm] == indices[first]:
            equals += 1
    if equals == 1 or not random_ties:
        return first
    skip = int(stream.random() * equals)
    for arm in range(first, indices.size):
        if indices[arm] == indices[first]:
            if skip == 0:
                return arm
            skip -= 1
    return first
