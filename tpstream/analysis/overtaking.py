"""Overtaking in theory: the horizon from which TP-UCB-FR's upper bound is below TP-UCB-EW's, for good."""

import math

from scipy import optimize

from tpstream.analysis.theory import gaps_of, upper_ew, upper_fr
from tpstream.model.problem import Problem

FURTHEST = 690.0
"""The largest ln T that is looked at: e^690 is near the largest number there is."""
EXACT = 10**9
"""Up to here the answer is the exact round; beyond, its first nine digits are."""


def fr_beats_ew_from(problem: Problem, groups: int, ew_groups: int | None = None) -> int | None:
    """The smallest T such that TP-UCB-FR's bound is smaller at T and ever after; None if there is none.

    In L = ln T the difference of the bounds (EW's minus FR's) is convex: a line minus the roots of L^2 + c L. So it is
    negative on one interval at most, and the end of that interval is what is asked for. A T beyond 10^299 counts as
    never.
    """
    arms = gaps_of(problem)
    if not arms.gaps.size:
        return None
    ew = groups if ew_groups is None else ew_groups

    def lead(log: float) -> float:
        rounds = math.exp(log)
        return float(upper_ew(problem, rounds, ew) - upper_fr(problem, rounds, groups))

    if lead(FURTHEST) <= 0:
        return None
    dip = float(optimize.minimize_scalar(lead, bounds=(0.0, FURTHEST), method="bounded").x)
    before = min(0.0, dip, key=lead)
    if lead(before) > 0:
        return 1
    found = math.ceil(math.exp(optimize.brentq(lead, before, FURTHEST, xtol=1e-12)))
    if found > EXACT:
        return found
    while lead(math.log(found)) <= 0:
        found += 1
    while found > 1 and lead(math.log(found - 1)) > 0:
        found -= 1
    return found
