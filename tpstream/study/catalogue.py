"""The catalogue: what can be used by name, with a line about each."""

import inspect
import sys
from typing import Any

from pydantic import BaseModel

from tpstream.policies import POLICIES
from tpstream.rewards import REWARDS


def describe(what: str) -> list[list[str]]:
    """Name, meaning and parameters of every policy or reward model."""
    if what == "policies":
        return [[name, about(form), keys(form.parameters)] for name, form in _all(POLICIES)]
    return [
        [name, about(kind), f"{keys(kind.settings)}; each arm: {keys(kind.arm_settings)}"]
        for name, kind in _all(REWARDS)
    ]


def about(definition: Any) -> str:
    """The first sentence of the file that defines it."""
    made_by = getattr(definition, "init", None) or getattr(definition, "create", None) or type(definition)
    text = inspect.getdoc(sys.modules[made_by.__module__])
    return (text or "").split("\n")[0]


def keys(model: type[BaseModel]) -> str:
    """The keys of a table, with their defaults."""
    spelled = [
        name if field.is_required() else f"{name} = {field.default!r}" for name, field in model.model_fields.items()
    ]
    return ", ".join(spelled) or "none"


def _all(registry: Any) -> list[tuple[str, Any]]:
    return [(name, registry.find(name)) for name in registry.names()]
