"""Prices and lotteries: stocks that run out and cards that win."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rewards_helper import build, draw

from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import ArmRewards


def price(items: int, amount: float, rate: float, span: int) -> ArmRewards:
    """The arm of one price."""
    return build("price", {"items": items}, [{"price": amount, "rate": rate}], span).arms[0]


def lottery(winners: str, probability: float, prize: float, tickets: int) -> ArmRewards:
    """The arm of one lottery."""
    keys = {"tickets": tickets, "winners": winners}
    return build("lottery", keys, [{"probability": probability, "prize": prize}], tickets).arms[0]


@given(items=st.integers(1, 30), rate=st.floats(0, 20), span=st.integers(1, 20), seed=st.integers(0, 2**32))
@settings(max_examples=50)
def test_sales_follow_demand_until_sold_out(items: int, rate: float, span: int, seed: int) -> None:
    """A day sells its demand or what is left of the stock, as a day-by-day count of the same demand shows."""
    sold = price(items, 1.0, rate, span).sample(np.random.default_rng(seed), 5)
    demand = np.random.default_rng(seed).poisson(rate, (5, span))
    for pull in range(5):
        stock = items
        for day in range(span):
            expected = min(int(demand[pull, day]), stock)
            stock -= expected
            assert sold[pull, day] == expected


@given(items=st.integers(1, 200), rate=st.floats(0, 50), span=st.integers(1, 40))
def test_mean_of_sales_is_the_sum_over_tails(items: int, rate: float, span: int) -> None:
    """The mean equals the sum of P(D >= n) over n = 1..items, with Poisson probabilities added up one by one."""
    expected = rate * span
    density = [
        math.exp(n * math.log(expected) - expected - math.lgamma(n + 1)) if expected else float(n == 0)
        for n in range(items)
    ]
    tails = 1 - np.cumsum(density)
    assert price(items, 1.0, rate, span).mean == pytest.approx(float(tails.sum()), abs=1e-8)


def test_one_item_for_one_day() -> None:
    """One item at price 3, asked for with rate 0.5, is sold with probability 1 - exp(-0.5)."""
    arm = price(1, 3.0, 0.5, 1)
    assert arm.mean == pytest.approx(3 * (1 - math.exp(-0.5)), rel=1e-14)
    assert arm.maximum == 3


def test_extremes_of_demand() -> None:
    """Without demand nothing is sold; with more than plenty the whole batch on the first day: so there is one group."""
    assert price(5, 2.0, 0, 3).mean == 0
    assert price(5, 2.0, 1e9, 3).mean == 10
    rewards = build("price", {"items": 5}, [{"price": 2, "rate": 1e9}], 3)
    assert draw(rewards, 2).tolist() == [[10, 0, 0], [10, 0, 0]]
    assert rewards.groups == 1


@given(probability=st.floats(0, 1), tickets=st.integers(1, 30), seed=st.integers(0, 2**32))
@settings(max_examples=50)
def test_the_single_card_is_the_first_win(probability: float, tickets: int, seed: int) -> None:
    """From the same stream, one winner is the first of all winners."""
    everything = lottery("all", probability, 2.5, tickets).sample(np.random.default_rng(seed), 6)
    single = lottery("one", probability, 2.5, tickets).sample(np.random.default_rng(seed), 6)
    for many, one in zip(everything.tolist(), single.tolist(), strict=True):
        expected = [0.0] * tickets
        if 2.5 in many:
            expected[many.index(2.5)] = 2.5
        assert one == expected


@pytest.mark.parametrize(
    ("winners", "probability", "mean", "maximum", "groups"),
    [
        ("one", 0.5, 7.0, 8, 1),  # 8 (1 - 1/8)
        ("one", 0, 0, 8, 1),
        ("one", 1, 8, 8, 1),
        ("all", 0.5, 12, 24, 3),
        ("all", 0, 0, 24, 3),
        ("all", 1, 24, 24, 3),
    ],
)
def test_three_tickets(winners: str, probability: float, mean: float, maximum: float, groups: int) -> None:
    """Three tickets with prize 8, by hand; certain outcomes are also drawn so."""
    keys = {"tickets": 3, "winners": winners}
    rewards = build("lottery", keys, [{"probability": probability, "prize": 8}], 3)
    assert rewards.arms[0].mean == pytest.approx(mean, rel=1e-15)
    assert (rewards.arms[0].maximum, rewards.groups) == (maximum, groups)
    if probability in {0, 1}:
        assert set(draw(rewards, 9).sum(axis=1)) == {mean}


def test_tiny_probabilities_keep_their_digits() -> None:
    """With probability 1e-18 per ticket the mean is 3e-18 prizes, not 0."""
    assert lottery("one", 1e-18, 1, 3).mean == pytest.approx(3e-18, rel=1e-12, abs=0)


def test_tickets_are_the_span() -> None:
    """One ticket is scratched per part, so the tickets are as many as the span."""
    with pytest.raises(ScenarioError, match=r"^rewards\.tickets: 7 is not the span 100; make them equal$"):
        build("lottery", {"tickets": 7, "winners": "one"}, [{"probability": 1, "prize": 1}], 100)
