"""A policy in the shared form run as ordinary Python, with every index of its state's arrays checked: debug mode.

Compiled code does not check indices: one that is too large reads or writes memory of something else. Here the same
functions run uncompiled and in the same order, on arrays that refuse such indices.
"""

import linecache
import traceback
from collections.abc import Iterable
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tpstream.model.arrays import Ints
from tpstream.model.errors import PolicyError
from tpstream.model.events import Events
from tpstream.policies import handlers
from tpstream.policies.base import SharedPolicy
from tpstream.policies.functions import (
    LIBRARIES,
    IndexCheck,
    check_decision,
    check_functions,
    place,
    unknown_field,
)
from tpstream.policies.loader import OPTIONAL_FIELDS, functions_of, plain_function
from tpstream.policies.runner import Runner, told_columns

LOOPS = ("decide", "notify_events", "fill_probabilities", "tell_look")
"""The functions of handlers.py that a runner calls."""


class CheckedArray(np.ndarray[Any, Any]):
    """An array that refuses indices out of its bounds, negative ones included, and adds up as compiled code does."""

    def __getitem__(self, place: Any) -> Any:
        """The elements at this place."""
        _check_bounds(place, self.shape)
        return super().__getitem__(place)

    def __setitem__(self, place: Any, value: Any) -> None:
        """Write to this place."""
        _check_bounds(place, self.shape)
        super().__setitem__(place, value)

    def sum(self, *arguments: Any, **keywords: Any) -> Any:
        """The sum; of all elements one after the other, while NumPy adds pairs of partial sums."""
        if arguments or any(value is not None for value in keywords.values()):
            return super().sum(*arguments, **keywords)
        result = self.dtype.type(0)
        for value in self.flat:
            result += value
        return result


def _check_bounds(place: Any, shape: tuple[int, ...]) -> None:
    places = place if isinstance(place, tuple) else (place,)
    for axis, (index, size) in enumerate(zip(places, shape, strict=False)):
        if isinstance(index, (int, np.integer)) and not 0 <= index < size:
            remedy = "; write size - 1 for the last element" if index < 0 else ""
            raise IndexError(f"index {index} is out of bounds: axis {axis} has {size} elements{remedy}")


class CheckedRunner(Runner):
    """Hands events to a shared policy's functions, uncompiled; errors name the file, the line and the round."""

    def _load(self, policy: SharedPolicy) -> Any:
        check_functions(policy)
        self._index_check = IndexCheck()
        self._index_check.fault(self.state.indices, 0)
        return plain_loops(policy, [name for name in OPTIONAL_FIELDS if hasattr(self.state, name)])

    def _hold(self, stream: np.random.Generator) -> Any:
        return stream

    def decide(self, round: int) -> int:
        """The policy's decision."""
        try:
            with np.errstate(all="ignore"):
                arm = self._loops.decide(_checked(self.state), round, self._held)
        except Exception as error:  # noqa: BLE001 (it is raised again)
            raise self._located(error, f"in round {round}") from None
        check_decision(arm, self._policy, self.state, round, self._policy.name)
        fault = self._index_check.fault(self.state.indices, round)
        if fault:
            raise PolicyError(f"policy {self._policy.name!r}: {fault} ({place(self._policy.decide)})")
        return int(arm)

    def tell_look(self, time: float, stage: int) -> None:
        """Tell the policy of a look."""
        try:
            with np.errstate(all="ignore"):
                self._loops.tell_look(_checked(self.state), time, stage)
        except Exception as error:  # noqa: BLE001 (it is raised again)
            raise self._located(error, "at a look") from None

    def _call(self, events: Events, decided: Ints) -> int:
        try:
            with np.errstate(all="ignore"):
                place: int = self._loops.notify_events(
                    _checked(self.state),
                    self._subscriptions,
                    self._held,
                    self._ring.capacity,
                    *told_columns(events),
                    decided,
                )
        except Exception as error:  # noqa: BLE001 (it is raised again)
            frames = (
                frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == "notify_events"
            )
            told = [frame.f_locals.get("event", 0) for frame in frames]
            raise self._located(error, f"in round {events.round[told[0] if told else -1]}") from None
        return place

    def _located(self, error: Exception, when: str) -> PolicyError:
        """The error with the place in the policy's file where it was raised."""
        files = {plain_function(function).__code__.co_filename for function in functions_of(self._policy).values()}
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        what = f"policy {self._policy.name!r} raised {type(error).__name__} {when}: {error}"
        if isinstance(error, AttributeError) and isinstance(error.obj, type(self.state)):
            what = f"policy {self._policy.name!r}: {unknown_field(str(error.name), self.state)}"
        if not frames:
            return PolicyError(what)
        last, name = frames[-1], frames[-1].filename.rpartition("/")[2]
        return PolicyError(f"{what}, in {_expression(last)} ({name}, line {last.lineno}, in {last.name})")


def _expression(frame: traceback.FrameSummary) -> str:
    """The expression that raised, or its whole line."""
    line = linecache.getline(frame.filename, frame.lineno or 0)
    if frame.colno is None or frame.end_colno is None or frame.end_lineno != frame.lineno:
        return line.strip()
    return line.encode()[frame.colno : frame.end_colno].decode()


def _checked(state: Any) -> Any:
    """The state with its arrays as checked ones, which share their memory."""
    arrays = {name: getattr(state, name) for name in state._fields if isinstance(getattr(state, name), np.ndarray)}
    return state._replace(**{name: array.view(CheckedArray) for name, array in arrays.items()})


def plain_loops(policy: SharedPolicy, fields: Iterable[str]) -> Any:
    """The functions of handlers.py as ordinary Python, with this policy's functions in their places."""
    names = dict(vars(handlers))
    for name, function in vars(handlers).items():
        plain = plain_function(function)
        if isinstance(plain, FunctionType) and plain.__module__ == handlers.__name__:
            names[name] = FunctionType(plain.__code__, names, name, plain.__defaults__)
    for name in fields:
        empty, function = OPTIONAL_FIELDS[name]
        names[empty] = names[plain_function(function).__name__]
    own = {role: uncompiled(function, {}) for role, function in functions_of(policy).items()}
    own["policy_decide"] = own.pop("decide")  # handlers.py has a function `decide` of its own
    names |= own | {"held_stream": lambda held: held}
    return SimpleNamespace(**{name: names[name] for name in LOOPS})


def uncompiled(function: Any, done: dict[Any, Any]) -> Any:
    """A copy of a function as ordinary Python, which calls copies of its compiled helpers; `done` are those made."""
    plain = plain_function(function)
    if plain in done:
        return done[plain]
    names = dict(plain.__globals__)
    cells = tuple(CellType(_uncompiled_value(cell.cell_contents, done)) for cell in plain.__closure__ or ())
    copy = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, cells)
    done[plain] = copy
    names.update({name: _uncompiled_value(names[name], done) for name in plain.__code__.co_names if name in names})
    return copy


def _uncompiled_value(value: Any, done: dict[Any, Any]) -> Any:
    """What stands for a value that a function takes from outside."""
    if hasattr(value, "py_func"):
        return uncompiled(value, done)
    if isinstance(value, np.ndarray):
        return value.view(CheckedArray)
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] not in LIBRARIES:
        return UncompiledModule(value, done)
    return value


class UncompiledModule:
    """Stands for a module of compiled helpers, and gives them uncompiled."""

    def __init__(self, module: ModuleType, done: dict[Any, Any]) -> None:
        self._module, self._done = module, done

    def __getattr__(self, name: str) -> Any:
        """The module's value of that name."""
        return _uncompiled_value(getattr(self._module, name), self._done)
