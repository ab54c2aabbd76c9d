"""Sums that do not depend on the order of their terms: each is a pair of the rounded sum and what rounding lost."""

from tpstream.model.arrays import Floats
from tpstream.model.compiled import compiled


@compiled
def add(sums: Floats, place: int, value: float) -> None:
    """Add a value to the sum at a place; the error of the addition is exact (Knuth's two-sum)."""
    before = sums[place, 0]
    after = before + value
    shifted = after - before
    sums[place, 1] += (before - (after - shifted)) + (value - shifted)
    sums[place, 0] = after


@compiled
def total(sums: Floats, place: int) -> float:
    """The sum at a place."""
    return float(sums[place, 0] + sums[place, 1])
