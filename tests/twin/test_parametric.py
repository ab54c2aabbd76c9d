"""Parameters of payments: the likelihood is that of its formula, and given parameters are found again."""

import numpy as np
import pytest
from scipy import stats

from tpstream.analysis.open_values import ArmAges
from tpstream.model.errors import DataError
from tpstream.twin.parametric import FAMILIES, Family, first_payments, fit_delay, fit_payments, log_likelihood

PERIODS = 40


def paying_once(family: Family, count: int = 12_000, seed: int = 0) -> ArmAges:
    """Decisions of which 30 % pay once, a lognormal amount, after a delay; half of them are still open."""
    random = np.random.default_rng(seed)
    delays = 12 * random.weibull(1.5, count) if family == "weibull" else random.lognormal(np.log(12), 0.8, count)
    made = np.sort(80 * random.random(count))
    observed = np.minimum(np.floor(80 - made), PERIODS).astype(int)
    paid = (random.random(count) < 0.3) & (delays < PERIODS) & (made + delays <= 80)
    row = np.flatnonzero(paid)
    amount = random.lognormal(3.0, 0.5, len(row))
    return ArmAges(made, observed, row, np.floor(delays[row]).astype(int), amount, PERIODS)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_known_parameters_come_back(family: Family) -> None:
    """Probability, delay and amounts are found again within a few standard errors, and the family is recognised."""
    arm = paying_once(family)
    chosen, (found,) = fit_payments(["a"], [arm])
    assert chosen == family
    assert found.delay.probability == pytest.approx(0.3, abs=0.02)
    assert found.delay.first == pytest.approx(12.0, rel=0.08)
    assert found.delay.second == pytest.approx(1.5 if family == "weibull" else 0.8, rel=0.08)
    assert found.median == pytest.approx(np.exp(3.0), rel=0.06)
    assert found.sigma == pytest.approx(0.5, rel=0.08)
    naive = len(arm.row) / arm.count
    assert naive < 0.27  # what is seen of open decisions is less


def test_the_likelihood_is_that_of_the_formula() -> None:
    """Decision by decision, with SciPy's distributions: p (F(a + 1) - F(a)), or 1 - p F(C)."""
    arm = paying_once("weibull", 400, seed=1)
    delay = stats.weibull_min(1.3, scale=10.0)
    expected = 0.0
    for decision in range(arm.count):
        ages = arm.age[arm.row == decision]
        if len(ages) and ages.min() < arm.observed[decision]:
            first = ages.min()
            expected += np.log(0.4 * (delay.cdf(first + 1) - delay.cdf(first)))
        else:
            expected += np.log(1 - 0.4 * delay.cdf(arm.observed[decision]))
    by_age = FAMILIES["weibull"](np.arange(PERIODS + 1.0), 10.0, 1.3)
    assert log_likelihood(*first_payments(arm), 0.4, by_age) == pytest.approx(expected)
    assert FAMILIES["lognormal"](np.array([0.0, 5.0]), 4.0, 0.7) == pytest.approx(
        stats.lognorm(0.7, scale=4.0).cdf([0.0, 5.0])
    )


def test_the_maximum_is_one() -> None:
    """No parameters in the neighbourhood of those that were found are more likely."""
    arm = paying_once("weibull", 2000, seed=2)
    found = fit_delay(arm, "weibull")
    came, waiting = first_payments(arm)
    for change in np.random.default_rng(0).normal(0, 0.03, (50, 3)):
        by_age = FAMILIES["weibull"](
            np.arange(PERIODS + 1.0), *np.array([found.first, found.second]) * np.exp(change[1:])
        )
        assert log_likelihood(came, waiting, found.probability * np.exp(change[0]), by_age) <= found.likelihood + 1e-6


def test_refunds_and_few_payments_are_refused() -> None:
    """Negative amounts are not lognormal, and a few payments are too few: one line each, with what to do."""
    arm = paying_once("weibull", 2000)
    refund = ArmAges(arm.made, arm.observed, arm.row, arm.age, -arm.amount, PERIODS)
    with pytest.raises(
        DataError, match=r"^arm 'a' has negative payments.*use the method resampled, which keeps refunds$"
    ):
        fit_payments(["a"], [refund])
    with pytest.raises(DataError, match=r"^only \d+ decisions of arm 'a' paid in a whole window.*resampled$"):
        fit_payments(["a"], [paying_once("weibull", 60)])
