"""Customers who leave, and conversions that are rare."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rewards_helper import build, draw
from scipy import stats

from tpstream.model.errors import ScenarioError
from tpstream.rewards.churn import ChurnArm


def churn(churn: float, concentration: float | None, activity: float | list[float], span: int) -> ChurnArm:
    """The arm of customers who leave like this."""
    keys = {"churn": churn, "concentration": concentration, "activity": activity}
    arm = build("churn", {}, [keys], span).arms[0]
    assert isinstance(arm, ChurnArm)
    return arm


@given(centre=st.floats(0.01, 0.99), concentration=st.floats(0.05, 50), span=st.integers(1, 60))
@settings(max_examples=50)
def test_staying_is_beta_geometric(centre: float, concentration: float, span: int) -> None:
    """P(D >= j) is B(a, b + j) / B(a, b), the expectation of (1 - q)^j for q ~ Beta(a, b)."""
    a, b = concentration * centre, concentration * (1 - centre)
    log_beta = [math.lgamma(b + j) - math.lgamma(a + b + j) for j in range(span + 1)]
    expected = [math.exp(one - log_beta[0]) for one in log_beta[1:]]
    np.testing.assert_allclose(churn(centre, concentration, 1.0, span).staying(), expected, rtol=1e-9)


def test_the_mean_by_hand() -> None:
    """Leaving with probability 1/2 before each of two parts, paid with 1 and 1/5: 1/2 + 1/4 * 1/5."""
    assert churn(0.5, None, [1.0, 0.2], 2).mean == pytest.approx(0.55)


@given(seed=st.integers(0, 2**32), concentration=st.none() | st.floats(0.1, 10))
@settings(max_examples=30)
def test_nobody_comes_back(seed: int, concentration: float | None) -> None:
    """A customer who is always active until leaving pays no part after the first that is not paid."""
    parts = churn(0.2, concentration, 1.0, 20).sample(np.random.default_rng(seed), 50)
    assert (np.diff(parts, axis=1) <= 0).all()


def test_shares_of_active_parts() -> None:
    """Part j is paid with probability activity_j P(D >= j): 5 standard errors, 60 parts (false alarm: 4 in 100,000)."""
    arm = churn(0.4, 1.1, [0.2, 0.5, 0.9] * 20, 60)
    paid = arm.sample(np.random.default_rng(5), 100_000).mean(axis=0)
    expected = arm.activity * arm.staying()
    assert (np.abs(paid - expected) < 5 * np.sqrt(expected * (1 - expected) / 100_000)).all()


def test_a_wrong_number_of_activities() -> None:
    """Activities are one number, or one for each part."""
    with pytest.raises(ScenarioError, match=r"arms\[0\].activity: has 2 values but the span is 3"):
        churn(0.5, None, [1.0, 0.5], 3)


def test_conversions_pay_once() -> None:
    """A pull pays at most once, at most the maximum, in a part whose distribution is a cut geometric one."""
    rewards = build("conversion", {"hazard": 0.25}, [{"probability": 0.5, "median": 10, "sigma": 2, "maximum": 40}], 6)
    parts = draw(rewards, 50_000)
    assert (parts > 0).sum(axis=1).max() == 1
    assert parts.max() == 40
    counts = (parts > 0).sum(axis=0)
    weights = 0.75 ** np.arange(6)
    assert stats.chisquare(counts, counts.sum() * weights / weights.sum()).pvalue > 1e-6


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0, 3.0])
def test_the_mean_of_a_conversion_by_quadrature(sigma: float) -> None:
    """The closed form equals the integral of min(x, maximum) over the lognormal distribution."""
    arm = {"probability": 0.3, "median": 20, "sigma": sigma, "maximum": 70}
    (built,) = build("conversion", {}, [arm], 5).arms
    points = (np.arange(400_000) + 0.5) / 400_000
    amounts = np.minimum(20 * np.exp(sigma * stats.norm.ppf(points)), 70)
    assert built.mean == pytest.approx(0.3 * amounts.mean(), rel=1e-5)


def test_a_maximum_below_the_median() -> None:
    """It would cut more than half of the amounts."""
    with pytest.raises(ScenarioError, match=r"arms\[0\].maximum: 5.0 is below the median 10.0"):
        build("conversion", {}, [{"probability": 0.1, "median": 10, "maximum": 5}], 5)
