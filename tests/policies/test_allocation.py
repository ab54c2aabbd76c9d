"""Limits of allocation: lifted, clipped, softened, and with a share for the control."""

import numpy as np
import pytest
from families import up_to
from hypothesis import assume, given, settings, strategies as st
from literal_allocation import lifted

from tpstream.model.arrays import Floats
from tpstream.policies.allocation import clip, draw_arm, fix_share, lift, match_control, raise_to_power

SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(lambda shares: sum(shares) > 1e-3)


def normal(shares: list[float]) -> Floats:
    """The shares, with the sum 1."""
    return np.array(shares) / sum(shares)


def memory(shares: Floats) -> Floats:
    """What the functions need besides."""
    return np.zeros(len(shares), dtype=np.bool_)


@given(SHARES, st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=up_to(200))
def test_lifting_keeps_proportions_between_the_limits(given_: list[float], low: float, high: float) -> None:
    """Lifted shares are c times the given ones, cut at the limits, with the sum 1; limits hold for all."""
    shares = normal(given_)
    minimum, maximum = low / len(shares), 1 - high * (1 - 1 / len(shares))
    assume(min(share for share in shares if share > 0) > 1e-100)
    found = shares.copy()
    lift(found, memory(shares), -1, minimum, maximum)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= minimum - 1e-12
    assert found.max() <= maximum + 1e-12
    if np.clip(np.where(shares > 0, 1.0, 0.0), minimum, maximum).sum() > 1 + 1e-9:  # else zeros share the rest equally
        np.testing.assert_allclose(found, lifted(shares, minimum, maximum), atol=1e-9)


def test_zeros_share_what_the_maximum_leaves() -> None:
    """An arm that is best for sure gets the maximum, and the others equal shares of the rest."""
    shares = np.array([0.0, 1.0, 0.0])
    lift(shares, memory(shares), -1, 0.0, 0.8)
    np.testing.assert_allclose(shares, [0.1, 0.8, 0.1])


def test_one_pass_would_not_be_enough() -> None:
    """Lifting one arm can bring another below the minimum; then that one is lifted, too."""
    shares = np.array([0.0, 0.105, 0.895])
    lift(shares, memory(shares), -1, 0.1, 1.0)
    np.testing.assert_allclose(shares, [0.1, 0.1, 0.8])


@given(SHARES, st.floats(0, 0.3), st.floats(0.4, 1))
@settings(max_examples=up_to(50))
def test_clipping_is_cutting_and_scaling(given_: list[float], minimum: float, maximum: float) -> None:
    """Clipped shares are those cut at the limits, divided by their sum."""
    shares = normal(given_)
    assume(np.clip(shares, minimum, maximum).sum() > 0)
    found = shares.copy()
    clip(found, memory(shares), -1, minimum, maximum)
    cut = np.clip(shares, minimum, maximum)
    np.testing.assert_allclose(found, cut / cut.sum(), rtol=1e-12)


@given(SHARES, st.floats(0.05, 0.9), st.sampled_from([lift, clip]))
@settings(max_examples=up_to(50))
def test_a_fixed_share_stays(given_: list[float], share: float, limit: object) -> None:
    """The share of the control is not changed by limits, which hold for the others inside the rest."""
    shares = normal(given_)
    fix_share(shares, memory(shares), 1, share)
    assert shares.sum() == pytest.approx(1.0)
    assert callable(limit)
    limit(shares, memory(shares), 1, (1 - share) / len(shares), 1.0)
    assert shares[1] == share
    assert shares.sum() == pytest.approx(1.0)


@given(SHARES, st.floats(0, 50))
@settings(max_examples=up_to(50))
def test_powers(given_: list[float], power: float) -> None:
    """Shares are proportional to their powers; 0^0 is 1."""
    shares = normal(given_)
    found = shares.copy()
    raise_to_power(found, power)
    literal = (shares / shares.max()) ** power
    np.testing.assert_allclose(found, literal / literal.sum(), rtol=1e-9, atol=1e-300)


def test_matching() -> None:
    """The control gets as much as the most likely of the others; if none of them can be best, all get the same."""
    shares = np.array([0.7, 0.2, 0.1])
    match_control(shares, 0)
    np.testing.assert_allclose(shares, [0.4, 0.4, 0.2])
    shares = np.array([1.0, 0.0, 0.0])
    match_control(shares, 0)
    np.testing.assert_allclose(shares, [1 / 3] * 3)


def test_draws() -> None:
    """Arms come as often as their shares say, and one without a share never: 5 standard errors."""
    shares, stream = np.array([0.2, 0.0, 0.5, 0.3]), np.random.default_rng(4)
    counts = np.bincount([draw_arm(shares, stream) for _ in range(20_000)], minlength=4) / 20_000
    assert counts[1] == 0
    assert (np.abs(counts - shares) <= 5 * np.sqrt(shares * (1 - shares) / 20_000)).all()
