"""The code behind a plug-in: every file and every installed package that it is made of, and what identifies each.

Imports are read from the source, so that those inside functions are found before they happen. A module that is imported
under a name which is computed at run time is not found.
"""

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

UNKNOWN = "of a shell or a notebook"
"""The identity of code that is in no file."""
INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages. The files of an editable installation are elsewhere, so their content counts."""
STANDARD = Path(sysconfig.get_path("stdlib")).resolve()
IMPORTERS = {"import_module", "__import__"}
"""Functions that import a module by its name."""


class Source(NamedTuple):
    """Where the code of a module is: its file, if it has one, and its folders, if it is a package."""

    name: str
    file: Path | None
    folders: Sequence[str] | None

    @property
    def label(self) -> str:
        """The path of the file as the import names it, as in helpers/rates.py."""
        if self.file is None:
            return self.name
        parts = self.name.split(".") if self.folders is not None else self.name.split(".")[:-1]
        return "/".join([*parts, self.file.name])

    @property
    def standard(self) -> bool:
        """Whether it belongs to Python."""
        if self.file is None:
            return self.name != "__main__" and self.name.partition(".")[0] in sys.stdlib_module_names
        return not self.installed and self.file.is_relative_to(STANDARD)

    @property
    def installed(self) -> bool:
        """Whether it belongs to an installed package."""
        return self.file is not None and not INSTALLED.isdisjoint(self.file.parts)


def identify_code(modules: Iterable[ModuleType]) -> dict[str, str]:
    """What these modules and all that they import consist of; empty for modules of tpstream.

    Files are named with the hash of their content, installed distributions with their version. The standard library
    and tpstream itself are left out: their versions are kept with every study.
    """
    found: dict[str, str] = {}
    for source in sources_of(modules):
        if source.installed and (owner := _distribution(source.name.partition(".")[0])):
            found[owner[0]] = owner[1]
        else:
            content = UNKNOWN if source.file is None else file_hash(source.file)
            found[source.label] = found.get(source.label, "") + content
    return dict(sorted(found.items()))


def source_files(modules: Iterable[ModuleType]) -> dict[str, Path]:
    """The files of these modules and of all that they import, as `identify_code` names them; no installed packages."""
    sources = sources_of(modules)
    return {source.label: source.file for source in sources if source.file is not None and not source.installed}


def sources_of(modules: Iterable[ModuleType]) -> list[Source]:
    """The modules and all that they import, the imports of installed packages excepted; none of Python's or ours."""
    waiting = [_loaded(module) for module in modules]
    seen: dict[tuple[str, Path | None], Source] = {}
    while waiting:
        source = waiting.pop()
        key = (source.name, source.file)
        if key in seen or source.name.partition(".")[0] == "tpstream":
            continue
        if source.file is None and source.folders is not None:  # a folder without __init__.py holds no code itself
            continue
        if source.standard:
            continue
        seen[key] = source
        if not source.installed:
            waiting += _imported_by(source)
    return list(seen.values())


def modules_beside(file: Path) -> dict[str, Path]:
    """The modules in a plug-in's folder that it imports, directly or through others of them, by their names.

    Python's own modules and installed packages come first, so that no file of the folder stands in for one of them.
    """
    found: dict[str, Path] = {}
    waiting = [file]
    while waiting:
        path = waiting.pop()
        package, about = ".".join(path.relative_to(file.parent).parts[:-1]), path.stat()
        for name in _names_imported(path, package, about.st_mtime_ns, about.st_size):
            if name in found or name.partition(".")[0] in {"tpstream", *sys.stdlib_module_names}:
                continue
            place = file.parent.joinpath(*name.split("."))
            for one in (place / "__init__.py", place.with_name(f"{place.name}.py"), place):
                if one.is_dir() or one.is_file():
                    found[name] = one
                    waiting += [one] if one.is_file() else []
                    break
    tops = {name.partition(".")[0] for name in found}
    installed = {top for top in tops if (other := find_module(top)) is not None and other.installed}
    return {name: path for name, path in found.items() if name.partition(".")[0] not in installed}


def modules_of(*definitions: Any) -> list[ModuleType]:
    """The modules in which functions, classes or objects are defined."""
    found = []
    for definition in definitions:
        inner = getattr(definition, "py_func", definition)
        while isinstance(inner, partial):
            inner = inner.func
        module = sys.modules.get(getattr(inner, "__module__", None) or "")
        if module is not None and module not in found:
            found.append(module)
    return found


def find_anew(name: str) -> ModuleSpec | None:
    """Where an import would find the module if it were not loaded yet; nothing is run."""
    parent = name.rpartition(".")[0]
    folders: Sequence[str] | None = None
    if parent:
        above = sys.modules.get(parent) or find_anew(parent)
        folders = getattr(above, "submodule_search_locations", None) or getattr(above, "__path__", None)
        if folders is None:
            return None
    specs = (finder.find_spec(name, folders) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return next((spec for spec in specs if spec is not None), None)


def file_hash(path: Path) -> str:
    """The hash of a file's content; read again only if the file was changed."""
    about = path.stat()
    return _content_hash(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=256)
def _content_hash(path: Path, _time: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _loaded(module: ModuleType) -> Source:
    return _source(module.__name__, getattr(module, "__file__", None), getattr(module, "__path__", None))


def _source(name: str, file: str | None, folders: Iterable[str] | None) -> Source:
    place = Path(file).resolve() if file else None
    return Source(name, place if place and place.is_file() else None, None if folders is None else list(folders))


def _imported_by(source: Source) -> Iterator[Source]:
    """The modules that a module imports: those that its source names, and those that it holds."""
    if source.file is not None and source.file.suffix == ".py":
        about = source.file.stat()
        package = source.name if source.folders is not None else source.name.rpartition(".")[0]
        whole = {"tpstream"}  # packages of which no module needs to be looked at
        for name in _names_imported(source.file, package, about.st_mtime_ns, about.st_size):
            found = None if name.partition(".")[0] in whole else find_module(name)
            if found is not None:
                yield found
                if found.standard or found.installed:
                    whole.add(name)
    held = getattr(sys.modules.get(source.name), "__dict__", {})
    yield from (_loaded(value) for value in list(held.values()) if isinstance(value, ModuleType))


def find_module(name: str) -> Source | None:
    """Where the code of a module is that is loaded, or that an import would find."""
    if name in sys.modules:
        return _loaded(sys.modules[name])
    spec = find_anew(name)
    if spec is None:
        return None
    return _source(name, spec.origin if spec.has_location else None, spec.submodule_search_locations)


@lru_cache(maxsize=256)
def _names_imported(file: Path, package: str, _time: int, _size: int) -> tuple[str, ...]:
    """The names of all modules that a file may import, those of packages around them included."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return ()
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        for name in _names_in(node, package):
            parts = name.split(".")
            names |= dict.fromkeys(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return tuple(names)


def _names_in(node: ast.AST, package: str) -> Iterator[str]:
    """What one statement or call may import; `from a import b` may mean the module a.b."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        relative = "." * node.level + (node.module or "")
        if node.level and not package:
            return
        base = resolve_name(relative, package) if node.level else relative
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = getattr(node.func, "attr", getattr(node.func, "id", None))
        name = node.args[0].value
        if called in IMPORTERS and isinstance(name, str) and name and not name.startswith("."):
            yield name


@lru_cache(maxsize=256)
def _distribution(module: str) -> tuple[str, str] | None:
    """Name and version of the installed distribution that a top-level module belongs to."""
    try:
        return module, version(module)
    except PackageNotFoundError:
        owners = packages_distributions().get(module)
        return (owners[0], version(owners[0])) if owners else None
