"""Group-sequential boundaries: published values, and probabilities from the multivariate normal distribution."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import multivariate_normal

from tpstream.looks.boundaries import Boundaries, efficacy_boundaries, spending_boundaries
from tpstream.looks.delayed_response import decision_after_stop
from tpstream.looks.design import SpendingName
from tpstream.looks.recursion import crossing_probabilities
from tpstream.looks.spending import spent
from tpstream.model.arrays import Floats

RATES = np.array([0.4, 0.65, 1.0])
KINDS: tuple[SpendingName, ...] = ("obrien-fleming", "pocock", "hwang-shih-decani")


@pytest.fixture(scope="module")
def published() -> Boundaries:
    """The design of rpact's tests: O'Brien and Fleming's kind for both errors, 5 % and 10 %, binding futility."""
    return spending_boundaries(RATES, spent("obrien-fleming", 0.05, RATES), spent("obrien-fleming", 0.1, RATES))


def joint(information: Floats, lower: list[float], upper: list[float], drift: float) -> float:
    """P(lower < Z < upper at all these looks), by inclusion and exclusion over corners of the distribution function."""
    scale = np.sqrt(information)
    covariance = np.minimum.outer(information, information) / np.outer(scale, scale)
    total = 0.0
    for corner in np.ndindex(*[2] * len(information)):
        point = [(upper if side else lower)[look] for look, side in enumerate(corner)]
        if -math.inf in point:
            continue
        keep = [look for look, value in enumerate(point) if value != math.inf]
        sign = (-1) ** (len(corner) - sum(corner))
        if not keep:
            total += sign
            continue
        within = covariance[np.ix_(keep, keep)]
        law = multivariate_normal(drift * scale[keep], within, abseps=1e-6, releps=1e-6)
        total += sign * law.cdf(np.array(point)[keep])
    return total


def test_critical_values_of_rpact(published: Boundaries) -> None:
    """Critical values and futility bounds are rpact's, to 1e-6."""
    np.testing.assert_allclose(published.efficacy, [2.8874465, 2.1853011, 1.6575593], atol=1e-6)
    np.testing.assert_allclose(published.futility[:2], [-0.46043472, 0.64445014], atol=1e-6)


def test_delayed_response_of_rpact(published: Boundaries) -> None:
    """With delayed information .1 and .2, decision values are rpact's to 1e-6, reversals to 1e-4 of them."""
    decisions = [decision_after_stop(published, look, delayed) for look, delayed in enumerate([0.1, 0.2])]
    np.testing.assert_allclose([one.critical for one in decisions], [1.3388855, 1.5378695], atol=1e-6)
    np.testing.assert_allclose([one.reversal for one in decisions], [1.7563e-6, 0.0014674026], rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("obrien-fleming", [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]),
        ("pocock", [2.4380, 2.4268, 2.4101, 2.3966, 2.3859]),
    ],
)
def test_five_looks_of_lan_and_demets(kind: SpendingName, expected: list[float]) -> None:
    """Five equally spaced looks at 2.5 % have the boundaries of published tables, up to their last digit."""
    looks = np.arange(1, 6) / 5
    np.testing.assert_allclose(efficacy_boundaries(looks, spent(kind, 0.025, looks)).efficacy, expected, atol=1.5e-4)


@given(
    error=st.floats(1e-4, 0.5),
    kind=st.sampled_from(KINDS),
    gamma=st.sampled_from([-8.0, -1.0, 0.0, 2.0]),
    fractions=st.lists(st.floats(1e-3, 1.0), min_size=2, max_size=5),
)
@settings(max_examples=40)
def test_spending_rises_to_the_error(error: float, kind: SpendingName, gamma: float, fractions: list[float]) -> None:
    """A spending function never falls, and has spent the whole error at the full information, not more after it."""
    found = spent(kind, error, np.array([*sorted(fractions), 1.0, 1.2]), gamma)
    assert (np.diff(found) >= -1e-15).all()
    np.testing.assert_allclose(found[-2:], error, rtol=1e-12)


def test_hwang_shih_decani_by_hand() -> None:
    """At half of the information g = -4 has spent (e^2 - 1) / (e^4 - 1) of the error; g = 0 has spent half."""
    half = np.array([0.5])
    assert spent("hwang-shih-decani", 1.0, half)[0] == pytest.approx((math.e**2 - 1) / (math.e**4 - 1))
    assert spent("hwang-shih-decani", 0.3, half, 0.0)[0] == pytest.approx(0.15)


@pytest.mark.parametrize("drift", [0.0, 2.5])
def test_crossing_by_the_multivariate_normal(drift: float) -> None:
    """Probabilities of leaving at each of three looks are those of the joint normal distribution."""
    information, lower, upper = np.array([0.2, 0.25, 1.0]), [-1.0, 0.2, 1.6], [2.6, 1.9, 1.6]
    below, above = crossing_probabilities(information, np.array(lower), np.array(upper), drift)
    for look in range(3):
        to, before = information[: look + 1], look
        expected = joint(to, [*lower[:before], -math.inf], [*upper[:before], lower[look]], drift)
        assert below[look] == pytest.approx(expected, abs=1e-5)
        expected = joint(to, [*lower[:before], upper[look]], [*upper[:before], math.inf], drift)
        assert above[look] == pytest.approx(expected, abs=1e-5)


@given(
    steps=st.lists(st.floats(0.02, 1.0), min_size=1, max_size=6),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    alpha=st.sampled_from([0.01, 0.05]),
    beta=st.sampled_from([0.1, 0.3]),
    binding=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_errors_are_kept(
    steps: list[float],
    kinds: tuple[SpendingName, SpendingName],
    alpha: float,
    beta: float,
    binding: bool,  # noqa: FBT001
) -> None:
    """Alpha is spent as planned at each look, without the futility stops if they do not bind, and beta likewise."""
    information = np.cumsum(steps) / np.sum(steps)
    alpha_spent, beta_spent = spent(kinds[0], alpha, information), spent(kinds[1], beta, information)
    found = spending_boundaries(information, alpha_spent, beta_spent, binding=binding)
    lower = found.futility if binding else np.full(len(steps), -math.inf)
    _, above = crossing_probabilities(information, lower, found.efficacy)
    np.testing.assert_allclose(np.cumsum(above), alpha_spent, atol=1e-10)
    below, above = crossing_probabilities(information, found.futility, found.efficacy, found.drift)
    np.testing.assert_allclose(np.cumsum(below), beta_spent, atol=1e-9)
    assert above.sum() == pytest.approx(1 - beta, abs=1e-9)


def test_nothing_spent_is_no_boundary() -> None:
    """A look at which nothing is spent stops nothing."""
    found = efficacy_boundaries(np.array([0.5, 1.0]), np.array([0.0, 0.025]))
    assert found.efficacy[0] == math.inf
    assert found.efficacy[1] == pytest.approx(1.959963984540054)
    assert (found.futility[0], found.futility[1]) == (-math.inf, found.efficacy[1])


def test_decisions_after_a_stop_keep_alpha(published: Boundaries) -> None:
    """Rejections after all stops, with the pipeline, have together the probability alpha; each is balanced."""
    total, low, high = 0.0, list(published.futility), list(published.efficacy)
    for look, delayed in enumerate([0.1, 0.2]):
        decision = decision_after_stop(published, look, delayed)
        times = np.append(RATES[: look + 1], RATES[look] + delayed)
        for_efficacy = [*low[:look], high[look]], [*high[:look], math.inf]
        for_futility = [*low[:look], -math.inf], [*high[:look], low[look]]
        for lower, upper in (for_efficacy, for_futility):
            total += joint(times, [*lower, decision.critical], [*upper, math.inf], 0.0)
        lower, upper = for_efficacy
        turned = joint(times, [*lower, -math.inf], [*upper, decision.critical], 0.0)
        assert turned == pytest.approx(decision.reversal, abs=1e-5)
    total += joint(RATES, [*low[:2], high[2]], [*high[:2], math.inf], 0.0)
    assert total == pytest.approx(0.05, abs=2e-5)
