"""Writes a new plug-in and its test from the templates: what `tpstream new` does."""

import re
from importlib.resources import files
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from tpstream.model.errors import PluginError
from tpstream.model.registry import Registry
from tpstream.scenario.plugins import REGISTRIES

SECTIONS = {"delay": "delays", "policy": "policies", "reward": "rewards", "arrival": "arrivals", "sink": "sinks"}
"""The kinds of plug-ins that can be written, and the section in which each is registered."""


def write_plugin(kind: str, name: str, folder: str | Path = ".") -> tuple[Path, Path]:
    """Write a working plug-in of that kind and name, and its test, into a folder; no file is overwritten."""
    _check_name(REGISTRIES[SECTIONS[kind]], name)
    place = Path(folder)
    module = name.replace("-", "_")
    paths = place / f"{module}.py", place / f"test_{module}.py"
    for path in paths:
        if path.exists():
            raise PluginError(f"{path}: is there already; choose another name or another --out")
    try:
        place.mkdir(parents=True, exist_ok=True)
        for path, template in zip(paths, (f"my_{kind}.py", f"test_my_{kind}.py"), strict=True):
            with path.open("x", encoding="utf-8") as file:
                file.write(_renamed(files("tpstream").joinpath("templates", template).read_text(), kind, name))
    except OSError as error:
        raise PluginError(f"{place}: cannot be written ({error.strerror}); choose another --out") from None
    return paths


def _check_name(registry: Registry, name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise PluginError(
            f"{name!r} is no name for a plug-in; use small letters, digits and hyphens, as in post-office"
        )
    if name in registry.names():
        raise PluginError(f"there is a {registry.what} {name!r} already; choose another name")
    module = name.replace("-", "_")
    if iskeyword(module) or find_spec(module) is not None:
        raise PluginError(f"a module {module!r} would hide one of Python's or of a package; choose another name")


def _renamed(text: str, kind: str, name: str) -> str:
    """The template with its name replaced: as in scenarios, as a module, as a class and in prose."""
    spellings = {
        f"my-{kind}": name,
        f"my_{kind}": name.replace("-", "_"),
        f"My{kind.capitalize()}": "".join(word.capitalize() for word in name.split("-")),
        f"My {kind}": name.replace("-", " ").capitalize(),
    }
    for old, new in spellings.items():
        text = text.replace(old, new)
    return text
