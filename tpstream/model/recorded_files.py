"""Recorded data: columns of numbers from a CSV or Parquet file, with every value checked.

A recorded reward, lag or time is a finite number of at least 0. Rows count from 1, without the line of titles.

The columns of a CSV file are separated by commas, semicolons or tabs, as its first line shows. Where they are not
separated by commas, numbers may have decimal commas; a file with both points and commas in numbers is refused, since
1.234 and 1,234 would not mean the same.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa  # slow to load, so it is imported only where a file is read


SEPARATORS = (",", ";", "\t")


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
    numbers: Floats = read_recording(path, [column], "file")[0][:, 0]
    if not len(numbers):
        raise ScenarioError(f"file: {path.name} has no rows; add some")
    return numbers


def read_recording(
    path: Path, columns: Sequence[str], key: str, labels: Sequence[str] = ()
) -> tuple[Floats, list[list[str]]]:
    """The columns of numbers (rows, columns), and the columns of labels as text; other columns are not read.

    A file named .parquet is Parquet, any other one CSV. Errors begin with `key`, the key of the scenario that names
    the file. The numbers cannot be written to.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    where = f"{key}: {path.name}"
    try:
        table = _with_points(where, _read_table(path, where, [*labels, *columns]), path, columns)
        numbers = np.column_stack([_to_numbers(where, table[column], column) for column in columns])
        numbers.flags.writeable = False
        return numbers, [table[label].cast(pa.string()).fill_null("").to_pylist() for label in labels]
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ScenarioError(f"{where} cannot be read ({reason}); give CSV or .parquet") from error


def read_titles(path: Path) -> list[str]:
    """The titles of all columns, without spaces around them; none if the file cannot be read."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    from pyarrow import csv, parquet  # noqa: PLC0415 (slow to load)

    try:
        if path.suffix.lower() == ".parquet":
            return list(parquet.read_schema(path).names)
        with csv.open_csv(path, parse_options=csv.ParseOptions(delimiter=separator_of(path))) as reader:
            return [title.strip() for title in reader.schema.names]
    except (OSError, ValueError, pa.ArrowException):
        return []


def separator_of(path: Path) -> str:
    """What separates the columns of a CSV file: what its first line has most of; a semicolon if it has one column."""
    with path.open("rb") as file:
        titles = re.sub(r'"[^"]*"', "", file.readline(1 << 20).decode(errors="replace"))
    most = max(SEPARATORS, key=titles.count)
    return most if most in titles else ";"


def _with_points(where: str, table: "pa.Table", path: Path, columns: Sequence[str]) -> "pa.Table":
    """The table with decimal points instead of decimal commas in these columns of a CSV file."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

    texts = [column for column in columns if pa.types.is_string(table[column].type)]
    commas, points = (
        {column: pc.fill_null(pc.match_substring(table[column], mark), fill_value=False) for column in texts}
        for mark in ",."
    )
    with_comma = [column for column in texts if pc.any(commas[column]).as_py()]
    if not with_comma or path.suffix.lower() == ".parquet":
        return table
    row = pc.index(commas[with_comma[0]], value=True).as_py() + 1
    value = f"{table[with_comma[0]][row - 1].as_py()!r} has a comma"
    if separator_of(path) == ",":
        fault = f"{value}, and so have the columns between them; write a decimal point, or semicolons between columns"
        raise ScenarioError(f"{where} row {row}, column {with_comma[0]}: {fault}")
    if any(pc.any(points[column]).as_py() for column in texts):
        fault = f"{value}, and other numbers have a point; write all with one of them, and without thousands separators"
        raise ScenarioError(f"{where} row {row}, column {with_comma[0]}: {fault}")
    for column in with_comma:
        place = table.column_names.index(column)
        table = table.set_column(place, column, pc.replace_substring(table[column], ",", "."))
    return table


def _read_table(path: Path, where: str, wanted: Sequence[str]) -> "pa.Table":
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

    separator = separator_of(path)
    parsing = csv.ParseOptions(delimiter=separator, invalid_row_handler=skip)
    with csv.open_csv(path, parse_options=parsing) as reader:
        titles = {title.strip(): title for title in reader.schema.names}
        _check_titles(where, [title.strip() for title in reader.schema.names], wanted)
    uneven.clear()
    # As text: a value that is not a number can then be named. Rows are numbered only if one thread reads them.
    types = {titles[title]: pa.string() for title in wanted}
    converting = csv.ConvertOptions(
        include_columns=list(types), column_types=types, strings_can_be_null=True, null_values=[""]
    )
    table = csv.read_csv(path, csv.ReadOptions(use_threads=False), parsing, converting)
    if uneven:
        row = uneven[0]
        values = f"{row.actual_columns} values but the first line has {row.expected_columns} titles"
        decimal = separator == "," and row.actual_columns > row.expected_columns
        remedy = "; if it has decimal commas, separate the columns by semicolons" if decimal else ""
        raise ScenarioError(f"{where} row {row.number - 1}: has {values}; correct it{remedy}")
    return table.rename_columns(list(wanted))


def _check_titles(where: str, titles: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise unless every wanted column is there once."""
    times = Counter(titles)
    for title in wanted:
        if times[title] == 0:
            near = did_you_mean(title, times.keys() - set(wanted))
            needed = " and ".join(wanted) if len(wanted) < 3 else f"{wanted[0]} and {wanted[1]} to {wanted[-1]}"  # noqa: PLR2004
            if len(titles) == 1 < len(wanted):
                needed += (
                    f"; its first line has one title, {titles[0]!r}: write commas, semicolons or tabs between columns"
                )
            raise ScenarioError(f"{where} has no column {title!r}{near}; it needs {needed}")
        if times[title] > 1:
            raise ScenarioError(f"{where} has {times[title]} columns {title!r}; keep one")


def _to_numbers(where: str, column: Any, title: str) -> Floats:
    """The column as finite numbers of at least 0."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

    if pa.types.is_string(column.type):
        column = pc.utf8_trim_whitespace(column)
    try:
        # Not safe: an integer beyond 2^53 may be rounded.
        numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(column, start=1):
            try:
                value.cast(pa.float64())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise _fault(where, row, title, f"{value.as_py()!r} is not a number") from None
        raise
    good = (numbers >= 0) & (numbers < np.inf)  # NaN fails every comparison
    if not good.all():
        row = int(np.argmin(good))
        value = float(numbers[row])
        fault = "the value is missing" if np.isnan(value) else f"{value} is {'negative' if value < 0 else 'infinite'}"
        raise _fault(where, row + 1, title, fault)
    return numbers


def _fault(where: str, row: int, title: str, fault: str) -> ScenarioError:
    return ScenarioError(f"{where} row {row}, column {title}: {fault}; give a finite number >= 0")
