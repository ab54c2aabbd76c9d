"""What numbers, texts and lists may be at most, in scenarios and in logs alike; and the divisors of a span.

Whatever comes from a file is compared with these before anything is computed or allocated from it.
"""

from math import isqrt

LARGEST = 1e15
"""Of all numbers but the seed: beyond it floats do not tell whole numbers apart."""
MOST_ROUNDS = 10_000_000_000
LONGEST_SPAN = 1_000_000
MOST_ARMS = 10_000
MOST_POLICIES = 1_000
MOST_RUNS = 10_000_000
MOST_REPLICATIONS = 1_000_000
"""Of a randomisation test; each has a random stream, and a p value of a millionth is small enough."""
LONGEST_TEXT = 10_000
"""Letters of a text, a name or a key."""
LONGEST_LIST = 100_000
DEEPEST = 20
"""Tables inside of each other."""
MOST_DIVISORS = 12
"""Divisors that a message names."""


def divisors(number: int) -> list[int]:
    """All divisors of a whole number in order, found in as many steps as its square root.

    Examples
    --------
    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [one for one in range(1, isqrt(number) + 1) if number % one == 0]
    return [*small, *(number // one for one in reversed(small) if one * one != number)]


def divisors_near(number: int, wanted: int) -> str:
    """The divisors of a number as a message names them: all if they are few, else those nearest to the one wanted.

    Examples
    --------
    >>> divisors_near(100, 30)
    '1, 2, 4, 5, 10, 20, 25, 50, 100'
    """
    nearest = sorted(divisors(number), key=lambda one: abs(one - wanted))[:MOST_DIVISORS]
    return ", ".join(map(str, sorted(nearest)))
