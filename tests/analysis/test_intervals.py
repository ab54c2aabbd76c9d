"""Intervals of bounded quantities respect their bounds and cover as stated."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from studies import small

from tpstream import trial
from tpstream.analysis.intervals import paired_share_interval, t_interval, wilson_interval

REPETITIONS = 20_000
"""With a fixed seed; the standard error of a coverage of 95 % is 0.0015, of 80 % 0.0028."""
COVERAGE = {
    (4.0, 4.0): {2: 0.950, 5: 0.947, 20: 0.951},
    (8.0, 2.0): {2: 0.940, 5: 0.927, 20: 0.946},
    (0.5, 0.5): {2: 0.888, 5: 0.927, 20: 0.947},
    (0.3, 3.0): {2: 0.792, 5: 0.806, 20: 0.897},
}
"""The coverage of 95 % intervals by the parameters of the shares' beta distribution and the number of runs."""


@pytest.mark.parametrize(
    ("shape", "runs", "expected"),
    [(shape, runs, share) for shape, of_runs in COVERAGE.items() for runs, share in of_runs.items()],
)
def test_coverage_of_cut_intervals(shape: tuple[float, float], runs: int, expected: float) -> None:
    """Cut at 0 and 1, Student's interval of shares covers their mean exactly as often as uncut, as tabled."""
    shares = np.random.default_rng(1).beta(*shape, (runs, REPETITIONS))
    truth = shape[0] / sum(shape)
    whole = t_interval(shares)
    cut = whole.within(0.0, 1.0)
    covered = (cut.low <= truth) & (truth <= cut.high)
    assert ((cut.low >= 0) & (cut.high <= 1)).all()
    assert (covered == ((whole.low <= truth) & (truth <= whole.high))).all()
    assert covered.mean() == pytest.approx(expected, abs=1e-3)


def test_no_runs_have_no_interval() -> None:
    """The mean over no run is unknown, for one number and for a curve, without a warning."""
    for shape in ((0,), (0, 4)):
        found = t_interval(np.empty(shape))
        assert found.mean.shape == shape[1:]
        assert all(np.isnan(part).all() for part in (found.mean, found.low, found.high))


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_intervals_of_a_trial_are_possible(runs: int) -> None:
    """Patients are from 0 to all, probabilities from 0 to 1, losses from 0 to those of the worst arm."""
    found = trial(small(horizon=40), ["ucb1", "tp-ucb-ew"], runs=runs)
    table, choices = found.table(), found.choices()
    bounds = {"on_best": 40, "best_chosen": 1, "lost": 40 * 10.0, "last_readout": np.inf, "lost_later": 10.0}
    for name, most in bounds.items():
        assert (table[f"{name}_low"] >= 0).all()
        assert (table[f"{name}_low"] <= table[name] + 1e-12).all()
        assert (table[name] <= table[f"{name}_high"] + 1e-12).all()
        assert (table[f"{name}_high"] <= most).all()
    assert choices["patients_low"].min() >= 0
    assert choices["patients_high"].max() <= 40
    curve = found.allocation("ucb1")
    assert 0 <= curve.low.min() <= curve.high.max() <= 1


def pairs(both: int, first: int, second: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs by how many of them have a 1 in both, in one only, and in none."""
    return np.repeat([1.0, 1.0, 0.0, 0.0], [both, first, second, neither]), np.repeat(
        [1.0, 0.0, 1.0, 0.0], [both, first, second, neither]
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((36, 12, 2, 0), (0.2, 0.0569, 0.3404)), ((54, 0, 0, 0), (0.0, -0.0664, 0.0664)), ((0, 30, 0, 0), (1, 0.8395, 1))],
)
def test_differences_of_paired_shares(counts: tuple[int, int, int, int], expected: tuple[float, float, float]) -> None:
    """The interval is Newcombe's (1998, table III, method 10), and has a width if all pairs are equal."""
    found = paired_share_interval(*pairs(*counts))
    assert [float(found.mean), float(found.low), float(found.high)] == pytest.approx(expected, abs=5e-5)


def newcombe(e: int, f: int, g: int, h: int) -> tuple[float, float]:
    """Method 10 as it is printed: A, B and C of the corrected correlation, then delta and epsilon."""
    n = e + f + g + h
    a, b = (e + f) * (g + h) * (e + g) * (f + h), e * h - f * g
    c = b - n / 2 if b > n / 2 else 0.0 if b >= 0 else b
    phi = c / math.sqrt(a) if a else 0.0
    (l2, u2), (l3, u3) = wilson_interval(e + f, n), wilson_interval(e + g, n)
    p2, p3 = (e + f) / n, (e + g) / n
    delta = math.sqrt((p2 - l2) ** 2 - 2 * phi * (p2 - l2) * (u3 - p3) + (u3 - p3) ** 2)
    epsilon = math.sqrt((u2 - p2) ** 2 - 2 * phi * (u2 - p2) * (p3 - l3) + (p3 - l3) ** 2)
    return (f - g) / n - delta, (f - g) / n + epsilon


@given(st.lists(st.integers(0, 12), min_size=4, max_size=4).filter(any))
def test_differences_of_paired_shares_are_possible(counts: list[int]) -> None:
    """The interval is the printed one, stays between -1 and 1, and turns round when the two are exchanged."""
    one, other = pairs(*counts)
    e, f, g, h = counts
    found = paired_share_interval(one, other)
    np.testing.assert_allclose([found.low, found.high], newcombe(e, f, g, h), atol=1e-12)
    found, turned = paired_share_interval(one, other), paired_share_interval(other, one)
    assert -1 - 1e-12 <= found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high <= 1 + 1e-12
    np.testing.assert_allclose([-turned.high, -turned.low], [found.low, found.high], atol=1e-12)


def test_independent_shares_have_newcombes_other_interval() -> None:
    """Without correlation the squared distances of Wilson's ends add up; unknown values give no interval."""
    (low, high), (least, most) = wilson_interval(10, 20), wilson_interval(4, 20)
    found = paired_share_interval(*pairs(2, 8, 2, 8))
    ends = 0.3 - math.hypot(0.5 - low, most - 0.2), 0.3 + math.hypot(high - 0.5, 0.2 - least)
    np.testing.assert_allclose([found.low, found.high], ends)
    assert np.isnan(paired_share_interval(np.array([np.nan]), np.array([1.0])).low)
