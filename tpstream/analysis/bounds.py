"""Bounds of a problem: the two lower ones, and the upper one of every policy that the theory knows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from numpy.typing import ArrayLike

from tpstream.analysis.theory import UPPER, gaps_of, lower_bound, lower_slope
from tpstream.model.arrays import Floats
from tpstream.model.problem import Problem

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
