"""The choice of an arm with the largest index.

Sums that do not depend on the order of their terms: each is a pair of the rounded sum and what rounding lost.
"""

import math

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.numba_support import compiled

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


@compiled
def two_sum(one: float, other: float) -> tuple[float, float]:
    """The rounded sum of two numbers, and exactly what rounding lost (Knuth)."""
    rounded = one + other
    shifted = rounded - one
    return rounded, (one - (rounded - shifted)) + (other - shifted)


@compiled
def add(sums: Floats, place: int, value: float) -> None:
    """Add a value to the sum at a place."""
    rounded, lost = two_sum(sums[place, 0], value)
    sums[place, 0] = rounded
    sums[place, 1] += lost


@compiled
def exchange(sums: Floats, place: int, old: float, new: float) -> None:
    """Replace a term of the sum at a place by another one."""
    difference, lost = two_sum(new, -old)
    add(sums, place, difference)
    sums[place, 1] += lost


@compiled
def total(sums: Floats, place: int) -> float:
    """The sum at a place."""
    return float(sums[place, 0] + sums[place, 1])
