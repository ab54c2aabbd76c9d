"""Smooth rewards: independent groups, and their spread over the parts."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rewards_helper import Keys, build, draw

from tpstream.model.errors import ScenarioError
from tpstream.rewards.smooth_beta import SPREADS, SpreadName

spread_names = st.sampled_from(sorted(SPREADS))


def group_sums(keys: Keys, arm: Keys, span: int, pulls: int) -> np.ndarray:
    """The sums of the groups of a sample."""
    rewards = build("smooth-beta", keys, [arm], span)
    assert rewards.groups is not None
    return draw(rewards, pulls).reshape(pulls, rewards.groups, -1).sum(axis=2)


@given(
    name=spread_names,
    pulls=st.integers(1, 5),
    groups=st.integers(1, 6),
    width=st.integers(1, 7),
    seed=st.integers(0, 2**32),
)
def test_every_spread_conserves_the_sums(name: SpreadName, pulls: int, groups: int, width: int, seed: int) -> None:
    """The parts of a group add up to the group's sum, and none is negative."""
    stream = np.random.default_rng(seed)
    sums = stream.random((pulls, groups)) * 100
    parts = SPREADS[name](stream, sums.copy(), width)
    assert parts.shape == (pulls, groups * width)
    assert parts.min() >= 0
    np.testing.assert_allclose(parts.reshape(pulls, groups, width).sum(axis=2), sums, rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("even", [2, 2, 2, 3, 3, 3]),
        ("first", [6, 0, 0, 9, 0, 0]),
        ("last", [0, 0, 6, 0, 0, 9]),
    ],
)
def test_a_fixed_spread_of_two_groups(name: SpreadName, expected: list[float]) -> None:
    """The sums 6 and 9 over groups of three parts, by hand."""
    parts = SPREADS[name](np.random.default_rng(0), np.array([[6.0, 9.0]]), 3)
    assert parts.tolist() == [expected]


@pytest.mark.parametrize("name", SPREADS)
def test_a_group_of_one_part_pays_its_sum(name: SpreadName) -> None:
    """Where a group is one part there is nothing to divide: not a bit changes."""
    sums = np.random.default_rng(1).random((50, 4))
    np.testing.assert_array_equal(SPREADS[name](np.random.default_rng(0), sums.copy(), 1), sums)


def test_single_uses_every_place() -> None:
    """With the spread "single" one part of a group pays, each in a third of 30,000 groups within 5 standard errors."""
    parts = SPREADS["single"](np.random.default_rng(0), np.ones((10_000, 3)), 3).reshape(30_000, 3)
    assert np.all(np.count_nonzero(parts, axis=1) == 1)
    assert np.abs(parts.mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 30_000)


def test_random_proportions_are_a_flat_dirichlet() -> None:
    """A proportion of four parts has variance 3/80 (within 3 % of it, over 7 standard errors, at 200,000 draws)."""
    parts = SPREADS["random"](np.random.default_rng(0), np.ones((200_000, 1)), 4)
    np.testing.assert_allclose(parts.var(axis=0), 3 / 80, rtol=0.03)


def test_mean_by_hand() -> None:
    """With maximum 12 in two groups, Beta(1, 3) and Beta(2, 1), the mean is 6 (1/4 + 2/3) = 5.5."""
    rewards = build("smooth-beta", {"groups": 2, "a": [1, 2], "b": [3, 1]}, [{"maximum": 12}], 4)
    assert rewards.arms[0].mean == pytest.approx(5.5, rel=1e-15)


def test_the_default_is_uniform() -> None:
    """Without Beta parameters a group is maximum / groups times a uniform draw, straight from the stream."""
    parts = draw(build("smooth-beta", {"groups": 3}, [{"maximum": 30}], 3), 5, seed=4)
    np.testing.assert_array_equal(parts, np.random.default_rng(4).random((5, 3)) * 10)


def test_groups_have_their_own_shapes() -> None:
    """Each group's mean and variance are those of its own Beta (within 5 standard errors, and 2 % of the variance)."""
    a, b = np.array([1.0, 6.0, 2.0]), np.array([1.0, 2.0, 7.0])
    sums = group_sums({"groups": 3, "a": [1, 6, 2], "b": [1, 2, 7]}, {"maximum": 3}, 6, 200_000)
    variance = a * b / (a + b) ** 2 / (a + b + 1)
    assert np.all(np.abs(sums.mean(axis=0) - a / (a + b)) < 5 * np.sqrt(variance / 200_000))
    np.testing.assert_allclose(sums.var(axis=0), variance, rtol=0.02)


@pytest.mark.parametrize("keys", [{}, {"a": [2, 3, 4]}])
def test_groups_are_independent(keys: Keys) -> None:
    """Groups of one pull correlate with 0, within 5 standard errors at 100,000 pulls."""
    sums = group_sums({"groups": 3, **keys}, {"maximum": 1}, 6, 100_000)
    correlations = np.corrcoef(sums.T) - np.eye(3)
    assert np.abs(correlations).max() < 5 / np.sqrt(100_000)


def test_an_arm_overrides_what_is_shared() -> None:
    """An arm's own a replaces the shared a; its b stays the shared one; other arms keep both."""
    keys = {"groups": 2, "a": [1, 1], "b": [3, 3]}
    rewards = build("smooth-beta", keys, [{"maximum": 8}, {"maximum": 8, "a": [9, 1]}], 2)
    assert [arm.mean for arm in rewards.arms] == pytest.approx([2.0, 4.0], rel=1e-15)


@pytest.mark.parametrize(
    ("keys", "arm", "text"),
    [
        ({"groups": 7}, {}, r"^rewards\.groups: 7 does not divide the span 12; use one of 1, 2, 3, 4, 6, 12$"),
        ({"groups": 3, "b": [1, 1]}, {}, r"^rewards\.b: has 2 numbers but groups = 3; give one per group$"),
        ({"groups": 3}, {"a": [1] * 4}, r"^arms\[1\]\.a: has 4 numbers but groups = 3; give one per group$"),
    ],
)
def test_shapes_that_do_not_fit(keys: Keys, arm: Keys, text: str) -> None:
    """Groups must divide the span, and Beta parameters are one per group; the error names the key."""
    with pytest.raises(ScenarioError, match=text):
        build("smooth-beta", keys, [{"maximum": 1}, {"maximum": 1, **arm}], 12)
