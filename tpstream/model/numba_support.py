"""Decorators for functions that Numba compiles, and random streams that are quick to pass to such functions.

Two settings of the decorators matter. `inline="always"` puts a policy's small functions into the loops that call them,
since passing a state of a dozen arrays to a function costs more than the function does. `_nrt=False` turns off the
counting of references to arrays, which would otherwise happen at every use of a state's field and cost ten times the
arithmetic; such functions must not create arrays. A policy that has to may use `numba.njit` for its functions instead.

Numba examines a Generator whenever Python passes one to a compiled function, which takes as long as dozens of rounds
of a loop. So `hold_stream` lets Numba examine it once and stores what it found (some addresses) in an array;
`held_stream` turns that array into the stream again, inside compiled code.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
import numpy as np
from numba import config, extending
from numba.core import event, types
from numba.np import arrayobj

Function = TypeVar("Function", bound=Callable[..., object])

_njit: Any = numba.njit  # its types do not know of _nrt
_config: Any = config
JIT_IS_OFF = bool(_config.DISABLE_JIT)
"""Whether NUMBA_DISABLE_JIT is set, so that all these functions run as plain Python."""


@contextmanager
def compiler_clock() -> Iterator[list[float]]:
    """A list that gets the seconds in which Numba compiled inside, or loaded what it had compiled before."""
    seconds: list[float] = []
    timer: Any = event.install_timer  # has no types
    with timer("numba:compiler_lock", seconds.append):
        yield seconds


def compiled(function: Function = None) -> Function:  # type: ignore[assignment] # left out by mistake only
    """Compile a small function that only other compiled functions call, such as a policy's handler.

    It becomes a part of its callers. It must not create arrays.

    Parameters
    ----------
    function : callable
        A function of numbers, arrays and named tuples of them.

    Returns
    -------
    callable
        The compiled function; the same one if NUMBA_DISABLE_JIT is set.

    Examples
    --------
    >>> import numpy as np
    >>> @compiled
    ... def count(pulls, arm):
    ...     pulls[arm] += 1
    >>> pulls = np.zeros(2)
    >>> count(pulls, 1)
    >>> pulls.tolist()
    [0.0, 1.0]
    """
    if not callable(function):
        raise TypeError("compiled takes a function; write @compiled without brackets")
    decorated: Function = _njit(nogil=True, error_model="numpy", inline="always", _nrt=False)(function)
    return decorated


def compiled_within(function: Function) -> Function:
    """Compile a function by itself, and let its machine code, not its source, become a part of its callers.

    That takes less time than `compiled` where many functions call each other, and runs as fast; but such a function
    cannot take or return a random stream.
    """
    decorated: Function = _njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function)
    return decorated


def compiled_alone(function: Callable[..., object]) -> Any:
    """Compile a function by itself, with the other settings of `compiled`.

    So a long function is compiled once in a process, and not again as a part of each loop that calls it; and one that
    cannot be compiled is found.
    """
    return _njit(nogil=True, error_model="numpy", _nrt=False)(function)


def compiled_loop(function: Function) -> Function:
    """Compile a loop that Python calls and that creates no arrays; its machine code is kept on disk."""
    decorated: Function = _njit(nogil=True, error_model="numpy", cache=True, _nrt=False)(function)
    return decorated


def cached(function: Function) -> Function:
    """Compile a function that Python calls and that may create arrays; its machine code is kept on disk."""
    decorated: Function = _njit(nogil=True, error_model="numpy", cache=True)(function)
    return decorated


ADDRESSES = 32
"""Size of the array of a held stream: more than Numba's view of a Generator needs."""
_make_array: Any = arrayobj.make_array
_intrinsic: Any = extending.intrinsic


def hold_stream(stream: np.random.Generator) -> Any:
    """An array from which `held_stream` takes this stream, which must be kept alive; with the JIT off, the stream."""
    if JIT_IS_OFF:
        return stream
    place = np.zeros(ADDRESSES, dtype=np.int64)
    _store(stream, place)
    return place


def _put(_: Any, stream: Any, place: Any) -> Any:
    """Make the compiled code that writes Numba's view of a stream to an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found, array = arguments
        data = _make_array(signature.args[1])(context, builder, array).data
        builder.store(found, builder.bitcast(data, found.type.as_pointer()))
        return context.get_dummy_value()

    return types.void(stream, place), generate


def _take(_: Any, place: Any) -> Any:
    """Make the compiled code that reads Numba's view of a stream from an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.bitcast(data, context.get_value_type(signature.return_type).as_pointer()))

    return types.npy_rng(place), generate


_put_stream: Any = _intrinsic(_put)
_take_stream: Any = (lambda place: place) if JIT_IS_OFF else _intrinsic(_take)


@compiled_loop
def _store(stream: np.random.Generator, place: Any) -> None:
    _put_stream(stream, place)


@compiled
def held_stream(place: Any) -> np.random.Generator:
    """The stream of which `hold_stream` made this array; for compiled functions."""
    stream: np.random.Generator = _take_stream(place)
    return stream
