"""Tables: the parts of a scenario whose keys depend on a kind, read with the keys of that kind."""

import json
from collections.abc import Iterable, Mapping
from datetime import date, time
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field, PlainValidator, TypeAdapter
from pydantic.config import JsonDict

from tpstream.model.errors import ScenarioError, UnknownNameError
from tpstream.model.interfaces import RewardKind
from tpstream.model.registry import Registry
from tpstream.model.settings import Table, class_name, join, kind_table
from tpstream.policies import POLICIES
from tpstream.policies.base import PolicyForm
from tpstream.rewards import REWARDS
from tpstream.scenario.messages import quote, wrong


def without_default(schema: JsonDict) -> None:
    """Say nothing about the default of a name in a schema: it is made from the place or from other keys."""
    schema.pop("default")


class RewardTable(Table):
    """`[rewards]`: a kind and its settings."""

    kind: str


class ArmTable(Table):
    """One of `[[arms]]`: a name and the settings that the kind of rewards has for an arm."""

    name: str = Field("", min_length=1, description="default: arm-1, arm-2, ...", json_schema_extra=without_default)


class PolicyTable(Table):
    """One of `[[policies]]`: a kind, its parameters, and the label under which results are shown."""

    kind: str
    name: str = Field(
        "",
        min_length=1,
        description="label; default: the kind, with its parameters where it is not alone",
        json_schema_extra=without_default,
    )


def find_rewards(kind: str) -> RewardKind:
    """The reward model of that name."""
    return cast("RewardKind", REWARDS.find(kind))


def find_policy(kind: str) -> PolicyForm:
    """The policy of that name."""
    return cast("PolicyForm", POLICIES.find(kind))


def reward_table(kind: str) -> type[RewardTable]:
    """The model of `[rewards]` for that kind."""
    return cast("type[RewardTable]", kind_table(kind, "Rewards", find_rewards(kind).settings, RewardTable))


@lru_cache
def _arm_table(kind: str, settings: type[BaseModel]) -> type[ArmTable]:
    return join(class_name(kind, "Arm"), settings, ArmTable)


def arm_table(kind: str) -> type[ArmTable]:
    """The model of an arm for that kind of rewards."""
    return _arm_table(kind, find_rewards(kind).arm_settings)


def policy_table(kind: str) -> type[PolicyTable]:
    """The model of a policy's table for that kind."""
    return cast("type[PolicyTable]", kind_table(kind, "Policy", find_policy(kind).parameters, PolicyTable))


def read_rewards(value: object) -> RewardTable:
    """The `[rewards]` table."""
    if not isinstance(value, dict):
        raise wrong((), f"must be a table, got {quote(value)}; write [rewards]", value)
    kind = kind_of(value, REWARDS, ())
    table: RewardTable = read(reward_table(kind), value)
    return table


def read_arms(value: object, kind: str) -> tuple[ArmTable, ...]:
    """The `[[arms]]` tables for that kind of rewards; an arm without a name is called arm-1, arm-2, ..."""
    tables = list_of_tables(value, "arms")
    if not tables:
        raise wrong((), "at least 1 arm is needed; write [[arms]]", value)
    named = [{"name": f"arm-{number}", **table} for number, table in enumerate(tables, start=1)]
    arms = read(tuple[arm_table(kind), ...], named)  # type: ignore[misc]
    check_unique((arm.name for arm in arms), "arms", "names")
    return cast("tuple[ArmTable, ...]", arms)


def read_policies(value: object) -> tuple[PolicyTable, ...]:
    """The `[[policies]]` tables, each with its label."""
    tables = list_of_tables(value, "policies")
    kinds = [kind_of(table, POLICIES, (number,)) for number, table in enumerate(tables)]
    if not kinds:
        return ()
    models = tuple(policy_table(kind) for kind in kinds)
    policies: tuple[PolicyTable, ...] = read(tuple[models], tables)  # type: ignore[valid-type]
    labelled = [
        policy.model_copy(update={"name": policy.name or label(policy, alone=kinds.count(policy.kind) == 1)})
        for policy in policies
    ]
    check_unique((policy.name for policy in labelled), "policies", "labels")
    return tuple(labelled)


GivenRewards = Annotated[RewardTable, PlainValidator(read_rewards)]
GivenPolicies = Annotated[tuple[PolicyTable, ...], PlainValidator(read_policies)]


def label(policy: PolicyTable, *, alone: bool) -> str:
    """The label of a policy that was given none."""
    given = policy.model_dump(mode="json", exclude_unset=True, exclude={"kind", "name"})
    return policy.kind if alone else policy_spec(policy.kind, given)


def policy_spec(kind: str, parameters: Mapping[str, Any]) -> str:
    """The policy as it is written in one word: "tp-ucb-fr:groups=50,ties=first", keys in alphabetical order."""
    pairs = [f"{key}={toml_text(value)}" for key, value in sorted(parameters.items())]
    return f"{kind}:{','.join(pairs)}" if pairs else kind


def toml_text(value: object) -> str:
    """A value of a TOML file, without the quotes of a text that is a mere word."""
    if (
        isinstance(value, str)
        and value.replace("-", "a").isidentifier()
        and value not in {"true", "false", "inf", "nan"}
    ):
        return value
    return json.dumps(value)


def read(model: Any, value: object) -> Any:
    """The value as that model, strictly: 1 is no truth, "1" no number; as JSON, in which a tuple is a list."""
    return TypeAdapter(model).validate_json(json.dumps(value), strict=True)


def kind_of(table: Mapping[str, Any], registry: Registry, location: tuple[int, ...]) -> str:
    """The known kind that a table names."""
    if "kind" not in table:
        raise wrong((*location, "kind"), f"missing; use one of {', '.join(registry.names())}", table)
    kind = table["kind"]
    if not isinstance(kind, str):
        raise wrong((*location, "kind"), f"must be text in quotes, got {quote(kind)}", kind)
    try:
        registry.find(kind)
    except UnknownNameError as error:
        raise wrong((*location, "kind"), str(error), kind) from None
    return kind


def list_of_tables(value: object, key: str) -> list[dict[str, Any]]:
    """The value, if it is what [[key]] makes of it."""
    if not isinstance(value, list):
        raise wrong((), f"must be a list of tables, got {quote(value)}; write [[{key}]]", value)
    for number, table in enumerate(value):
        if not isinstance(table, dict):
            raise wrong((number,), f"must be a table, got {quote(table)}; write [[{key}]]", table)
    return value


def check_unique(names: Iterable[str], key: str, what: str) -> None:
    """Raise at the first name that was there before."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names):
        if name in seen:
            message = f"{name!r} is also the name of {key}[{seen[name]}]; give them different {what}"
            raise wrong((number, "name"), message, name)
        seen[name] = number


def plain(value: object, path: str = "") -> Any:
    """The value as a TOML file would hold it, from what Python code gives: tuples, NumPy numbers, paths, models."""
    match value:
        case None | bool() | str() | int() | float():
            return value
        case Mapping():
            return {str(key): plain(one, f"{path}.{key}".removeprefix(".")) for key, one in value.items()}
        case list() | tuple():
            return [plain(one, f"{path}[{number}]") for number, one in enumerate(value)]
        case date() | time() | Path():
            return str(value)
        case BaseModel():
            return value.model_dump(mode="json")
        case _ if hasattr(value, "tolist"):
            return plain(value.tolist(), path)
        case _:
            raise ScenarioError(f"{path}: must be a number, text, true, false, a list or a table, got {quote(value)}")
