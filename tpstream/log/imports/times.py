"""Times in tables: dates, dates with a time of day, or numbers; as whole microseconds or as numbers.

A column whose times are all at midnight counts as dates: the day is known, the time of day is not. Times with a zone
are instants. A column without a zone is in the zone that is named, or its zone is not known and does not matter.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tpstream.model.arrays import Bools, Ints
from tpstream.model.errors import DataError, ScenarioError
from tpstream.model.recorded_files import row_fault, to_numbers
from tpstream.model.units import DAY, MICROSECONDS

LETTERS = {"s": "second", "min": "minute", "m": "minute", "h": "hour", "d": "day", "w": "week"}
ISO = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?)?\s*(Z|[+-]\d{2}(:?\d{2})?)?$"
ZONE = r"\d\s*(Z|[+-]\d{2}(:?\d{2})?)$"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
COMPACT = r"^(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
KNOWN = ("%d.%m.%Y", "%Y/%m/%d", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S")
"""Formats besides ISO's that can mean only one thing."""
SLASHES = ("%d/%m/%Y", "%m/%d/%Y")
"""Formats of which one is taken only if the other one cannot be meant."""
Kind = Literal["number", "date", "local", "instant"]
Moments = NDArray[Any]
"""Times of one column: numbers, or whole microseconds."""


@dataclass(frozen=True, eq=False)
class Times:
    """A column of times: numbers as they are, everything else in microseconds since 1970 (UTC, or local time)."""

    kind: Kind
    moments: Moments
    missing: Bools

    def taken(self, rows: Any) -> "Times":
        """The times of some rows."""
        return Times(self.kind, self.moments[rows], self.missing[rows])


def read_times(where: str, column: Any, title: str, form: str | None = None) -> Times:
    """The times of a column; `form` is a format as of strptime. Errors name the row."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(where, column, title)
    if pa.types.is_date(kind):
        return _moments(column.cast(pa.date32()).cast(pa.timestamp("us")), "date")
    if pa.types.is_timestamp(kind):
        found = column.cast(pa.timestamp("us", kind.tz), safe=False)
        return _moments(found, "local" if kind.tz is None else "instant")
    if pa.types.is_null(kind):
        return Times("number", np.full(len(column), np.nan), np.ones(len(column), dtype=np.bool_))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(f"{where}: column {title!r} is of type {kind}, which is no time; give dates or numbers")
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return _parse(where, pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text), title, form)


def _numbers(where: str, column: Any, title: str) -> Times:
    values = to_numbers(where, column, title, "a number, or a date such as 2024-01-31").copy()
    wrong = np.isinf(values)
    if wrong.any():
        raise row_fault(where, int(np.argmax(wrong)) + 1, f"the time {values[wrong][0]} is infinite", title)
    return Times("number", values, np.isnan(values))


def _moments(column: Any, kind: Kind) -> Times:
    missing: Bools = column.is_null().to_numpy(zero_copy_only=False)
    values: Ints = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    if kind == "local" and not (values[~missing] % DAY).any():
        kind = "date"
    return Times(kind, values, missing)


def _parse(where: str, text: Any, title: str, form: str | None) -> Times:
    """Times from text: numbers, ISO dates, or another format that all rows have."""
    if form is not None:
        return _by_format(where, text, title, form)
    if _all(text, COMPACT):
        return _by_format(where, text, title, "%Y%m%d")
    if _all(text, NUMBER):
        return _numbers(where, text, title)
    if _all(text, ISO):
        return _iso(where, text, title)
    for one in KNOWN:
        found = pc.strptime(text, one, "us", error_is_null=True)
        if found.null_count == text.null_count:
            return _moments(found, "local")
    possible = [
        (one, found)
        for one in [f"{date}{time}" for date in SLASHES for time in ("", " %H:%M", " %H:%M:%S")]
        if (found := pc.strptime(text, one, "us", error_is_null=True)).null_count == text.null_count
    ]
    if len(possible) == 1:
        return _moments(possible[0][1], "local")
    if possible:
        value = text.drop_null()[0].as_py()
        raise DataError(
            f"{where}: column {title!r}: {value!r} may be {' or '.join(one for one, _ in possible)}; name the format, "
            f"e.g. --time-format '{possible[0][0]}'"
        )
    matches = pc.fill_null(pc.match_substring_regex(text, ISO), fill_value=True)
    first = pc.index(matches, value=False).as_py()
    fault = f"{text[max(first, 0)].as_py()!r} is no time that can be read"
    raise row_fault(where, max(first, 0) + 1, f"{fault}; write 2024-01-31, 2024-01-31T13:45 or a number", title)


def _all(text: Any, pattern: str) -> bool:
    """Whether all values that are there match."""
    return bool(text.null_count < len(text) and pc.all(pc.match_substring_regex(text, pattern)).as_py())


def _by_format(where: str, text: Any, title: str, form: str) -> Times:
    found = pc.strptime(text, form, "us", error_is_null=True)
    if found.null_count > text.null_count:
        row = pc.index(pc.and_(found.is_null(), text.is_valid()), value=True).as_py()
        raise row_fault(where, row + 1, f"{text[row].as_py()!r} does not have the format {form!r}; correct one", title)
    return _moments(found, "local")


def _iso(where: str, text: Any, title: str) -> Times:
    """Times in the ISO format: all with a zone, or none."""
    zoned = pc.fill_null(pc.match_substring_regex(text, ZONE), fill_value=False)
    dated = pc.match_substring_regex(text, r"^\d{4}-\d{2}-\d{2}$")  # its end looks like a zone
    zoned = pc.and_(zoned, pc.fill_null(pc.invert(dated), fill_value=False))
    count = pc.sum(zoned).as_py() or 0
    if 0 < count < len(text) - text.null_count:
        row = pc.index(pc.and_(pc.invert(zoned), text.is_valid()), value=True).as_py()
        fault = f"{text[row].as_py()!r} has no time zone and other rows have one"
        raise row_fault(where, row + 1, f"{fault}; write all with a zone or all without", title)
    text = pc.replace_substring_regex(text, r"\s+(Z|[+-]\d{2})", r"\1") if count else text
    text = pc.replace_substring(text, ",", ".")
    kind: Kind = "instant" if count else "local"
    try:
        return _moments(text.cast(pa.timestamp("us", "UTC" if count else None)), kind)
    except pa.ArrowInvalid:
        for row, value in enumerate(text, start=1):
            try:
                value.cast(pa.timestamp("us", "UTC" if count else None))
            except pa.ArrowInvalid:
                remedy = "write 2024-01-31, 2024-01-31T13:45 or a number"
                raise row_fault(where, row, f"{value.as_py()!r} is no time that can be read; {remedy}", title) from None
        raise


def in_zone(times: Times, timezone: str | None, *, wall: bool) -> Times:
    """The times as instants, or as local times if `wall`; dates stay as they are. The zone is that of local times."""
    if timezone is None or times.kind in ("number", "date"):
        return Times("local", times.moments, times.missing) if wall and times.kind == "instant" else times
    moments = pa.array(times.moments.astype("datetime64[us]"))
    if times.kind == "local" and not wall:
        fixed = pc.assume_timezone(moments, timezone, ambiguous="earliest", nonexistent="earliest")
        return Times("instant", fixed.cast(pa.int64()).to_numpy(zero_copy_only=False), times.missing)
    if times.kind == "instant" and wall:
        local = pc.local_timestamp(moments.cast(pa.timestamp("us", timezone)))
        return Times("local", local.cast(pa.int64()).to_numpy(zero_copy_only=False), times.missing)
    return times


def align(decisions: Times, payments: Times, timezone: str | None) -> tuple[Times, Times]:
    """Both columns on one clock; DataError if they are numbers and dates, or only one of them has a time zone."""
    kinds = {times.kind for times in (decisions, payments) if not times.missing.all()}
    if "number" in kinds and len(kinds) > 1:
        which = ("decisions", "payments") if decisions.kind == "number" else ("payments", "decisions")
        raise DataError(f"the times of {which[0]} are numbers and those of {which[1]} are dates; give both in one form")
    if kinds == {"instant", "local"} and timezone is None:
        which = ("decisions", "payments") if decisions.kind == "instant" else ("payments", "decisions")
        raise DataError(
            f"two time zones: the times of {which[0]} have one and those of {which[1]} have none; "
            f"name that of the latter, e.g. --timezone Europe/Berlin"
        )
    if kinds == {"instant", "date"} and timezone is None:
        raise DataError("some times have a time zone and others are dates; name the zone of the dates with --timezone")
    wall = "date" in kinds
    return in_zone(decisions, timezone, wall=wall), in_zone(payments, timezone, wall=wall)


def check_zone(timezone: str | None) -> None:
    """Refuse the name of a time zone that does not exist."""
    try:
        if timezone is not None:
            ZoneInfo(timezone)
    except (KeyError, ValueError, OSError) as error:
        raise DataError(f"timezone: there is no zone {timezone!r}; write e.g. Europe/Berlin or UTC") from error


def read_duration(what: str, value: str | float, unit: str, *, numbers: bool) -> float:
    """A duration such as "60d", "8 weeks" or a number of units, in microseconds, or in units if times are numbers."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", str(value).lower())
    word = found[2] if found else ""
    name = LETTERS.get(word, word.removesuffix("s"))
    if found is None or (name and name not in MICROSECONDS and name != unit):
        raise DataError(f"{what}: {value!r} is no duration; write e.g. 60d, 8w, 12h, or a number of {unit}s")
    amount = float(found[1])
    if numbers:
        if name and name != unit:
            scale = MICROSECONDS.get(unit)
            if scale is None or name not in MICROSECONDS:
                raise DataError(f"{what}: {value!r}: times are numbers, so that a {name} has no length; give a number")
            return amount * MICROSECONDS[name] / scale
        return amount
    return amount * MICROSECONDS[name or unit]


def read_moment(value: str | float | datetime, kind: Kind, timezone: str | None) -> tuple[float, bool]:
    """The time of the data cut on the clock of the log, and whether it is the end of a day that was named."""
    try:
        column = pa.array([value.isoformat() if isinstance(value, datetime) else str(value)])
        found = read_times("until", column, "until")
    except (ScenarioError, DataError) as error:
        raise DataError(f"until: {value!r} cannot be read; write it as the times in the tables") from error
    if (found.kind == "number") != (kind == "number"):
        form = "a number" if kind == "number" else "a date"
        raise DataError(f"until: {value!r} does not fit the times of the tables; give {form}")
    if found.kind == "number":
        return float(found.moments[0]), False
    if found.kind == "date":
        end = Times("local", np.asarray(found.moments) + DAY, found.missing)
        return float(in_zone(end, timezone, wall=kind != "instant").moments[0]), True
    return float(in_zone(found, timezone, wall=kind != "instant").moments[0]), False


def iso_text(microseconds: int, kind: Kind) -> str:
    """A time of the log's clock in the ISO format; only instants have a zone."""
    moment = datetime.fromtimestamp(microseconds // 1_000_000, tz=UTC)
    return moment.isoformat() if kind == "instant" else moment.replace(tzinfo=None).isoformat()
