"""Recorded data: columns of numbers from a CSV or Parquet file, with every value checked.

A recorded reward, lag or time is a finite number of at least 0. Rows count from 1, without the line of titles.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa  # slow to load, so it is imported only where a file is read


@dataclass(frozen=True, eq=False)
class Recording:
    """The rows of a file: their numbers (rows, columns) and, if a column of labels was asked for, those."""

    numbers: Floats
    labels: Sequence[str] = ()
    """The different labels, in the order in which they first occur."""
    label: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The label of each row, as its position in `labels`."""


def file_version(path: Path, key: str) -> tuple[int, int]:
    """The time of the last change and the size of a file: what was read of it is valid as long as both are the same."""
    if not path.is_file():
        raise ScenarioError(f"{key}: there is no file {path}; give a path relative to the scenario")
    about = path.stat()
    return about.st_mtime_ns, about.st_size


def read_column(path: Path, column: str) -> Floats:
    """One column of numbers; a file that did not change is read once."""
    return _read_column(path, file_version(path, "file"), column)


@lru_cache(maxsize=8)
def _read_column(path: Path, _version: tuple[int, int], column: str) -> Floats:
    numbers = read_recording(path, [column], "file").numbers[:, 0]
    if not len(numbers):
        raise ScenarioError(f"file: {path.name} has no rows; add some")
    return numbers


def read_recording(path: Path, columns: Sequence[str], key: str, label: str | None = None) -> Recording:
    """The columns of numbers and, if it is given, the column of labels of a file; other columns are not read.

    A file named .parquet is Parquet, any other one CSV. Errors begin with `key`, the key of the scenario that names
    the file. The arrays cannot be written to.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    where = f"{key}: {path.name}"
    try:
        table = _read_table(path, where, columns if label is None else [label, *columns], label)
        numbers = np.column_stack([_to_numbers(where, table[column], column) for column in columns])
        numbers.flags.writeable = False
        if label is None:
            return Recording(numbers)
        texts = table[label].combine_chunks().cast(pa.string()).fill_null("").dictionary_encode()
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ScenarioError(f"{where} cannot be read ({reason}); give CSV or .parquet") from error
    return Recording(numbers, texts.dictionary.to_pylist(), texts.indices.to_numpy().astype(np.int64))


def _read_table(path: Path, where: str, wanted: Sequence[str], label: str | None) -> "pa.Table":
    """The wanted columns, under their names without spaces around them."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    from pyarrow import csv, parquet  # noqa: PLC0415 (slow to load)

    if path.suffix.lower() == ".parquet":
        _check_titles(where, parquet.read_schema(path).names, wanted)
        with parquet.ParquetFile(path) as file:
            return file.read(wanted)
    uneven: list[csv.InvalidRow] = []

    def skip(row: csv.InvalidRow) -> str:
        uneven.append(row)
        return "skip"

    parsing = csv.ParseOptions(invalid_row_handler=skip)
    with csv.open_csv(path, parse_options=parsing) as reader:
        titles = {title.strip(): title for title in reader.schema.names}
        _check_titles(where, [title.strip() for title in reader.schema.names], wanted)
    uneven.clear()

    def read(numbers: "pa.DataType") -> "pa.Table":
        types = {titles[name]: pa.string() if name == label else numbers for name in wanted}
        converting = csv.ConvertOptions(include_columns=list(types), column_types=types)
        # Rows are numbered only by one thread.
        reading = csv.ReadOptions(use_threads=False)
        return csv.read_csv(path, reading, parsing, converting).rename_columns(list(wanted))

    try:
        table = read(pa.float64())
    except pa.ArrowInvalid:
        # Some value is not a number: as text it can be found and named.
        table = read(pa.string())
    if uneven:
        row = uneven[0]
        values = f"{row.actual_columns} values but the first line has {row.expected_columns} titles"
        raise ScenarioError(f"{where} row {row.number - 1}: has {values}; correct it")
    return table


def _check_titles(where: str, titles: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise unless every wanted column is there once."""
    times = Counter(titles)
    for title in wanted:
        if times[title] == 0:
            near = did_you_mean(title, times.keys() - set(wanted))
            needed = " and ".join(wanted) if len(wanted) < 3 else f"{wanted[0]} and {wanted[1]} to {wanted[-1]}"  # noqa: PLR2004
            raise ScenarioError(f"{where} has no column {title!r}{near}; it needs {needed}")
        if times[title] > 1:
            raise ScenarioError(f"{where} has {times[title]} columns {title!r}; keep one")


def _to_numbers(where: str, column: Any, title: str) -> Floats:
    """The column as finite numbers of at least 0."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    try:
        # Not safe: an integer beyond 2^53 may be rounded.
        numbers = column.cast(pa.float64(), safe=False).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        numbers = np.array([_to_number(where, row, title, value) for row, value in enumerate(column.to_pylist(), 1)])
    good = (numbers >= 0) & (numbers < np.inf)  # NaN fails every comparison
    if not good.all():
        row = int(np.argmin(good))
        value = float(numbers[row])
        fault = "the value is missing" if np.isnan(value) else f"{value} is {'negative' if value < 0 else 'infinite'}"
        raise _fault(where, row + 1, title, fault)
    return np.asarray(numbers, dtype=np.float64)


def _to_number(where: str, row: int, title: str, value: object) -> float:
    """The number of a value that may be text; NaN if it is missing."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise _fault(where, row, title, f"{value!r} is not a number") from None


def _fault(where: str, row: int, title: str, fault: str) -> ScenarioError:
    return ScenarioError(f"{where} row {row}, column {title}: {fault}; give a finite number >= 0")
