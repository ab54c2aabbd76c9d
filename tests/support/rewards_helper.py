"""How the tests of the reward models build them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.rewards import REWARDS

Keys = Mapping[str, object]


def build(name: str, settings: Keys, arms: Sequence[Keys], span: int, folder: Path = Path()) -> Rewards:
    """The reward model of that name, from the keys of a scenario; arms are named a, b, c, ..."""
    kind = REWARDS.find(name)
    names = [chr(ord("a") + number) for number in range(len(arms))]
    read_arms = [kind.arm_settings(**arm) for arm in arms]
    rewards: Rewards = kind.build(kind.settings(**settings), read_arms, BuildContext(names, span, folder))
    return rewards


def draw(rewards: Rewards, pulls: int, seed: int = 0, arm: int = 0) -> Floats:
    """Pulls of one arm from a fresh stream of that seed."""
    return rewards.arms[arm].sample(np.random.default_rng(seed), pulls)


def standard_errors_off(totals: Floats, mean: float) -> float:
    """How many standard errors the sample mean is away from the mean."""
    return float(abs(totals.mean() - mean) / (totals.std(ddof=1) / np.sqrt(totals.size)))
