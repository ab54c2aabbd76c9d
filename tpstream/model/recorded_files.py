"""Recorded data: columns of numbers from a CSV or Parquet file, with every value checked.

A recorded lag or time of a scenario is a finite number of at least 0, a recorded reward may be negative (a refund), and
tables that are imported as logs may have missing values, too (`read_table` and `to_numbers`). Rows count from 1,
without the line of titles.

The columns of a CSV file are separated by commas, semicolons, tabs or "|", as its first line shows. Where they are not
separated by commas, numbers may have decimal commas; a file with both points and commas in numbers is refused, since
1.234 and 1,234 would not mean the same.
"""

import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.memory import available_memory, size_text
from tpstream.model.whole_files import check_ordinary, read_whole

if TYPE_CHECKING:
    import pyarrow as pa  # slow to load, so it is imported only where a file is read


NEEDED, NEEDED_SIGNED = "a finite number >= 0", "a finite number"
"""What a value of a scenario's file must be, and a value that may be negative."""
SEPARATORS = (",", ";", "\t", "|")
NUMBER = r"(?i)^\s*[+-]?(\d+[.,]?\d*|[.,]\d+|\d+\.\d+,\d*|\d+,\d+\.\d*)(e[+-]?\d+)?\s*$|^\s*[+-]?(nan|inf(inity)?)\s*$"
"""A number with a point or a comma, with both or without; with both it is refused later, with the reason."""


PER_CELL = 40
"""Bytes of memory that a value of a Parquet file takes while it is checked and made a number or a text."""
PER_BYTE = 4
"""The same for a byte of a CSV file."""
SMALL_MEMORY = 2e9
MOST_TIMES = 1000
"""Beyond so many bytes of memory, a file may take at most so many times its size."""
BATCH = 100_000
"""Rows of a Parquet file that are decoded at a time."""


def check_memory(path: Path, where: str, needed: float) -> None:
    """Raise if a file takes more memory than there is, or much for its size.

    A few bytes of Parquet can claim any number of rows.
    """
    size = check_ordinary(path)
    most = min(available_memory(), max(SMALL_MEMORY, size * MOST_TIMES))
    if needed > most:
        raise ScenarioError(
            f"{where} has {size:,} bytes and takes some {size_text(needed)} of memory, where {size_text(most)} are the "
            f"most; give fewer rows or columns"
        )


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
    path: Path, columns: Sequence[str], key: str, labels: Sequence[str] = (), signed: Sequence[str] = ()
) -> tuple[Floats, list[list[str]]]:
    """The columns of numbers (rows, columns), and the columns of labels as text; other columns are not read.

    A file named .parquet is Parquet, any other one CSV. Errors begin with `key`, the key of the scenario that names
    the file. Numbers are at least 0, but for those of the columns `signed`. The numbers cannot be written to.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    where = f"{key}: {path.name}"
    try:
        separator = csv_separator(path)
        table = with_points(where, read_table(path, where, [*labels, *columns]), separator, columns)
        numbers = np.column_stack([_to_numbers(where, table[column], column, column in signed) for column in columns])
        numbers.flags.writeable = False
        return numbers, [table[label].cast(pa.string()).fill_null("").to_pylist() for label in labels]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise unreadable(path, where, error) from error


def read_titles(path: Path, key: str) -> list[str]:
    """The titles of all columns, without spaces around them; errors begin with `key`, as those of `read_recording`."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    from pyarrow import csv, parquet  # noqa: PLC0415 (slow to load)

    try:
        if path.suffix.lower() == ".parquet":
            return list(parquet.read_schema(path).names)
        _check_text(path)
        parsing = csv.ParseOptions(delimiter=separator_of(path), invalid_row_handler=lambda _: "skip")
        with csv.open_csv(path, parse_options=parsing) as reader:
            return [title.strip() for title in reader.schema.names]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise unreadable(path, f"{key}: {path.name}", error) from error


def unreadable(path: Path, where: str, error: Exception) -> ScenarioError:
    """Why a file cannot be read: text in another encoding, such as that of many spreadsheets, is named as such."""
    if path.suffix.lower() != ".parquet":
        try:
            content = read_whole(path)
            content.decode()
        except OSError as wrong:
            return ScenarioError(f"{where} cannot be read ({wrong.strerror}); give CSV or .parquet")
        except UnicodeDecodeError as wrong:
            line = content.count(b"\n", 0, wrong.start) + 1
            return ScenarioError(f"{where} is not UTF-8 text (line {line:,} of the file); save it as UTF-8")
    reason = " ".join(str(error).split()).rstrip(".")
    return ScenarioError(f"{where} cannot be read ({reason}); give CSV or .parquet")


def _check_text(path: Path) -> None:
    """Raise UnicodeDecodeError unless a file is UTF-8: for an uneven row that is not, pyarrow prints a traceback."""
    decoder = getincrementaldecoder("utf-8")()
    check_ordinary(path)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            decoder.decode(block)
        decoder.decode(b"", final=True)


def separator_of(path: Path) -> str:
    """What separates the columns of a CSV file: what its first line has most of; a semicolon if it has one column."""
    check_ordinary(path)
    with path.open("rb") as file:
        titles = re.sub(r'"[^"]*"', "", file.readline(1 << 20).decode(errors="replace"))
    most = max(SEPARATORS, key=titles.count)
    return most if most in titles else ";"


def csv_separator(path: Path) -> str | None:
    """What separates the columns of a CSV file; None for a Parquet file."""
    return None if path.suffix.lower() == ".parquet" else separator_of(path)


def with_points(where: str, table: "pa.Table", separator: str | None, columns: Sequence[str]) -> "pa.Table":
    """The table with decimal points instead of decimal commas in these columns of a CSV file."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

    texts = [column for column in columns if pa.types.is_string(table[column].type)]
    commas = _where(table, texts, ",")
    if not commas or separator is None:
        return table
    no_numbers = _where(table, texts, NUMBER, matching=False)
    if no_numbers:
        row, column, value = _first(table, no_numbers)
        raise _fault(where, row, column, f"{value!r} is not a number")
    if separator == ",":
        row, column, value = _first(table, commas)
        fault = (
            "has a comma, and so have the columns between them; write a decimal point, or semicolons between columns"
        )
        raise row_fault(where, row, f"{value!r} {fault}", column)
    points = _where(table, texts, r"\.")
    if points:
        raise _mixed_marks(where, table, commas, points)
    for column in commas:
        place = table.column_names.index(column)
        table = table.set_column(place, column, pc.replace_substring(table[column], ",", "."))
    return table


def _where(table: "pa.Table", columns: Sequence[str], pattern: str, *, matching: bool = True) -> dict[str, Any]:
    """The rows whose text matches a pattern, or those whose text does not, for each column that has any."""
    import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

    found = {}
    for column in columns:
        rows = pc.fill_null(pc.match_substring_regex(table[column], pattern), fill_value=not matching)
        found[column] = rows if matching else pc.invert(rows)
    return {column: rows for column, rows in found.items() if pc.any(rows).as_py()}


def _first(table: "pa.Table", found: dict[str, Any]) -> tuple[int, str, str]:
    """The number of the first of these rows, its column and the text that is there."""
    import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

    column, rows = next(iter(found.items()))
    row = pc.index(rows, value=True).as_py()
    return row + 1, column, table[column][row].as_py()


def _mixed_marks(where: str, table: "pa.Table", commas: dict[str, Any], points: dict[str, Any]) -> ScenarioError:
    """The error about two decimal marks in one file; it names a number with the rarer one."""
    import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

    with_comma, with_point = (sum(pc.sum(rows).as_py() for rows in found.values()) for found in (commas, points))
    if with_comma <= with_point:
        rare, fault = commas, f"has a comma, and other numbers have a point ({with_point:,} of them)"
    else:
        rare, fault = points, f"has a point, and other numbers have a comma ({with_comma:,} of them)"
    row, column, value = _first(table, rare)
    if {",", "."} <= set(value):
        fault = "has a comma and a point"
    remedy = "write all with one of them, and without thousands separators"
    return row_fault(where, row, f"{value!r} {fault}; {remedy}", column)


def read_table(
    path: Path,
    where: str,
    wanted: Sequence[str] | None = None,
    *,
    separator: str | None = None,
    encoding: str = "utf8",
) -> "pa.Table":
    """The wanted columns, or all, under their names without spaces around them; those of a CSV file as text.

    The separator of a CSV file is recognised if it is not named.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    from pyarrow import csv, parquet  # noqa: PLC0415 (slow to load)

    if path.suffix.lower() == ".parquet":
        titles_there = parquet.read_schema(path).names
        wanted = titles_there if wanted is None else wanted
        _check_titles(where, titles_there, wanted)
        with parquet.ParquetFile(path) as file:
            check_memory(path, where, file.metadata.num_rows * len(wanted) * PER_CELL)
            batches = []
            for batch in file.iter_batches(BATCH, columns=list(wanted)):
                batch.validate(full=True)  # Arrow trusts buffers, and would read beyond their ends
                batches.append(batch)
            return pa.Table.from_batches(batches).select(list(wanted)) if batches else file.read(list(wanted))
    check_memory(path, where, check_ordinary(path) * PER_BYTE)
    if encoding == "utf8":
        _check_text(path)
    uneven: list[csv.InvalidRow] = []

    def skip(row: csv.InvalidRow) -> str:
        uneven.append(row)
        return "skip"

    separator = separator or separator_of(path)
    parsing = csv.ParseOptions(delimiter=separator, invalid_row_handler=skip, newlines_in_values=True)
    with csv.open_csv(path, csv.ReadOptions(encoding=encoding), parsing) as reader:
        titles = {title.strip(): title for title in reader.schema.names}
        wanted = list(titles) if wanted is None else wanted
        _check_titles(where, [title.strip() for title in reader.schema.names], wanted)
    uneven.clear()
    # As text: a value that is not a number can then be named. Rows are numbered only if one thread reads them.
    types = {titles[title]: pa.string() for title in wanted}
    converting = csv.ConvertOptions(
        include_columns=list(types), column_types=types, strings_can_be_null=True, null_values=[""]
    )
    table = csv.read_csv(path, csv.ReadOptions(use_threads=False, encoding=encoding), parsing, converting)
    if uneven:
        row = uneven[0]
        values = f"{row.actual_columns} values but the first line has {row.expected_columns} titles"
        decimal = separator == "," and row.actual_columns > row.expected_columns
        remedy = "; if it has decimal commas, separate the columns by semicolons" if decimal else ""
        raise row_fault(where, row.number - 1, f"has {values}; correct it{remedy}")
    return table.rename_columns(list(wanted))


def _check_titles(where: str, titles: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise unless every wanted column is there once."""
    times = Counter(titles)
    for title in wanted:
        if times[title] == 0:
            near = did_you_mean(title, times.keys() - set(wanted))
            needed = listed_columns(wanted)
            if len(titles) == 1 < len(wanted):
                needed += (
                    f"; its first line has one title, {titles[0]!r}: write commas, semicolons or tabs between columns"
                )
            raise ScenarioError(f"{where} has no column {title!r}{near}; it needs {needed}")
        if times[title] > 1:
            raise ScenarioError(f"{where} has {times[title]} columns {title!r}; keep one")


def listed_columns(columns: Sequence[str]) -> str:
    """Titles of columns in words: all of them, or the ends of x1, x2, ..."""
    *first, last = columns
    if "x1" in first:
        return f"{', '.join(columns[: columns.index('x1')])} and x1 to {last}"
    return f"{', '.join(first)} and {last}" if first else last


def to_numbers(where: str, column: Any, title: str, needed: str = NEEDED) -> Floats:
    """The column as numbers, NaN where a value is missing; `needed` is what an error asks for."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)
    import pyarrow.compute as pc  # noqa: PLC0415 (slow to load)

    if pa.types.is_string(column.type):
        column = pc.utf8_trim_whitespace(column)
    try:
        # Not safe: an integer beyond 2^53 may be rounded.
        numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(column, start=1):
            try:
                value.cast(pa.float64())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise _fault(where, row, title, f"{value.as_py()!r} is not a number", needed) from None
        raise
    return numbers


def _to_numbers(where: str, column: Any, title: str, signed: bool) -> Floats:  # noqa: FBT001 (one caller)
    """The column as finite numbers, of at least 0 unless they may be negative."""
    needed = NEEDED_SIGNED if signed else NEEDED
    numbers = to_numbers(where, column, title, needed)
    good = np.isfinite(numbers) & (signed | (numbers >= 0))
    if not good.all():
        row = int(np.argmin(good))
        value = float(numbers[row])
        fault = (
            "the value is missing" if np.isnan(value) else f"{value} is {'infinite' if np.isinf(value) else 'negative'}"
        )
        raise _fault(where, row + 1, title, fault, needed)
    return numbers


def _fault(where: str, row: int, title: str, fault: str, needed: str = NEEDED) -> ScenarioError:
    return row_fault(where, row, f"{fault}; give {needed}", title)


def row_fault(where: str, row: int, fault: str, column: str | None = None) -> ScenarioError:
    """The error about a row of a file, which counts from 1; it says so where the file has a line of titles."""
    place = f"row {row:,}" if column is None else f"row {row:,}, column {column}"
    titles = "" if where.lower().endswith(".parquet") else " (row 1 is the line below the titles)"
    return ScenarioError(f"{where} {place}: {fault}{titles}")
