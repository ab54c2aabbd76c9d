"""Why a policy in the shared form cannot be compiled, or decides for no arm: in plain words, with file and line.

The engines compile a policy's functions as parts of their loops, so that Numba's report is about a loop. Here each
function is compiled alone, once it is known that something is wrong: Numba's error is then about that function.
"""

import dis
import re
from pathlib import Path
from typing import Any, NoReturn

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError

from tpstream.model.errors import PolicyError, compiler_message, user_error
from tpstream.model.numba_support import compiled_alone
from tpstream.model.world import Problem
from tpstream.policies.base import SharedPolicy
from tpstream.policies.functions import SIGNATURES, functions_of, is_users_function, place, references, with_helpers
from tpstream.policies.index import NO_ARM

WHOLE = ("round", "arm", "slot", "part", "group")
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
            return _describe(found, creates_arrays=_compiles_with_arrays(function.py_func, given))
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


def _describe(error: NumbaError, *, creates_arrays: bool) -> str:
    """Numba's error about one function, in plain words where its kind is known."""
    text, where = str(error), _place_of(error)
    if creates_arrays:
        what = "it creates an array, which a function with @compiled cannot"
        return f"{what}; create the array in init as a field of the state, and write to it in a loop{where}"
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


def float_decision(decide: Any, kind: str) -> str:
    """What to say of a `decide` that returns something else than a whole number."""
    code = getattr(decide, "py_func", decide).__code__
    lines = sorted(
        {
            step.positions.lineno
            for step in dis.get_instructions(code)
            if step.opname.startswith("RETURN_") and step.positions and step.positions.lineno
        }
    )
    returns = " or ".join(map(str, lines[1:] if len(lines) > 1 and lines[0] == code.co_firstlineno else lines))
    what = f"decide returns a number of type {kind}; return the number of an arm, as int(...) gives it"
    return f"{what} ({Path(code.co_filename).name}, line {returns}, in {code.co_name})"


def check_state(state: Any, policy: SharedPolicy, label: str) -> None:
    """Refuse a state of which Numba cannot make compiled values, or that lacks what every state has."""
    where = place(policy.init) if hasattr(policy.init, "__code__") else repr(policy.init)
    if not (isinstance(state, tuple) and hasattr(state, "_fields")):
        kind = type(state).__name__
        raise PolicyError(f"policy {label!r}: its state is a {kind}; make it a NamedTuple of arrays ({where})")
    for name, value in zip(state._fields, state, strict=True):
        if isinstance(value, np.random.Generator):
            what = f"its state has a generator, {name}; draw in decide, from the stream that it is given"
            raise PolicyError(f"policy {label!r}: {what} ({where})")
        if isinstance(value, list | dict | set) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
            kind = "an array of objects" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            what = f"its state has {kind} as the field {name!r}; make it an array of numbers, as in np.zeros((3, 4))"
            raise PolicyError(f"policy {label!r}: {what} ({where})")
    clock = getattr(state, "clock", np.zeros(1))
    if not (isinstance(clock, np.ndarray) and clock.shape == (1,) and clock.dtype == np.float64):
        raise PolicyError(f"policy {label!r}: its state has clock = {clock!r}; make it np.zeros(1)")


def check_arm(arm: object, problem: Problem, round: int, label: str) -> int:
    """The decided arm, if there is such an arm."""
    if not isinstance(arm, (int, np.integer)):
        raise PolicyError(f"policy {label!r} decided for {arm!r} in round {round}; give an arm's number")
    if not 0 <= arm < problem.arms:
        raise PolicyError(f"policy {label!r} decided for arm {arm} in round {round}; arms are 0 to {problem.arms - 1}")
    return int(arm)


def check_decision(arm: object, policy: SharedPolicy, state: Any, round: int, label: str) -> None:
    """Explain a decision that is no arm, where the reason is known: a float, or an index that is NaN."""
    if not isinstance(arm, (int, np.integer)):
        raise PolicyError(f"policy {label!r}: {float_decision(policy.decide, type(arm).__name__)}")
    unknown = np.flatnonzero(np.isnan(state.indices)) if arm == NO_ARM else np.zeros(0)
    if unknown.size:
        what = (
            f"policy {label!r}: in round {round} the index of arm {unknown[0]} is NaN, so that no index is the largest"
        )
        raise PolicyError(f"{what}; give an arm without pulls the index math.inf ({place(policy.decide)})")
