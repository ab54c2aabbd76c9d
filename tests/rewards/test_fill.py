"""Rewards that compiled code draws: the same numbers as `sample` gives, and the streams left at the same place."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tpstream import Scenario
from tpstream.engines.draws import Draws
from tpstream.model.interfaces import FilledRewards
from tpstream.model.numba_support import hold_stream
from tpstream.model.world import BLOCK, Purpose, open_stream
from tpstream.rewards.churn import ChurnArm
from tpstream.rewards.conversion import ConversionArm
from tpstream.rewards.lottery import LotteryArm
from tpstream.rewards.playlist import PlaylistArm
from tpstream.rewards.price import PriceArm, make_arm
from tpstream.rewards.smooth_beta import SmoothBetaArm

SHIPPED = (
    *("setting-1", "setting-2.1-100-10", "setting-2.2-200-100", "setting-4-5", "setting-5", "playlist"),
    *("e-commerce", "lottery-one", "lottery-all"),
)
PROBABILITIES = st.sampled_from([0.0, 1e-3, 0.2, 0.9, 1.0]) | st.floats(0.0, 1.0)
SEEDS = st.integers(0, 2**32)


def assert_filled_as_sampled(model: FilledRewards, seed: int, pulls: int) -> None:
    """Two blocks, one sampled and one filled by turns, from equal streams."""
    one, other = (np.random.default_rng(seed) for _ in range(2))
    held = hold_stream(other)
    for _ in range(2):
        sampled = model.sample(one, pulls)
        filled = np.full_like(sampled, np.nan)
        model.fill(held, filled)
        np.testing.assert_array_equal(filled, sampled)
    assert one.bit_generator.state == other.bit_generator.state


def smooth_beta(**keys: Any) -> Any:
    """The arm of a world of this kind."""
    span = keys.pop("span")
    rewards = {"kind": "smooth-beta", **keys}
    return (
        Scenario(name="one arm", horizon=10, span=span, rewards=rewards, arms=[{"maximum": 3.7}])
        .build_rewards()
        .arms[0]
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["even", "first", "last"]),
    st.integers(0, 2**32),
    st.booleans(),
    st.data(),
)
def test_smooth_beta(groups: int, width: int, spread: str, seed: int, uniform: bool, data: Any) -> None:  # noqa: FBT001
    """Groups of any shape, divided in every way that needs no draws, are filled as they are sampled."""
    shapes = {} if uniform else {key: data.draw(positive_numbers(groups)) for key in ("a", "b")}
    model = smooth_beta(span=groups * width, groups=groups, spread=spread, **shapes)
    assert_filled_as_sampled(model, seed, data.draw(st.integers(1, 40)))


def positive_numbers(count: int) -> st.SearchStrategy[list[float]]:
    """Parameters of Beta distributions, below 1 and above."""
    return st.lists(st.floats(0.05, 20.0), min_size=count, max_size=count)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.sampled_from([0.0, 1e-3, 0.3, 0.9, 1.0]),
    st.floats(0.01, 0.99),
    st.integers(0, 2**32),
)
def test_playlists(songs: int, levels: int, gradual: float, coherence: float, average: float, seed: int) -> None:
    """Sessions with one mood for all, drawn moods, and all or nothing are filled as they are sampled."""
    model = PlaylistArm(songs, levels, gradual, average * songs * levels, coherence)
    assert_filled_as_sampled(model, seed, 30)


@settings(max_examples=30, deadline=None)
@given(PROBABILITIES, st.integers(1, 12), st.booleans(), SEEDS)
def test_lotteries(probability: float, tickets: int, single: bool, seed: int) -> None:  # noqa: FBT001
    """Tickets of which all may win, or only the first winner, are filled as they are sampled."""
    assert_filled_as_sampled(LotteryArm(tickets, probability, 2.3, single), seed, 30)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([1e-9, 0.3, 9.999]) | st.floats(0.01, 9.9), st.integers(1, 50), st.integers(1, 12), SEEDS)
def test_prices(rate: float, items: int, span: int, seed: int) -> None:
    """Sales at every rate of demand below ten a day are filled as they are sampled."""
    model: Any = make_arm(items, 3.7, rate, span)
    assert_filled_as_sampled(model, seed, 30)


@pytest.mark.parametrize("rate", [0.0, 10.0, 40.0])
def test_other_demand_is_not_filled(rate: float) -> None:
    """NumPy draws nothing for demand that never comes, and much demand in another way, so these stay with NumPy."""
    assert type(make_arm(5, 3.7, rate, 4)) is PriceArm


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([1e-6, 0.05, 0.3, 0.34, 0.95]),
    st.none() | st.floats(0.05, 50.0),
    st.lists(PROBABILITIES, min_size=1, max_size=12),
    SEEDS,
)
def test_churn(churn: float, concentration: float | None, activity: list[float], seed: int) -> None:
    """Customers who are alike, or differ, and leave early or late are filled as they are sampled."""
    assert_filled_as_sampled(ChurnArm(churn, concentration, np.array(activity), 1.3), seed, 30)


@settings(max_examples=30, deadline=None)
@given(PROBABILITIES, st.sampled_from([0.0, 0.5, 3.0]), st.integers(1, 12), st.floats(0.01, 0.99), SEEDS)
def test_conversions(probability: float, sigma: float, span: int, hazard: float, seed: int) -> None:
    """Rare and certain conversions, of one amount or very different ones, are filled as they are sampled."""
    times = np.cumsum((1 - hazard) ** np.arange(span))
    model = ConversionArm(probability, 20.0, sigma, 45.0, times[:-1] / times[-1])
    assert_filled_as_sampled(model, seed, 30)


@pytest.mark.parametrize("spread", ["single", "random"])
def test_drawn_spreads_are_not_filled(spread: str) -> None:
    """Compiled code would draw places, and add up proportions, differently, so they stay with NumPy."""
    model = smooth_beta(span=20, groups=2, spread=spread)
    assert isinstance(model, SmoothBetaArm)
    assert not hasattr(model, "fill")


@pytest.mark.parametrize("name", SHIPPED)
def test_blocks_are_those_of_sample(name: str) -> None:
    """The blocks of a run, of which all but the first are filled, are what `sample` gives, in every shipped world."""
    world = Scenario.load(name).build_world(5, 2)
    draws = Draws(world)
    for arm in (0, world.problem.arms - 1):
        stream = open_stream(5, 2, Purpose.REWARDS, arm)
        for number in range(3):
            sampled = world.rewards.arms[arm].sample(stream, BLOCK)
            np.testing.assert_array_equal(draws.block(arm, number).rewards, sampled)
