"""Identity: what a result depends on, as plain values, and the hash of it under which the result is kept."""

import hashlib
import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from tpstream.policies.base import PolicyForm, SharedPolicy
from tpstream.rewards import REWARDS
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.kinds import kinds_in

SCHEMA = 2
"""Of what is kept in a study's folder; it grows when results of the old one could be misread."""
UNKNOWN = "of a shell or a notebook"
"""The identity of code that is in no file."""


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
    return {**keys, "files": files, "code": plugin_hashes(keys)}


def result_key(world: str, choice: PolicyChoice, seed: int, rounds: list[int]) -> str:
    """The hash under which the runs of a policy in a world are kept; `rounds` are those at which pulls are counted."""
    parameters = choice.parameters.model_dump(mode="json")
    policy = {"kind": choice.form.name, "parameters": parameters, "code": policy_code(choice.form)}
    return hash_of({"schema": SCHEMA, "world": world, "policy": policy, "seed": seed, "rounds": rounds})


def policy_code(form: PolicyForm) -> str | None:
    """The content of the file that defines a policy; None for our own."""
    return code_hash(getattr(form.decide, "py_func", form.decide) if isinstance(form, SharedPolicy) else form.create)


def file_hash(path: Path) -> str:
    """The hash of a file's content; read again only if the file was changed."""
    about = path.stat()
    return _content_hash(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _content_hash(path: Path, _time: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


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


def plugin_hashes(keys: dict[str, Any]) -> dict[str, str]:
    """The code of every model that a scenario uses and that is not ours, by its kind."""
    used = [
        (REWARDS, keys["rewards"]["kind"]),
        *((DELAYS, kind) for kind in kinds_in(keys.get("delays", []))),
        (ARRIVALS, keys.get("arrivals", {"kind": "regular"})["kind"]),
    ]
    foreign = [
        (kind, registry.find(kind))
        for registry, kind in used
        if kind in registry.names() and kind not in registry.builtin
    ]
    # A definition of a plug-in may be an object of ours whose settings are its own.
    found = {kind: code_hash(type(definition)) or code_hash(definition.settings) for kind, definition in foreign}
    return {kind: digest for kind, digest in found.items() if digest is not None}


def code_hash(definition: Any) -> str | None:
    """The content of the file that defines a function or class; None for our own, whose version is kept."""
    name = getattr(definition, "__module__", "") or ""
    if name.startswith("tpstream."):
        return None
    file = getattr(sys.modules.get(name), "__file__", None)
    return file_hash(Path(file)) if file and Path(file).is_file() else UNKNOWN
