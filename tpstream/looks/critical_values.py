"""From which value on each rule of a design applies, at each analysis: thresholds, or boundaries by spending.

Alpha is of each comparison with the control, or, if the design adjusts it, of all m comparisons together. Then what is
spent up to an analysis is turned into what each comparison may spend: a / m (Bonferroni), or the a' for which the
largest of m standard normal variables, correlated as comparisons with one control are, exceeds the a' quantile with
probability a (Dunnett). With several analyses the latter is not exact, but close.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from tpstream.looks.boundaries import Boundaries, efficacy_boundaries, spending_boundaries
from tpstream.looks.delayed_response import decision_after_stop
from tpstream.looks.design import Adjust, Design, Rule
from tpstream.looks.spending import spent

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


@lru_cache(maxsize=256)
def dunnett_share(error: float, ratios: tuple[float, ...]) -> float:
    """What each comparison may spend so that all together spend the error.

    `ratios` are those of the patients of each treatment to those of the control: the correlation of two comparisons is
    the root of r / (1 + r) of one times that of the other.

    Examples
    --------
    >>> round(dunnett_share(0.05, (1.0, 1.0)), 4)
    0.0277
    """
    loadings = np.sqrt(np.array(ratios) / (1 + np.array(ratios)))

    def missing(value: float) -> float:
        """What is left of the error if comparisons are significant from this value on."""
        inside = ndtr((value - np.outer(_NODES, loadings)) / np.sqrt(1 - loadings**2)).prod(axis=1)
        return 1 - float(_WEIGHTS @ inside) / math.sqrt(2 * math.pi) - error

    return float(ndtr(-brentq(missing, -1.0, 12.0, xtol=1e-12)))


def per_comparison(adjust: Adjust, error: float, ratios: tuple[float, ...]) -> float:
    """What one comparison may spend if all together may spend the error."""
    if adjust == "none" or error <= 0:
        return error
    return error / len(ratios) if adjust == "bonferroni" else dunnett_share(error, ratios)


class CriticalValues:
    """The critical values of all rules of a design."""

    def __init__(self, design: Design) -> None:
        self._design = design
        others = [arm for arm in range(design.arms) if arm != design.control]
        ratio = design.ratio or (1,) * design.arms
        self._ratios = tuple(ratio[arm] / ratio[design.control] for arm in others)
        self.analyses = len(design.information or (*design.looks.values, 1.0))
        """How many there are: the looks and, unless the last look has all of the information, the final one."""
        self._boundaries = [self._boundaries_of(rule) for rule in design.rules]

    def _amounts(self, rule: Rule, error: float | None, *, adjusted: bool) -> tuple[float, ...]:
        """What one comparison spends up to each analysis."""
        information, whole = self._design.information or (1.0,), float(error or 0.0)
        if rule.end_only:
            amounts: Sequence[float] = (whole,)
        elif isinstance(rule.spent, tuple):
            amounts = rule.spent
        else:
            amounts = spent(rule.spent, whole, np.array(information), rule.gamma).tolist()
        adjust = self._design.adjust if adjusted else "none"
        return tuple(per_comparison(adjust, amount, self._ratios) for amount in amounts)

    def _boundaries_of(self, rule: Rule) -> Boundaries | None:
        """The boundaries of a rule that spends an error; None for a rule with a threshold."""
        if rule.alpha is None and rule.beta is None:
            return None
        superiority, futility = (rule, None) if rule.beta is None else (None, rule)
        if rule.kind in ("superiority", "futility"):
            superiority = superiority or self._partner(rule, "superiority")
            futility = futility or self._partner(rule, "futility")
        assert superiority is not None  # noqa: S101 (the scenario refuses a rule without its partner)
        information = (1.0,) if rule.end_only else self._design.information or (1.0,)
        alphas = self._amounts(superiority, superiority.alpha, adjusted=True)
        betas = None if futility is None else self._amounts(futility, futility.beta, adjusted=False)
        return _boundaries(information, alphas, betas, binding=futility is None or futility.binding)

    def _partner(self, rule: Rule, kind: str) -> Rule | None:
        """The rule on the other side, with which boundaries are computed together."""
        same = (rule.method, rule.margin, rule.end_only)
        return next(
            (
                one
                for one in self._design.rules
                if one.kind == kind and (one.alpha or one.beta) and (one.method, one.margin, one.end_only) == same
            ),
            None,
        )

    def value(self, number: int, analysis: int) -> float:
        """The critical value of that rule (from 0) at an analysis (from 0), on the scale of its statistic.

        NaN where the rule has none: futility by spending at the last analysis.
        """
        rule, boundaries = self._design.rules[number], self._boundaries[number]
        if boundaries is None:
            assert rule.threshold is not None  # noqa: S101 (one of both is there)
            return rule.threshold
        if rule.kind == "futility":
            value = math.nan if analysis == self.analyses - 1 else float(boundaries.futility[analysis])
        else:
            value = float(boundaries.efficacy[-1 if rule.end_only else analysis])
        if rule.method == "fisher":
            return float(ndtr(-value))
        return -value if rule.kind == "inferiority" else value

    def after_stop(self, number: int, analysis: int, gained: float) -> float:
        """The critical value of a rule with delayed response after a stop at this analysis.

        `gained` is the information with the pipeline over that at the stop; NaN if both are infinite, since nothing
        varied.
        """
        boundaries = self._boundaries[number]
        assert boundaries is not None  # noqa: S101 (the rule spends alpha)
        at_stop = float(boundaries.information[analysis])
        delayed = at_stop * (gained - 1)
        if not delayed >= LEAST_DELAYED or analysis == self.analyses - 1:
            return self.value(number, analysis)
        critical = _decision(boundaries, analysis, delayed)
        return float(ndtr(-critical)) if self._design.rules[number].method == "fisher" else critical


@lru_cache(maxsize=32)
def critical_values(design: Design) -> CriticalValues:
    """The critical values of a design; computed once in a process."""
    return CriticalValues(design)


LEAST_DELAYED = 1e-4
"""A pipeline with less of the information than this does not count."""
STEP = 1 / 64
"""Decisions are tabulated at such steps of the root of the information in the pipeline, and interpolated."""


@lru_cache(maxsize=256)
def _boundaries(
    information: tuple[float, ...], alphas: tuple[float, ...], betas: tuple[float, ...] | None, *, binding: bool
) -> Boundaries:
    """Boundaries by spending; computed once in a process."""
    looks, spent_alpha = np.array(information), np.array(alphas)
    if betas is None or len(information) == 1:
        return efficacy_boundaries(looks, spent_alpha)
    return spending_boundaries(looks, spent_alpha, np.array(betas), binding=binding)


@lru_cache(maxsize=4096)
def _node(boundaries: Boundaries, analysis: int, node: int) -> float:
    """The decision at a node of the table."""
    return decision_after_stop(boundaries, analysis, (node * STEP) ** 2).critical


def _decision(boundaries: Boundaries, analysis: int, delayed: float) -> float:
    """The decision with that much information in the pipeline, by a cubic through four nodes of the table."""
    place = math.sqrt(delayed) / STEP
    first = max(int(place) - 1, 1)
    nodes = np.arange(first, first + 4)
    values = np.array([_node(boundaries, analysis, int(node)) for node in nodes])
    weights = [np.prod([(place - other) / (node - other) for other in nodes if other != node]) for node in nodes]
    return float(np.dot(weights, values))
