"""A guess at which columns of the tables mean what, by their names, their types and what is in them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from tpstream.log.imports.column_map import ColumnMap, DecisionColumns, PaymentColumns
from tpstream.log.imports.times import ISO
from tpstream.model.errors import DataError

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("decision", "offer", "pull", "usubjid", "subject", "subjid", "impression", "exposure", "patient", "order",
           "id"),
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
PERSONS = ("customer", "user", "client", "account", "visitor")
"""Words for somebody who may have several decisions: an id only where nothing else is one."""
CLOCK = NAMES["time"][:5]
"""Words for times, which are no ids."""
FIRST_ROWS = 1_000
"""Rows by which the type of a column of text is recognised, and its values are compared."""


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
        gap = next((f"x{part}" for part, title in enumerate(ordered, start=1) if title != f"x{part}"), None)
        if gap is not None:
            raise DataError(
                f"{names[0]}: there are columns up to {ordered[-1]} and none is {gap}; add it, or say with --map "
                f"MAP.toml which columns are the parts"
            )
        columns = DecisionColumns(
            arm=guess.needed("arm"), time=guess.find("time"), id=guess.find_id(), probability=guess.find("probability")
        )
        return ColumnMap(layout="wide", decisions=columns, payments=PaymentColumns(columns=ordered))
    arm, id = guess.needed("arm"), guess.needed_id(repeated=True)
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
    arm = first.needed("arm")
    link = _find_link(first, second)
    id, decision = (first.needed_id(), second.needed_id()) if link is None else (first.take(link[0]), link[1])
    columns = DecisionColumns(
        id=id, arm=arm, time=first.needed("time", times=True), probability=first.find("probability")
    )
    second.take(decision)
    unique = second.find("unique", ending="id") or second.own_id()
    time = second.needed("paid", times=True)
    amount = second.needed("amount", numbers=True)
    return ColumnMap(decisions=columns, payments=PaymentColumns(decision=decision, time=time, amount=amount, id=unique))


def _find_link(first: "_Guess", second: "_Guess") -> tuple[str, str] | None:
    """The id of decisions and the column of payments that refers to it; None if no names fit.

    These are two columns with one name, or `id` and one such as `offer_id`. A bare `id` of payments is their own if
    they have another column that fits. Then it counts what is in the columns: ids of decisions are all different, and
    those of payments are among them. Customers, who may have several decisions, are the last choice.
    """
    ids, others = first.ids(), second.ids()
    pairs = [
        (id, other)
        for id in ids
        for other in others
        if _words(id) == _words(other) or (_is_bare(id) and all(_words(other) != _words(one) for one in ids))
    ]
    likely = [pair for pair in pairs if not _is_bare(pair[1]) and (_is_known(pair[1]) or second.varies(pair[1]))]
    if likely:
        pairs = likely

    texts = {id: first.texts(id) for id, _ in pairs}

    def doubt(pair: tuple[str, str]) -> tuple[object, ...]:
        id, other = pair
        fits = first.varies(id) and second.refers_to(other, texts[id])
        return not fits, _is_person(other), _words(id) != _words(other), _rank(other)

    return min(pairs, key=doubt, default=None)


def _is_bare(title: str) -> bool:
    """Whether a title says no more than that it is an id."""
    return _words(title) == ["id"]


def _is_person(title: str) -> bool:
    """Whether a title is about somebody, who may have several decisions."""
    return any(word in PERSONS for word in _words(title))


def _is_known(title: str) -> bool:
    """Whether a title has a word by which ids are recognised, and not only "id"."""
    return not {*PERSONS, *NAMES["id"][:-1]}.isdisjoint(_words(title))


def _rank(title: str) -> tuple[int, bool, int]:
    """How telling a title is as the id of a decision; the smallest is the most telling."""
    words = _words(title)
    place = next((place for place, word in enumerate(NAMES["id"]) if word in words), len(NAMES["id"]))
    return len(NAMES["id"]) if _is_person(title) else place, "id" not in words, len(words)


def _words(title: str) -> list[str]:
    """The words of a title in small letters: "OfferID" and "offer_id" are "offer" and "id", "TRT01P" is one word."""
    apart = title if title.isupper() else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", title)
    return re.findall(r"[^\W_]+", apart.lower())


class _Guess:
    """Looks for the columns of one table, each for one purpose."""

    def __init__(self, table: pa.Table, name: str, taken: set[str]) -> None:
        self._table, self._name, self._taken = table, name, taken

    def take(self, title: str) -> str:
        """Use this column."""
        self._taken.add(title)
        return title

    def ids(self) -> list[str]:
        """The columns that may be the id of a decision by their names: free ones that are neither times nor own ids."""
        free = [title for title in self._table.column_names if title not in self._taken]
        named = [title for title in free if {"id", *PERSONS, *NAMES["id"]} & set(_words(title))]
        others = {*NAMES["unique"], *CLOCK}
        return [title for title in named if others.isdisjoint(_words(title)) and not self._is_time(title)]

    def find_id(self, *, repeated: bool = False) -> str | None:
        """The most telling of these columns, which is used; where ids are repeated, no bare `id` of the rows."""
        ids = self.ids()
        others = [title for title in ids if not (_is_bare(title) and self.varies(title))]
        found = min(others if repeated and others else ids, key=_rank, default=None)
        return None if found is None else self.take(found)

    def needed_id(self, *, repeated: bool = False) -> str:
        """The same; DataError if there is none."""
        return self.find_id(repeated=repeated) or self._missing("id")

    def own_id(self) -> str | None:
        """A bare `id` that is free and has many different values: that of the rows."""
        own = [title for title in self._table.column_names if _is_bare(title) and title not in self._taken]
        return self.take(own[0]) if own and self.varies(own[0]) else None

    def varies(self, title: str) -> bool:
        """Whether most values of a column are different, among the first rows."""
        some = self.texts(title, FIRST_ROWS)
        return bool(pc.count_distinct(some).as_py() > len(some) / 2)

    def refers_to(self, title: str, ids: Any) -> bool:
        """Whether some values of a column, in its first rows, are among these."""
        return bool(pc.any(pc.is_in(self.texts(title, FIRST_ROWS), value_set=ids, skip_nulls=True)).as_py())

    def texts(self, title: str, rows: int | None = None) -> Any:
        """A column as text, or its first rows; whole numbers have no point."""
        column = self._table[title].slice(0, rows)
        if pa.types.is_floating(column.type) and pc.all(pc.equal(column, pc.round(column))).as_py():
            column = column.cast(pa.int64(), safe=False)
        return column.cast(pa.string()).combine_chunks()

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
        return self.find(purpose, times=times, numbers=numbers) or self._missing(purpose)

    def _missing(self, purpose: str) -> NoReturn:
        titles = ", ".join(self._table.column_names)
        word = {"paid": "time", "unique": "id"}.get(purpose, purpose)
        raise DataError(
            f"{self._name}: no column of {titles} looks like the {word} ({', '.join(NAMES[purpose][:4])}, ...); "
            f"say which it is with --map MAP.toml"
        )

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
