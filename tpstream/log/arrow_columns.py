"""Events as Arrow columns and back, for the formats that store columns.

A missing value is a null, not a NaN; a column with rows for pulls only has a null for every other event. Reading takes
any type that holds the same numbers, so that logs written by other programs need not know ours.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tpstream.model.arrays import Bytes, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import COLUMN, COLUMNS, KIND_NAMES, PULL, Column, Columns, Events

HEADER = b"tpstream"
"""The key of the schema's metadata under which the header is kept, as JSON."""
END = b"tpstream.end"
"""The key of the metadata of a complete log under which the number of its events is kept."""
STORED = COLUMNS[1:]
"""The columns that both formats store in the same way: all but the number of the event."""
KINDS = pa.array(KIND_NAMES, pa.string())


def fields(integers: Any) -> list[Any]:
    """The fields of the stored columns; `integers` is the type of those that can be as large as the horizon."""
    return [
        pa.field(column.name, _stored_type(column, integers), nullable=column.nullable or column.optional)
        for column in STORED
    ]


def _stored_type(column: Column, integers: Any) -> Any:
    if column.name == "kind":
        return pa.dictionary(pa.int8(), pa.string())
    if np.issubdtype(column.type, np.integer):
        return pa.int32() if column.short else integers
    single = pa.from_numpy_dtype(column.type)
    return pa.list_(single) if column.per_arm else single


def to_arrays(events: Events, schema: Any) -> list[Any]:
    """The stored columns of events; OverflowError if a number is too large for its type."""
    return [_to_array(events, column, schema.field(column.name).type) for column in STORED]


def _to_array(events: Events, column: Column, stored: Any) -> Any:
    values = getattr(events, column.name)
    if values is None:
        return pa.nulls(len(events), stored)
    if column.name == "kind":
        return pa.DictionaryArray.from_arrays(pa.array(values), KINDS)
    if column.per_pull:
        return _at_pulls(values, events.kind == PULL, per_arm=column.per_arm)
    if pa.types.is_integer(stored):
        return narrow(values, column.name, stored)
    return pa.array(values, from_pandas=column.nullable)


def narrow(numbers: Ints, name: str, stored: Any) -> Any:
    """Whole numbers in the type of their column; several times faster than Arrow's own checked cast."""
    limits = np.iinfo(stored.to_pandas_dtype())
    if len(numbers) and (numbers.min() < limits.min or numbers.max() > limits.max):
        raise OverflowError(f"{name} {numbers[np.argmax(np.abs(numbers))]} is beyond {limits.max}")
    return pa.array(numbers.astype(limits.dtype, copy=False))


def _at_pulls(rows: Any, pulls: Any, *, per_arm: bool) -> Any:
    """The rows of the pulls, each at the place of its event, and nulls elsewhere."""
    values = pa.array(rows.ravel())
    if per_arm:
        values = pa.ListArray.from_arrays(pa.array(np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]), values)
    return values.take(pa.array(np.cumsum(pulls) - 1, mask=~pulls))


def from_batch(batch: Any, names: Sequence[str], arms: int, path: Path) -> Columns:
    """The columns of these names; an error names the file."""
    columns: Columns = {}
    try:
        for column in (COLUMN[name] for name in names):
            if column.optional and not _has_values(batch, column.name):
                continue
            stored = batch.column(column.name)
            if column.name == "kind":
                columns[column.name] = _to_codes(stored)
            elif column.per_pull:
                columns[column.name] = _from_pulls(stored, _to_codes(batch.column("kind")), column, arms)
            else:
                columns[column.name] = _to_numbers(stored, column)
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise LogError(f"{path}: the columns do not follow the schema: {error}") from error
    return columns


def _has_values(batch: Any, name: str) -> bool:
    return name in batch.schema.names and batch.column(name).null_count < len(batch)


def _to_numbers(stored: Any, column: Column) -> Any:
    """A column as it is in memory."""
    if stored.null_count and not column.nullable:
        raise ValueError(f"{column.name} is missing in {stored.null_count} events")
    numbers = stored.to_numpy(zero_copy_only=False)
    return numbers if numbers.dtype == column.type else stored.cast(pa.from_numpy_dtype(column.type)).to_numpy()


def _to_codes(stored: Any) -> Bytes:
    """Kinds as their numbers, whatever the order of the stored dictionary."""
    coded = stored if isinstance(stored, pa.DictionaryArray) else pc.dictionary_encode(stored.cast(pa.string()))
    if coded.null_count:
        raise ValueError(f"kind is missing in {coded.null_count} events")
    codes: Bytes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int8, copy=False)
    if coded.dictionary.equals(KINDS):
        return codes
    numbers = pc.index_in(coded.dictionary, KINDS)
    if numbers.null_count:
        unknown = coded.dictionary.filter(numbers.is_null())[0].as_py()
        raise ValueError(f"unknown kind {unknown!r}; known: {', '.join(KIND_NAMES)}")
    known: Bytes = numbers.to_numpy().astype(np.int8)
    return known[codes]


def _from_pulls(stored: Any, kind: Bytes, column: Column, arms: int) -> Any:
    """A row for each pull."""
    name = column.name
    if not np.array_equal(stored.is_valid().to_numpy(zero_copy_only=False), kind == PULL):
        raise ValueError(f"{name} are given for some pulls and not for others, or for events that are no pulls")
    if not column.per_arm:
        return _to_numbers(stored.drop_null(), column)
    if not pc.all(pc.equal(pc.list_value_length(stored), arms)).as_py():
        raise ValueError(f"{name} must be one for each of the {arms} arms")
    numbers = stored.flatten().cast(pa.from_numpy_dtype(column.type))
    return numbers.to_numpy(zero_copy_only=False).reshape(-1, arms)
