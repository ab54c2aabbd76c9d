"""Plug-in files: Python files that a user names and that define policies, rewards, delays, arrivals or sinks.

A plug-in file says in `PLUGINS` what it defines: `PLUGINS = {"delays": {"my-delay": KIND}, "policies": {...}}`. From
when it is loaded these names are known, in this process and in the worker processes that it starts.

A plug-in may import modules that are in its own folder. They are found by a finder at the end of Python's search, for
the names that plug-ins import and for no others, so that `sys.path` stays as it is. Python knows one module by each
name: two plug-ins that import different files under one name are refused.
"""

import hashlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import invalidate_caches
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType
from typing import Any

from tpstream.log import SINKS
from tpstream.model.errors import OURS, PluginError, did_you_mean, user_code
from tpstream.model.registry import MODELS, Registry, installed, owner_of
from tpstream.model.whole_files import read_whole
from tpstream.policies import POLICIES
from tpstream.policies.base import PythonPolicy, SharedPolicy
from tpstream.rewards import REWARDS
from tpstream.scenario.source_code import find_module, identify_code, modules_beside, modules_of, sources_of
from tpstream.timing import ARRIVALS, DELAYS

REGISTRIES: Mapping[str, Registry] = {
    "policies": POLICIES,
    "rewards": REWARDS,
    "delays": DELAYS,
    "arrivals": ARRIVALS,
    "sinks": SINKS,
}
EXAMPLE = 'PLUGINS = {"delays": {"my-delay": KIND}}'


@dataclass(frozen=True)
class Plugin:
    """A plug-in file that was loaded, as `load_plugin` returns it.

    Attributes
    ----------
    path
        The file.
    names
        What it defines, as pairs such as ("delays", "my-delay").
    code
        What was loaded: the file and all modules that it imports, each file with a hash of its content, each installed
        distribution with its version.
    """

    path: Path
    names: tuple[tuple[str, str], ...]
    code: Mapping[str, str]


_loaded: dict[Path, Plugin] = {}
_beside: dict[Path, dict[str, Path]] = {}
"""For each plug-in file the modules in its folder that it imports, by name."""


class FolderFinder:
    """Finds the modules in the folders of plug-ins that these import; Python asks it last."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG004
        """Where the module is; None if no plug-in has it in its folder, or if it is part of a package."""
        folders = [str(file.parent) for file, names in _beside.items() if "." not in name and name in names]
        return PathFinder.find_spec(name, folders) if folders else None


def load_plugin(path: str | Path) -> Plugin:
    """Load a plug-in file, so that scenarios and commands know the names that it defines.

    A file that is loaded already is loaded again only if its content changed, or that of a module which it imports from
    outside the installed packages; then its names mean the new definitions.

    Parameters
    ----------
    path
        A Python file with a mapping `PLUGINS`.

    Returns
    -------
    Plugin
        The file, the names that it defines and the code that it consists of.

    Raises
    ------
    PluginError
        If the file cannot be read or run, or if what it defines cannot be used under these names.

    Examples
    --------
    `load_plugin("post_office.py")` makes the delays and policies of that file known; docs/plugins.md shows such files.

    >>> load_plugin("not_written_yet.py")
    Traceback (most recent call last):
    tpstream.model.errors.PluginError: not_written_yet.py: no such file; give the path of a plug-in
    """
    file = Path(path).resolve()
    source = _read(file, path)
    known = _loaded.get(file)
    module = sys.modules.get(_module_name(file))
    if known is not None and module is not None and known.code == identify_code([module]):
        return known
    before = known.names if known else ()
    with _forgotten_imports(module), _found_beside(file, path):
        module = _execute(file, source, path)
        definitions = _definitions(module, path, before)
    for section, name in before:
        del REGISTRIES[section].added[name]
    for (section, name), definition in definitions.items():
        REGISTRIES[section].added[name] = definition
    _loaded[file] = Plugin(file, tuple(definitions), identify_code([module]))
    return _loaded[file]


def loaded_plugins() -> tuple[Plugin, ...]:
    """All plug-in files that this process loaded."""
    return tuple(_loaded.values())


def check_unchanged() -> None:
    """Refuse to go on if code of a plug-in was edited since it was loaded: other processes would load the new one."""
    for plugin in _loaded.values():
        module = sys.modules.get(_module_name(plugin.path))
        if module is not None and (name := _changed(plugin, identify_code([module]))):
            raise PluginError(
                f"{name}: was edited since it was loaded; call load_plugin again, or restart the notebook"
            )


def _changed(plugin: Plugin, code: Mapping[str, str]) -> str | None:
    """The first part of a plug-in's code that is not what was loaded; None if all of it is the same."""
    for name in {**plugin.code, **code}:
        if code.get(name) != plugin.code.get(name):
            return str(plugin.path) if name == plugin.path.name else f"{name}, which {plugin.path} imports"
    return None


def load_elsewhere(plugins: Iterable[Plugin]) -> None:
    """Load in a worker process what the process that started the work had loaded; the files must be the same."""
    for plugin in plugins:
        if name := _changed(plugin, load_plugin(plugin.path).code):
            raise PluginError(f"{name}: is not what it was when it was loaded; copy it to every worker")


def definition_code(section: str, name: str, *parts: Any) -> dict[str, str]:
    """The code behind a definition, as it was loaded; empty for our own.

    `parts` are the functions and classes that the definition consists of. For a name of a plug-in file the whole file
    counts, for one of an installed package its module.
    """
    code = identify_code(definition_modules(section, name, *parts))
    for plugin in _loaded.values():
        if (section, name) in plugin.names:
            code |= plugin.code
    return code


def definition_modules(section: str, name: str, *parts: Any) -> list[ModuleType]:
    """The modules behind a definition: those of its parts, of its installed package and of its plug-in file."""
    names = [point.module for point in installed(REGISTRIES[section].group) if point.name == name]
    names += [_module_name(plugin.path) for plugin in _loaded.values() if (section, name) in plugin.names]
    return [*modules_of(*parts), *(sys.modules[one] for one in names if one in sys.modules)]


def _read(file: Path, path: str | Path) -> bytes:
    if file.suffix != ".py":
        raise PluginError(f"{path}: is no Python file; a plug-in ends in .py")
    try:
        return read_whole(file)
    except FileNotFoundError:
        near = did_you_mean(file.name, [one.name for one in file.parent.glob("*.py")])
        raise PluginError(f"{path}: no such file{near}; give the path of a plug-in") from None
    except OSError as error:
        raise PluginError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None


def _module_name(file: Path) -> str:
    """The name of a file's module: the same in every process, so that cached compiled code is found again."""
    stem = re.sub(r"\W", "_", file.stem)
    return f"tpstream_plugin_{stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"


@contextmanager
def _forgotten_imports(plugin: ModuleType | None) -> Iterator[None]:
    """Let the modules that a loaded plug-in imports be imported anew, those of installed packages excepted.

    If that fails, all is as before.
    """
    sources = sources_of([plugin]) if plugin is not None else []
    kept = {
        source.name: sys.modules[source.name]
        for source in sources
        if not source.installed and source.name in sys.modules and source.name != "__main__"
    }
    for source in sources:
        if source.name in kept:
            del sys.modules[source.name]
            if source.file is not None:  # bytecode is trusted if the file was changed within the same second
                Path(cache_from_source(str(source.file))).unlink(missing_ok=True)
    invalidate_caches()
    try:
        yield
    except BaseException:
        sys.modules.update(kept)
        raise


@contextmanager
def _found_beside(file: Path, path: str | Path) -> Iterator[None]:
    """Let the plug-in import modules of its own folder, from now on; if loading it fails, all is as before."""
    if FolderFinder not in sys.meta_path:
        sys.meta_path.append(FolderFinder)
    before = _beside.pop(file, None)
    try:
        _beside[file] = _without_doubles(modules_beside(file), path)
        yield
    except BaseException:
        _beside.pop(file, None)
        if before is not None:
            _beside[file] = before
        raise


def _without_doubles(wanted: dict[str, Path], path: str | Path) -> dict[str, Path]:
    """These modules, if none of their names means another file already."""
    for name, place in wanted.items():
        other = find_module(name) if "." not in name else None
        if other is not None:
            there = other.file or (Path(other.folders[0]).resolve() if other.folders else None)
            if there != place.resolve():
                raise PluginError(
                    f"{path}: imports {name}, which is {place} beside it and {there or 'without a file'} for other "
                    "code of this process; rename one of them"
                )
    return wanted


def _execute(file: Path, source: bytes, path: str | Path) -> ModuleType:
    """Run the file as a module."""
    name = _module_name(file)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None  # noqa: S101 (a .py file has a loader)
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # as for any import: dataclasses, pickle and Numba look it up
    try:
        # Not by the loader, which would trust the bytecode of a file that was changed within the same second.
        exec(compile(source, str(file), "exec"), vars(module))  # noqa: S102 (what the user asked for)
    except BaseException as error:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
        if isinstance(error, OURS):
            raise
        raise PluginError(f"{path}: {_describe(file, error)}; {_remedy(file, error)}") from error
    return module


def _remedy(file: Path, error: BaseException) -> str:
    if not isinstance(error, ModuleNotFoundError):
        return "mend the file"
    return f"mend the file, install the package, or put the module into {file.parent}"


def _describe(file: Path, error: BaseException) -> str:
    """What the file raised, and in which of its lines."""
    own = {str(one) for one in (file, *_beside.get(file, {}).values())}
    lines = [(one.filename, one.lineno) for one in traceback.extract_tb(error.__traceback__) if one.filename in own]
    if isinstance(error, SyntaxError) and error.filename in own:
        lines, text = [(str(error.filename), error.lineno)], error.msg
    else:
        text = " ".join(str(error).split())
    names = [f"line {line}: " if name == str(file) else f"{Path(name).name}, line {line}: " for name, line in lines]
    place = names[-1] if names else ""
    return f"{place}{type(error).__name__}{f': {text}' if text else ''}"


def _definitions(
    module: ModuleType, path: str | Path, before: tuple[tuple[str, str], ...]
) -> dict[tuple[str, str], Any]:
    """What a file defines, by section and name, checked; it may define names again that it defined `before`."""
    with user_code(PluginError, f"{path}: PLUGINS", "when it was read"):
        sections = _plain_sections(getattr(module, "PLUGINS", None), path)
        return _checked(sections, path, before)


def _plain_sections(given: Any, path: str | Path) -> dict[Any, dict[Any, Any]]:
    """What PLUGINS says, as dictionaries; whatever a mapping of the user's own does, it does here."""
    if given is None:
        raise PluginError(f"{path}: has no PLUGINS; say what it defines, as in {EXAMPLE}")
    if not isinstance(given, Mapping) or not all(isinstance(names, Mapping) for names in given.values()):
        raise PluginError(f"{path}: PLUGINS must be a mapping of mappings, as in {EXAMPLE}")
    return {section: dict(names.items()) for section, names in given.items()}


def _checked(
    sections: dict[Any, dict[Any, Any]], path: str | Path, before: tuple[tuple[str, str], ...]
) -> dict[tuple[str, str], Any]:
    """The definitions by section and name, if all of them can be added."""
    found = {}
    for section, names in sections.items():
        if section not in REGISTRIES:
            near = did_you_mean(str(section), REGISTRIES)
            raise PluginError(f"{path}: PLUGINS has no section {section!r}{near}; use {', '.join(REGISTRIES)}")
        for name, definition in names.items():
            reason = _obstacle(REGISTRIES[section], name, definition, free=(section, name) in before)
            reason = reason or (None if section == "sinks" else _randomness(definition))
            if reason:
                raise PluginError(f"{path}: PLUGINS[{section!r}][{name!r}] {reason}")
            found[section, name] = definition
    if not found:
        raise PluginError(f"{path}: PLUGINS is empty; say what the file defines, as in {EXAMPLE}")
    return found


def _randomness(definition: Any) -> str | None:
    """What a definition draws from a generator that does not depend on the seed; None if nothing is found.

    The functions of a compiled policy are looked through before it is run (see policies/functions.py).
    """
    if isinstance(definition, SharedPolicy):
        return None
    models = [getattr(definition, name) for name in MODELS if hasattr(definition, name)]
    parts = [definition.create] if isinstance(definition, PythonPolicy) else [type(definition)]
    from tpstream.policies.functions import random_fault  # noqa: PLC0415 (Numba is slow to import)

    fault = random_fault(*parts, *models, draw="draw from the stream that it is given")
    return fault and f"would give other results each time: {fault}"


def _obstacle(registry: Registry, name: object, definition: object, *, free: bool) -> str | None:
    """What keeps a definition from being added; None if nothing does."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        return "is no name; use letters, digits and hyphens"
    if name in registry.builtin:
        return f"is the name of a built-in {registry.what}; choose another one"
    owners = [owner_of(point) for point in installed(registry.group) if point.name == name]
    if owners:
        return f"is the name of a {registry.what} of {owners[0]}; choose another one, or uninstall that"
    if name in registry.added and not free:
        return f"is the name of a {registry.what} of another plug-in file; load one of them, or rename it"
    return registry.obstacle(name, definition)
