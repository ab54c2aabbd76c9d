"""Loads the loops for a policy, with its functions inside and its machine code kept on disk."""

import hashlib
import importlib.util
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from tpstream.model.story import story
from tpstream.policies import loops
from tpstream.policies.form import SharedPolicy

HANDLERS = ("on_pull", "on_partial", "on_closed")


@lru_cache(maxsize=256)
def load_loops(policy: SharedPolicy) -> ModuleType:
    """The module of loops that calls this policy's functions."""
    functions = {name: getattr(policy, name) for name in HANDLERS if getattr(policy, name) is not None}
    functions["policy_decide"] = policy.decide
    source = Path(loops.__file__)
    name = f"loops_{''.join(c if c.isalnum() else '_' for c in policy.name)}_{_fingerprint(functions, source)}"
    # With Numba turned off there is nothing to keep, and coverage counts the lines where they are written.
    place = source if _jit_is_off() else _copy(source, cache_folder() / f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None  # noqa: S101 (a .py file has a loader)
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba looks the module up when it reads its cache
    spec.loader.exec_module(module)
    for attribute, function in functions.items():
        setattr(module, attribute, function)
    return module


def cache_folder() -> Path:
    """Where compiled code is kept: TPSTREAM_CACHE, else the user's cache folder, else a folder of this process."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("TPSTREAM_CACHE") or Path(home) / "tpstream")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return _folder_of_this_process(folder)


@lru_cache(maxsize=1)
def _folder_of_this_process(wanted: Path) -> Path:
    story().warning("compiled code is not kept", folder=str(wanted), remedy="set TPSTREAM_CACHE")
    return Path(tempfile.mkdtemp(prefix="tpstream-"))


def _copy(source: Path, target: Path) -> Path:
    """Write once and never touch again: Numba trusts its cache while the file's time is the same."""
    if not target.exists():
        handle, partly = tempfile.mkstemp(dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(source.read_bytes())
        Path(partly).replace(target)
    return target


def _fingerprint(functions: dict[str, Any], source: Path) -> str:
    """Changes whenever a source file behind the compiled code does: Numba itself looks at one file only."""
    digest = hashlib.sha256(source.read_bytes())
    digest.update(version("numba").encode())
    files = {file for function in functions.values() for file in _files(_plain(function), set())}
    for file in sorted(files):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]


def _files(function: Callable[..., Any], seen: set[int]) -> Iterator[str]:
    """The source files of a function and of the functions that it calls by name."""
    if id(function) in seen:
        return
    seen.add(id(function))
    yield inspect.getfile(function)
    for name in function.__code__.co_names:
        called = _plain(function.__globals__.get(name))
        if inspect.isfunction(called):
            yield from _files(called, seen)


def _plain(function: Any) -> Any:
    return getattr(function, "py_func", function)


def _jit_is_off() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}
