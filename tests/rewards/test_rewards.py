"""Laws that every reward model obeys."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError
from rewards_helper import Keys, build, draw, standard_errors_off

from tpstream.model.interfaces import Rewards
from tpstream.rewards import REWARDS

Sample = tuple[str, Keys, Keys, int]
CASES: dict[str, Sample] = {
    "uniform": ("smooth-beta", {"groups": 4}, {"maximum": 100}, 12),
    "uniform-single": ("smooth-beta", {"groups": 4, "spread": "single"}, {"maximum": 100}, 12),
    "beta-random": ("smooth-beta", {"groups": 2, "a": [2, 0.5], "spread": "random"}, {"maximum": 7}, 6),
    "beta-only-b": ("smooth-beta", {"groups": 2, "b": [3, 4]}, {"maximum": 7}, 6),
    "playlist": ("playlist", {}, {"mean": 38.59, "deviation": 21.83}, 80),
    "price": ("price", {"items": 20}, {"price": 0.1, "rate": 0.7}, 30),
    "lottery-one": ("lottery", {"tickets": 10, "winners": "one"}, {"probability": 0.08, "prize": 5}, 10),
    "lottery-all": ("lottery", {"tickets": 10, "winners": "all"}, {"probability": 0.08, "prize": 0.1}, 10),
    "churn": ("churn", {}, {"churn": 0.3, "concentration": 1.2, "activity": 0.5, "payment": 3}, 12),
    "churn-alike": ("churn", {}, {"churn": 0.1, "activity": [0.9, 0.5, 0.1]}, 3),
    "conversion": ("conversion", {"hazard": 0.2}, {"probability": 0.4, "median": 20, "maximum": 90}, 8),
    "binary": ("binary", {"correlation": 0.7}, {"probability": [0.2, 0.4, 0.5]}, 3),
    "binary-patterns": ("binary", {}, {"patterns": {"00": 0.3, "10": 0.2, "11": 0.5}}, 2),
    "survival": ("survival", {}, {"hazard": [0.1, 0.3], "changes": [2]}, 6),
    "survival-weibull": ("survival", {}, {"scale": 4, "shape": 0.8}, 6),
    "trace": ("trace", {"file": "rows.csv", "draw": "resample"}, {}, 3),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rewards, int]:
    """Every reward model with one arm, and its span."""
    folder: Path = tmp_path_factory.mktemp("trace")
    (folder / "rows.csv").write_text("arm,x1,x2,x3\na,1,0,2\na,0,0,0.5\na,3,1,0\n")
    name, keys, arm, span = CASES[request.param]
    return build(name, keys, [arm], span, folder), span


@given(pulls=st.integers(1, 40), seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_parts_are_rows_of_the_span(case: tuple[Rewards, int], pulls: int, seed: int) -> None:
    """A sample is a contiguous array of 64-bit floats with a row for each pull and a column for each part."""
    rewards, span = case
    parts = draw(rewards, pulls, seed)
    assert (parts.shape, parts.dtype, parts.flags.c_contiguous) == ((pulls, span), np.float64, True)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_rewards_stay_within_bounds(case: tuple[Rewards, int], seed: int) -> None:
    """No part is negative, and no pull pays more than the maximum, up to the rounding of a sum."""
    rewards, _ = case
    parts = draw(rewards, 64, seed)
    assert parts.min() >= 0
    assert parts.sum(axis=1).max() <= rewards.arms[0].maximum * (1 + 1e-12)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_the_stream_decides_everything(case: tuple[Rewards, int], seed: int) -> None:
    """Equal streams give equal parts, block after block."""
    rewards, _ = case
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(2):
        np.testing.assert_array_equal(rewards.arms[0].sample(first, 8), rewards.arms[0].sample(second, 8))


def test_the_mean_is_exact(case: tuple[Rewards, int]) -> None:
    """The sample mean is within 5 standard errors of the mean (false alarm: 6 in 10 million per case)."""
    rewards, _ = case
    totals = draw(rewards, 100_000, seed=1).sum(axis=1)
    assert standard_errors_off(totals, rewards.arms[0].mean) < 5


def test_groups_keep_their_share(case: tuple[Rewards, int]) -> None:
    """No group pays more than its share of the maximum; where none is guaranteed the span is one group."""
    rewards, span = case
    groups = rewards.groups or 1
    sums = draw(rewards, 1000).reshape(1000, groups, span // groups).sum(axis=2)
    assert sums.max() <= rewards.arms[0].maximum / groups * (1 + 1e-12)


@pytest.mark.parametrize("name", REWARDS.names())
def test_every_model_refuses_unknown_keys(name: str) -> None:
    """A key that the model does not know is an error, in the rewards and in an arm."""
    kind = REWARDS.find(name)
    for keys in (kind.settings, kind.arm_settings):
        with pytest.raises(ValidationError, match="Extra inputs"):
            keys(colour="red")


@pytest.mark.parametrize("name", REWARDS.names())
def test_settings_are_frozen(name: str) -> None:
    """Settings cannot be changed once read."""
    kind = REWARDS.find(name)
    assert kind.settings.model_config["frozen"]
    assert kind.arm_settings.model_config["frozen"]


@pytest.mark.parametrize(
    ("name", "arm"),
    [
        ("smooth-beta", {"maximum": 0}),
        ("smooth-beta", {"maximum": float("inf")}),
        ("smooth-beta", {"maximum": 1, "a": [0]}),
        ("playlist", {"mean": 0, "deviation": 1}),
        ("playlist", {"mean": 1, "deviation": -1}),
        ("price", {"price": 0, "rate": 1}),
        ("price", {"price": 1, "rate": -1}),
        ("lottery", {"probability": 1.5, "prize": 1}),
        ("lottery", {"probability": 0.5, "prize": 0}),
        ("churn", {"churn": 1.0}),
        ("churn", {"churn": 0.5, "concentration": 0}),
        ("conversion", {"probability": -0.1, "median": 1, "maximum": 2}),
        ("binary", {"probability": 1.1}),
        ("normal", {"mean": 0, "deviation": -1}),
        ("survival", {"hazard": -0.1}),
        ("survival", {"scale": 0}),
        ("trace", {"maximum": 0}),
    ],
)
def test_impossible_arms_are_refused(name: str, arm: Keys) -> None:
    """A value that no arm can have is an error of that key."""
    with pytest.raises(ValidationError, match="1 validation error"):
        REWARDS.find(name).arm_settings(**arm)
