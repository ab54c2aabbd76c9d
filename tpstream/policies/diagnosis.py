"""Why a policy in the shared form cannot be compiled: in plain words, with file and line.

The engines compile a policy's functions as parts of their loops, so that Numba's report is about a loop. Here each
function is compiled alone, once it is known that something is wrong: Numba's error is then about that function.
"""

import re
from pathlib import Path
from typing import Any, NoReturn

import numba
from numba.core import types
from numba.core.errors import NumbaError

from tpstream.model.errors import PolicyError, compiler_message, user_error
from tpstream.model.numba_support import compiled_alone
from tpstream.policies.base import SharedPolicy
from tpstream.policies.functions import (
    float_decision,
    is_users_function,
    place,
    unknown_field,
    with_helpers,
)
from tpstream.policies.loader import SIGNATURES, functions_of, references

WHOLE = ("round", "arm", "slot", "part", "group", "stage")
"""The parameters of a policy's functions that are whole numbers; the others, besides state and stream, are floats."""
NUMBA = str(Path(numba.__file__).parent)
_typeof: Any = numba.typeof  # it has no types


def raise_error(policy: SharedPolicy, state: Any, label: str, round: int, error: Exception) -> NoReturn:
    """Raise the error of a run in which the policy's functions raised this, or Numba when it compiled them."""
    if not isinstance(error, NumbaError):
        raise user_error(PolicyError, f"policy {label!r}", f"in round {round}", error) from error
    raise PolicyError(f"policy {label!r} cannot be compiled: {_reason(policy, state, error)}") from None


def _reason(policy: SharedPolicy, state: Any, error: NumbaError) -> str:
    """What is wrong, with the remedy and the place."""
    for role, function in functions_of(policy).items():
        if not hasattr(function, "py_func"):
            return f"{role} is an ordinary Python function; put @compiled above it ({place(function)})"
    for function in functions_of(policy).values():
        for one in with_helpers(function):
            for reference in references(one):
                if is_users_function(reference.value) and not hasattr(reference.value, "py_func"):
                    what = f"{reference.expression} is an ordinary Python function; put @compiled above it"
                    return f"{what} ({place(one, reference.line)})"
    for role, function in functions_of(policy).items():
        alone, given = compiled_alone(function.py_func), (_typeof(state), *map(_type_of, SIGNATURES[role][1:]))
        try:
            alone.compile(given)
        except NumbaError as found:
            return _describe(found, state, creates_arrays=_compiles_with_arrays(function.py_func, given))
        if role == "decide" and not isinstance(alone.nopython_signatures[0].return_type, types.Integer | types.Boolean):
            return float_decision(function, str(alone.nopython_signatures[0].return_type))
    return compiler_message(str(error))


def _type_of(parameter: str) -> Any:
    """Numba's type of a parameter."""
    if parameter == "stream":
        return types.npy_rng
    return types.int64 if parameter in WHOLE else types.float64


def _compiles_with_arrays(function: Any, given: tuple[Any, ...]) -> bool:
    """Whether the function can be compiled once it may create arrays."""
    try:
        numba.njit(function).compile(given)
    except NumbaError:
        return False
    return True


def _describe(error: NumbaError, state: Any, *, creates_arrays: bool) -> str:
    """Numba's error about one function, in plain words where its kind is known."""
    text, where = str(error), _place_of(error)
    if creates_arrays:
        what = "it creates an array, which a function with @compiled cannot"
        return f"{what}; create the array in init as a field of the state, and write to it in a loop{where}"
    field = re.search(rf"Unknown attribute '(\w+)' of type {type(state).__name__}\(", text)
    if field:
        return f"{unknown_field(field[1], state)}{where}"
    if "getitem" in text or "setitem" in text:
        called = next((line.split(">>>")[1].strip() for line in text.splitlines() if ">>>" in line), "")
        what = f"an array cannot be used with an index of this type{f': {called}' if called else ''}"
        return f"{what}; indices are whole numbers, as int(...) gives them{where}"
    return f"{compiler_message(text, where=not where)}{where}"


def _place_of(error: Any) -> str:
    """Where the error is in the source; while Numba generates code, only the context of its error says so."""
    places = [place for context in error.contexts for place in re.findall(r" at (.+) \((\d+)\)", context)]
    if error.loc is not None:
        places.insert(0, (error.loc.filename, error.loc.line))
    users = [f" ({Path(file).name}, line {line})" for file, line in places if not file.startswith(NUMBA)]
    return users[0] if users else ""
