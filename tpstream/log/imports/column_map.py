"""Which columns of the tables mean what: a file MAP.toml, or a guess by the names and types of the columns."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, ValidationError

from tpstream.log.imports.times import ISO
from tpstream.model.errors import DataError, did_you_mean
from tpstream.model.settings import Settings
from tpstream.model.whole_files import parse_toml, read_whole, toml_value

Layout = Literal["two", "long", "wide"]
NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("decision", "offer", "pull", "usubjid", "subject", "subjid", "impression", "exposure", "patient", "customer",
           "user", "order", "id"),
    "time": ("time", "timestamp", "datetime", "date", "day", "offered", "decided", "shown", "created", "trtsdt",
             "randdt", "randomised", "randomized", "start"),
    "arm": ("arm", "variant", "treatment", "trt01p", "trtp", "trt", "price", "action", "group", "version", "option"),
    "probability": ("probability", "propensity", "prob", "p"),
    "amount": ("amount", "value", "aval", "paid", "payment", "revenue", "reward", "sum", "price"),
    "paid": ("paid", "payment", "time", "timestamp", "datetime", "date", "day", "adt", "visited", "booked"),
    "part": ("part", "avisitn", "visitnum", "visit", "age"),
    "unique": ("payment", "transaction", "booking", "invoice", "receipt"),
}  # fmt: skip
"""Words by which a column is recognised, the most telling ones first."""
FIRST_ROWS = 1_000
"""Rows by which the type of a column of text is recognised."""


class DecisionColumns(Settings):
    """Columns about decisions."""

    id: str | None = Field(None, description="what payments refer to; without it every row is a decision")
    time: str | None = Field(None, description="when it was made")
    arm: str = Field(description="what was decided: any text or number")
    probability: str | None = Field(None, description="the probability with which this arm was chosen")
    keep: tuple[str, ...] = Field((), description="columns that are written beside the log, by pull")


class PaymentColumns(Settings):
    """Columns about payments."""

    decision: str | None = Field(None, description="the id of the decision (two tables)")
    time: str | None = Field(None, description="when it was paid")
    part: str | None = Field(None, description="the age in units, from 1, where there is no time")
    amount: str | None = Field(None, description="what was paid; negative: a refund")
    id: str | None = Field(None, description="what tells two payments apart; without it equal rows are one payment")
    columns: tuple[str, ...] = Field((), description="of a wide table: what each part paid, in order")


class ImportOptions(Settings):
    """What the tables do not say themselves."""

    unit: str | None = Field(None, description="the unit of time, and the length of a part: day, week, hour, ...")
    window: str | float | None = Field(None, description="how long a decision pays: 60d, 8w, or a number of units")
    until: str | float | None = Field(None, description="the last day, or the time, up to which payments are known")
    timezone: str | None = Field(None, description="the zone of times that have none")
    tolerance: str | float | None = Field(None, description="how long before its decision a payment may be")
    time_format: str | None = Field(None, description="the format of all times, as of strptime")
    separator: str | None = Field(None, description="between the columns of a CSV file")
    decimal: Literal[".", ","] | None = Field(None, description="the decimal mark")
    encoding: str | None = Field(None, description="of a CSV file")
    name: str | None = Field(None, description="the name of the data")
    currency: str | None = Field(None, description="what is paid, e.g. EUR")
    assignment: Literal["random", "chosen"] | None = Field(
        None, description="how arms came about: by chance alone, or chosen by somebody, as by customers"
    )


class ColumnMap(Settings):
    """What MAP.toml says: the layout of the tables, their columns, and options."""

    layout: Layout = "two"
    decisions: DecisionColumns
    payments: PaymentColumns = PaymentColumns()
    options: ImportOptions = ImportOptions()

    def text(self) -> str:
        """The map as TOML, with what every key means; keys without a value are comments."""
        lines = ["# Which columns mean what; correct it and import again with --map.", f'layout = "{self.layout}"']
        for name in ("decisions", "payments", "options"):
            table: Settings = getattr(self, name)
            lines += ["", f"[{name}]"]
            for key, field in type(table).model_fields.items():
                value = getattr(table, key)
                shown = f"{key} = {toml_value(value)}" if value not in (None, ()) else f"# {key} ="
                lines.append(
                    f"{shown:<40}  # {field.description}" if shown[0] != "#" else f"{shown}  {field.description}"
                )
        return "\n".join(lines) + "\n"


def read_map(source: str | Path | Mapping[str, Any] | ColumnMap) -> ColumnMap:
    """The map in a file or a dictionary; DataError names the key that is wrong."""
    if isinstance(source, ColumnMap):
        return source
    name = "map" if isinstance(source, Mapping) else str(source)
    try:
        keys = source if isinstance(source, Mapping) else parse_toml(read_whole(Path(source)).decode())
        return ColumnMap.model_validate(keys)
    except OSError as error:
        raise DataError(f"{name}: cannot read the map: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{name}: is not TOML: {error}") from error
    except ValidationError as error:
        # A key that is not known says more than the one that is missing instead.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            tables: dict[str, type[Settings]] = {
                "decisions": DecisionColumns,
                "payments": PaymentColumns,
                "options": ImportOptions,
            }
            of_table: type[Settings] = ColumnMap if len(first["loc"]) == 1 else tables[str(first["loc"][0])]
            near = did_you_mean(str(first["loc"][-1]), of_table.model_fields)
            raise DataError(f"{name}: {key}: there is no such key{near}") from error
        raise DataError(f"{name}: {key}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error


def guess_map(decisions: pa.Table, payments: pa.Table | None, names: Sequence[str]) -> ColumnMap:
    """A map by the names and types of the columns; DataError says which column could not be found, and where."""
    if payments is not None:
        return _guess_two(decisions, payments, names)
    taken: set[str] = set()
    wide = tuple(title for title in decisions.column_names if re.fullmatch(r"x[1-9]\d*", title))
    guess = _Guess(decisions, names[0], taken)
    if wide:
        taken |= set(wide)
        ordered = tuple(sorted(wide, key=lambda title: int(title[1:])))
        columns = DecisionColumns(
            arm=guess.needed("arm"), time=guess.find("time"), id=guess.find("id"), probability=guess.find("probability")
        )
        return ColumnMap(layout="wide", decisions=columns, payments=PaymentColumns(columns=ordered))
    arm, id = guess.needed("arm"), guess.needed("id")
    columns = DecisionColumns(id=id, arm=arm, probability=guess.find("probability"))
    amount = guess.needed("amount", numbers=True)
    decided, paid = guess.find_times()
    part = None if paid else guess.needed("part")
    return ColumnMap(
        layout="long",
        decisions=columns.model_copy(update={"time": decided}),
        payments=PaymentColumns(time=paid, part=part, amount=amount),
    )


def _guess_two(decisions: pa.Table, payments: pa.Table, names: Sequence[str]) -> ColumnMap:
    first, second = _Guess(decisions, names[0], set()), _Guess(payments, names[1], set())
    common = [title for title in decisions.column_names if title in payments.column_names]
    shared = next((title for word in NAMES["id"] for title in common if word in _words(title)), None)
    arm = first.needed("arm")
    id = first.take(shared) if shared and shared != arm else first.needed("id")
    columns = DecisionColumns(
        id=id, arm=arm, time=first.needed("time", times=True), probability=first.find("probability")
    )
    decision = second.take(id) if id in payments.column_names else second.needed("id")
    unique = second.find("unique", ending="id")
    time = second.needed("paid", times=True)
    amount = second.needed("amount", numbers=True)
    return ColumnMap(decisions=columns, payments=PaymentColumns(decision=decision, time=time, amount=amount, id=unique))


def _words(title: str) -> list[str]:
    """The words of a title in small letters: "OfferID" and "offer_id" are "offer" and "id"."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", title)
    return re.findall(r"[^\W_]+", apart.lower())


class _Guess:
    """Looks for the columns of one table, each for one purpose."""

    def __init__(self, table: pa.Table, name: str, taken: set[str]) -> None:
        self._table, self._name, self._taken = table, name, taken

    def take(self, title: str) -> str:
        """Use this column."""
        self._taken.add(title)
        return title

    def find(self, purpose: str, *, times: bool = False, numbers: bool = False, ending: str = "") -> str | None:
        """The column with the most telling name for a purpose, else the only one of its type; None without either."""
        free = [title for title in self._table.column_names if title not in self._taken]
        fits = self._is_time if times else self._is_number
        typed = [title for title in free if fits(title)] if times or numbers else []
        free = typed or free
        for word in NAMES[purpose]:
            exact = [title for title in free if _words(title) == [word]]
            fitting = [title for title in free if word in _words(title) and (not ending or ending in _words(title))]
            if found := (exact if not ending else []) or fitting:
                return self.take(found[0])
        return self.take(typed[0]) if len(typed) == 1 else None

    def needed(self, purpose: str, *, times: bool = False, numbers: bool = False) -> str:
        """The same; DataError if there is none."""
        found = self.find(purpose, times=times, numbers=numbers)
        if found is None:
            titles = ", ".join(self._table.column_names)
            word = {"paid": "time", "unique": "id"}.get(purpose, purpose)
            raise DataError(
                f"{self._name}: no column of {titles} looks like the {word} ({', '.join(NAMES[purpose][:4])}, ...); "
                f"say which it is with --map MAP.toml"
            )
        return found

    def find_times(self) -> tuple[str | None, str | None]:
        """Of one long table: when the decision was made, if there are two columns of times, and when it paid."""
        times = [title for title in self._table.column_names if title not in self._taken and self._is_time(title)]
        decided = self.find("time", times=True) if len(times) > 1 else None
        return decided, self.find("paid", times=True) if times else None

    def _is_time(self, title: str) -> bool:
        column = self._table[title]
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            return True
        return self._matches(title, rf"{ISO}|^\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}|^\d{{4}}/\d{{2}}/\d{{2}}")

    def _is_number(self, title: str) -> bool:
        column = self._table[title]
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
            return True
        return self._matches(title, r"^\s*[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?\s*$")

    def _matches(self, title: str, pattern: str) -> bool:
        column = self._table[title].slice(0, FIRST_ROWS).drop_null()
        if not len(column) or not pa.types.is_string(column.type):
            return False
        return bool(pc.mean(pc.match_substring_regex(column, pattern).cast(pa.float64())).as_py() > 0.5)  # noqa: PLR2004
