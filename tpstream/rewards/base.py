"""What reward models share: how built-in ones are registered, and the checks that every model must pass."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.settings import Settings


class RewardSettings(Settings):
    """Keys of `[rewards]` for a built-in reward model, which also build it."""

    @abstractmethod
    def build(self, arms: Sequence[Any], context: BuildContext) -> Rewards:
        """The model for arms with these settings; raises ScenarioError with a key as in "rewards.groups: ..."."""


class BuiltInRewards:
    """A built-in reward model as it is registered."""

    def __init__(self, settings: type[RewardSettings], arm_settings: type[BaseModel]) -> None:
        self.settings: type[BaseModel] = settings
        self.arm_settings = arm_settings

    def build(self, settings: RewardSettings, arms: Sequence[Any], context: BuildContext) -> Rewards:
        """The model of these settings."""
        return settings.build(arms, context)


def check_rewards(rewards: Rewards, span: int) -> None:
    """Raise unless groups, maxima and means of a model, which may be user-written, are possible."""
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
