"""What a policy in the shared form needs before its first round: its compiled loops, its state, what it is told.

A copy of the loops has the policy's functions inside, and its machine code is kept on disk.

Numba's own cache looks only at the file of the function that it compiles. So each copy has a name with a fingerprint
of everything that is compiled into it, and a change of any of that leads to another copy.
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

from tpstream.model import events, numba_support
from tpstream.model.errors import PolicyError, user_code
from tpstream.model.notes import logger
from tpstream.model.world import Problem
from tpstream.policies import handlers, index
from tpstream.policies.base import Parameters, SharedPolicy, groups_of
from tpstream.policies.functions import check_functions, check_state, functions_of, plain_function, references
from tpstream.policies.handlers import Subscriptions

CONSTANTS = (bool, int, float, complex, str, bytes, tuple, type(None))
"""Types of the module-level values that Numba compiles into a function, besides arrays and other functions."""
SOURCES = tuple(Path(str(module.__file__)) for module in (handlers, index, numba_support, events))
"""Files whose functions, settings or constants are compiled into every loop."""
OPTIONAL_FIELDS = {
    "clock": ("set_clock", handlers.write_clock),
    "probabilities": ("probability", handlers.read_probability),
}
"""Fields that a state may have: which empty function is replaced then, and by which one."""


def load_for(policy: SharedPolicy, source: ModuleType, state: Any, *, probabilities: bool = False) -> Any:
    """A copy of a module of loops in which this policy's functions stand where the empty ones did.

    `state` is any state of the policy: Numba must know beforehand which of the optional fields it has. Without
    `probabilities`, a function that takes long to compute them is not compiled into the loops.
    """
    shows = probabilities and policy.show_probabilities is not None
    return _load(policy, source, tuple(name for name in OPTIONAL_FIELDS if hasattr(state, name)), shows)


def init_state(policy: SharedPolicy, problem: Problem, parameters: Parameters, label: str) -> Any:
    """The policy's state before the first round."""
    with user_code(PolicyError, f"policy {label!r}", "when it was created"):
        state = policy.init(problem, parameters)
    check_state(state, policy, problem.arms, label)
    return state


def make_subscriptions(policy: SharedPolicy, problem: Problem, parameters: Parameters) -> Subscriptions:
    """Which handlers the policy has, with nothing remembered so far."""
    groups = groups_of(parameters, problem) if policy.on_group else 1
    endpoint = problem.endpoint
    scale = shift = np.zeros(0)
    needs = np.zeros(0, dtype=np.int64)
    if endpoint is not None and not endpoint.plain and not policy.weighs:
        scale, shift = endpoint.scale, endpoint.shift
    if endpoint is not None and endpoint.complete and policy.excludes:
        needs = (endpoint.scale != 0).astype(np.int64)
    return Subscriptions(
        shown=policy.clairvoyant,
        partial=policy.on_partial is not None,
        received=policy.on_received is not None,
        group=policy.on_group is not None,
        lost=policy.on_lost is not None,
        closed=policy.on_closed is not None,
        width=problem.span // groups,
        amounts=np.zeros(problem.arms),
        filled=np.zeros((1, groups), dtype=np.int64),
        gathered=np.zeros((1, groups)),
        owners=np.zeros(1, dtype=np.int64),
        scale=scale,
        shift=shift,
        heard=np.zeros(1),
        needs=needs,
        needed=int(needs.sum()),
        came=np.zeros(1, dtype=np.int64),
    )


@lru_cache(maxsize=1024)
def _load(policy: SharedPolicy, source: ModuleType, fields: tuple[str, ...], shows: bool) -> ModuleType:  # noqa: FBT001
    check_functions(policy)
    functions = functions_of(policy) | dict(OPTIONAL_FIELDS[name] for name in fields)
    functions["policy_decide"] = functions.pop("decide")  # the loops have a function `decide` of their own
    if not shows:
        functions.pop("show_probabilities", None)
    module = _load_copy(policy.name, source, functions)
    if source is not handlers:
        functions |= _own_functions(_load(policy, handlers, fields, shows), functions)
    if hasattr(source, "SHARED"):
        functions |= _own_functions(_load_shared(source.SHARED), functions)
    for name in functions.keys() & vars(module).keys():
        setattr(module, name, functions[name])
    return module


@lru_cache(maxsize=16)
def _load_shared(source: ModuleType) -> ModuleType:
    """A copy of a module whose functions call none of a policy's, and are compiled once for all policies."""
    return _load_copy("shared", source, {})


@lru_cache(maxsize=16)
def load_without_policy(source: ModuleType) -> Any:
    """A copy of a module of loops that call no policy, with the functions of its `SHARED` module inside."""
    module = _load_copy("shared", source, {})
    functions = _own_functions(_load_shared(source.SHARED), {})
    for name in functions.keys() & vars(module).keys():
        setattr(module, name, functions[name])
    return module


def _own_functions(module: ModuleType, replaced: dict[str, Any]) -> dict[str, Any]:
    """The functions that a module of loops defines itself, besides those that are replaced."""
    return {
        name: function
        for name, function in vars(module).items()
        if name not in replaced
        and inspect.isfunction(plain_function(function))
        and plain_function(function).__module__ == module.__name__
    }


def _load_copy(policy: str, source: ModuleType, functions: dict[str, Any]) -> ModuleType:
    """The module under a name of its own, which changes whenever the code behind it does."""
    file = Path(str(source.__file__))
    plain = "".join(letter if letter.isalnum() else "_" for letter in policy)
    name = f"{file.stem}_{plain}_{fingerprint(_own_functions(source, {}) | functions, file, *SOURCES)}"
    # With Numba turned off there is nothing to keep, and coverage counts the lines where they are written.
    place = file
    if not numba_support.JIT_IS_OFF:
        place = _folder_for(functions) / f"{name}.py"
        if not place.exists():
            users = any(_module_of(function) != "tpstream" for function in functions.values())
            _note_compiling(policy, place.parent, users=users)
            _copy(file, place)
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None  # noqa: S101 (a .py file has a loader)
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba looks the module up when it reads its cache
    spec.loader.exec_module(module)
    return module


def fingerprint(functions: Mapping[str, Any], *sources: Path) -> str:
    """Sixteen digits that depend on these functions, on all that they call by name, and on these files.

    Every file behind a function counts, and every constant that it takes from a module or from the function that it
    was made in.
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
    """Whether another process can find the functions again: not those of a shell or a notebook."""
    return all(Path(inspect.getfile(plain_function(function))).is_file() for function in functions.values())


def _pieces(function: Callable[..., Any], seen: set[int]) -> Iterator[bytes]:
    """The name, the code and the file of a function, and the values that it takes from outside, as bytes."""
    if id(function) in seen:
        return
    seen.add(id(function))
    # Numba's cache finds the class of a state by the name of its module, so a module of another name is other code.
    yield f"{function.__module__}.{function.__qualname__}".encode()
    yield function.__code__.co_code
    file = Path(inspect.getfile(function))
    yield file.read_bytes() if file.is_file() else os.urandom(16)
    for reference in references(function):
        yield from _value(reference.value, seen)


def _value(value: Any, seen: set[int]) -> Iterator[bytes]:
    """A value that a function takes from outside, as bytes; nothing for one that Numba does not compile in."""
    value = plain_function(value)
    if inspect.isfunction(value):
        yield from _pieces(value, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode() + value.tobytes()
    elif isinstance(value, CONSTANTS):
        yield repr(value).encode()


def cache_folder() -> Path:
    """The folder of compiled code: TPSTREAM_CACHE, else the user's cache folder, else a temporary one."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("TPSTREAM_CACHE") or Path(home) / "tpstream")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    _warn_once(folder)
    return _temporary_folder()


def _folder_for(functions: Mapping[str, Any]) -> Path:
    """Where the code of these functions is kept; that of a shell or a notebook is of no use to other processes."""
    return cache_folder() if is_in_a_file(functions) else _temporary_folder()


@lru_cache(maxsize=1)
def _warn_once(folder: Path) -> None:
    logger().warning("compiled code is not kept", folder=str(folder), remedy="set TPSTREAM_CACHE")


@lru_cache(maxsize=1)
def _temporary_folder() -> Path:
    """A folder that is removed when this process ends."""
    folder = tempfile.mkdtemp(prefix="tpstream-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@lru_cache(maxsize=1024)
def _note_compiling(policy: str, folder: Path, *, users: bool) -> None:
    remark = "takes seconds, the first time only"
    if users:
        remark += "; if the process crashes, an index may be out of bounds: repeat with --debug"
    logger().info("compiling", policy=policy, folder=str(folder), remark=remark)


def _module_of(function: Any) -> str:
    """The name of the top-level module in which a function is defined."""
    return str(plain_function(function).__module__).partition(".")[0]


def _copy(source: Path, target: Path) -> None:
    """Write the copy, in whole; never again, since Numba trusts its cache as long as the file's time is the same."""
    handle, partly = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(source.read_bytes())
    Path(partly).replace(target)
