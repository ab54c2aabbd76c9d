"""Tests of two arms against SciPy, lifelines and hand-worked cases."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from lifelines import KaplanMeierFitter
from lifelines.statistics import logrank_test
from lifelines.utils import restricted_mean_survival_time
from scipy import stats

from tpstream.looks.proportions import fisher_p, z_of_means, z_of_proportions
from tpstream.looks.survival import log_rank_z, restricted_mean, restricted_mean_z

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, COUNTS)
@settings(max_examples=60)
def test_z_of_proportions(treatment: tuple[int, int], control: tuple[int, int]) -> None:
    """The difference over the root of p (1 - p) / n, of each arm or of both together."""
    (x, n), (y, m) = treatment, control
    p, q, both = x / n, y / m, (x + y) / (n + m)
    arrays = [np.array([float(one)]) for one in (x, n, y, m)]
    for pooled, variance in ((False, p * (1 - p) / n + q * (1 - q) / m), (True, both * (1 - both) * (1 / n + 1 / m))):
        (found,) = z_of_proportions(*arrays, pooled=pooled)
        if p == q:
            assert found == 0
        elif variance == 0:
            assert found == math.copysign(math.inf, p - q)
        else:
            assert found == pytest.approx((p - q) / math.sqrt(variance), rel=1e-12)


def test_the_pooled_z_is_the_root_of_chi_square() -> None:
    """The square of the pooled z is the chi-square statistic of the table."""
    (z,) = z_of_proportions(*(np.array([one]) for one in (30.0, 60.0, 18.0, 55.0)), pooled=True)
    assert z**2 == pytest.approx(stats.chi2_contingency([[30, 30], [18, 37]], correction=False).statistic)


def test_an_arm_without_patients() -> None:
    """Nothing is known of the difference."""
    counts = [np.array([one]) for one in (0.0, 0.0, 3.0, 5.0)]
    assert np.isnan(z_of_proportions(*counts)).all()


@given(COUNTS, COUNTS)
@settings(max_examples=60)
def test_fisher(treatment: tuple[int, int], control: tuple[int, int]) -> None:
    """The p value is SciPy's, one-sided."""
    (x, n), (y, m) = treatment, control
    (found,) = fisher_p(*(np.array([float(one)]) for one in (x, n, y, m)))
    expected = stats.fisher_exact([[x, n - x], [y, m - y]], alternative="greater").pvalue
    assert found == pytest.approx(expected, rel=1e-9)


def test_fisher_of_many_trials() -> None:
    """Many trials at once give what each gives alone."""
    stream = np.random.default_rng(2)
    n, m = stream.integers(1, 90, (2, 50)).astype(float)
    x, y = np.floor(n * stream.random(50)), np.floor(m * stream.random(50))
    alone = [fisher_p(*(np.array(one) for one in row)) for row in zip(x, n, y, m, strict=True)]
    np.testing.assert_allclose(fisher_p(x, n, y, m), alone, rtol=1e-12)


@pytest.mark.parametrize("pooled", [False, True])
def test_z_of_means(pooled: bool) -> None:  # noqa: FBT001
    """The statistic is that of SciPy's t test, with one variance or two."""
    stream = np.random.default_rng(5)
    one, other = stream.normal(1, 2, 30), stream.normal(0.4, 3, 44)
    given_ = [np.array([f(sample)]) for sample in (one, other) for f in (np.mean, lambda s: np.var(s, ddof=1), len)]
    (found,) = z_of_means(*given_, pooled=pooled)
    assert found == pytest.approx(stats.ttest_ind(one, other, equal_var=pooled).statistic)


def patients(seed: int, size: int = 80) -> tuple[Any, Any, Any]:
    """Times with ties, deaths and arms."""
    stream = np.random.default_rng(seed)
    times = np.ceil(stream.exponential(10, size))
    return times, stream.random(size) < 0.7, stream.random(size) < 0.5


@pytest.mark.parametrize("seed", range(5))
def test_log_rank_of_lifelines(seed: int) -> None:
    """The square of z is the statistic of lifelines, with ties and censoring; fewer deaths of the treated are good."""
    times, died, treated = patients(seed)
    other = logrank_test(times[treated], times[~treated], died[treated], died[~treated])
    assert log_rank_z(times, died, treated) ** 2 == pytest.approx(other.test_statistic, rel=1e-9)
    assert log_rank_z(times + 100.0 * treated, died, treated) > 0


@pytest.mark.parametrize("seed", range(5))
def test_restricted_means_of_lifelines(seed: int) -> None:
    """The restricted mean is the area below lifelines' Kaplan-Meier curve."""
    times, died, treated = patients(seed)
    fitted = KaplanMeierFitter().fit(times[treated], died[treated])
    expected = restricted_mean_survival_time(fitted, t=12.0)
    assert restricted_mean(times[treated], died[treated], 12.0).mean == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_variance_of_a_restricted_mean_literally(seed: int) -> None:
    """Greenwood's sum over times of death, with areas below the curve added up step by step."""
    times, died, _ = patients(seed)
    until = 9.5
    deaths = sorted({time for time, dead in zip(times, died, strict=True) if dead and time <= until})
    curve, alive = [(0.0, 1.0)], 1.0
    for time in deaths:
        at_risk = (times >= time).sum()
        alive *= 1 - ((times == time) & died).sum() / at_risk
        curve.append((time, alive))

    def area(since: float) -> float:
        ends = [time for time, _ in curve[1:]] + [until]
        steps = zip(curve, ends, strict=True)
        return sum(level * max(min(end, until) - max(start, since), 0) for (start, level), end in steps)

    variance = 0.0
    for time in deaths:
        at_risk, dead = (times >= time).sum(), ((times == time) & died).sum()
        variance += area(time) ** 2 * dead / (at_risk * (at_risk - dead))
    found = restricted_mean(times, died, until)
    assert found.mean == pytest.approx(area(0.0))
    assert found.variance == pytest.approx(variance)


def test_the_restricted_mean_test() -> None:
    """The difference of means over the root of the sum of variances."""
    times, died, treated = patients(11)
    one, other = (restricted_mean(times[arm], died[arm], 12.0) for arm in (treated, ~treated))
    expected = (one.mean - other.mean) / math.sqrt(one.variance + other.variance)
    assert restricted_mean_z(times, died, treated, 12.0) == pytest.approx(expected)


def test_a_curve_is_not_known_after_the_last_follow_up() -> None:
    """There is no restricted mean while nobody is followed up to the end, unless all who were followed longest died."""
    times, died = np.array([1.0, 2.0, 2.5]), np.array([True, False, False])
    assert np.isnan(restricted_mean(times, died, 3.0)).all()
    assert restricted_mean(times, died, 2.5).mean == pytest.approx(1.0 + 1.5 * 2 / 3)
    assert restricted_mean(times, np.array([True, False, True]), 3.0).mean == pytest.approx(1.0 + 1.5 * 2 / 3)
    assert np.isnan(restricted_mean(np.array([1.0, 2.5, 2.5]), np.array([True, True, False]), 3.0)).all()
    assert np.isnan(restricted_mean_z(times, died, np.array([True, False, True]), 3.0))
    rounded = restricted_mean(np.array([0.1, 0.3]), np.array([True, False]), 0.1 + 0.2)  # more than 0.3 by rounding
    assert rounded.mean == pytest.approx(0.2)


def test_nobody_died() -> None:
    """Without deaths neither test has a value."""
    times, alive, treated = np.array([1.0, 2.0]), np.array([False, False]), np.array([True, False])
    assert math.isnan(log_rank_z(times, alive, treated))
    assert math.isnan(restricted_mean_z(times, alive, treated, 2.0))
