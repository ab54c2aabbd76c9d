"""Posterior probabilities of comparisons against integrals over quantiles, and their identities."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, special, stats

from tpstream.looks.design import Family
from tpstream.looks.posteriors import (
    all_equivalent_probability,
    best_probabilities,
    beta_below,
    better_probabilities,
    equivalent_probabilities,
)

SHAPES = st.lists(st.tuples(st.floats(0.2, 60), st.floats(0.2, 60)), min_size=2, max_size=4)


def laws(family: Family, parameters: list[tuple[float, float]]) -> list[Any]:
    """The distributions of SciPy."""
    return [stats.beta(*both) if family == "beta" else stats.norm(*both) for both in parameters]


def over_quantiles(law: Any, function: Any) -> float:
    """The expectation of a function of the value, as an integral over the quantiles of its distribution."""
    edges = [0.0, 1e-6, 1e-3, 0.05, 0.2, 0.5, 0.8, 0.95, 0.999, 1 - 1e-6, 1.0]
    return sum(
        integrate.quad(lambda u: function(law.ppf(u)), low, high, epsabs=1e-9, limit=100)[0]
        for low, high in pairwise(edges)
    )


def columns(parameters: list[tuple[float, float]]) -> tuple[Any, Any]:
    """First and second parameters of the arms."""
    return tuple(np.array(parameters).T)


CASES: list[tuple[Family, list[tuple[float, float]]]] = [
    ("beta", [(30, 30), (41, 20), (35, 27)]),
    ("beta", [(0.2, 10.8), (1.2, 9.8), (0.2, 0.8)]),
    ("beta", [(1, 1), (0.5, 0.5)]),
    ("normal", [(0.1, 1.0), (0.4, 0.3), (-1.0, 2.0)]),
]


@pytest.mark.parametrize(("family", "parameters"), CASES)
def test_best(family: Family, parameters: list[tuple[float, float]]) -> None:
    """P(arm i is best) is the expectation over its value of the product of the other distribution functions."""
    arms = laws(family, parameters)
    expected = [
        over_quantiles(one, lambda x, one=one: np.prod([other.cdf(x) for other in arms if other is not one]))
        for one in arms
    ]
    np.testing.assert_allclose(best_probabilities(family, *columns(parameters)), expected, atol=1e-7)


@pytest.mark.parametrize("margin", [0.0, 0.1, -0.2])
@pytest.mark.parametrize(("family", "parameters"), CASES)
def test_better(family: Family, parameters: list[tuple[float, float]], margin: float) -> None:
    """P(arm beats control by the margin) is the expectation over the control's value of the arm's upper tail.

    With a margin and a parameter below 1, the integrand is not smooth at the edge, which costs three digits.
    """
    control, *others = laws(family, parameters)
    found = better_probabilities(family, *columns(parameters), control=0, margin=margin)
    expected = [over_quantiles(control, lambda x, arm=arm: arm.sf(x + margin)) for arm in others]
    assert np.isnan(found[0])
    smooth = margin == 0 or family == "normal" or np.min(parameters) >= 1
    np.testing.assert_allclose(found[1:], expected, atol=2e-8 if smooth else 1e-5)


@pytest.mark.parametrize(("family", "parameters"), CASES)
def test_all_equivalent(family: Family, parameters: list[tuple[float, float]]) -> None:
    """P(all within 0.15) is within 5 standard errors of the share in a million draws."""
    stream, size = np.random.default_rng(1), 10**6
    draws = np.array([law.rvs(size, random_state=stream) for law in laws(family, parameters)])
    share = (np.ptp(draws, axis=0) < 0.15).mean()
    found = all_equivalent_probability(family, *columns(parameters), 0.15)
    assert abs(found - share) < 5 * np.sqrt(share / size)


@given(SHAPES)
@settings(max_examples=20, deadline=None)
def test_two_ways_to_compare_two_arms(parameters: list[tuple[float, float]]) -> None:
    """Of two arms, to be best is to be better, and all are equivalent if one is equivalent to the other."""
    first, second = columns(parameters[:2])
    better = better_probabilities("beta", first, second, 0)[1]
    assert best_probabilities("beta", first, second)[1] == pytest.approx(better, abs=2e-6)
    both = equivalent_probabilities("beta", first, second, 0, 0.1)[1]
    assert all_equivalent_probability("beta", first, second, 0.1) == pytest.approx(both, abs=5e-5)


@given(SHAPES, st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_many_trials_at_once(parameters: list[tuple[float, float]], trials: int) -> None:
    """A row for each trial gives what each row gives alone, and probabilities of being best sum to 1."""
    first, second = columns(parameters)
    rows = np.array([first + step for step in range(trials)])
    best = best_probabilities("beta", rows, np.broadcast_to(second, rows.shape))
    np.testing.assert_allclose(best.sum(axis=1), 1.0, atol=1e-9)
    better = better_probabilities("beta", rows, np.broadcast_to(second, rows.shape), 1, 0.05)
    for row in range(trials):
        np.testing.assert_array_equal(best[row], best_probabilities("beta", rows[row], second))
        np.testing.assert_allclose(better[row], better_probabilities("beta", rows[row], second, 1, 0.05), rtol=1e-12)


@given(st.floats(0, 1), st.floats(0.05, 5000), st.floats(0.05, 5000))
@settings(max_examples=60, deadline=None)
def test_the_distribution_function_of_beta(x: float, a: float, b: float) -> None:
    """The continued fraction gives what SciPy gives, for parameters of large trials, too."""
    constant = special.gammaln(a + b) - special.gammaln(a) - special.gammaln(b)
    assert beta_below(x, 1 - x, a, b, constant) == pytest.approx(special.betainc(a, b, x), rel=1e-9, abs=1e-11)
