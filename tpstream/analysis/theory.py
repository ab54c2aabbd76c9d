"""The paper's lower and upper bounds of the pseudo-regret, for any problem and any number of rounds.

Source: Romano et al., "Multi-Armed Bandit Problem with Temporally-Partitioned Rewards", IJCAI 2022, with its appendix.
Delta_i = mu* - mu_i is the gap of an arm and Rbar_i its maximum; Rmax is the largest maximum, alpha the number of
groups, phi = span / alpha their width, and L = ln T. Sums go over the arms with a positive gap.

    lower, any rewards (Theorem 1)    sum Delta L / KL(mu_i/Rmax, mu*/Rmax)
    lower, smooth rewards (Theorem 2) the same / alpha
    TP-UCB-FR (Theorem 3)    sum 4 Rbar^2 L / (alpha Delta) (1 + sqrt(1 + alpha (alpha+1) phi Delta / (2 Rbar L)))
                             + (alpha+1) phi sum Rbar + (1 + pi^2/3) sum Delta
    TP-UCB-EW (Theorem 4)    sum 8 Rbar^2 L / Delta + alpha (phi + pi^2/3) sum Delta
    UCB1 (Auer et al. 2002)  sum 8 Rbar^2 L / Delta + (1 + pi^2/3) sum Delta
    Delayed-UCB1 (appendix)  sum 8 Rbar^2 L / Delta + (1 + pi^2/3 + span) sum Delta

The appendix's table of bounds misprints TP-UCB-FR's (no phi under the root); here it is as in the theorem.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.world import Problem

FAILURES = math.pi**2 / 3
"""In all four proofs: how many pulls of an arm are lost because a confidence interval fails."""


def known_means(problem: Problem) -> Floats:
    """The true means of the arms; an error if the problem does not say them."""
    if problem.means is None:
        raise PolicyError("the bounds need the true means of the arms; take the problem of a scenario")
    return problem.means


def suboptimal_arms(problem: Problem) -> tuple[Floats, Floats]:
    """The gaps and the maxima of the arms that are not best."""
    means = known_means(problem)
    gaps = means.max() - means
    return gaps[gaps > 0], problem.maxima[gaps > 0]


def divergence(first: ArrayLike, second: ArrayLike) -> Floats:
    """The Kullback-Leibler divergence of Bernoulli variables with these means.

    Infinite where the second mean rules out an outcome that the first one allows.
    """
    from scipy.special import rel_entr  # noqa: PLC0415 (regret without bounds needs no SciPy)

    p, q = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    terms: Floats = rel_entr(p, q) + rel_entr(1 - p, 1 - q)
    # Pinsker's inequality: it is at least this. Where the means are close the two terms nearly cancel.
    return np.maximum(terms, 2 * (p - q) ** 2)


def lower_slope(problem: Problem, groups: int = 1) -> float:
    """What any uniformly efficient policy loses per ln T in the long run: Theorem 1, or with groups Theorem 2."""
    means = known_means(problem)
    best, largest = means.max(), problem.maxima.max()
    worse = means[means < best]
    return float(np.sum((best - worse) / divergence(worse / largest, best / largest))) / groups


def upper_slope(problem: Problem, groups: int = 1) -> float:
    """The growth of the upper bounds per ln T in the long run; only TP-UCB-FR's is divided by its groups."""
    gaps, maxima = suboptimal_arms(problem)
    return float((8 * maxima**2 / gaps).sum()) / groups


def lower_bound(problem: Problem, rounds: ArrayLike, groups: int = 1) -> Floats:
    """The line of the lower bound, slope times ln T; the theorems state it for large T only."""
    return lower_slope(problem, groups) * np.log(np.asarray(rounds, dtype=np.float64))


UPPER = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew")
"""The kinds of policies that have an upper bound."""


def upper_bound(kind: str, problem: Problem, rounds: ArrayLike, groups: int = 1) -> Floats:
    """The upper bound of a kind of policy after so many rounds; UCB1 and Delayed-UCB1 assume no groups."""
    gaps, maxima = suboptimal_arms(problem)
    total_gap, span = float(gaps.sum()), problem.span
    log = np.log(np.asarray(rounds, dtype=np.float64))[..., np.newaxis]  # the last axis is for the arms
    if kind == "tp-ucb-fr":
        factor, under = 4 * maxima**2 / (groups * gaps), groups * (groups + 1) * (span / groups) * gaps / (2 * maxima)
        # L is multiplied into the root, so that T = 1 does not divide by 0.
        growing: Floats = (factor * (log + np.sqrt(log**2 + under * log))).sum(axis=-1)
        return growing + (groups + 1) * (span / groups) * float(maxima.sum()) + (1 + FAILURES) * total_gap
    lost_pulls = {
        "ucb1": 1 + FAILURES,
        "delayed-ucb1": 1 + FAILURES + span,
        "tp-ucb-ew": groups * (span / groups + FAILURES),
    }
    leading: Floats = (8 * maxima**2 / gaps * log).sum(axis=-1)
    return leading + lost_pulls[kind] * total_gap


PolicyGroups = tuple[str, str, int | str | None]
"""What a bound needs of a policy: its label, its kind, and the number of groups that it assumes; "auto": not fixed."""


@dataclass(frozen=True)
class Bound:
    """A lower bound of every policy's regret, or an upper bound of one policy's."""

    name: str
    """For an upper bound the label of the policy."""
    upper: bool
    groups: int | None
    slope: float
    """The growth per ln T in the long run."""
    at: Callable[[ArrayLike], Floats]
    """The bound as a function of the number of rounds."""


def bounds_of(problem: Problem, policies: Iterable[PolicyGroups]) -> list[Bound]:
    """The lower bounds of a problem, then the upper bounds of those policies that have one.

    The lower bound for smooth rewards is among them if the problem says its number of groups. A policy that chooses its
    groups by itself has no upper bound. An arm without a maximum is an error.
    """
    unknown = [name for name, maximum in zip(problem.names, problem.maxima, strict=True) if np.isnan(maximum)]
    if unknown:
        raise PolicyError(f"the bounds need the maximum of every arm, and {unknown[0]!r} has none; give it one")
    bounds = []
    for known in dict.fromkeys([None, problem.groups]):
        name = "any rewards" if known is None else f"{known} group{'s' if known > 1 else ''}"
        slope, at = lower_slope(problem, known or 1), partial(lower_bound, problem, groups=known or 1)
        bounds.append(Bound(f"lower bound, {name}", upper=False, groups=known, slope=slope, at=at))
    for label, kind, groups in policies:
        if kind in UPPER and not isinstance(groups, str):
            slope = upper_slope(problem, groups or 1 if kind == "tp-ucb-fr" else 1)
            at = partial(upper_bound, kind, problem, groups=groups or 1)
            bounds.append(Bound(label, upper=True, groups=groups, slope=slope, at=at))
    return bounds


LARGEST_LOG = 690.0
"""The largest ln T that is searched: e^690 is near the largest floating-point number."""
LARGEST_EXACT = 10**9
"""Up to here the overtaking round is exact; beyond, its first nine digits are."""


def fr_beats_ew_from(problem: Problem, groups: int, ew_groups: int | None = None) -> int | None:
    """The smallest T such that the bound of TP-UCB-FR is below that of TP-UCB-EW at T and ever after.

    None if there is no such T up to 10^299. The difference of the bounds (EW minus FR) is convex in L = ln T: a line
    minus square roots of L^2 + c L. So it is negative on at most one interval, and the answer is the end of it.
    """
    if not len(suboptimal_arms(problem)[0]):
        return None
    from scipy.optimize import brentq, minimize_scalar  # noqa: PLC0415 (only this function needs them)

    def lead(log: float) -> float:
        rounds = math.exp(log)
        ew = upper_bound("tp-ucb-ew", problem, rounds, ew_groups or groups)
        return float(ew - upper_bound("tp-ucb-fr", problem, rounds, groups))

    if lead(LARGEST_LOG) <= 0:
        return None
    lowest = float(minimize_scalar(lead, bounds=(0.0, LARGEST_LOG), method="bounded").x)
    before = min(0.0, lowest, key=lead)
    if lead(before) > 0:
        return 1
    found = math.ceil(math.exp(brentq(lead, before, LARGEST_LOG, xtol=1e-12)))
    if found > LARGEST_EXACT:
        return found
    while lead(math.log(found)) <= 0:
        found += 1
    while found > 1 and lead(math.log(found - 1)) > 0:
        found -= 1
    return found
