"""Identity: what a result depends on, as plain values, and the hash of it under which the result is kept."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from tpstream.model.registry import MODELS
from tpstream.policies import POLICIES
from tpstream.policies.base import PolicyForm
from tpstream.scenario.plugins import REGISTRIES, definition_code
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.source_code import file_hash, identify_code, modules_of
from tpstream.timing.kinds import kinds_in

SCHEMA = 2
"""Of what is kept in a study's folder; it grows when results of the old one could be misread."""


def hash_of(value: Any) -> str:
    """Thirty-two digits for plain JSON values."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def identify_world(scenario: Scenario) -> dict[str, Any]:
    """All that the numbers of a run depend on besides policy, seed and run, with the content of files and plug-ins."""
    everything = scenario.resolved()
    keys = {key: value for key, value in everything.items() if key not in {"name", "seed", "policies"}}
    paths = {name: scenario.folder / name for name in sorted(set(_files_in(everything)))}
    files = {name: file_hash(path) for name, path in paths.items() if path.is_file()}
    return {**keys, "files": files, "code": plugin_code(keys)}


def result_key(world: str, choice: PolicyChoice, seed: int, rounds: list[int]) -> str:
    """The hash under which the runs of a policy in a world are kept; `rounds` are those at which pulls are counted."""
    parameters = choice.parameters.model_dump(mode="json")
    policy = {"kind": choice.form.name, "parameters": parameters, "code": policy_code(choice.form)}
    return hash_of({"schema": SCHEMA, "world": world, "policy": policy, "seed": seed, "rounds": rounds})


def policy_code(form: PolicyForm) -> dict[str, str] | None:
    """The code that a policy consists of; None for our own, whose version is kept."""
    parts = [value for value in vars(form).values() if callable(value)]
    known = POLICIES.added.get(form.name) is form
    return (definition_code("policies", form.name, *parts) if known else identify_code(modules_of(*parts))) or None


def _files_in(value: Any) -> Iterator[str]:
    """Every text under a key `file`."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "file" and isinstance(inner, str):
                yield inner
            else:
                yield from _files_in(inner)


def plugin_code(keys: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The code of every model that a scenario uses and that is not ours, by its kind."""
    used = [
        ("rewards", keys["rewards"]["kind"]),
        *(("delays", kind) for kind in kinds_in(keys.get("delays", []))),
        ("arrivals", keys.get("arrivals", {"kind": "regular"})["kind"]),
    ]
    found = {}
    for section, kind in used:
        registry = REGISTRIES[section]
        if kind in registry.names() and kind not in registry.builtin:
            definition = registry.find(kind)
            models = [getattr(definition, name) for name in MODELS if hasattr(definition, name)]
            found[kind] = definition_code(section, kind, type(definition), *models)
    return {kind: code for kind, code in found.items() if code}
