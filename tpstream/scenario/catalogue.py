"""What can be used by name, with a line about each, and the JSON Schema by which editors check scenario files."""

import inspect
import json
import sys
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import models_json_schema

from tpstream.scenario.plugins import REGISTRIES
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import SECTIONS

Schema = dict[str, Any]


def describe(what: str) -> list[list[str]]:
    """Name, meaning and parameters of every policy, reward model, delay, arrival process or sink."""
    registry = REGISTRIES[what]
    return [[name, *_about(what, name, registry.find(name))] for name in registry.names()]


def _about(what: str, name: str, definition: Any) -> tuple[str, str]:
    """What a definition is, and its keys; a policy and a reward model are described by their modules."""
    if what == "policies":
        function = getattr(definition, "init", None) or definition.create
        place = REGISTRIES[what].builtin.get(name, function.__module__)  # several built-ins may share one `init`
        return _first_line(sys.modules[place.partition(":")[0]]), keys(definition.parameters)
    if what == "rewards":
        both = f"{keys(definition.settings)}; each arm: {keys(definition.arm_settings)}"
        return _first_line(sys.modules[definition.settings.__module__]), both
    return _first_line(definition.settings), keys(definition.settings)


def _first_line(documented: Any) -> str:
    return (inspect.getdoc(documented) or "").split("\n")[0]


def keys(model: type[BaseModel]) -> str:
    """The keys of a table, those that must be given first, the others with their defaults as in TOML."""
    fields = sorted(model.model_fields.items(), key=lambda item: not item[1].is_required())
    return ", ".join(_key(name, field) for name, field in fields) or "none"


def _key(name: str, field: FieldInfo) -> str:
    if field.is_required():
        return name
    return f"{name} (optional)" if field.default is None else f"{name} = {json.dumps(field.default)}"


def json_schema() -> Schema:
    """The schema with the keys of every installed kind; the keys of an arm follow from the kind of rewards."""
    models = {key: [section.model(kind) for kind in section.registry.names()] for key, section in SECTIONS.items()}
    found, definitions = models_json_schema([(model, "validation") for of_key in models.values() for model in of_key])
    tables = {key: [found[model, "validation"] for model in of_key] for key, of_key in models.items()}
    kinds = SECTIONS["rewards"].registry.names()
    schema = Scenario.model_json_schema()
    properties: Schema = schema["properties"]
    schema["required"].remove("span")  # some kinds of rewards imply it
    kind = {"enum": kinds, "description": SECTIONS["rewards"].table.model_fields["kind"].description}
    properties["rewards"] |= {"type": "object", "properties": {"kind": kind}, "required": ["kind"]}
    properties["arms"] |= {"type": "array", "minItems": 1, "items": {"type": "object"}}
    properties["policies"] |= {"type": "array", "items": {"oneOf": tables["policies"]}}
    properties["delays"] |= {"type": "array", "items": {"oneOf": tables["delays"]}}
    properties["arrivals"] |= {"oneOf": tables["arrivals"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "tpstream scenario",
        "description": str(Scenario.__doc__).partition("\n")[0],
        "$defs": {**schema.get("$defs", {}), **definitions["$defs"]},
        "oneOf": [
            {
                "title": kind,
                "properties": {
                    "rewards": {**rewards, "description": properties["rewards"]["description"]},
                    "arms": {"items": arm, "description": properties["arms"]["description"]},
                },
                "required": [] if hasattr(SECTIONS["rewards"].registry.find(kind), "implied_span") else ["span"],
            }
            for kind, rewards, arm in zip(kinds, tables["rewards"], tables["arms"], strict=True)
        ],
    }
