"""Loads loops for a policy: with its functions inside, and their machine code kept on disk."""

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tpstream.model import compiled, held_stream
from tpstream.model.story import story
from tpstream.policies import hearing
from tpstream.policies.fingerprint import fingerprint, is_in_a_file, plain_function
from tpstream.policies.form import SharedPolicy

SOURCES = (Path(hearing.__file__), Path(compiled.__file__), Path(held_stream.__file__))
"""Files that are compiled into every loop, or say how."""
HANDLERS = ("on_pull", "on_partial", "on_received", "on_group", "on_closed")


@lru_cache(maxsize=1024)
def load_for(policy: SharedPolicy, source: ModuleType) -> ModuleType:
    """A copy of a module of loops in which this policy's functions stand where the empty ones did."""
    functions = {name: getattr(policy, name) for name in HANDLERS if getattr(policy, name) is not None}
    functions["policy_decide"] = policy.decide
    module = _load_copy(policy.name, source, functions)
    if source is not hearing:
        functions |= _own_functions(load_for(policy, hearing), functions)
    for name in functions.keys() & vars(module).keys():
        setattr(module, name, functions[name])
    return module


def _own_functions(module: ModuleType, replaced: dict[str, Any]) -> dict[str, Any]:
    """The compiled functions that a module of loops defines itself."""
    return {
        name: function
        for name, function in vars(module).items()
        if name not in replaced and getattr(plain_function(function), "__module__", None) == module.__name__
    }


def _load_copy(policy: str, source: ModuleType, functions: dict[str, Any]) -> ModuleType:
    """The module under a name of its own, which changes whenever the code behind it does."""
    assert source.__file__ is not None  # noqa: S101 (it is a file of ours)
    file = Path(source.__file__)
    plain = "".join(letter if letter.isalnum() else "_" for letter in policy)
    name = f"{file.stem}_{plain}_{fingerprint(functions, file, *SOURCES)}"
    # With Numba turned off there is nothing to keep, and coverage counts the lines where they are written.
    place = file if _jit_is_off() else _copy(file, _folder_for(functions) / f"{name}.py", policy)
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None  # noqa: S101 (a .py file has a loader)
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba looks the module up when it reads its cache
    spec.loader.exec_module(module)
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
    _warn(folder)
    return _folder_of_this_process()


def _folder_for(functions: Mapping[str, Any]) -> Path:
    """Where the code of these functions goes; nobody could ever use that of a shell or a notebook again."""
    return cache_folder() if is_in_a_file(functions) else _folder_of_this_process()


@lru_cache(maxsize=1)
def _warn(folder: Path) -> None:
    story().warning("compiled code is not kept", folder=str(folder), remedy="set TPSTREAM_CACHE")


@lru_cache(maxsize=1)
def _folder_of_this_process() -> Path:
    folder = tempfile.mkdtemp(prefix="tpstream-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@lru_cache(maxsize=1024)
def _tell_of_compiling(policy: str, folder: Path) -> None:
    story().info("compiling", policy=policy, folder=str(folder), remark="takes seconds, the first time only")


def _copy(source: Path, target: Path, policy: str) -> Path:
    """Write once and never touch again: Numba trusts its cache while the file's time is the same."""
    if not target.exists():
        _tell_of_compiling(policy, target.parent)
        handle, partly = tempfile.mkstemp(dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(source.read_bytes())
        Path(partly).replace(target)
    return target


def _jit_is_off() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}
