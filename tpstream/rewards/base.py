"""What reward models share: how built-in ones are registered, how a model is built, and the checks it must pass."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from pydantic import BaseModel, Discriminator, Field, Tag

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, user_code
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.limits import divisors_near
from tpstream.model.registry import BuiltInSettings
from tpstream.model.settings import Table
from tpstream.rewards import REWARDS

Item = TypeVar("Item")
OneOrList = Annotated[
    Annotated[Item, Tag("(one)")] | Annotated[list[Item], Tag("(list)")],
    Discriminator(lambda value: "(list)" if isinstance(value, list) else "(one)"),
]
"""One value, or a list of such values; told apart by what was given, so that errors are about that form only."""


class RewardSettings(BuiltInSettings):
    """Keys of `[rewards]` for a built-in reward model, and those of its arms."""

    arm_settings: ClassVar[type[BaseModel]]
    money: ClassVar[bool] = False
    """Whether rewards are money whatever the scenario says."""


class RewardTable(Table):
    """`[rewards]`: a kind and its settings."""

    kind: str = Field(description="how a pull pays; `tpstream list rewards` has the kinds")


def implied_span(table: Any, folder: Path) -> int | None:
    """The span that a `[rewards]` table implies, for kinds such as recorded rewards that know it; else None."""
    kind = table.get("kind") if isinstance(table, dict) else None
    if kind not in REWARDS.names():
        return None
    imply = getattr(REWARDS.find(kind), "implied_span", None)
    return None if imply is None else imply(table, folder)


def money_unit(currency: str | None, kind: str) -> str | None:
    """How amounts of money are written, for the `currency` and the kind of rewards of a scenario.

    The currency; empty where none is given but the kind of rewards is money; None where rewards are not money.
    """
    if currency is not None:
        return currency
    known = kind in REWARDS.names()  # a log may be of a plug-in that is not loaded
    return "" if known and getattr(REWARDS.find(kind), "money", False) else None


def build_rewards(table: RewardTable, arms: Sequence[Any], context: BuildContext) -> Rewards:
    """The reward model of these tables, built anew."""
    with user_code(ScenarioError, f"rewards.kind: {table.kind!r}"):
        rewards: Rewards = REWARDS.find(table.kind).build(table, arms, context)
        if len(rewards.arms) != len(arms):
            raise ScenarioError(
                f"rewards.kind: {table.kind!r} built models of {len(rewards.arms)} arms, and there are {len(arms)}; "
                f"return one for each"
            )
        check_rewards(rewards, context.span)
        return replace(rewards, name=f"rewards ({table.kind})")


def check_rewards(rewards: Rewards, span: int) -> None:
    """Raise unless groups, maxima and means of a model, which may be user-written, are possible."""
    if rewards.groups is not None and (rewards.groups < 1 or span % rewards.groups):
        raise ScenarioError(f"rewards: {rewards.groups} groups do not divide the span {span}; change one of them")
    for number, arm in enumerate(rewards.arms):
        maximum = arm.maximum
        if maximum is None and rewards.groups is not None:
            raise ScenarioError(
                f"arms[{number}]: {rewards.groups} groups promise shares of a maximum; give one, or none"
            )
        if maximum is not None and not 0 < maximum < math.inf:
            raise ScenarioError(f"arms[{number}]: its maximum must be greater than 0 and finite, got {maximum}")
        least, most = -math.inf if rewards.signed else 0, math.inf if maximum is None else maximum * (1 + 1e-9)
        if not (least <= arm.mean <= most and math.isfinite(arm.mean)):
            bounds = (
                "finite" if rewards.signed else f"from 0 to its maximum {maximum}" if maximum else "finite, from 0 on"
            )
            raise ScenarioError(f"arms[{number}]: its mean must be {bounds}, got {arm.mean}")


def per_part(given: float | Sequence[float], span: int, key: str) -> Floats:
    """A number for each part: the numbers given under that key, or the same one for all."""
    if isinstance(given, Sequence) and len(given) != span:
        raise ScenarioError(f"{key}: has {len(given)} values but the span is {span}; give one per part")
    return np.broadcast_to(np.array(given, dtype=np.float64), span).copy()


def check_groups(groups: int, span: int) -> None:
    """Raise unless the span can be cut into that many equal groups."""
    if span % groups:
        near = divisors_near(span, groups)
        raise ScenarioError(f"rewards.groups: {groups} does not divide the span {span}; use one of {near}")
