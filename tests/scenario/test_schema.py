"""The JSON Schema of scenario files."""

import json
from typing import Any

import pytest

from tpstream.policies import POLICIES
from tpstream.rewards import REWARDS
from tpstream.scenario.catalogue import describe, json_schema
from tpstream.scenario.files import shipped
from tpstream.scenario.scenario import Scenario


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema as an editor reads it."""
    read: dict[str, Any] = json.loads(json.dumps(json_schema()))
    return read


def resolve(schema: dict[str, Any], reference: dict[str, str]) -> dict[str, Any]:
    """The definition that a reference points to."""
    definition: dict[str, Any] = schema["$defs"][reference["$ref"].removeprefix("#/$defs/")]
    return definition


def test_keys_are_those_of_a_scenario(schema: dict[str, Any]) -> None:
    """The schema knows the keys of a scenario, which of them are needed, and that there are no others."""
    assert list(schema["properties"]) == list(Scenario.model_fields)
    assert schema["required"] == ["name", "horizon", "rewards", "arms"]
    needed = {one["title"]: one["required"] for one in schema["oneOf"]}
    assert needed == {kind: [] if kind == "trace" else ["span"] for kind in needed}
    assert schema["additionalProperties"] is False


def test_every_kind_of_rewards_has_its_keys(schema: dict[str, Any]) -> None:
    """For each kind there is a branch with the keys of its [rewards] and of its arms, and no others."""
    for kind, branch in zip(REWARDS.names(), schema["oneOf"], strict=True):
        rewards = resolve(schema, branch["properties"]["rewards"])
        arm = resolve(schema, branch["properties"]["arms"]["items"])
        model = REWARDS.find(kind)
        assert rewards["properties"]["kind"]["const"] == kind
        assert set(rewards["properties"]) == {"kind", *model.settings.model_fields}
        assert set(arm["properties"]) == {"name", *model.arm_settings.model_fields}
        assert rewards["additionalProperties"] is arm["additionalProperties"] is False


def test_every_policy_has_its_keys(schema: dict[str, Any]) -> None:
    """For each policy there is a table with its kind, a name and its parameters, and no other keys."""
    tables = [resolve(schema, reference) for reference in schema["properties"]["policies"]["items"]["oneOf"]]
    for kind, table in zip(POLICIES.names(), tables, strict=True):
        assert table["properties"]["kind"]["const"] == kind
        assert set(table["properties"]) == {"kind", "name", *POLICIES.find(kind).parameters.model_fields}
        assert table["required"] == ["kind"]


def test_a_name_has_no_default_to_show(schema: dict[str, Any]) -> None:
    """Names are made from other things when they are left out, so an editor shows no default for them."""
    arm = resolve(schema, schema["oneOf"][0]["properties"]["arms"]["items"])
    assert "default" not in arm["properties"]["name"]


@pytest.mark.parametrize("name", shipped())
def test_shipped_scenarios_use_known_keys(name: str, schema: dict[str, Any]) -> None:
    """The tables of every shipped scenario, defaults filled in, have the keys of exactly one branch."""
    resolved = Scenario.load(name).resolved()
    branches = [
        branch
        for branch in schema["oneOf"]
        if set(resolve(schema, branch["properties"]["rewards"])["properties"]) == set(resolved["rewards"])
        and set(resolve(schema, branch["properties"]["arms"]["items"])["properties"]) == set(resolved["arms"][0])
    ]
    assert [branch["title"] for branch in branches] == [resolved["rewards"]["kind"]]


def keys_without_description(node: Any, path: str = "") -> list[str]:
    """The paths of all keys of tables, anywhere in a schema, that an editor cannot explain."""
    if isinstance(node, list):
        return [key for number, one in enumerate(node) for key in keys_without_description(one, f"{path}[{number}]")]
    if not isinstance(node, dict):
        return []
    keys = node.get("properties", {})
    missing = [f"{path}.{key}" for key, about in keys.items() if len(about.get("description", "")) < 5]
    return missing + [key for name, one in node.items() for key in keys_without_description(one, f"{path}/{name}")]


def test_every_key_has_a_description(schema: dict[str, Any]) -> None:
    """An editor can explain every key of a scenario and of every kind, at every depth."""
    assert keys_without_description(schema) == []
    assert keys_without_description({"$defs": [{"properties": {"lag": {"type": "number"}}}]}) == ["/$defs[0].lag"]


def test_every_policy_is_described_by_its_own_file() -> None:
    """The sentence about a built-in policy begins with its name, also where policies share their first functions."""
    plain = lambda text: text.lower().replace(" ", "").replace("-", "")  # noqa: E731
    for name, about, _ in describe("policies"):
        assert plain(about).startswith(plain(name)), about
