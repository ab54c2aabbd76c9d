"""Changes of files as Hypothesis strategies: of what a file says in its format, and of its bytes."""

import csv
import io
import json
import sqlite3
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

Changed = st.SearchStrategy[bytes]
Donors = Mapping[str, Sequence[Any]]
"""Values by the keys under which they stand in other files."""

WORDS = [
    "", " ", "a" * 3000, "☃", "\u202e", "\x1b[31m", "[/red]", "[bold]x", "$x_{$", "=cmd", "../x", "/dev/zero", "a\nb",
    "\ud800", "nan", "2024-02-30", "9999-12-31", "0001-01-01", "24:00", "1e400", "-1", "<script>", "%n", "none", "all",
    "\x00", "a,b", "{", "12d", "-1w", "0h",
]  # fmt: skip
WHOLE = [0, 1, -1, 2, 3, 7, 100, 255, 2**15, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30]
REAL = [0.0, -0.0, 0.5, 1.5, -1.0, 1e-300, 5e-324, 1e9, 1e15, 1e300, 1.7e308, float("nan"), float("inf"), float("-inf")]


def _nested(depth: int) -> Any:
    return [] if not depth else [_nested(depth - 1)]


hostile_words = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
hostile_numbers = st.sampled_from(WHOLE) | st.sampled_from(REAL) | st.integers(-9, 99) | st.floats(-9, 99)
hostile = (
    hostile_numbers
    | hostile_numbers
    | hostile_words
    | st.sampled_from([True, False, None, [], {}, [[]], [None], [0], ["a", 1], {"kind": "none"}, _nested(60)])
)
"""Values that no one expects."""


@st.composite
def changed_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Some bytes are changed, cut out, repeated, exchanged or added."""
    for _ in range(draw(st.integers(1, 3))):
        size = len(data)
        first = draw(st.integers(0, max(size - 1, 0)))
        last = min(size, first + draw(st.sampled_from([1, 1, 1, 2, 4, 8, 64, 1000, size])))
        way = draw(st.sampled_from(["change", "change", "put", "cut", "end", "repeat", "add"]))
        if way == "change" and size:
            data = data[:first] + bytes([data[first] ^ draw(st.integers(1, 255))]) + data[first + 1 :]
        elif way == "put":
            number = draw(st.sampled_from([0, 1, 2**31 - 1, 2**32 - 1, 2**62, 2**64 - 1]))
            data = data[:first] + number.to_bytes(8, "little")[: draw(st.sampled_from([1, 2, 4, 8]))] + data[last:]
        elif way == "cut":
            data = data[:first] + data[last:]
        elif way == "end":
            data = data[:first]
        elif way == "repeat":
            data = data[:last] + data[first:last] * draw(st.integers(1, 3)) + data[last:]
        else:
            data = data[:first] + draw(st.binary(min_size=1, max_size=9)) + data[first:]
    return data


def places_in(tree: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value of a tree of tables and lists."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree[:50]) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*place, key)
        yield from places_in(value, (*place, key))


def donors_of(trees: Sequence[Any]) -> dict[str, list[Any]]:
    """All values of some trees, by their keys."""
    found: dict[str, list[Any]] = {}
    for tree in trees:
        for place in places_in(tree):
            value = tree
            for key in place:
                value = value[key]
            found.setdefault(str(place[-1]), []).append(value)
    return found


@st.composite
def changed_tree(draw: st.DrawFn, tree: Any, donors: Donors, counts: Sequence[int] = (1, 1, 1, 2, 3)) -> Any:
    """A tree with some other values, keys that are gone, renamed or added, and values of other trees."""
    tree = deepcopy(tree)
    for _ in range(draw(st.sampled_from(counts))):
        places = list(places_in(tree))
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        inside = tree
        for key in way:
            inside = inside[key]
        old = inside[last]
        kind = draw(st.sampled_from(["value", "value", "near", "near", "other", "other", "add", "delete", "repeat"]))
        if kind == "value":
            inside[last] = deepcopy(draw(hostile))  # else a later change would change what is drawn
        elif kind == "near":
            inside[last] = deepcopy(draw(_near(old)))
        elif kind == "other" and str(last) in donors:
            inside[last] = deepcopy(draw(st.sampled_from(donors[str(last)])))
        elif kind == "add" and isinstance(inside, dict) and donors:
            key = draw(st.sampled_from(sorted(donors)))
            inside[key] = deepcopy(draw(st.sampled_from(donors[key])))
        elif kind == "delete":
            del inside[last]
        elif kind == "repeat" and isinstance(inside, list):
            inside[last:last] = [deepcopy(old)] * draw(st.sampled_from([1, 2, 40]))
    return tree


def _near(old: Any) -> st.SearchStrategy[Any]:
    """Values that are like the old one."""
    if isinstance(old, bool) or old is None:
        return st.sampled_from([True, False, None])
    if isinstance(old, int):
        return st.sampled_from([old + 1, old - 1, -old, old * 10, old // 2, float(old), old + 0.5, str(old)])
    if isinstance(old, float):
        return st.sampled_from([-old, old * 10, old / 10, old + 1, int(old) if abs(old) < 2**60 else 0, old + 1e-9])
    if isinstance(old, str):
        return st.sampled_from([old + "x", old[1:], old.upper(), old + " ", f"{old}{old}", [old]])
    if isinstance(old, list):
        return st.sampled_from([old[1:], old + old, old[::-1], old[:1], {"0": old}])
    return st.sampled_from([{}, [old], list(old), {**old, "kind": "none"}])


def toml_text(tree: Mapping[str, Any]) -> str:
    """A tree as TOML, with tables inside of values written in one line."""
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in tree.items())


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) or value is None:
        return json.dumps(value or "")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(str(key))} = {_toml(inner)}' for key, inner in value.items())}}}"
    return repr(value) if isinstance(value, int | float) else str(value)


def changed_toml(data: bytes, donors: Donors) -> Changed:
    """TOML with other values."""
    tree = tomllib.loads(data.decode())
    return changed_tree(tree, donors).map(lambda found: toml_text(found).encode(errors="replace"))


def changed_json(data: bytes, donors: Donors) -> Changed:
    """JSON with other values."""
    return changed_tree(json.loads(data), donors).map(lambda found: json.dumps(found).encode())


@st.composite
def changed_lines(draw: st.DrawFn, data: bytes, donors: Donors) -> bytes:
    """JSON lines: other values in header and events, lines that are gone, exchanged or repeated; often a new end."""
    lines = data.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        if not lines:
            break
        place = draw(st.just(0) | st.integers(0, len(lines) - 1))
        way = draw(st.sampled_from(["tree", "tree", "tree", "tree", "delete", "repeat", "exchange", "bytes"]))
        if way == "tree":
            with suppress(ValueError):
                lines[place] = json.dumps(draw(changed_tree(json.loads(lines[place]), donors))).encode()
        elif way == "delete":
            del lines[place]
        elif way == "repeat":
            lines[place:place] = [lines[place]]
        elif way == "exchange":
            other = draw(st.integers(0, len(lines) - 1))
            lines[place], lines[other] = lines[other], lines[place]
        else:
            lines[place] = draw(changed_bytes(lines[place]))
    end = draw(st.sampled_from(["none", "count", "kept"]))
    if end != "kept" and lines and lines[-1].startswith(b'{"end"'):
        lines[-1:] = [] if end == "none" else [f'{{"end": {len(lines) - 2}}}'.encode()]
    return b"\n".join(lines) + b"\n"


@st.composite
def changed_csv(draw: st.DrawFn, data: bytes, _: Donors) -> bytes:
    """A table as text: other cells, rows and columns that are gone or repeated, other separators."""
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    for _ in range(draw(st.integers(1, 3))):
        filled = [number for number, row in enumerate(rows) if row]
        if not filled:
            break
        row = draw(st.just(filled[0]) | st.sampled_from(filled))
        column = draw(st.integers(0, len(rows[row]) - 1))
        way = draw(st.sampled_from(["cell", "cell", "cell", "near", "column", "row", "repeat", "short", "cells"]))
        if way in {"cell", "cells"}:
            text = str(draw(hostile))
            for other in rows if way == "cells" else [rows[row]]:
                other[column : column + 1] = [text]
        elif way == "near":
            rows[row][column] = draw(st.sampled_from(["-{}", "{}0", "{}.5", "{},5", " {} ", "'{}'"])).format(
                rows[row][column]
            )
        elif way == "column":
            rows = [one[:column] + one[column + 1 :] for one in rows]
        elif way == "row":
            del rows[row]
        elif way == "repeat":
            rows[row:row] = [list(rows[row])] * draw(st.sampled_from([1, 30]))
        else:
            rows[row] = rows[row][:column]
    text = io.StringIO(newline="")
    separator = draw(st.sampled_from([",", ",", ",", ";", "\t", "|"]))
    csv.writer(text, delimiter=separator, lineterminator=draw(st.sampled_from(["\n", "\r\n"]))).writerows(rows)
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    return text.getvalue().encode(encoding, errors="replace")


@st.composite
def changed_table(draw: st.DrawFn, table: Any, donors: Donors) -> Any:
    """An Arrow table: columns that are gone, there twice, of another type or with other values; another header."""
    for _ in range(draw(st.integers(1, 2))):
        if not table.num_columns:
            break
        place = draw(st.integers(0, table.num_columns - 1))
        field, column = table.schema.field(place), table.column(place)
        way = draw(
            st.sampled_from(["value", "value", "value", "header", "header", "header", "drop", "twice", "type", "rows"])
        )
        if way == "value" and len(table):
            row, value = draw(st.integers(0, len(table) - 1)), draw(hostile)
            with suppress(pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
                other = pa.array([value] * draw(st.sampled_from([1, len(table) - row])), _plain(field.type))
                whole = [*column.slice(0, row).chunks, other.cast(field.type), *column.slice(row + len(other)).chunks]
                table = table.set_column(place, pa.field(field.name, field.type), pa.chunked_array(whole, field.type))
        elif way == "header" and table.schema.metadata:
            name = draw(st.sampled_from(sorted(table.schema.metadata)))
            with suppress(ValueError):
                header = json.dumps(draw(changed_tree(json.loads(table.schema.metadata[name]), donors)))
                table = table.replace_schema_metadata({**table.schema.metadata, name: header.encode()})
        elif way == "drop":
            table = table.remove_column(place)
        elif way == "twice":
            table = table.append_column(field, column)
        elif way == "type":
            type = draw(st.sampled_from([pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.int8(), pa.null()]))
            with suppress(pa.ArrowException):
                other = pa.nulls(len(table), type) if type == pa.null() else column.cast(_plain(field.type)).cast(type)
                table = table.set_column(place, pa.field(field.name, type), other)
        else:
            first = draw(st.integers(0, len(table)))
            table = draw(st.sampled_from([table.slice(first), table.slice(0, first), pa.concat_tables([table, table])]))
    return table


def _plain(type: Any) -> Any:
    return type.value_type if pa.types.is_dictionary(type) else type


@st.composite
def changed_parquet(draw: st.DrawFn, data: bytes, donors: Donors) -> bytes:
    """A Parquet file with another table; its end marker is gone, tells only a number, or is that of the old one."""
    table = draw(changed_table(pq.read_table(io.BytesIO(data)), donors))
    metadata = dict(table.schema.metadata or {})
    end = draw(st.sampled_from(["none", "count", "kept"]))
    if end != "kept":
        metadata.pop(b"tpstream.end", None)
    if end == "count":
        metadata[b"tpstream.end"] = str(len(table)).encode()
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), file)
    return file.getvalue()


@st.composite
def changed_arrow(draw: st.DrawFn, data: bytes, donors: Donors) -> bytes:
    """An Arrow stream with another table, without an end marker or with one that tells only a number."""
    table = draw(changed_table(pa.ipc.open_stream(data).read_all(), donors))
    file = io.BytesIO()
    compression = draw(st.sampled_from([None, "zstd", "lz4"]))
    with pa.ipc.new_stream(file, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        for batch in table.to_batches(max_chunksize=draw(st.sampled_from([7, 10_000]))):
            stream.write_batch(batch)
        if draw(st.booleans()):
            empty = table.schema.empty_table().combine_chunks().to_batches()
            for batch in empty or [pa.RecordBatch.from_pylist([], table.schema)]:
                stream.write_batch(batch, custom_metadata={b"tpstream.end": str(len(table)).encode()})
    written = file.getvalue()
    return draw(changed_bytes(written)) if draw(st.integers(0, 3)) == 0 else written


@st.composite
def changed_database(draw: st.DrawFn, data: bytes, _: Donors) -> bytes:
    """An SQLite database with other values, or without rows or tables."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "study.sqlite"
        place.write_bytes(data)
        with closing(sqlite3.connect(place)) as database:
            tables = sorted(name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
            table = draw(st.sampled_from(tables))
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            column = draw(st.sampled_from(columns))
            value = draw(hostile_numbers | hostile_words | st.binary(max_size=20) | st.none())
            which = draw(st.sampled_from(["", f" WHERE rowid = {draw(st.integers(1, 4))}"]))
            statement = draw(
                st.sampled_from(
                    [  # the names are those of our own tables
                        f"UPDATE OR REPLACE {table} SET {column} = ?{which}",  # noqa: S608
                        f"UPDATE OR REPLACE {table} SET {column} = ?{which}",  # noqa: S608
                        f"UPDATE OR REPLACE {table} SET {column} = zeroblob(length({column})){which}",  # noqa: S608
                        f"DELETE FROM {table}{which}",  # noqa: S608
                        f"DROP TABLE {table}",
                        f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
                        f"PRAGMA user_version = {draw(st.integers(-1, 9))}",
                    ]
                )
            )
            with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                database.execute(statement, (value,) if "?" in statement else ())
            database.commit()
        return place.read_bytes()


@st.composite
def changed_arrays(draw: st.DrawFn, data: bytes, donors: Donors) -> bytes:
    """A file of NumPy arrays of which one has another number, shape or type, is gone, or says something else."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    name = draw(st.sampled_from(sorted(arrays)))
    array, way = arrays[name], draw(st.sampled_from(["number", "number", "shape", "type", "gone", "json", "json"]))
    if way == "json":
        tree = draw(changed_tree(json.loads(arrays["meta"].tobytes()), donors))
        arrays["meta"] = np.frombuffer(json.dumps(tree).encode(), np.uint8)
    elif way == "gone":
        del arrays[name]
    elif way == "number" and array.size:
        array.reshape(-1)[draw(st.integers(0, array.size - 1))] = draw(st.integers(0, 127))
    elif way == "shape":
        arrays[name] = draw(st.sampled_from([array.reshape(-1)[:-1], np.atleast_1d(array)[..., np.newaxis]]))
    else:
        with np.errstate(invalid="ignore"):
            arrays[name] = array.astype(draw(st.sampled_from([np.int8, np.float32, np.str_])))
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    return changed.getvalue()


STRUCTURED: Mapping[str, Callable[[bytes, Donors], Changed]] = {
    ".toml": changed_toml,
    ".json": changed_json,
    ".jsonl": changed_lines,
    ".csv": changed_csv,
    ".parquet": changed_parquet,
    ".arrows": changed_arrow,
    ".sqlite": changed_database,
    ".npz": changed_arrays,
}


def tree_of(name: str, data: bytes) -> Any:
    """What a file of this name says as a tree, if its format has one; of a log, its header and first event."""
    suffix = Path(name).suffix
    if suffix == ".toml":
        return tomllib.loads(data.decode())
    if suffix == ".json":
        return json.loads(data)
    if suffix == ".jsonl":
        return {key: value for line in data.splitlines()[:2] for key, value in json.loads(line).items()}
    if suffix in {".parquet", ".arrows"}:
        schema = pa.ipc.open_stream(data).schema if suffix == ".arrows" else pq.read_schema(io.BytesIO(data))
        return json.loads((schema.metadata or {}).get(b"tpstream", b"{}"))
    return {}


def changed_file(name: str, data: bytes, donors: Donors) -> Changed:
    """A file that was changed in its format, or, one time in four, in its bytes."""
    structured = STRUCTURED[Path(name).suffix](data, donors)
    return st.integers(0, 3).flatmap(lambda way: changed_bytes(data) if way == 3 else structured)
