"""What policies with indices share: the choice of the largest index, and sums that rounding does not harm.

In a trial arms can be dropped: those that are still open are marked in `open_arms`, and the index of a dropped arm is
minus infinity.

A sum is kept as a pair: the rounded sum, and the total of what rounding lost. So it does not depend on the order of its
terms.
"""

import math

import numpy as np

from tpstream.model.arrays import Bools, Floats
from tpstream.model.numba_support import compiled
from tpstream.policies.base import NO_ARM

TIE = 1e-12
"""Indices count as equal if they differ by less than this share of the largest: rounding makes such differences."""


@compiled
def largest(indices: Floats, random_ties: bool, stream: np.random.Generator) -> int:  # noqa: FBT001
    """Choose an arm of the largest index; the stream is used for ties only.

    Parameters
    ----------
    indices : array of float
        One index for each arm. If one of them is NaN, none is the largest.
    random_ties : bool
        Whether to choose at random among equal indices; else the first of them is taken.
    stream : numpy.random.Generator
        The policy's stream.

    Returns
    -------
    int
        The arm; -1, which ends the run with an error, if an index is NaN.

    Examples
    --------
    >>> largest(np.array([1.0, 3.0, 3.0]), False, np.random.default_rng(1))
    1
    """
    best = -math.inf
    for arm in range(indices.size):
        if math.isnan(indices[arm]):
            return NO_ARM
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
    """Add a value to one of the sums.

    Parameters
    ----------
    sums : array of float
        The sums, of shape (number of sums, 2); zeros at first.
    place : int
        Which sum.
    value : float
        What is added.

    Examples
    --------
    >>> sums = np.zeros((1, 2))
    >>> for value in (1e16, 1.0, 1.0, -1e16):
    ...     add(sums, 0, value)
    >>> total(sums, 0)
    2.0
    """
    rounded, lost = two_sum(sums[place, 0], value)
    sums[place, 0] = rounded
    sums[place, 1] += lost


@compiled
def exchange(sums: Floats, place: int, old: float, new: float) -> None:
    """Replace a term of the sum at this place by another one."""
    difference, lost = two_sum(new, -old)
    add(sums, place, difference)
    sums[place, 1] += lost


@compiled
def total(sums: Floats, place: int) -> float:
    """The sum at this place, rounded once."""
    return float(sums[place, 0] + sums[place, 1])


@compiled
def count_open(open_arms: Bools) -> int:
    """How many arms are not dropped."""
    count = 0
    for arm in range(open_arms.size):
        count += 1 if open_arms[arm] else 0
    return count


@compiled
def nth_open(open_arms: Bools, place: int) -> int:
    """The arm at this place, from 0, among those that are not dropped.

    Examples
    --------
    >>> nth_open(np.array([True, False, True]), 1)
    2
    """
    last = -1
    for arm in range(open_arms.size):
        if open_arms[arm] and place >= 0:
            last = arm
            place -= 1
    return last


@compiled
def in_turn(open_arms: Bools, round: int) -> int:
    """The arm whose turn it is in this round, if all that are not dropped are pulled one after the other."""
    return nth_open(open_arms, (round - 1) % count_open(open_arms))


@compiled
def close_indices(indices: Floats, open_arms: Bools) -> None:
    """Give dropped arms the index minus infinity."""
    for arm in range(indices.size):
        if not open_arms[arm]:
            indices[arm] = -math.inf


@compiled
def in_turn_or_largest(
    indices: Floats,
    open_arms: Bools,
    round: int,
    start_rounds: int,
    random_ties: bool,  # noqa: FBT001
    stream: np.random.Generator,
) -> int:
    """The arms in turn during the first rounds, then an arm of the largest index; dropped ones never."""
    close_indices(indices, open_arms)
    if round <= start_rounds:
        return in_turn(open_arms, round)
    return largest(indices, random_ties, stream)
