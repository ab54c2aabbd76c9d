"""Probabilities of allocation in a trial: from how likely each arm is to be the best one to who gets the next patient.

They are raised to a power, which softens them (below 1) or sharpens them; the control may be given a share of its own;
and the others are kept within limits. All functions change their array in place. `fixed` is the arm whose share is not
to be changed, -1 for none.
"""

import numpy as np

from tpstream.model.arrays import Bools, Floats
from tpstream.model.numba_support import compiled


@compiled
def raise_to_power(shares: Floats, power: float) -> None:
    """Raise each share to the power and divide by the sum; the power 0 makes all shares equal.

    Examples
    --------
    >>> shares = np.array([0.64, 0.36])
    >>> raise_to_power(shares, 0.5)
    >>> shares.round(4).tolist()
    [0.5714, 0.4286]
    """
    largest = 0.0
    for arm in range(shares.size):
        largest = max(largest, shares[arm])
    total = 0.0
    for arm in range(shares.size):  # relative to the largest, since a high power of small shares would be 0
        shares[arm] = (shares[arm] / largest) ** power
        total += shares[arm]
    for arm in range(shares.size):
        shares[arm] /= total


@compiled
def match_control(shares: Floats, control: int) -> None:
    """Give the control as much as the most likely of the other arms, and scale all to the sum 1.

    Examples
    --------
    >>> shares = np.array([0.1, 0.6, 0.3])
    >>> match_control(shares, 0)
    >>> shares.round(4).tolist()
    [0.4, 0.4, 0.2]
    """
    largest, total = 0.0, 0.0
    for arm in range(shares.size):
        if arm != control:
            largest = max(largest, shares[arm])
            total += shares[arm]
    for arm in range(shares.size):
        if total == 0.0:  # the control is the best one for sure
            shares[arm] = 1.0 / shares.size
        else:
            shares[arm] = (largest if arm == control else shares[arm]) / (total + largest)


@compiled
def scale_rest(shares: Floats, held: Bools) -> None:
    """Scale the shares that are not held so that all add up to 1; if they are 0, make them equal."""
    rest, free, count = 1.0, 0.0, 0
    for arm in range(shares.size):
        if held[arm]:
            rest -= shares[arm]
        else:
            free += shares[arm]
            count += 1
    for arm in range(shares.size):
        if not held[arm]:
            shares[arm] = rest * (shares[arm] / free) if free > 0.0 else rest / count


@compiled
def fix_share(shares: Floats, held: Bools, fixed: int, share: float) -> None:
    """Give one arm this share and scale the others to the rest; `held` is memory, one value for each arm.

    Examples
    --------
    >>> shares = np.array([0.1, 0.6, 0.3])
    >>> fix_share(shares, np.zeros(3, dtype=bool), 0, 0.25)
    >>> shares.tolist()
    [0.25, 0.5, 0.25]
    """
    for arm in range(shares.size):
        held[arm] = arm == fixed
    shares[fixed] = share
    scale_rest(shares, held)


@compiled
def lift(shares: Floats, held: Bools, fixed: int, minimum: float, maximum: float) -> None:
    """Bring the shares within limits, the others staying in proportion: c times a share, cut at both limits.

    Arms below the minimum are lifted to it, or arms above the maximum lowered to it, whichever are further off in sum,
    and the others scaled to the rest; this is repeated until all limits hold. They must leave a sum of 1 possible.
    `held` is memory, one value for each arm.

    Examples
    --------
    >>> shares = np.array([0.02, 0.1, 0.88])
    >>> lift(shares, np.zeros(3, dtype=bool), -1, 0.1, 1.0)
    >>> shares.round(4).tolist()
    [0.1, 0.1, 0.8]
    """
    for arm in range(shares.size):
        held[arm] = arm == fixed
    off = 1.0
    while off > 0.0:
        scale_rest(shares, held)
        lack, excess = 0.0, 0.0
        for arm in range(shares.size):
            if not held[arm]:
                lack += max(minimum - shares[arm], 0.0)
                excess += max(shares[arm] - maximum, 0.0)
        off = max(lack, excess)
        for arm in range(shares.size):
            if off == 0.0 or held[arm]:
                continue
            if lack >= excess and shares[arm] < minimum:
                shares[arm], held[arm] = minimum, True
            elif excess > lack and shares[arm] > maximum:
                shares[arm], held[arm] = maximum, True


@compiled
def clip(shares: Floats, held: Bools, fixed: int, minimum: float, maximum: float) -> None:
    """Cut each share at the limits and scale all to the sum 1, by which some may leave the limits again.

    Examples
    --------
    >>> shares = np.array([0.02, 0.1, 0.88])
    >>> clip(shares, np.zeros(3, dtype=bool), -1, 0.1, 1.0)
    >>> shares.round(4).tolist()
    [0.0926, 0.0926, 0.8148]
    """
    for arm in range(shares.size):
        held[arm] = arm == fixed
        if not held[arm]:
            shares[arm] = min(max(shares[arm], minimum), maximum)
    scale_rest(shares, held)


@compiled
def draw_arm(shares: Floats, stream: np.random.Generator) -> int:
    """An arm with these probabilities, from one uniform number."""
    left, last = stream.random(), 0
    for arm in range(shares.size):
        if shares[arm] > 0.0:
            last = arm
            left -= shares[arm]
            if left < 0.0:
                return arm
    return last  # the shares add up to a little less than 1
