"""Loads loops for a policy: with its functions inside, and their machine code kept on disk.

The fingerprint of compiled code: another one whenever something that was compiled into it is another.
"""

import atexit
import hashlib
import importlib.util
import inspect
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tpstream.model import numba_support
from tpstream.model.notes import logger
from tpstream.policies import handlers
from tpstream.policies.base import SharedPolicy

CONSTANTS = (bool, int, float, complex, str, bytes, tuple, type(None))
"""What Numba takes from outside a function as a constant, besides arrays and other functions."""


def fingerprint(functions: Mapping[str, Any], *sources: Path) -> str:
    """Sixteen digits for these functions, for all that they call by name, and for these files.

    Numba itself looks at the one file of the function that it compiles; here every file behind it counts, and every
    constant that it takes from a module or from the function that it was made in.
    """
    digest = hashlib.sha256(version("numba").encode())
    for file in sources:
        digest.update(file.read_bytes())
    seen: set[int] = set()
    for name, function in functions.items():
        digest.update(name.encode())
        for piece in _pieces(plain_function(function), seen):
            digest.update(piece)
    return digest.hexdigest()[:16]


def is_in_a_file(functions: Mapping[str, Any]) -> bool:
    """Whether the functions can be found again by another process: those of a shell or a notebook cannot."""
    return all(Path(inspect.getfile(plain_function(function))).is_file() for function in functions.values())


def plain_function(function: Any) -> Any:
    """The Python function behind a compiled one."""
    return getattr(function, "py_func", function)


def _pieces(function: Callable[..., Any], seen: set[int]) -> Iterator[bytes]:
    """What makes a function what it is: its name, its code, its file, and the values that it takes from outside."""
    if id(function) in seen:
        return
    seen.add(id(function))
    # Numba's cache finds the class of a state by the name of its module, so a module of another name is other code.
    yield f"{function.__module__}.{function.__qualname__}".encode()
    yield function.__code__.co_code
    file = Path(inspect.getfile(function))
    yield file.read_bytes() if file.is_file() else os.urandom(16)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (*cells, *_globals(function)):
        yield from _value(value, seen)


def _globals(function: Callable[..., Any]) -> Iterator[Any]:
    """The values that a function finds in its module, or in a module that it names."""
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            yield from (vars(value)[attribute] for attribute in names if attribute in vars(value))
        else:
            yield value


def _value(value: Any, seen: set[int]) -> Iterator[bytes]:
    value = plain_function(value)
    if inspect.isfunction(value):
        yield from _pieces(value, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode() + value.tobytes()
    elif isinstance(value, CONSTANTS):
        yield repr(value).encode()


SOURCES = (Path(handlers.__file__), Path(numba_support.__file__))
"""Files that are compiled into every loop, or say how."""
HANDLERS = ("on_pull", "on_partial", "on_received", "on_group", "on_closed")


@lru_cache(maxsize=1024)
def load_for(policy: SharedPolicy, source: ModuleType) -> ModuleType:
    """A copy of a module of loops in which this policy's functions stand where the empty ones did."""
    functions = {name: getattr(policy, name) for name in HANDLERS if getattr(policy, name) is not None}
    functions["policy_decide"] = policy.decide
    module = _load_copy(policy.name, source, functions)
    if source is not handlers:
        functions |= _own_functions(load_for(policy, handlers), functions)
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
    logger().warning("compiled code is not kept", folder=str(folder), remedy="set TPSTREAM_CACHE")


@lru_cache(maxsize=1)
def _folder_of_this_process() -> Path:
    folder = tempfile.mkdtemp(prefix="tpstream-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@lru_cache(maxsize=1024)
def _tell_of_compiling(policy: str, folder: Path) -> None:
    logger().info("compiling", policy=policy, folder=str(folder), remark="takes seconds, the first time only")


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
