"""Checks of a policy that a user wrote: of its functions before they are compiled, its state, and its decisions.

What the functions do is found by looking through their bytecode, by the walk through the names that they use which also
serves the fingerprint of compiled code (see loader.py). The policies of this package are checked by its tests.
"""

import dis
import inspect
import random
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError, did_you_mean
from tpstream.policies.base import NO_ARM, SharedPolicy
from tpstream.policies.loader import SIGNATURES, UNDEFINED, functions_of, line_of, plain_function, references

LIBRARIES = ("numpy", "numba", "math", "builtins")
"""Packages whose functions Numba knows itself."""
RANDOM_OBJECTS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
INSTALLED = {"site-packages", "dist-packages"}
DRAW_IN_DECIDE = "draw in decide, from the stream that it is given, as in stream.random()"


def is_users_function(value: Any) -> bool:
    """Whether this is a function, compiled or not, that is not from a library that Numba knows."""
    plain = plain_function(value)
    return inspect.isfunction(plain) and plain.__module__.partition(".")[0] not in LIBRARIES


def with_helpers(function: Any) -> list[Any]:
    """The Python functions behind a function and behind all that it calls by name, each once."""
    found = [plain_function(function)]
    for one in found:
        helpers = (
            plain_function(reference.value) for reference in references(one) if is_users_function(reference.value)
        )
        found.extend(helper for helper in dict.fromkeys(helpers) if helper not in found)
    return found


def random_fault(*parts: Any, draw: str, any_generator: bool = False) -> str | None:
    """Where ordinary Python code draws random numbers that do not depend on the run's seed, and the remedy `draw`.

    `parts` are functions and classes; what they use by name is looked through, too, installed packages excepted.
    Generators that are made from a seed inside a function are allowed, unless `any_generator` refuses them, too.
    """
    own = {_top_module(part) for part in parts}
    waiting, seen = list(parts), set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        for function in _functions_in(part):
            for reference in references(function):
                value = plain_function(reference.value)
                if _is_random(value) if any_generator else _is_unseeded(value, bare=reference.bare):
                    what = f"{reference.expression} draws random numbers that do not depend on the run's seed"
                    return f"{what}; {draw} ({place(function, reference.line)})"
                if (inspect.isfunction(value) or inspect.isclass(value)) and _is_users(value, own):
                    waiting.append(value)
    return None


def _functions_in(part: Any) -> Iterator[Any]:
    """The functions of a class, or the function itself."""
    values = [part]
    if inspect.isclass(part):
        values = [getattr(value, "__func__", getattr(value, "fget", value)) for value in vars(part).values()]
        values += [function for base in part.__bases__ if base is not object for function in _functions_in(base)]
    yield from (plain_function(value) for value in values if inspect.isfunction(plain_function(value)))


def _top_module(value: Any) -> str:
    return str(getattr(value, "__module__", "")).partition(".")[0]


def _is_users(value: Any, own: set[str]) -> bool:
    """Whether a function or class is of the same package as what is looked through, or of no installed one."""
    top = _top_module(value)
    if top in own:
        return True
    file = getattr(sys.modules.get(value.__module__), "__file__", None)
    libraries = {*LIBRARIES, *sys.stdlib_module_names, "tpstream"}
    return file is not None and top not in libraries and INSTALLED.isdisjoint(Path(file).parts)


def place(function: Any, line: int | None = None) -> str:
    """The file, the line and the name of a function, as errors give them; by default the line where it begins."""
    code = plain_function(function).__code__
    return f"{Path(code.co_filename).name}, line {line or code.co_firstlineno}, in {code.co_name}"


@lru_cache(maxsize=1024)
def check_functions(policy: SharedPolicy) -> None:
    """Refuse functions that draw from other generators than their stream, or that cannot be compiled for sure."""
    for role, function in functions_of(policy).items():
        if not inspect.isfunction(plain_function(function)):
            raise PolicyError(
                f"policy {policy.name!r}: {role} is {function!r}; give a function with @compiled above it"
            )
        fault = _parameters_fault(role, function) or next(filter(None, map(_fault, with_helpers(function))), None)
        if fault:
            raise PolicyError(f"policy {policy.name!r}: {fault}")
    fault = random_fault(policy.init, draw=DRAW_IN_DECIDE, any_generator=True)
    if fault:
        raise PolicyError(f"policy {policy.name!r}: {fault}")


def _parameters_fault(role: str, function: Any) -> str | None:
    """What is wrong with the parameters of one of a policy's functions; None if nothing is."""
    try:
        inspect.signature(plain_function(function)).bind(*SIGNATURES[role])
    except TypeError:
        plain = plain_function(function)
        has, needs = ", ".join(inspect.signature(plain).parameters), ", ".join(SIGNATURES[role])
        return f"{role} takes ({has}), but is given ({needs}); write def {plain.__name__}({needs}) ({place(plain)})"
    return None


def _fault(function: Any) -> str | None:
    """What is wrong in one function, with the remedy and the place; None if nothing is found."""
    for reference in references(function):
        if reference.value is UNDEFINED:
            what = f"the name {reference.expression!r} is not defined; define or import it"
            return f"{what} ({place(function, reference.line)})"
        if _is_random(reference.value):
            what = f"{reference.expression} draws random numbers that do not depend on the run's seed"
            return f"{what}; {DRAW_IN_DECIDE} ({place(function, reference.line)})"
    for step in dis.get_instructions(function):
        if step.opname in ("STORE_ATTR", "DELETE_ATTR"):
            what = (
                f"the field {step.argval!r} is assigned to, but the fields of a state stay what init made them; make it"
            )
            remedy = f"an array in init, as in {step.argval}=np.zeros(1), and write to state.{step.argval}[0]"
            return f"{what} {remedy} ({place(function, line_of(step, function.__code__))})"
    return None


def _is_unseeded(value: Any, *, bare: bool) -> bool:
    """Whether this is a generator that all runs share, a method or the module of one, or makes one without a seed."""
    return _is_generator(value) or value is random or value is np.random or (bare and _is_random(value))


def _is_generator(value: Any) -> bool:
    """Whether this is a generator, or a method of one, such as the functions of the modules `random`."""
    return isinstance(value, RANDOM_OBJECTS) or isinstance(getattr(value, "__self__", None), RANDOM_OBJECTS)


def _is_random(value: Any) -> bool:
    """Whether this is a generator of random numbers of NumPy or Python, its module, or a part of these."""
    if _is_generator(value):
        return True
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and (name in ("random", "numpy.random") or name.startswith("numpy.random."))


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


def unknown_field(name: str, state: Any) -> str:
    """What to say of a field that a state does not have."""
    return f"its state has no field {name!r}{did_you_mean(name, state._fields)}; it has {', '.join(state._fields)}"


def check_state(state: Any, policy: SharedPolicy, arms: int, label: str) -> None:
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
    indices = getattr(state, "indices", None)
    if not (isinstance(indices, np.ndarray) and indices.shape == (arms,) and indices.dtype == np.float64):
        kind = f"{indices.dtype} of shape {indices.shape}" if isinstance(indices, np.ndarray) else repr(indices)
        what = "its state needs a field indices: an array with a float for each arm, as in np.zeros(problem.arms)"
        raise PolicyError(f"policy {label!r}: {what}{f', not {kind}' if indices is not None else ''} ({where})")
    for name, given in (("clock", "np.zeros(1)"), ("open_arms", "np.ones(problem.arms, dtype=np.bool_)")):
        like = np.zeros(1) if name == "clock" else np.ones(arms, dtype=np.bool_)
        found = getattr(state, name, like)
        if not (isinstance(found, np.ndarray) and found.dtype == like.dtype and found.shape == like.shape):
            raise PolicyError(f"policy {label!r}: its state has {name} = {found!r}; make it {given}")


def check_class(state: Any, other: Any, label: str) -> None:
    """Refuse a class of states that has the name and the fields of another policy's: Numba confuses the two.

    It then examines the state anew at every call, which makes runs several times slower and changes nothing else. A
    class that was defined anew in the place of the other one, as by a changed plug-in or a notebook, is taken as it is.
    """
    if getattr(sys.modules.get(other.__module__), other.__name__, None) is not other:
        return
    files = [Path(str(getattr(sys.modules.get(one.__module__), "__file__", one.__module__))) for one in (state, other)]
    raise PolicyError(
        f"policy {label!r}: its state {state.__name__} ({files[0]}) has the name and the fields of another policy's "
        f"({files[1]}), which would make runs several times slower; rename the class"
    )


def check_decision(arm: object, policy: SharedPolicy, state: Any, round: int, label: str) -> None:
    """Explain a decision that is no arm, where the reason is known: a float, or an index that is NaN."""
    if not isinstance(arm, (int, np.integer)):
        raise PolicyError(f"policy {label!r}: {float_decision(policy.decide, type(arm).__name__)}")
    if arm == NO_ARM and np.isnan(state.indices).any():
        raise PolicyError(f"policy {label!r}: {nan_fault(state.indices, round)} ({place(policy.decide)})")


def nan_fault(indices: Floats, round: int) -> str:
    """What to say of indices of which one is NaN, with the remedy."""
    arm = int(np.argmax(np.isnan(indices)))
    what = f"in round {round} the index of arm {arm} is NaN, so that no index is the largest"
    return f"{what}; give an arm without pulls the index math.inf"


class IndexCheck:
    """Sees that no index is NaN after a decision; a policy without indices has NaN for all arms, all the time."""

    def __init__(self) -> None:
        self._used = False

    def fault(self, indices: Floats, round: int) -> str | None:
        """What is wrong with the indices of this round's decision; None if nothing is."""
        unknown = np.isnan(indices)
        self._used = self._used or not unknown.all()
        return nan_fault(indices, round) if self._used and unknown.any() else None
