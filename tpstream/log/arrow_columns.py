"""Events as Arrow columns and back, for the forms that store columns.

A value that was not shown is a null, not a NaN; indices are a list for each pull and a null elsewhere. Reading takes
any type that holds the same numbers, so that logs written by other programs need not know ours.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tpstream.log.schema import TYPES, Columns, Header
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import KIND_NAMES, Events, Kind

HEADER = b"tpstream"
"""The key of the schema's metadata under which the header is kept, as JSON."""
INDICES = pa.list_(pa.float64())
KINDS = pa.array(KIND_NAMES, pa.string())


def whole_numbers(header: Header) -> Any:
    """The type of integers that can be as large as the horizon."""
    return pa.int32() if header.horizon < 2**31 else pa.int64()


def fields(wide: Any) -> list[Any]:
    """The stored columns besides the number of the event."""
    return [
        pa.field("time", pa.float64(), nullable=False),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("round", wide, nullable=False),
        pa.field("pull", wide, nullable=False),
        pa.field("arm", pa.int32(), nullable=False),
        pa.field("part", pa.int32(), nullable=False),
        pa.field("value", pa.float64()),
        pa.field("indices", INDICES),
    ]


def to_arrays(events: Events, schema: Any) -> list[Any]:
    """The columns of `fields`; OverflowError if a number is too large for its type."""
    names = ("round", "pull", "arm", "part")
    return [
        pa.array(events.time),
        pa.DictionaryArray.from_arrays(pa.array(events.kind), KINDS),
        *(narrow(getattr(events, name), name, schema) for name in names),
        pa.array(events.value, from_pandas=True),
        _to_lists(events),
    ]


def narrow(numbers: Ints, name: str, schema: Any) -> Any:
    """Whole numbers in the type of their column; several times faster than Arrow's own checked cast."""
    stored = schema.field(name).type
    limits = np.iinfo(stored.to_pandas_dtype())
    if len(numbers) and (numbers.min() < limits.min or numbers.max() > limits.max):
        raise OverflowError(f"{name} {numbers[np.argmax(np.abs(numbers))]} is beyond {limits.max}")
    return pa.array(numbers.astype(limits.dtype, copy=False))


def from_batch(batch: Any, names: Sequence[str], arms: int, path: Path) -> Columns:
    """The columns of these names; an error names the file."""
    try:
        columns: Columns = {name: _to_numbers(batch.column(name), name) for name in names if name != "indices"}
        if "indices" in set(names) & set(batch.schema.names) and batch.column("indices").null_count < len(batch):
            kind = columns["kind"] if "kind" in columns else _to_numbers(batch.column("kind"), "kind")
            columns["indices"] = _to_rows(batch.column("indices"), kind, arms)
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise LogError(f"{path}: the columns do not follow the schema: {error}") from error
    return columns


def _to_numbers(column: Any, name: str) -> Any:
    """A column as it is in memory."""
    if name == "kind":
        return _to_codes(column)
    if column.null_count and name != "value":
        raise ValueError(f"{name} is missing in {column.null_count} events")
    numbers = column.to_numpy(zero_copy_only=False)
    return numbers if numbers.dtype == TYPES[name] else column.cast(pa.from_numpy_dtype(TYPES[name])).to_numpy()


def _to_codes(column: Any) -> Bytes:
    """Kinds as their numbers, whatever the order of the stored dictionary."""
    coded = column if isinstance(column, pa.DictionaryArray) else pc.dictionary_encode(column.cast(pa.string()))
    if coded.null_count:
        raise ValueError(f"kind is missing in {coded.null_count} events")
    codes: Bytes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int8, copy=False)
    names = coded.dictionary.to_pylist()
    if names == list(KIND_NAMES):
        return codes
    for name in names:
        if name not in KIND_NAMES:
            raise ValueError(f"unknown kind {name!r}; known: {', '.join(KIND_NAMES)}")
    return np.array([KIND_NAMES.index(name) for name in names], dtype=np.int8)[codes]


def _to_lists(events: Events) -> Any:
    """A list of indices for each pull."""
    if events.indices is None:
        return pa.nulls(len(events), INDICES)
    pulls = events.kind == Kind.PULL
    ends = np.cumsum(pulls, dtype=np.int64) * events.indices.shape[1]
    offsets = pa.array(np.concatenate([[0], ends])).cast(pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(events.indices.ravel()), mask=pa.array(~pulls))


def _to_rows(column: Any, kind: Bytes, arms: int) -> Floats:
    """A row of indices for each pull."""
    if not np.array_equal(column.is_valid().to_numpy(zero_copy_only=False), kind == Kind.PULL):
        raise ValueError("indices are given for some pulls and not for others, or for events that are no pulls")
    if not pc.all(pc.equal(pc.list_value_length(column), arms)).as_py():
        raise ValueError(f"indices must be one for each of the {arms} arms")
    rows: Floats = column.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False).reshape(-1, arms)
    return rows
