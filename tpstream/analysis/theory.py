"""Theory: the paper's lower and upper bounds of the pseudo-regret, for any problem and any number of rounds.

Delta_i = mu* - mu_i is the gap of an arm and Rbar_i its maximum; sums go over the arms with a positive gap. L = ln T.

    lower, general (Theorem 1)     sum Delta L / KL(mu_i/Rmax, mu*/Rmax)
    lower, smooth (Theorem 2)      the same / alpha
    TP-UCB-FR (Theorem 3)          sum 4 Rbar^2 L / (alpha Delta) (1 + sqrt(1 + alpha (alpha+1) phi Delta / (2 Rbar L)))
                                   + (alpha+1) phi sum Rbar + (1 + pi^2/3) sum Delta
    TP-UCB-EW (Theorem 4)          sum 8 Rbar^2 L / Delta + alpha (phi + pi^2/3) sum Delta
    UCB1                           sum 8 Rbar^2 L / Delta + (1 + pi^2/3) sum Delta
    Delayed-UCB1                   sum 8 Rbar^2 L / Delta + (1 + pi^2/3 + span) sum Delta

The paper's table of bounds in the appendix misprints TP-UCB-FR's (no phi under the root); the theorem counts.

Bounds of a problem: the two lower ones, and the upper one of every policy that the theory knows.

Overtaking in theory: the horizon from which TP-UCB-FR's upper bound is below TP-UCB-EW's, for good.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.world import Problem

ZETA = math.pi**2 / 3
"""What failing confidence intervals cost in all four proofs, in pulls of an arm."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """The arms that cost something: their gaps and maxima; and the span over which a pull pays."""

    gaps: Floats
    maxima: Floats
    span: int


def gaps_of(problem: Problem) -> Gaps:
    """The arms of a problem that are not among the best."""
    means = known_means(problem)
    gaps = means.max() - means
    costly = gaps > 0
    return Gaps(gaps[costly], problem.maxima[costly], problem.span)


def known_means(problem: Problem) -> Floats:
    """The true means, without which there is no theory."""
    if problem.means is None:
        raise PolicyError("the bounds need the true means of the arms; take the problem of a scenario")
    return problem.means


def divergence(first: ArrayLike, second: ArrayLike) -> Floats:
    """The Kullback-Leibler divergence of Bernoulli variables with these means; infinite where only one is certain."""
    p, q = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    terms: Floats = special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)
    # By Pinsker's inequality it is at least this; the two terms nearly cancel where the means are close.
    return np.maximum(terms, 2 * (p - q) ** 2)


def lower_slope(problem: Problem, groups: int = 1) -> float:
    """What any uniformly efficient policy loses per ln T in the long run (Theorem 1; with groups, Theorem 2)."""
    means = known_means(problem)
    best, largest = means.max(), problem.maxima.max()
    costly = means < best
    return float(np.sum((best - means[costly]) / divergence(means[costly] / largest, best / largest))) / groups


def lower_bound(problem: Problem, rounds: ArrayLike, groups: int = 1) -> Floats:
    """The lower bound's line, slope times ln T; it is a promise about large T only."""
    return lower_slope(problem, groups) * np.log(np.asarray(rounds, dtype=np.float64))


def upper_ucb1(problem: Problem, rounds: ArrayLike, groups: int = 1) -> Floats:  # noqa: ARG001 (all bounds are alike)
    """The bound of UCB1, which sees a cumulative reward at the pull."""
    arms = gaps_of(problem)
    return _leading(arms, rounds) + (1 + ZETA) * _sum(arms.gaps)


def upper_delayed(problem: Problem, rounds: ArrayLike, groups: int = 1) -> Floats:  # noqa: ARG001 (the same)
    """The bound of Delayed-UCB1: UCB1's, and a pull of every arm for each round of the span."""
    arms = gaps_of(problem)
    return _leading(arms, rounds) + (1 + ZETA + arms.span) * _sum(arms.gaps)


def upper_ew(problem: Problem, rounds: ArrayLike, groups: int) -> Floats:
    """The bound of TP-UCB-EW (Theorem 4)."""
    arms = gaps_of(problem)
    width = arms.span / groups
    return _leading(arms, rounds) + groups * (width + ZETA) * _sum(arms.gaps)


def upper_fr(problem: Problem, rounds: ArrayLike, groups: int) -> Floats:
    """The bound of TP-UCB-FR (Theorem 3); L is taken under the root, so that it holds at T = 1 too."""
    arms = gaps_of(problem)
    width = arms.span / groups
    log = _logs(rounds)
    factor = 4 * arms.maxima**2 / (groups * arms.gaps)
    under = groups * (groups + 1) * width * arms.gaps / (2 * arms.maxima)
    growing: Floats = (factor * (log + np.sqrt(log**2 + under * log))).sum(axis=-1)
    return growing + (groups + 1) * width * _sum(arms.maxima) + (1 + ZETA) * _sum(arms.gaps)


def _logs(rounds: ArrayLike) -> Floats:
    """The logarithms of T, with an axis for the arms."""
    return np.log(np.asarray(rounds, dtype=np.float64))[..., np.newaxis]


def _sum(values: Floats) -> float:
    return float(values.sum())


def _leading(arms: Gaps, rounds: ArrayLike) -> Floats:
    leading: Floats = (8 * arms.maxima**2 / arms.gaps * _logs(rounds)).sum(axis=-1)
    return leading


UPPER: dict[str, Callable[[Problem, ArrayLike, int], Floats]] = {
    "ucb1": upper_ucb1,
    "delayed-ucb1": upper_delayed,
    "tp-ucb-fr": upper_fr,
    "tp-ucb-ew": upper_ew,
}
"""The upper bounds by kind of policy."""


Known = tuple[str, str, int | None]
"""A policy as the theory sees it: its label, its kind, and the groups that it assumes, if it assumes any."""


@dataclass(frozen=True)
class Bound:
    """A bound of the regret: of all policies from below, or of one policy from above."""

    name: str
    """The policy's label, for an upper bound."""
    upper: bool
    groups: int | None
    slope: float
    """What it grows by per ln T in the long run."""
    at: Callable[[ArrayLike], Floats]
    """Its value after so many rounds."""


def bounds_of(problem: Problem, policies: Iterable[Known]) -> list[Bound]:
    """The lower bounds of a problem (the smooth one if its groups are known), then the policies' upper bounds."""
    found = [lower_of(problem, None)]
    if problem.groups is not None:
        found.append(lower_of(problem, problem.groups))
    return found + [upper_of(problem, policy) for policy in policies if policy[1] in UPPER]


def lower_of(problem: Problem, groups: int | None) -> Bound:
    """Theorem 1, or with groups Theorem 2."""
    name = "any rewards" if groups is None else f"{groups} group{'s' if groups > 1 else ''}"
    divisor = groups or 1
    return Bound(
        f"lower bound, {name}",
        upper=False,
        groups=groups,
        slope=lower_slope(problem, divisor),
        at=partial(_lower, problem, divisor),
    )


def upper_of(problem: Problem, policy: Known) -> Bound:
    """The upper bound of a policy; one that assumes no groups needs none."""
    label, kind, groups = policy
    arms = gaps_of(problem)
    divisor = groups if kind == "tp-ucb-fr" and groups else 1
    slope = float((8 * arms.maxima**2 / arms.gaps).sum()) / divisor
    return Bound(label, upper=True, groups=groups, slope=slope, at=partial(_upper, kind, problem, groups or 1))


def _lower(problem: Problem, groups: int, rounds: ArrayLike) -> Floats:
    return lower_bound(problem, rounds, groups)


def _upper(kind: str, problem: Problem, groups: int, rounds: ArrayLike) -> Floats:
    return UPPER[kind](problem, rounds, groups)


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
