"""The decorators for functions that Numba compiles: typed, and with the same settings everywhere.

Two settings matter. `inline="always"` puts a policy's small functions into the loops that call them, since passing a
state of a dozen arrays to a function costs more than the function does. `_nrt=False` turns off the counting of
references to arrays, which would otherwise happen at every use of a state's field and cost ten times the arithmetic;
such functions must not create arrays. A policy that has to may use `numba.njit` for its functions instead.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

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
