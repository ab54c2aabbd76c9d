"""The fingerprint of compiled code: another one whenever something that was compiled into it is another."""

import hashlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

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
