"""Worlds between two steps, held in a form that is quick to pass to compiled functions.

Numba looks at every array of a named tuple whenever Python passes one to a compiled function, which for the memory of a
world takes longer than to simulate a step. So `hold` lets Numba look once, and stores what it found (addresses, sizes)
as a row of an array; `held_world` turns the row into the named tuple again, inside compiled code.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import extending
from numba.core import cgutils, types
from numba.np import arrayobj

from tpstream.engines.compiled_plain_loop import PlainMemory
from tpstream.engines.compiled_real_memory import RealMemory
from tpstream.model.arrays import Floats, Ints
from tpstream.model.events import EventColumns
from tpstream.model.numba_support import JIT_IS_OFF, compiled, compiled_loop

WORDS = 1024
"""Numbers in a row: more than Numba's view of a world needs."""
_make_array: Any = arrayobj.make_array
_intrinsic: Any = extending.intrinsic
_typeof: Any = numba.typeof
_gep: Any = cgutils.gep_inbounds
_BaseTuple: Any = types.BaseTuple
_forms: dict[type, Any] = {}
"""The type that a held world has in compiled code, as soon as one was held: it is the same for all worlds."""


class HeldWorld(NamedTuple):
    """A world whose decisions are made outside: its memory, and the columns for what is written between two steps."""

    memory: RealMemory
    plain: PlainMemory
    """In the paper's world, which is quicker to step, its open pulls; the blocks are those of `memory`. Else empty."""
    columns: EventColumns
    """Every event."""
    told: EventColumns
    """The events that are shown, where feedback is hidden; else without rows."""
    cursor: Ints
    totals: Floats
    """What the last pull pays in total."""


def make_places(worlds: int) -> Any:
    """Room for that many held worlds."""
    return [None] * worlds if JIT_IS_OFF else np.zeros((worlds, WORDS), dtype=np.int64)


def hold(places: Any, row: int, world: HeldWorld) -> None:
    """Store a world in that row; its arrays must be kept alive, and it is stored anew when one of them is replaced."""
    if JIT_IS_OFF:
        places[row] = world
        return
    if HeldWorld not in _forms:  # to look takes long
        _forms[HeldWorld] = _typeof(world)
    _store(places, row, world)
    if len(_store.signatures) > 1:
        raise TypeError(f"a world of another form than those before: {_typeof(world)}")


def _row_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The address of the row of an array of rows."""
    array = _make_array(signature.args[0])(context, builder, arguments[0])
    place = builder.mul(arguments[1], context.get_constant(types.intp, WORDS))
    return builder.gep(array.data, [place])


def _put(_: Any, places: Any, row: Any, world: Any) -> Any:
    """Make the compiled code that writes Numba's view of a world to a row."""

    def write(context: Any, builder: Any, form: Any, value: Any, pointer: Any) -> None:
        if isinstance(form, _BaseTuple):
            for number, member in enumerate(form):
                part = builder.extract_value(value, number)
                write(context, builder, member, part, _gep(builder, pointer, 0, number))
        else:
            builder.store(value, pointer)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = context.get_value_type(world)
        if context.get_abi_sizeof(stored) > WORDS * 8:
            raise ValueError(f"a held world takes {context.get_abi_sizeof(stored)} bytes; enlarge WORDS")
        pointer = _row_pointer(context, builder, signature, arguments)
        write(context, builder, world, arguments[2], builder.bitcast(pointer, stored.as_pointer()))
        return context.get_dummy_value()

    return types.void(places, row, world), generate


def _take(_: Any, places: Any, row: Any) -> Any:
    """Make the compiled code that reads Numba's view of a world from a row, member by member."""
    world = _forms[HeldWorld]

    def read(context: Any, builder: Any, form: Any, pointer: Any) -> Any:
        if not isinstance(form, _BaseTuple):
            return builder.load(pointer)
        members = [
            read(context, builder, member, _gep(builder, pointer, 0, number)) for number, member in enumerate(form)
        ]
        return context.make_tuple(builder, form, members)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _row_pointer(context, builder, signature, arguments)
        stored = context.get_value_type(world)
        return read(context, builder, world, builder.bitcast(pointer, stored.as_pointer()))

    return world(places, row), generate


_put_world: Any = _intrinsic(_put)
_take_world: Any = (lambda places, row: places[row]) if JIT_IS_OFF else _intrinsic(_take)


@compiled_loop
def _store_world(places: Any, row: int, world: HeldWorld) -> None:
    _put_world(places, row, world)


_store: Any = _store_world  # a dispatcher, of which the decorator says that it is the function


@compiled
def held_world(places: Any, row: int) -> HeldWorld:
    """The world that `hold` stored in that row; for compiled functions."""
    world: HeldWorld = _take_world(places, row)
    return world
