"""Recordings: the file of a trace, read and checked value by value."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import ScenarioError, did_you_mean


@dataclass(frozen=True, eq=False)
class Recording:
    """The rows of a file: the label of each row's arm, as a place in `labels`, and the parts that it paid."""

    labels: Sequence[str]
    label: Ints
    parts: Floats


def read_recording(path: Path, span: int) -> Recording:
    """The recording in a Parquet file (named .parquet) or else a CSV file; other columns are not read."""
    if not path.is_file():
        raise ScenarioError(f"rewards.file: there is no file {path}; give a path relative to the scenario")
    wanted = [f"x{part}" for part in range(1, span + 1)]
    try:
        check_columns(path.name, column_names(path), ["arm", *wanted])
        table = read_columns(path, wanted)
        parts = np.column_stack([numbers(path.name, table[column], column) for column in wanted])
        arms = pc.fill_null(table["arm"].combine_chunks().cast(pa.string()), "").dictionary_encode()
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ScenarioError(f"rewards.file: {path.name} cannot be read ({reason}); give CSV or .parquet") from error
    check_parts(path.name, parts)
    return Recording(arms.dictionary.to_pylist(), arms.indices.to_numpy().astype(np.int64), parts)


def column_names(path: Path) -> list[str]:
    """The names of all columns of the file."""
    if is_parquet(path):
        return list(parquet.read_schema(path).names)
    with csv.open_csv(path) as reader:
        return list(reader.schema.names)


def is_parquet(path: Path) -> bool:
    """Whether the file's name says Parquet; all others are CSV."""
    return path.suffix.lower() == ".parquet"


def check_columns(name: str, present: Sequence[str], needed: Sequence[str]) -> None:
    """Raise unless every needed column is there once."""
    times = Counter(present)
    for column in needed:
        if times[column] == 0:
            near = did_you_mean(column, times.keys() - set(needed))
            raise ScenarioError(
                f"rewards.file: {name} has no column {column!r}{near}; it needs arm and {needed[1]} to {needed[-1]}"
            )
        if times[column] > 1:
            raise ScenarioError(f"rewards.file: {name} has {times[column]} columns {column!r}; keep one")


def read_columns(path: Path, wanted: Sequence[str]) -> Any:
    """The table of the arm column and the wanted columns."""
    if is_parquet(path):
        with parquet.ParquetFile(path) as file:
            return file.read(["arm", *wanted])
    try:
        return read_csv(path, wanted, pa.float64())
    except pa.ArrowInvalid:
        # Something is not a number, and the reader does not say in which row: as text it can be looked for.
        return read_csv(path, wanted, pa.string())


def read_csv(path: Path, wanted: Sequence[str], kind: Any) -> Any:
    """The table of a CSV file, with the wanted columns as that type."""
    types = {"arm": pa.string(), **dict.fromkeys(wanted, kind)}
    return csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=list(types), column_types=types))


def numbers(name: str, column: Any, title: str) -> Floats:
    """The column as numbers, NaN where there is nothing."""
    if pa.types.is_string(column.type):
        column = pc.utf8_trim_whitespace(column)
    try:
        return as_floats(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(column, start=1):
            try:
                as_floats(pa.array([value]))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise wrong(name, row, title, f"{value.as_py()!r} is not a number") from None
        raise


def as_floats(column: Any) -> Floats:
    """The column converted by Arrow."""
    # Not safe: an integer beyond 2^53 may be rounded.
    converted: Floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return converted


def check_parts(name: str, parts: Floats) -> None:
    """Raise at the first part that is missing, negative or infinite."""
    bad = ~((parts >= 0) & (parts < np.inf))
    if bad.any():
        row, part = (int(place) for place in np.argwhere(bad)[0])
        value = float(parts[row, part])
        fault = "the value is missing" if np.isnan(value) else f"{value} is {'negative' if value < 0 else 'infinite'}"
        raise wrong(name, row + 1, f"x{part + 1}", fault)


def wrong(name: str, row: int, column: str, fault: str) -> ScenarioError:
    """The error about one value; rows count from 1 without the header."""
    return ScenarioError(f"rewards.file: {name} row {row}, column {column}: {fault}; give a finite number >= 0")
