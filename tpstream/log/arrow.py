"""The columnar format of a log: a compressed Arrow IPC stream, which needs no footer and can be read at any moment.

Integers are stored in 32 bits, since Zstandard compresses the pattern of a round several times faster in them than in
64; a header with a horizon beyond that stores 64. `seq` is stored as `step`, the difference to the event before (the
first counts from -1): a column of ones costs nothing, one of ever new numbers as much as all others but the values.

The second half, events as Arrow columns and back, serves Parquet too. A missing value is a null, not a NaN; a column
with rows for pulls only has a null for every other event. Reading takes any type that holds the same numbers, so that
logs written by other programs need not know ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tpstream.log.arrow_messages import whole_messages
from tpstream.log.formats import DIGITS, LogFile
from tpstream.log.guard import FormatReader
from tpstream.log.schema import Header, decode_header
from tpstream.model.arrays import Bytes, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import COLUMN, COLUMNS, KIND_NAMES, PULL, WORLD_COLUMNS, Column, Columns, Events

LEVEL = 1
"""The compression level of Zstandard; a higher one makes the log hardly smaller and half as fast to write."""
HEADER = b"tpstream"
"""The key of the schema's metadata under which the header is kept, as JSON."""
END = b"tpstream.end"
"""The key of the metadata of a complete log: the number of its events, a space, and the SHA-256 of the file."""
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
"""How every Arrow stream ends."""
LONGEST = 18
"""Digits that the number of events in an end marker may have."""
KINDS = pa.array(KIND_NAMES, pa.string())


class Writer:
    """Writes batches of events as record batches; a complete log ends with an empty one that tells their number."""

    def __init__(self, file: LogFile, header: Header) -> None:
        self._file = file
        integers = pa.int32() if header.horizon < 2**31 else pa.int64()
        self._schema = make_schema(header, pa.field("step", integers, nullable=False))
        options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", LEVEL), use_threads=False)
        self._stream = pa.ipc.new_stream(file, self._schema, options=options)
        self._last = -1
        self.write(Events.join([]))  # Arrow writes the header with the first batch

    def write(self, events: Events) -> None:
        """Write a batch of events."""
        self._write(events)
        self._file.flush()

    def _write(self, events: Events, metadata: dict[bytes, bytes] | None = None) -> None:
        step = np.diff(events.seq, prepend=self._last)
        try:
            arrays = [narrow(step, "step", self._schema.field("step").type), *to_arrays(events, self._schema)]
        except OverflowError as error:
            raise LogError(
                f"{self._file.path}: events {events.seq[0]} to {events.seq[-1]} do not fit the header: {error}"
            ) from error
        self._stream.write_batch(pa.record_batch(arrays, schema=self._schema), custom_metadata=metadata)
        self._last = int(events.seq[-1]) if len(events) else self._last

    def end(self, count: int | None) -> None:
        """Write an empty batch with the number of events, and the end of the stream; nothing for a torn log."""
        if count is not None:
            self._write(Events.join([]), end_marker(count))
            self._stream.close()
            self._file.seal()


def open_reader(path: Path) -> FormatReader:
    """Read the header, and how the log ends."""
    size = path.stat().st_size
    with _map(path, size) as source:
        whole_messages(path, source)  # none claims too much
        source.seek(0)
        schema = _open(path, source).schema
    header = decode_header(path, (schema.metadata or {}).get(HEADER, b""))
    last, end, sha256 = -1, None, None
    for batch, metadata in _read_batches(path, size, ["seq"]):
        last = _last_seq(batch, last) if len(batch) else last
        end, sha256 = read_marker(path, metadata or {})
    if sha256 and not _ends(path, size):
        end = sha256 = None  # the last write was cut off
    read = partial(_read_columns, path, size, len(header.arms))
    rounds = None if sha256 else max((int(one["round"][-1]) for one in read(["round"])), default=None)
    return FormatReader(header, last, end, read, last_round=rounds, sha256=sha256)


def end_marker(events: int) -> dict[bytes, bytes]:
    """The metadata that end a complete log; its file puts in the SHA-256."""
    return {END: str(events).encode() + b" " + DIGITS}


def read_marker(path: Path, metadata: Mapping[bytes, bytes]) -> tuple[int | None, str | None]:
    """The number of events and the SHA-256 that such metadata tell; None for what they do not."""
    if END not in metadata:
        return None, None
    count, _, sha256 = metadata[END].decode("latin-1").partition(" ")
    if not count.isdecimal() or len(count) > LONGEST:
        raise LogError(f"{path}: the end marker tells {count[:LONGEST]!r} events, which is no number")
    return int(count), sha256 or None


def _ends(path: Path, size: int) -> bool:
    """Whether the stream has its end."""
    with path.open("rb") as file:
        file.seek(max(0, size - len(END_OF_STREAM)))
        return file.read(len(END_OF_STREAM)) == END_OF_STREAM


class Tail:
    """Reads a log that is being written: each time the whole batches that are new."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _map(path, path.stat().st_size) as source:
            self.header = decode_header(path, (_open(path, source).schema.metadata or {}).get(HEADER, b""))
            source.seek(0)
            places = [0, *(place for type, place in _messages(source) if type != "record batch")]
            self._place = max(places)
            """Where the next message begins."""
            source.seek(0)
            self._head = source.read(self._place)
            """The schema and the dictionaries, without which no batch can be read."""
        self.end: int | None = None
        """The number of events that the end marker tells; None as long as there is none."""

    def read(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names of the events that are new, batch by batch."""
        with _map(self._path, self._path.stat().st_size) as source:
            source.seek(self._place)
            place = max((place for _, place in _messages(source)), default=self._place)
            source.seek(self._place)
            stream = _open(self._path, pa.BufferReader(self._head + source.read(place - self._place)))
        for number in count(1):
            try:
                batch, metadata = stream.read_next_batch_with_custom_metadata()
            except StopIteration:
                break
            except (pa.ArrowException, OSError) as error:
                raise LogError(f"{self._path}: a batch is damaged: {error}") from error
            if len(batch):
                known = validated(batch, self._path, number)
                yield from_batch(known, [name for name in names if name != "seq"], len(self.header.arms), self._path)
            self.end, _ = read_marker(self._path, metadata or {})
        self._place = place


def _messages(source: Any) -> Iterator[tuple[str, int]]:
    """The types of the whole messages from here on, and where each of them ends."""
    with suppress(pa.ArrowException, OSError, EOFError):
        while message := pa.ipc.read_message(source):
            yield message.type, source.tell()


def _read_columns(path: Path, size: int, arms: int, names: Sequence[str]) -> Iterator[Columns]:
    """The columns of these names, batch by batch; only those are decompressed."""
    last, stored = -1, [name for name in names if name != "seq"]
    for batch, _ in _read_batches(path, size, names):
        if not len(batch):
            continue
        columns = from_batch(batch, stored, arms, path)
        if "seq" in names:
            columns["seq"] = _seq(batch, last)
            last = int(columns["seq"][-1])
        yield columns


def _read_batches(path: Path, size: int, names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Every whole batch, with the columns that are needed for these names, and its metadata.

    What follows the last whole batch is torn; a batch that is all there and cannot be decoded is damaged.
    """
    with _map(path, size) as source:
        stored = _open(path, source).schema.names
        needed = {"step" if name == "seq" and "step" in stored else name for name in names}
        source.seek(0)
        stream = _open(path, source, [number for number, name in enumerate(stored) if name in needed])
        whole = 0
        while True:
            try:
                batch, metadata = stream.read_next_batch_with_custom_metadata()
            except StopIteration:
                return
            except (pa.ArrowException, OSError) as error:
                if whole < sum(message.type == "record batch" for message in whole_messages(path, source)):
                    raise _damaged(path, whole + 1, error) from error
                return
            whole += 1
            yield validated(batch, path, whole), metadata


def validated(batch: Any, path: Path, number: int) -> Any:
    """The batch, if its buffers are what they should be: Arrow trusts them, and would read beyond their ends.

    Optional columns that claim to have no value are passed over, since nothing reads them (`_has_values`). Of
    dictionaries and lists we compare what points to values with their number, since Arrow takes several times as long.
    """
    try:
        batch.validate()
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in COLUMN and COLUMN[name].optional and not _has_values(batch, COLUMN[name]):
                continue
            if isinstance(column, pa.DictionaryArray):
                _validate_dictionary(column)
            elif isinstance(column, pa.ListArray):
                _validate_lists(column)
            else:
                column.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise _damaged(path, number, error) from error
    return batch


def _validate_dictionary(column: Any) -> None:
    """Raise ValueError or what Arrow raises if an index points outside of the dictionary."""
    column.indices.validate(full=True)
    column.dictionary.validate(full=True)
    indices = column.indices.drop_null() if column.null_count else column.indices
    numbers, values = indices.to_numpy(), len(column.dictionary)
    largest = int(numbers.view(f"u{numbers.itemsize}").max(initial=0))  # as one without a sign, -1 is large, too
    if len(numbers) and largest >= values:
        raise ValueError(f"indices from {numbers.min()} to {numbers.max()} into {values} values")


def _validate_lists(column: Any) -> None:
    """Raise ValueError or what Arrow raises if lists do not lie one after the other; the ends were looked at before."""
    column.values.validate(full=True)
    ends = column.offsets.to_numpy()
    if not (ends[1:] >= ends[:-1]).all():
        raise ValueError("a list ends before it begins")


def _damaged(path: Path, number: int, error: Exception) -> LogError:
    return LogError(f"{path}: batch {number} is damaged: {error}")


def _map(path: Path, size: int) -> Any:
    """The file as it was when it had this size; the system loads the parts of it that are read."""
    return pa.BufferReader(pa.memory_map(str(path)).read_buffer(size))


def _open(path: Path, source: Any, included: list[int] | None = None) -> Any:
    try:
        return pa.ipc.open_stream(
            source, options=pa.ipc.IpcReadOptions(included_fields=included or [], use_threads=False)
        )
    except (pa.ArrowException, OSError) as error:
        raise LogError(f"{path}: the header is broken or torn: {error}; there is no log to read") from error


def _seq(batch: Any, last: int) -> Ints:
    """The numbers of a batch's events, which follow event `last`."""
    if "seq" in batch.schema.names:
        numbers: Ints = batch.column("seq").cast(pa.int64()).to_numpy()
        return numbers
    steps = batch.column("step").to_numpy()
    if (steps == 1).all():  # several times faster than adding them up
        return np.arange(last + 1, last + 1 + len(steps))
    return np.cumsum(steps, dtype=np.int64) + last


def _last_seq(batch: Any, last: int) -> int:
    """The number of the last of a batch's events, which follow event `last`."""
    if "seq" in batch.schema.names:
        return int(_seq(batch, last)[-1])
    return last + int(batch.column("step").to_numpy().sum(dtype=np.int64))


def make_schema(header: Header, number: Any) -> Any:
    """The schema of a log: the field of an event's number, whose type others share, and all other columns.

    Those that only some worlds have are left out for the others.
    """
    fields = [
        pa.field(column.name, _stored_type(column, number.type), nullable=column.nullable or column.optional)
        for column in COLUMNS[1:]
        if column.name not in WORLD_COLUMNS or column.name in header.world_columns
    ]
    return pa.schema([number, *fields], {HEADER: msgspec.json.encode(header)})


def _stored_type(column: Column, integers: Any) -> Any:
    if column.name == "kind":
        return pa.dictionary(pa.int8(), pa.string())
    if column.type is np.object_:
        return pa.string()
    if np.issubdtype(column.type, np.integer):
        return pa.int32() if column.short else integers
    single = pa.from_numpy_dtype(column.type)
    return pa.list_(single) if column.per_arm else single


def to_arrays(events: Events, schema: Any) -> list[Any]:
    """The columns of events after their number; OverflowError if one does not fit the schema."""
    for name in WORLD_COLUMNS:
        if getattr(events, name) is not None and name not in schema.names:
            raise OverflowError(f"they have a column {name}, of which the header says nothing")
    return [_to_array(events, COLUMN[field.name], field.type) for field in list(schema)[1:]]


def _to_array(events: Events, column: Column, stored: Any) -> Any:
    values = getattr(events, column.name)
    if values is None:
        return pa.nulls(len(events), stored)
    if column.name == "kind":
        return pa.DictionaryArray.from_arrays(pa.array(values), KINDS)
    if column.per_pull:
        return _at_pulls(values, events.kind == PULL, stored, per_arm=column.per_arm)
    if pa.types.is_integer(stored):
        return narrow(values, column.name, stored)
    return pa.array(values, stored if column.outside else None, from_pandas=column.nullable)


def narrow(numbers: Ints, name: str, stored: Any) -> Any:
    """Whole numbers in the type of their column; several times faster than Arrow's own checked cast."""
    limits = np.iinfo(stored.to_pandas_dtype())
    if numbers.dtype == limits.dtype:
        return pa.array(numbers)
    if len(numbers) and (numbers.min() < limits.min or numbers.max() > limits.max):
        raise OverflowError(f"{name} {numbers[np.argmax(np.abs(numbers))]} is beyond {limits.max}")
    return pa.array(numbers.astype(limits.dtype, copy=False))


def _at_pulls(rows: Any, pulls: Any, stored: Any, *, per_arm: bool) -> Any:
    """The rows of the pulls, each at the place of its event, and nulls elsewhere."""
    values = pa.array(rows.ravel(), stored.value_type if per_arm else stored)
    if per_arm:
        values = pa.ListArray.from_arrays(pa.array(np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]), values)
    return values.take(pa.array(np.cumsum(pulls) - 1, mask=~pulls))


def from_batch(batch: Any, names: Sequence[str], arms: int, path: Path) -> Columns:
    """The columns of these names; an error names the file."""
    columns: Columns = {}
    try:
        for column in (COLUMN[name] for name in names):
            if column.optional and not _has_values(batch, column):
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


def _has_values(batch: Any, column: Column) -> bool:
    """Whether the batch has the column, and a value in it; one from outside may be missing in a batch or two."""
    there = column.name in batch.schema.names
    return there and (column.outside or batch.column(column.name).null_count < len(batch))


def _to_numbers(stored: Any, column: Column) -> Any:
    """A column as it is in memory."""
    if stored.null_count and not column.nullable:
        raise ValueError(f"{column.name} is missing in {stored.null_count} events")
    if pa.types.is_signed_integer(stored.type) and column.type is np.int64:
        return stored.to_numpy().astype(np.int64)  # an array that may be written to, at once
    numbers = stored.to_numpy(zero_copy_only=False)
    if numbers.dtype != column.type:
        numbers = stored.cast(pa.from_numpy_dtype(column.type)).to_numpy()
    return numbers if numbers.flags.writeable else numbers.copy()


def _to_codes(stored: Any) -> Bytes:
    """Kinds as their numbers, whatever the order of the stored dictionary."""
    coded = stored if isinstance(stored, pa.DictionaryArray) else pc.dictionary_encode(stored.cast(pa.string()))
    if coded.null_count:
        raise ValueError(f"kind is missing in {coded.null_count} events")
    codes: Ints = coded.indices.to_numpy(zero_copy_only=False)
    if coded.dictionary.equals(KINDS):
        return codes.astype(np.int8, copy=False)
    numbers = pc.index_in(coded.dictionary, KINDS)
    if numbers.null_count:
        unknown = coded.dictionary.filter(numbers.is_null())[0].as_py()
        raise ValueError(f"unknown kind {unknown!r}; known: {', '.join(KIND_NAMES)}")
    known: Bytes = numbers.to_numpy().astype(np.int8)
    return known[codes]


def _from_pulls(stored: Any, kind: Bytes, column: Column, arms: int) -> Any:
    """A row for each pull."""
    name, pulls = column.name, np.flatnonzero(kind == PULL)
    rows = stored.take(pa.array(pulls))
    if rows.null_count or stored.null_count != len(stored) - len(rows):
        raise ValueError(f"{name} are given for some pulls and not for others, or for events that are no pulls")
    if not column.per_arm:
        return _to_numbers(rows, column)
    if not pc.all(pc.equal(pc.list_value_length(rows), arms)).as_py():
        raise ValueError(f"{name} must be one for each of the {arms} arms")
    numbers = rows.flatten().cast(pa.from_numpy_dtype(column.type))
    return numbers.to_numpy(zero_copy_only=False).reshape(-1, arms)
