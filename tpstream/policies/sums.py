"""Sums that do not depend on the order of their terms: each is a pair of the rounded sum and what rounding lost."""

from tpstream.model.arrays import Floats
from tpstream.model.compiled import compiled


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
