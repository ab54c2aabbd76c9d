"""Tables as columns of decisions and payments, whatever their layout: two tables, one long table or one wide table."""

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tpstream.log.imports.column_map import ColumnMap, ImportOptions
from tpstream.log.imports.times import Times, read_times
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import DataError, did_you_mean
from tpstream.model.recorded_files import (
    SEPARATORS,
    csv_separator,
    read_table,
    row_fault,
    to_numbers,
    unreadable,
    with_points,
)
from tpstream.model.whole_files import check_ordinary

if TYPE_CHECKING:
    import pandas as pd

Source = Union[str, Path, "pa.Table", "pd.DataFrame"]
"""A table: a CSV or Parquet file, or one in memory."""
FALLBACK = "cp1252"
"""The encoding of text that is not UTF-8: that of most spreadsheets."""
WRITTEN = {
    ",": r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d*)?([eE][+-]?\d+)?$",
    ".": r"^[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?([eE][+-]?\d+)?$",
}
"""How numbers are written with each decimal mark, the other mark between thousands."""
WHOLE = r"^[+-]?\d+\.0+$"
"""How programs write whole numbers of a column in which some are missing."""
FIRST_ROWS = 1_000


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table in memory and what is needed to read numbers from it."""

    table: "pa.Table"
    where: str
    """Its name for errors."""
    separator: str | None
    """Between the columns of a CSV file; None for other tables."""
    encoding: str | None
    decimal: str | None

    def column(self, title: str) -> Any:
        """A column by its title."""
        titles = self.table.column_names
        if title not in titles:
            shown = ", ".join(titles)
            raise DataError(f"{self.where}: there is no column {title!r}{did_you_mean(title, titles)}; it has {shown}")
        return self.table[title]

    def texts(self, title: str) -> Any:
        """A column as text without spaces around it; null where nothing is there. Whole numbers have no point."""
        column = self.column(title).combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_floating(column.type):
            whole = pc.all(pc.equal(column, pc.round(column))).as_py()
            column = column.cast(pa.int64()) if whole else column
        text = pc.utf8_trim_whitespace(column.cast(pa.string()))
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        first = text.slice(0, FIRST_ROWS)  # most columns are known by these
        if all(pc.all(pc.match_substring_regex(some, WHOLE)).as_py() for some in (first, text)):
            text = pc.replace_substring_regex(text, r"\.0+$", "")
        return text

    def numbers(self, title: str, needed: str) -> Floats:
        """A column as numbers; NaN where a value is missing."""
        column = self.column(title)
        if pa.types.is_string(column.type):
            trimmed = pc.utf8_trim_whitespace(column)
            column = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
            mark = self.decimal or decimal_mark(column)
            if mark is not None:
                column = with_plain_points(self.where, column, title, mark)
            else:
                column = with_points(self.where, pa.table({title: column}), self.separator, [title])[title]
        numbers = to_numbers(self.where, column, title, needed)
        wrong = np.isinf(numbers)
        if wrong.any():
            row = int(np.argmax(wrong)) + 1
            raise row_fault(self.where, row, f"{numbers[row - 1]} is not finite; give {needed}", title)
        return numbers

    def codes(self) -> Ints:
        """Every column as numbers that are equal where values are, of shape (rows, columns)."""
        found = [
            pc.dictionary_encode(self.table[title].combine_chunks(), null_encoding="encode").indices
            for title in self.table.column_names
        ]
        return np.column_stack([one.to_numpy(zero_copy_only=False) for one in found])


@dataclass(frozen=True, eq=False)
class Decisions:
    """The rows about decisions."""

    source: OpenTable
    ids: Any
    """Text; null: missing."""
    arms: Any
    times: Times
    probabilities: Floats | None
    rows: Ints | None = None
    """The rows of the table that these are; None: all of them."""


@dataclass(frozen=True, eq=False)
class Payments:
    """The rows about payments; the age is known instead of the time where `ages` is given."""

    source: OpenTable
    ids: Any
    """The ids of their decisions."""
    amounts: Floats
    times: Times | None
    ages: Floats | None
    """Ages in units of time."""
    unique: Any | None
    periods: int = 0
    """The number of parts that the table has, where ages are given."""
    is_wide: bool = False
    """Whether these are cells of a wide table, none of which can be there twice."""


def open_table(source: Source, name: str, options: ImportOptions) -> OpenTable:
    """Read a table; `name` is what errors call one that is in memory."""
    if isinstance(source, str | Path):
        return _open_file(Path(source), options)
    table = source if isinstance(source, pa.Table) else _from_pandas(source, name)
    return _not_empty(OpenTable(table, name, None, None, options.decimal))


def _from_pandas(source: Any, name: str) -> "pa.Table":
    try:
        return pa.Table.from_pandas(source, preserve_index=False)
    except (pa.ArrowException, AttributeError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{name}: give a path, a pandas DataFrame or a pyarrow Table ({reason})") from error


def _open_file(path: Path, options: ImportOptions) -> OpenTable:
    where = str(path)
    if not path.is_file():
        raise DataError(f"{where}: {'it is no ordinary file' if path.exists() else 'there is no such file'}")
    if not path.stat().st_size:
        raise DataError(f"{where}: the file is empty; it needs a line of titles and rows")
    if options.separator is not None and options.separator not in SEPARATORS and len(options.separator) != 1:
        raise DataError(f"separator: must be one character, got {options.separator!r}")
    encoding = options.encoding or _encoding_of(path)
    try:
        separator = options.separator or csv_separator(path)
        table = read_table(path, where, separator=separator, encoding=encoding or "utf8")
    except LookupError as error:
        raise DataError(f"encoding: {encoding!r} is not known; write e.g. utf-8 or cp1252") from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise unreadable(path, where, error) from error
    return _not_empty(OpenTable(table, where, separator, encoding, options.decimal))


def _encoding_of(path: Path) -> str | None:
    """The encoding of a CSV file by its first bytes, or by whether it is UTF-8; None for Parquet."""
    if path.suffix.lower() == ".parquet":
        return None
    check_ordinary(path)
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        start = file.read(2)
        if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        try:
            decoder.decode(start)
            while chunk := file.read(1 << 22):
                decoder.decode(chunk)
        except UnicodeDecodeError:
            return FALLBACK
    return "utf8"


def _not_empty(table: OpenTable) -> OpenTable:
    if not table.table.num_rows:
        raise DataError(f"{table.where}: has no rows; there is nothing to import")
    return table


def read_rows(decisions: OpenTable, payments: OpenTable | None, columns: ColumnMap) -> tuple[Decisions, Payments]:
    """The rows of both kinds, as the map says."""
    if (payments is None) != (columns.layout != "two"):
        needed = "two tables" if columns.layout == "two" else "one table"
        raise DataError(f"layout: {columns.layout!r} needs {needed}; give {needed}, or another layout in the map")
    if columns.layout == "wide":
        return _read_wide(decisions, columns)
    if payments is None:
        return _read_long(decisions, columns)
    names = columns.payments
    if names.decision is None or names.time is None or names.amount is None:
        missing = next(key for key in ("decision", "time", "amount") if getattr(names, key) is None)
        raise DataError(f"map: payments.{missing} is missing; name the column of {payments.where}")
    if columns.decisions.id is None:
        raise DataError(f"map: decisions.id is missing; name the column of {decisions.where}")
    found = Payments(
        payments,
        payments.texts(names.decision),
        payments.numbers(names.amount, "an amount"),
        read_times(payments.where, payments.column(names.time), names.time, columns.options.time_format),
        None,
        None if names.id is None else payments.texts(names.id),
    )
    return _read_decisions(decisions, columns), found


def _read_decisions(table: OpenTable, columns: ColumnMap) -> Decisions:
    names = columns.decisions
    rows = table.table.num_rows
    ids = pa.array(np.arange(rows).astype(str)) if names.id is None else table.texts(names.id)
    if names.time is None:
        times = Times("number", np.arange(1.0, rows + 1), np.zeros(rows, dtype=np.bool_))
    else:
        times = read_times(table.where, table.column(names.time), names.time, columns.options.time_format)
    return Decisions(table, ids, table.texts(names.arm), times, _read_probabilities(table, names.probability))


def _read_probabilities(table: OpenTable, title: str | None) -> Floats | None:
    if title is None:
        return None
    numbers = table.numbers(title, "a probability above 0 and up to 1")
    wrong = (numbers <= 0) | (numbers > 1)
    if wrong.any():
        row = int(np.argmax(wrong)) + 1
        fault = f"{numbers[row - 1]:g} is no probability with which something was chosen"
        raise row_fault(table.where, row, f"{fault}; give one above 0 and up to 1", title)
    return numbers


def _read_wide(table: OpenTable, columns: ColumnMap) -> tuple[Decisions, Payments]:
    """A row is a decision, and each of its columns x1, x2, ... a part; an empty one paid nothing."""
    titles = columns.payments.columns
    if not titles:
        raise DataError(f"map: payments.columns is missing; name the columns of {table.where} with what parts paid")
    amounts = np.column_stack([table.numbers(title, "an amount") for title in titles])
    row, part = np.nonzero(np.nan_to_num(amounts))
    decisions = _read_decisions(table, columns)
    ids = decisions.ids.take(pa.array(row))
    paid, ages = amounts[row, part], part.astype(np.float64)
    return decisions, Payments(table, ids, paid, None, ages, None, len(titles), is_wide=True)


def _read_long(table: OpenTable, columns: ColumnMap) -> tuple[Decisions, Payments]:
    """A row is a payment, or a visit, and repeats what is known of its decision; one without an amount paid nothing.

    A decision without a time of its own was made at the time of its first row.
    """
    names = columns.payments
    if columns.decisions.id is None or names.amount is None or (names.time is None) == (names.part is None):
        raise DataError("map: a long table needs decisions.id, payments.amount, and either payments.time or part")
    _check_parameters(table)
    ids = table.texts(columns.decisions.id)
    amounts = table.numbers(names.amount, "an amount")
    times, ages = None, None
    if names.part is not None:
        ages = table.numbers(names.part, "a whole number from 1 on") - 1
        wrong = (ages < 0) | (ages != np.floor(ages))
        if wrong.any():
            row = int(np.argmax(wrong)) + 1
            raise row_fault(table.where, row, f"part {ages[row - 1] + 1:g} is not a whole number from 1 on", names.part)
    else:
        times = read_times(table.where, table.column(str(names.time)), str(names.time), columns.options.time_format)
    made = _read_decisions(table, columns)
    first, decision = first_rows(ids)
    _check_arms(table, columns.decisions.arm, made.arms, ids, first[decision])
    if columns.decisions.time is not None:
        decided = made.times.taken(first)
    elif times is not None:
        decided = _earliest(times, decision, len(first))
    else:
        decided = Times("number", np.arange(1.0, len(first) + 1), np.zeros(len(first), dtype=np.bool_))
    chances = None if made.probabilities is None else made.probabilities[first]
    rows = pa.array(first)
    unique = None if names.id is None else table.texts(names.id)
    decisions = Decisions(table, ids.take(rows), made.arms.take(rows), decided, chances, first)
    periods = 0 if ages is None else int(np.nanmax(ages, initial=0.0)) + 1
    return decisions, Payments(table, ids, amounts, times, ages, unique, periods)


def _check_parameters(table: OpenTable) -> None:
    """Refuse a BDS table of several parameters: their values would be added up."""
    title = next((title for title in table.table.column_names if title.upper() == "PARAMCD"), None)
    if title is None:
        return
    found = [one for one in table.texts(title).unique().to_pylist() if one is not None]
    if len(found) > 1:
        raise DataError(
            f"{table.where}: {title!r} has {len(found)} parameters ({', '.join(sorted(found)[:4])}, ...), whose "
            f"values would be added up; keep those of one, as visits[visits.{title} == {min(found)!r}] does in pandas"
        )


def decision_rows(decisions: Any, payments: Any) -> Ints:
    """For every payment the first row of the decision with its id; -1 where there is none."""
    found = pc.index_in(payments, value_set=decisions, skip_nulls=True)
    rows: Ints = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return rows


def first_rows(texts: Any) -> tuple[Ints, Ints]:
    """The first row of every different text, and for each row the number of its text, in this order."""
    codes = pc.dictionary_encode(texts, null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    return np.unique(codes, return_index=True)[1], codes.astype(np.int64)


def _check_arms(table: OpenTable, title: str, arms: Any, ids: Any, first: Ints) -> None:
    """Refuse a decision that has another arm in a later row."""
    same = pc.fill_null(pc.equal(arms, arms.take(pa.array(first))), fill_value=True)
    if not pc.all(same).as_py():
        row = pc.index(same, value=False).as_py()
        fault = f"{ids[row].as_py()!r} has arm {arms[row].as_py()!r} here and another one in an earlier row"
        raise row_fault(table.where, row + 1, f"{fault}; a decision has one arm", title)


def _earliest(times: Times, decision: Ints, count: int) -> Times:
    """The earliest time of the rows of every decision."""
    largest = np.inf if times.kind == "number" else np.iinfo(np.int64).max
    earliest = np.full(count, largest, dtype=times.moments.dtype)
    there = ~times.missing
    np.minimum.at(earliest, decision[there], times.moments[there])
    missing = earliest == largest
    return Times(times.kind, np.where(missing, 0, earliest), missing)


def decimal_mark(column: Any) -> str | None:
    """The decimal mark of numbers in text, if some have marks between thousands, too, as 1.234,50; else None."""
    if not pc.any(pc.match_substring_regex(column, r"\..*,|,.*\.")).as_py():
        return None
    fitting = [mark for mark, form in WRITTEN.items() if pc.all(pc.match_substring_regex(column, form)).as_py()]
    return fitting[0] if len(fitting) == 1 else None


def with_plain_points(where: str, column: Any, title: str, mark: str) -> Any:
    """Text with this decimal mark as text with a point; the other mark may only stand between thousands."""
    other = "." if mark == "," else ","
    wrong = pc.and_(pc.match_substring(column, other), pc.invert(pc.match_substring_regex(column, WRITTEN[mark])))
    if pc.any(wrong).as_py():
        row = pc.index(pc.fill_null(wrong, fill_value=False), value=True).as_py()
        fault = f"{column[row].as_py()!r} has a {other!r} that is not between thousands; the decimal mark is {mark!r}"
        raise row_fault(where, row + 1, f"{fault}; correct it, or name the other mark with --decimal", title)
    return pc.replace_substring(pc.replace_substring(column, other, ""), mark, ".")
