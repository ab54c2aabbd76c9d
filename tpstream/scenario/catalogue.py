"""The catalogue: what can be used by name, with a line about each.

The JSON Schema of scenario files, by which editors complete and check them.
"""

import inspect
import json
import sys
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import models_json_schema

from tpstream.log import SINKS
from tpstream.policies import POLICIES
from tpstream.rewards import REWARDS
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import arm_table, policy_table, reward_table
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.kinds import arrival_table, delay_table

BY_SETTINGS = {"delays": DELAYS, "arrivals": ARRIVALS, "sinks": SINKS}
"""What is described by the docstrings of its settings: several of them share a file."""


def describe(what: str) -> list[list[str]]:
    """Name, meaning and parameters of every policy, reward model, delay, arrival process or sink."""
    if what == "policies":
        return [[name, about(form), keys(form.parameters)] for name, form in _all(POLICIES)]
    if what in BY_SETTINGS:
        return [[name, first_line(kind.settings), keys(kind.settings)] for name, kind in _all(BY_SETTINGS[what])]
    return [
        [name, about(kind), f"{keys(kind.settings)}; each arm: {keys(kind.arm_settings)}"]
        for name, kind in _all(REWARDS)
    ]


def about(definition: Any) -> str:
    """The first sentence of the file that defines it."""
    made_by = getattr(definition, "init", None) or getattr(definition, "create", None) or type(definition)
    return first_line(sys.modules[made_by.__module__])


def first_line(documented: Any) -> str:
    """The first line of its docstring."""
    return (inspect.getdoc(documented) or "").split("\n")[0]


def keys(model: type[BaseModel]) -> str:
    """The keys of a table, those that must be given first, the others with their defaults as in TOML."""
    fields = sorted(model.model_fields.items(), key=lambda item: not item[1].is_required())
    return ", ".join(_spell(name, field) for name, field in fields) or "none"


def _spell(name: str, field: FieldInfo) -> str:
    if field.is_required():
        return name
    if field.default is None:
        return f"{name} (optional)"
    return f"{name} = {json.dumps(field.default)}"


def _all(registry: Any) -> list[tuple[str, Any]]:
    return [(name, registry.find(name)) for name in registry.names()]


Schema = dict[str, Any]


def json_schema() -> Schema:
    """The schema with the keys of every installed kind; the keys of an arm follow from the kind of rewards."""
    kinds, policies = REWARDS.names(), POLICIES.names()
    delays, arrivals = DELAYS.names(), ARRIVALS.names()
    models: list[type[BaseModel]] = [
        *map(reward_table, kinds),
        *map(arm_table, kinds),
        *map(policy_table, policies),
        *map(delay_table, delays),
        *map(arrival_table, arrivals),
    ]
    found, definitions = models_json_schema([(model, "validation") for model in models])
    table_of = {model: reference for (model, _), reference in found.items()}
    schema = Scenario.model_json_schema()
    keys: Schema = schema["properties"]
    keys["rewards"] |= {"type": "object", "properties": {"kind": {"enum": kinds}}, "required": ["kind"]}
    keys["arms"] |= {"type": "array", "minItems": 1, "items": {"type": "object"}}
    keys["policies"] |= {"type": "array", "items": {"oneOf": [table_of[policy_table(kind)] for kind in policies]}}
    keys["delays"] |= {"type": "array", "items": {"oneOf": [table_of[delay_table(kind)] for kind in delays]}}
    keys["arrivals"] |= {"oneOf": [table_of[arrival_table(kind)] for kind in arrivals]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "tpstream scenario",
        "description": str(Scenario.__doc__).partition("\n")[0],
        "$defs": definitions["$defs"],
        "oneOf": [
            {
                "title": kind,
                "properties": {
                    "rewards": table_of[reward_table(kind)],
                    "arms": {"items": table_of[arm_table(kind)]},
                },
            }
            for kind in kinds
        ],
    }
