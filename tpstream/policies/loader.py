"""What a policy in the shared form needs before its first round: its compiled loops, its state, what it is told.

A copy of the loops has the policy's functions inside, and its machine code is kept on disk.

Numba's own cache looks only at the file of the function that it compiles. So each copy has a name with a fingerprint
of everything that is compiled into it, and a change of any of that leads to another copy.
"""

import atexit
import builtins
import dis
import hashlib
import importlib.util
import inspect
import os
import shutil
import sys
import tempfile
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from tpstream.model import events, numba_support
from tpstream.model.errors import PolicyError, user_code
from tpstream.model.notes import logger
from tpstream.model.world import Problem
from tpstream.policies import handlers, index
from tpstream.policies.base import Parameters, SharedPolicy, groups_of
from tpstream.policies.handlers import Subscriptions

SIGNATURES: Mapping[str, tuple[str, ...]] = {
    "decide": ("state", "round", "stream"),
    "on_pull": ("state", "arm", "slot", "total"),
    "on_partial": ("state", "arm", "slot", "part", "value"),
    "on_received": ("state", "arm", "amount"),
    "on_group": ("state", "arm", "slot", "group", "amount"),
    "on_lost": ("state", "arm", "slot", "part"),
    "on_closed": ("state", "arm", "slot", "credited"),
    "on_look": ("state", "stage"),
    "show_probabilities": ("state",),
}
"""The functions of a policy, and what each of them is given."""
LOADS_NAME = ("LOAD_GLOBAL", "LOAD_NAME")
LOADS_CELL = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
LOADS_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
BEFORE_CALL = ("PRECALL", "PUSH_NULL", "CACHE")
UNDEFINED = object()
"""The value of a name that is not defined."""
CONSTANTS = (bool, int, float, complex, str, bytes, tuple, type(None))
"""Types of the module-level values that Numba compiles into a function, besides arrays and other functions."""
SOURCES = tuple(Path(str(module.__file__)) for module in (handlers, index, numba_support, events))
"""Files whose functions, settings or constants are compiled into every loop."""
_state_classes: dict[tuple[str, tuple[str, ...]], type] = {}
"""The class of states of each name and fields that this process has seen; Numba's own memory is as wide."""
OPTIONAL_FIELDS = {
    "clock": ("set_clock", handlers.write_clock),
    "probabilities": ("probability", handlers.read_probability),
}
"""Fields that a state may have: which empty function is replaced then, and by which one."""


@dataclass(frozen=True, eq=False)
class Reference:
    """A name that a function takes from outside, as in `math.log`, with its value and its line."""

    expression: str
    value: Any
    line: int
    bare: bool = False
    """Whether it is called without arguments."""


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
    if not is_ours(policy):
        from tpstream.policies.functions import check_state  # noqa: PLC0415 (it imports this module)

        check_state(state, policy, problem.arms, label)
    _note_class(type(state), label)
    return state


def _note_class(state: Any, label: str) -> None:
    """Remember a class of states; another policy's of the same name and fields is refused."""
    known = state.__name__, state._fields
    other = _state_classes.setdefault(known, state)
    if other is not state:
        from tpstream.policies.functions import check_class  # noqa: PLC0415 (it imports this module)

        check_class(state, other, label)
        _state_classes[known] = state


def is_ours(policy: SharedPolicy) -> bool:
    """Whether all functions of a policy are of this package."""
    return all(_module_of(function) == "tpstream" for function in (policy.init, *functions_of(policy).values()))


def check_users(policy: SharedPolicy) -> None:
    """Refuse a policy that a user wrote if something is wrong with its functions; those of this package are tested."""
    if not is_ours(policy):
        from tpstream.policies.functions import check_functions  # noqa: PLC0415 (it imports this module)

        check_functions(policy)


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
    check_users(policy)
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


def functions_of(policy: SharedPolicy) -> dict[str, Any]:
    """The functions that the policy has, by their role."""
    return {role: getattr(policy, role) for role in SIGNATURES if getattr(policy, role) is not None}


def plain_function(function: Any) -> Any:
    """The Python function behind a compiled one."""
    return getattr(function, "py_func", function)


def references(function: Callable[..., Any]) -> Iterator[Reference]:
    """Every name that a function takes from its module, from the function that it was made in, or from a module."""
    cells = {
        name: cell.cell_contents
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if not _is_empty(cell)
    }
    known = ChainMap(cells, function.__globals__, vars(builtins))
    codes = [function.__code__]
    for code in codes:
        codes.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
        yield from _references_in(code, known)


def _is_empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is UNDEFINED
    except ValueError:  # the name is given a value later
        return True


def _references_in(code: CodeType, known: Mapping[str, Any]) -> Iterator[Reference]:
    """The names in one piece of bytecode; the attributes of a module belong to its name."""
    found: Reference | None = None
    for step in dis.get_instructions(code):
        if found is not None:
            if step.opname in LOADS_ATTRIBUTE and isinstance(found.value, ModuleType):
                value = getattr(found.value, step.argval, UNDEFINED)
                found = Reference(f"{found.expression}.{step.argval}", value, found.line)
                continue
            if step.opname in BEFORE_CALL:
                continue
            yield replace(found, bare=step.opname == "CALL" and step.arg == 0)
            found = None
        if step.opname in LOADS_NAME or (step.opname in LOADS_CELL and step.argval in known):
            found = Reference(step.argval, known.get(step.argval, UNDEFINED), line_of(step, code))


def line_of(step: dis.Instruction, code: CodeType) -> int:
    """The line of an instruction."""
    line = step.positions.lineno if step.positions else None
    return code.co_firstlineno if line is None else line


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
    return str(getattr(plain_function(function), "__module__", "")).partition(".")[0]


def _copy(source: Path, target: Path) -> None:
    """Write the copy, in whole; never again, since Numba trusts its cache as long as the file's time is the same."""
    handle, partly = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(source.read_bytes())
    Path(partly).replace(target)
