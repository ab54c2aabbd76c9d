"""The catalogue: what can be used by name, with a line about each."""

import inspect
import json
import sys
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tpstream.delays import ARRIVALS, DELAYS
from tpstream.log import SINKS
from tpstream.policies import POLICIES
from tpstream.rewards import REWARDS

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
