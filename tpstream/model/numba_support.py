"""The decorators for functions that Numba compiles: typed, and with the same settings everywhere.

Two settings matter. `inline="always"` puts a policy's small functions into the loops that call them, since passing a
state of a dozen arrays to a function costs more than the function does. `_nrt=False` turns off the counting of
references to arrays, which would otherwise happen at every use of a state's field and cost ten times the arithmetic;
such functions must not create arrays. A policy that has to may use `numba.njit` for its functions instead.

A random stream that compiled loops take at once.

Numba examines a Generator whenever Python hands one to a compiled function, and that takes as long as dozens of rounds
of a loop. So it is examined once, and what was found (some addresses) is held in an array that loops take it from.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import config, extending
from numba.core import types
from numba.np import arrayobj

Function = TypeVar("Function", bound=Callable[..., object])

_njit: Any = numba.njit  # its types do not tell of _nrt


def compiled(function: Function) -> Function:
    """A small function for other compiled functions; it becomes a part of them and needs no cache of its own."""
    decorated: Function = _njit(nogil=True, error_model="numpy", inline="always", _nrt=False)(function)
    return decorated


def compiled_loop(function: Function) -> Function:
    """A loop that Python calls and that creates no arrays; its machine code is kept on disk."""
    decorated: Function = _njit(nogil=True, error_model="numpy", cache=True, _nrt=False)(function)
    return decorated


def cached(function: Function) -> Function:
    """A function that Python calls and that may create arrays; its machine code is kept on disk."""
    decorated: Function = _njit(nogil=True, error_model="numpy", cache=True)(function)
    return decorated


ADDRESSES = 32
"""More than enough room for what Numba finds in a Generator."""
_config: Any = config
_make_array: Any = arrayobj.make_array
_intrinsic: Any = extending.intrinsic


def hold_stream(stream: np.random.Generator) -> Any:
    """What a loop takes for this stream, which must be kept alive; with Numba turned off the stream itself."""
    if _config.DISABLE_JIT:
        return stream
    place = np.zeros(ADDRESSES, dtype=np.int64)
    _store(stream, place)
    return place


def _put(_: Any, stream: Any, place: Any) -> Any:
    """Numba's view of a stream, written to an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found, array = arguments
        data = _make_array(signature.args[1])(context, builder, array).data
        builder.store(found, builder.bitcast(data, found.type.as_pointer()))
        return context.get_dummy_value()

    return types.void(stream, place), generate


def _take(_: Any, place: Any) -> Any:
    """Numba's view of a stream, read from an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.bitcast(data, context.get_value_type(signature.return_type).as_pointer()))

    return types.npy_rng(place), generate


def _take_itself(place: Any) -> Any:
    """With Numba turned off, streams are held as they are."""
    return place


_put_stream: Any = _intrinsic(_put)
_take_stream: Any = _take_itself if _config.DISABLE_JIT else _intrinsic(_take)


@compiled_loop
def _store(stream: np.random.Generator, place: Any) -> None:
    _put_stream(stream, place)


@compiled
def held_stream(place: Any) -> np.random.Generator:
    """The stream that is held there."""
    stream: np.random.Generator = _take_stream(place)
    return stream
