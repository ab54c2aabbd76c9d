"""Limits of numbers, and divisors that are found without trying every number."""

import time

import pytest
from hypothesis import given, strategies as st
from studies import small

from tpstream.model.errors import PolicyError, ScenarioError
from tpstream.model.limits import divisors, divisors_near
from tpstream.model.world import Problem
from tpstream.rewards.base import check_groups


@given(st.integers(1, 3000))
def test_divisors(number: int) -> None:
    """They are those that trying every number gives."""
    assert divisors(number) == [one for one in range(1, number + 1) if number % one == 0]


def test_the_divisors_of_a_giant() -> None:
    """Messages about groups that do not divide come at once, and name only the divisors that are near."""
    began = time.perf_counter()
    with pytest.raises(ScenarioError, match=r"7 does not divide the span 1000000000000; use one of 1, 2, 4, 5, 8, 10"):
        check_groups(7, 10**12)
    problem: Problem = small().problem()
    with pytest.raises(PolicyError, match=r"groups = 7 does not divide the span"):
        problem.assumed_groups(7)
    assert time.perf_counter() - began < 5
    assert len(divisors_near(735_134_400, 1000).split(", ")) == 12


@pytest.mark.parametrize("kind", ["binary", "normal"])
def test_correlated_visits_are_bounded(kind: str) -> None:
    """A table of correlations of a million visits is refused before it is made."""
    arm = {"probability": 0.5} if kind == "binary" else {"mean": 1.0, "deviation": 1.0}
    with pytest.raises(ScenarioError, match=r"every two of 1,000,000 visits correlate, .* at most 2,000 visits"):
        small().with_(span=1_000_000, rewards={"kind": kind}, arms=[{**arm, "name": "a"}])
