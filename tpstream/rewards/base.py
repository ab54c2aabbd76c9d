"""Checks of what reward models promise, also those that are not ours.

What reward models with groups share.
"""

import math

from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import Rewards


def check_rewards(rewards: Rewards, span: int) -> None:
    """Raise unless the model keeps what every reward model promises, also one that is not ours."""
    if rewards.groups is not None and (rewards.groups < 1 or span % rewards.groups):
        raise ScenarioError(f"rewards: {rewards.groups} groups do not divide the span {span}; change one of them")
    for number, arm in enumerate(rewards.arms):
        if not 0 < arm.maximum < math.inf:
            raise ScenarioError(f"arms[{number}]: its maximum must be greater than 0 and finite, got {arm.maximum}")
        if not 0 <= arm.mean <= arm.maximum * (1 + 1e-9):
            raise ScenarioError(f"arms[{number}]: its mean must be from 0 to its maximum {arm.maximum}, got {arm.mean}")


def check_groups(groups: int, span: int) -> None:
    """Raise unless the span can be cut into that many equal groups."""
    if span % groups:
        divisors = ", ".join(str(divisor) for divisor in range(1, span + 1) if span % divisor == 0)
        raise ScenarioError(f"rewards.groups: {groups} does not divide the span {span}; use one of {divisors}")
