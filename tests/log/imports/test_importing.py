"""Imported logs: what is in the tables is in the log, and every row is in one line of the report."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from shops import Shop, make_shop

from tpstream import Log, check_log, import_log
from tpstream.log.imports.guesses import guess_map
from tpstream.log.imports.importing import kept_path
from tpstream.log.writer import convert
from tpstream.model.errors import DataError
from tpstream.model.events import Kind

OFFERS = pd.DataFrame(
    {
        "offer": [1, 2, 3],
        "day": ["2024-03-01", "2024-03-02", "2024-03-04"],
        "price": ["low", "high", "low"],
        "p": [0.5, None, 0.25],
    }
)
PAID = pd.DataFrame(
    {
        "offer": [1, 1, 1, 2, 2, 9],
        "day": ["2024-03-02", "2024-03-02", "2024-03-04", "2024-03-04", "2024-03-04", "2024-03-05"],
        "amount": [5.0, -1.0, 3.0, 2.0, 4.0, 1.0],
    }
)


@pytest.fixture(scope="module")
def shop() -> Shop:
    """A shop of 3,000 offers."""
    return make_shop(3000, seed=1)


def rows_of(log: Log, *kinds: Kind) -> list[tuple[Any, ...]]:
    """Pull, kind, part, value and time of the events in the file."""
    reader = log.reader.written or log.reader
    found = []
    for columns in reader.batches(["pull", "kind", "part", "value", "time"]):
        found += zip(*(columns[name].tolist() for name in ("pull", "kind", "part", "value", "time")), strict=True)
    return [row for row in found if row[1] in kinds]


def test_events_by_hand(tmp_path: Path) -> None:
    """Part = 1 + age in whole days; an age of the window is late; payments of one part stay apart; the rest is open."""
    log = import_log(OFFERS, PAID, out=tmp_path / "a.jsonl", window="3d")
    partial, late, closed = int(Kind.PARTIAL), int(Kind.LATE), int(Kind.CLOSED)
    assert rows_of(log, Kind.PARTIAL, Kind.LATE, Kind.CLOSED) == [
        (1, partial, 2, 5.0, 1.0),
        (1, partial, 2, -1.0, 1.0),
        (1, closed, 0, 4.0, 3.0),
        (1, late, 3, 3.0, 3.0),
        (2, partial, 3, 2.0, 3.0),
        (2, partial, 3, 4.0, 3.0),
        (2, closed, 0, 6.0, 4.0),
    ]
    zeros = log.frame(kinds=[Kind.PARTIAL]).query("value == 0")
    assert zeros[["pull", "part", "time"]].to_numpy().tolist() == [
        [1, 1, 1.0],
        [2, 1, 2.0],
        [1, 3, 3.0],
        [2, 2, 3.0],
        [3, 1, 4.0],
        [3, 2, 5.0],
    ]
    header = log.header
    assert (header.span, header.window, header.until, header.origin) == (3, 3.0, 5.0, "2024-03-01T00:00:00")
    assert (header.payments, header.sparse, header.signed, header.time_unit) == (True, True, True, "day")
    assert log.columns(["kind", "probability"])["probability"].tolist() == pytest.approx(
        [0.5, np.nan, 0.25], nan_ok=True
    )
    assert header.imported is not None
    assert header.imported["payments"] == {
        "rows": 6, "taken": 4, "late": 1, "duplicate": 0, "conflicting": 0, "without_decision": 1,
        "before_decision": 0, "after_cut": 0, "incomplete": 0,
    }  # fmt: skip
    assert header.imported["among"]["open"] == 1


def test_shop(tmp_path: Path, shop: Shop) -> None:
    """What a shop's tables hold is in the log: sums by variant, duplicates, orphans and late payments."""
    log = import_log(shop.offers, shop.payments, out=tmp_path / "a.arrows", window="60d")
    assert log.header.imported is not None
    counts = log.header.imported["payments"]
    assert (counts["duplicate"], counts["without_decision"]) == (shop.duplicates, shop.orphans)
    assert counts["late"] + counts["after_cut"] >= shop.late
    merged = shop.payments.drop_duplicates().merge(shop.offers, on="offer_id")
    age = merged["paid_at"] - merged["offered_at"]
    merged = merged[(age < timedelta(days=60)) & (merged["paid_at"] <= shop.payments["paid_at"].max())]
    expected = merged.groupby("variant")["amount"].sum()
    frame = log.frame(["arm", "value", "kind"], [Kind.PARTIAL])
    found = frame.groupby("arm")["value"].sum()
    assert found.tolist() == pytest.approx(expected.tolist())
    assert check_log(log).sound
    assert log.header.arms == list("ABCDE")


def test_all_sources_give_one_log(tmp_path: Path, shop: Shop) -> None:
    """Files, DataFrames and Arrow tables, with any separator, decimal mark and encoding, give the same events."""
    offers = shop.offers.assign(variant=shop.offers["variant"].replace({"A": "grün"}))
    expected = import_log(offers, shop.payments, out=tmp_path / "0.arrows", window="60d").frame()
    shop.payments.to_parquet(tmp_path / "paid.parquet", index=False)
    files = {}
    for name, form in {
        "comma": {"sep": ","},
        "semicolon": {"sep": ";", "decimal": ",", "encoding": "cp1252"},
        "tab": {"sep": "\t", "encoding": "utf-16"},
    }.items():
        files[name] = tmp_path / f"{name}.csv", tmp_path / f"{name}-paid.csv"
        offers.to_csv(files[name][0], index=False, **form)
        shop.payments.to_csv(files[name][1], index=False, **form)
    sources = [(pa.Table.from_pandas(offers), tmp_path / "paid.parquet"), *files.values()]
    for number, (first, second) in enumerate(sources, start=1):
        log = import_log(first, second, out=tmp_path / f"{number}.arrows", window="60d")
        pd.testing.assert_frame_equal(log.frame(), expected)


ids = st.sampled_from(["a", "b", "c", "d", None])
decision_rows = st.lists(
    st.tuples(ids, st.integers(0, 6) | st.none(), st.sampled_from(["x", "y", None])), min_size=1, max_size=8
)
payment_rows = st.lists(
    st.tuples(ids | st.just("z"), st.integers(-2, 12) | st.none(), st.sampled_from([-1.5, 0.25, 3.0, None])),
    min_size=1,
    max_size=10,
)


def literal_decisions(decisions: list[Any], until: int) -> tuple[list[str], dict[str, Any]]:
    """The fate of each row about a decision, found one by one, and the first row of every id."""
    first: dict[str, Any] = {}
    fates = []
    for row in decisions:
        if None in row:
            fates.append("incomplete")
        elif row[0] in first:
            fates.append("duplicate" if first[row[0]] == row else "conflicting")
        else:
            first[row[0]] = row
            fates.append("after_cut" if row[1] > until else "taken")
    return fates, first


def literal_payment(row: Any, seen: Any, first: dict[str, Any], window: int, until: int, tolerance: int) -> str:
    """The fate of one payment; `seen` are the rows before it."""
    id, time, _ = row
    for fate, applies in (
        ("incomplete", lambda: None in row),
        ("duplicate", lambda: row in seen),
        ("without_decision", lambda: id not in first),
        ("after_cut", lambda: time > until or first[id][1] > until),
        ("before_decision", lambda: time < first[id][1] - tolerance),
        ("late", lambda: time - first[id][1] >= window),
    ):
        if applies():
            return fate
    return "taken"


@settings(max_examples=60)
@given(decision_rows, payment_rows, st.integers(1, 5), st.integers(3, 12), st.integers(0, 2))
def test_counts_add_up(
    tmp_path_factory: pytest.TempPathFactory, decisions: Any, payments: Any, window: int, until: int, tolerance: int
) -> None:
    """Every row of random tables is in one line of the report, as found row by row; the log keeps all rules."""
    made, first = literal_decisions(decisions, until)
    paid = [
        literal_payment(row, payments[:number], first, window, until, tolerance) for number, row in enumerate(payments)
    ]
    credited = sum(row[2] for row, fate in zip(payments, paid, strict=True) if fate == "taken")
    out = tmp_path_factory.mktemp("log") / "a.jsonl"
    tables = (
        pd.DataFrame(decisions, columns=["id", "time", "arm"]),
        pd.DataFrame(payments, columns=["id", "time", "amount"]),
    )
    if "taken" not in made:
        with pytest.raises(DataError):
            import_log(*tables, out=out, window=window, until=until, tolerance=tolerance)
        return
    log = import_log(*tables, out=out, window=window, until=until, tolerance=tolerance)
    assert log.header.imported is not None
    for table, fates in (("decisions", made), ("payments", paid)):
        counts = dict(log.header.imported[table])
        assert counts.pop("rows") == len(fates) == sum(counts.values())
        assert {key: count for key, count in counts.items() if count} == {key: fates.count(key) for key in set(fates)}
    assert check_log(log).sound
    frame = log.frame(["pull", "value", "kind"], [Kind.PARTIAL])
    assert frame["value"].sum() == pytest.approx(credited)
    dense = convert(log, out.with_name("dense.jsonl"), sparse=False)
    again = convert(dense, out.with_name("sparse.jsonl"), sparse=True)
    assert check_log(dense).sound
    pd.testing.assert_frame_equal(again.frame(), log.frame())


def test_unique_ids_tell_equal_payments_apart(tmp_path: Path) -> None:
    """Two equal payments with different ids are two; one id with another amount is left out, and counted."""
    paid = pd.DataFrame(
        {"payment_id": [1, 2, 2, 3], "offer": [1, 1, 1, 1], "day": "2024-03-02", "amount": [5, 5, 5, 5]}
    )
    paid.loc[4] = [3, 1, "2024-03-02", 7]
    log = import_log(OFFERS, paid, out=tmp_path / "a.jsonl", window=3)
    assert log.header.imported is not None
    counts = log.header.imported["payments"]
    assert (counts["taken"], counts["duplicate"], counts["conflicting"]) == (3, 1, 1)


def test_wide_and_long_tables(tmp_path: Path) -> None:
    """A wide table, and a long one with parts, give the events of two tables with the same payments."""
    wide = pd.DataFrame({"arm": ["x", "y"], "x1": [1.0, 0.0], "x2": [0.0, np.nan], "x3": [2.0, 5.0]})
    long = pd.DataFrame({"pull": ["a", "a", "b"], "arm": ["x", "x", "y"], "part": [1, 3, 3], "value": [1.0, 2.0, 5.0]})
    first = import_log(wide, out=tmp_path / "wide.jsonl")
    second = import_log(long, out=tmp_path / "long.jsonl")
    pd.testing.assert_frame_equal(first.frame(), second.frame())
    assert [row[:4] for row in rows_of(first, Kind.PARTIAL)] == [(1, 1, 1, 1.0), (1, 1, 3, 2.0), (2, 1, 3, 5.0)]
    assert first.header.span == 3
    assert check_log(first).sound


def test_visits_of_a_trial(tmp_path: Path) -> None:
    """Rows of ADaM's BDS tables: a subject's first visit is the decision, later ones pay at their age."""
    visits = pd.DataFrame(
        {
            "USUBJID": ["s1", "s1", "s1", "s2", "s2"],
            "TRTP": ["drug", "drug", "drug", "placebo", "placebo"],
            "AVISITN": [0, 1, 2, 0, 1],
            "ADT": ["2023-01-02", "2023-01-30", "2023-03-01", "2023-02-01", "2023-03-01"],
            "AVAL": [1.0, 2.0, 3.0, 1.5, None],
        }
    )
    log = import_log(visits, out=tmp_path / "a.jsonl", unit="week", window="12w")
    assert log.header.arms == ["drug", "placebo"]
    assert [row[:4] for row in rows_of(log, Kind.PARTIAL)] == [
        (1, 1, 1, 1.0),
        (1, 1, 5, 2.0),
        (2, 1, 1, 1.5),
        (1, 1, 9, 3.0),
    ]
    assert log.header.imported is not None
    assert log.header.imported["payments"]["incomplete"] == 1
    planned = visits.rename(columns={"TRTP": "TRT01P"}).assign(TRTSDT="2023-01-01")  # as in a join with ADSL
    found = import_log(planned, out=tmp_path / "b.jsonl", unit="week", window="12w").header.imported
    assert found is not None
    assert (found["map"]["decisions"]["arm"], found["map"]["decisions"]["time"]) == ("TRT01P", "TRTSDT")


def test_visits_of_several_parameters(tmp_path: Path) -> None:
    """Values of different parameters are not added up: such a table is refused, and the rows of one are taken."""
    visits = pd.DataFrame(
        {"USUBJID": ["a"] * 4, "TRTP": "drug", "PARAMCD": ["HR", "SYSBP"] * 2, "AVISITN": [1, 1, 2, 2], "AVAL": 1.0}
    )
    with pytest.raises(DataError, match=r"has 2 parameters \(HR, SYSBP, ...\).*visits.PARAMCD == 'HR'"):
        import_log(visits, out=tmp_path / "a.arrows")
    log = import_log(visits[visits.PARAMCD == "HR"], out=tmp_path / "a.arrows")
    assert [row[3] for row in rows_of(log, Kind.PARTIAL)] == [1.0, 1.0]


def test_what_is_open_at_the_cut(tmp_path: Path) -> None:
    """With an earlier cut, later payments and decisions are left out and counted, and more decisions are open."""
    log = import_log(OFFERS, PAID, out=tmp_path / "a.jsonl", window="3d", until="2024-03-03")
    assert log.header.until == 3.0
    assert rows_of(log, Kind.CLOSED) == [(1, int(Kind.CLOSED), 0, 4.0, 3.0)]
    assert log.header.imported is not None
    assert log.header.imported["decisions"]["after_cut"] == 1
    assert log.header.imported["payments"]["after_cut"] == 3


def test_a_last_period_may_be_shorter(tmp_path: Path) -> None:
    """A window of 10 days has two weekly parts; an age of 9 days is in the second, one of 10 is late."""
    offers = pd.DataFrame({"id": [1], "time": ["2024-01-01"], "arm": ["x"]})
    paid = pd.DataFrame({"id": [1, 1], "time": ["2024-01-10", "2024-01-11"], "amount": [1.0, 2.0]})
    log = import_log(offers, paid, out=tmp_path / "a.jsonl", unit="week", window="10d")
    assert log.header.span == 2
    assert [row[:4] for row in rows_of(log, Kind.PARTIAL, Kind.LATE)] == [(1, 1, 2, 1.0), (1, int(Kind.LATE), 2, 2.0)]
    assert check_log(log).sound


def test_time_zones(tmp_path: Path) -> None:
    """Times of one zone and local times of another are brought together; summer time is a zone's own business."""
    offers = pd.DataFrame({"id": [1], "time": ["2024-03-30T12:00:00+00:00"], "arm": ["x"]})
    paid = pd.DataFrame({"id": [1, 1], "time": ["2024-03-31 13:59", "2024-03-31 14:00"], "amount": [1.0, 2.0]})
    log = import_log(offers, paid, out=tmp_path / "a.jsonl", window=2, timezone="Europe/Berlin")
    assert [row[2] for row in rows_of(log, Kind.PARTIAL)] == [1, 2]
    assert log.header.origin == "2024-03-30T00:00:00+00:00"


@pytest.mark.parametrize(
    "text", ["31.01.2024", "2024/01/31", "31/01/2024", "01/31/2024", "20240131", "2024-01-31T00:00:00Z"]
)
def test_forms_of_dates(tmp_path: Path, text: str) -> None:
    """Dates are read in every form that can mean one thing only."""
    offers = pd.DataFrame({"id": [1], "time": [text], "arm": ["x"]})
    paid = pd.DataFrame({"id": [1], "time": [text], "amount": [1.0]})
    log = import_log(offers, paid, out=tmp_path / "a.jsonl", window=1)
    assert log.header.origin is not None
    assert log.header.origin.startswith("2024-01-31T00:00:00")


def test_small_differences_of_clocks(tmp_path: Path) -> None:
    """A payment minutes before its decision counts at it, and is counted; one hours before it is left out."""
    offers = pd.DataFrame({"id": [1], "time": ["2024-01-01 12:00"], "arm": ["x"]})
    paid = pd.DataFrame({"id": [1, 1], "time": ["2024-01-01 11:58", "2024-01-01 09:00"], "amount": [1.0, 2.0]})
    log = import_log(offers, paid, out=tmp_path / "a.jsonl", window=1)
    assert rows_of(log, Kind.PARTIAL) == [(1, 1, 1, 1.0, 0.5)]
    assert log.header.imported is not None
    assert (log.header.imported["among"]["moved"], log.header.imported["payments"]["before_decision"]) == (1, 1)


def test_kept_columns(tmp_path: Path, shop: Shop) -> None:
    """Columns that are to be kept stand beside the log, by pull."""
    out = tmp_path / "a.arrows"
    map = {
        "decisions": {"id": "offer_id", "time": "offered_at", "arm": "variant", "keep": ["customer"]},
        "payments": {"decision": "offer_id", "time": "paid_at", "amount": "amount", "id": "payment_id"},
    }
    import_log(shop.offers, shop.payments, out=out, map=map, window="60d")
    kept = pd.read_parquet(kept_path(out))
    ordered = shop.offers.sort_values("offered_at", kind="stable")
    assert kept["customer"].tolist() == ordered["customer"].tolist()
    assert kept["id"].tolist() == ordered["offer_id"].tolist()


def write(folder: Path, name: str, text: str) -> Path:
    """A file with this text."""
    path = folder / name
    path.write_text(text)
    return path


GOOD = "id,time,arm\n1,2024-01-01,x\n", "id,time,amount\n1,2024-01-02,5\n"


@pytest.mark.parametrize(
    ("offers", "payments", "options", "message"),
    [
        ("", GOOD[1], {}, "the file is empty"),
        ("id,time,arm\n", GOOD[1], {}, "has no rows"),
        (GOOD[0], "id,time,amount\n1,2024-01-02,five\n", {"map": True}, "row 1, column amount: 'five' is not a number"),
        (GOOD[0], "id,time\n1,2024-01-02\n", {}, "looks like the amount"),
        (GOOD[0], "id,amount\n1,5\n", {}, "looks like the time"),
        (GOOD[0], "time,amount\n2024-01-02,5\n", {}, "looks like the id"),
        ("id,time,arm,x1\n1,2024-01-01,x,\n2,2024-01-01,x,some\n", None, {}, "column x1: 'some' is not a number"),
        (GOOD[0], None, {}, "looks like the amount"),
        (GOOD[0], "\n\n", {}, "cannot be read"),
        (GOOD[0], "\x00\x01\n", {}, "has no rows"),
        ("id,time\n1,2024-01-01\n", GOOD[1], {}, "looks like the arm"),
        ("id,time,arm\n1,yesterday,x\n", GOOD[1], {"map": True}, "row 1, column time: 'yesterday' is no time"),
        ("id,time,arm\n1,2024-02-31,x\n", GOOD[1], {}, "'2024-02-31' is no time"),
        ("id,time,arm\n1,2024-01-01T10:00Z,x\n", "id,time,amount\n1,2024-01-02 10:00,5\n", {}, "two time zones"),
        ("id,time,arm\n1,2024-01-01T10:00Z,x\n2,2024-01-01T10:00,x\n", GOOD[1], {}, "has no time zone and other rows"),
        (GOOD[0], "id,time,amount\n1,7,5\n", {"map": True}, "those of decisions are dates"),
        (*GOOD, {"window": "0d"}, "leaves no time to pay"),
        (*GOOD, {"window": "soon"}, "is no duration"),
        (*GOOD, {"window": "1w", "unit": "month"}, "has no fixed length"),
        (*GOOD, {"unit": "second", "window": "9d"}, "choose a larger unit"),
        (*GOOD, {"until": "someday"}, "until: 'someday' cannot be read"),
        (*GOOD, {"until": 7}, "until: 7.0 does not fit"),
        (*GOOD, {"until": "2023-01-01"}, "no decision is left to import: 1 after the data cut"),
        (*GOOD, {"timezone": "Mars"}, "there is no zone 'Mars'"),
        (*GOOD, {"encoding": "klingon"}, "encoding"),
        ("id,time,arm,p\n1,2024-01-01,x,1.5\n", GOOD[1], {}, "1.5 is no probability"),
        ("id,time,arm\n1,01/02/2024,x\n", "id,time,amount\n1,01/03/2024,5\n", {}, "name the format"),
        (GOOD[0], "id,time,amount\n1,2024-01-02,inf\n", {"map": True}, "is not finite"),
        (GOOD[0], "id;time;amount\n1;2024-01-02;1.234,50\n1;2024-01-03;20.00\n", {}, "has a comma and a point"),
        (GOOD[0], "id;time;amount\n1;2024-01-02;5,5\n1;2024-01-03;20.00\n", {"decimal": ","}, "'20.00' has a '.'"),
        ("id,time,arm,p\n1,2024-01-01,x,0.5\n", None, {}, "looks like the amount"),
        ("id,arm,x1,x3\n1,x,5,7\n", None, {}, "up to x3 and none is x2"),
        (
            "id,time,arm\n1,1704067200,x\n",
            "id,time,amount\n1,1704240000,5\n",
            {"window": "9d", "unit": "second"},
            "divide",
        ),
        (GOOD[0], "id,time,amount\n1,9999-01-02,5\n", {}, "the largest age of a payment has 2,912,811 parts"),
        (*GOOD, {"map": {"decisions": {"arm": "armm"}}}, "map: payments.decision is missing"),
        (*GOOD, {"map": {"decision": {"arm": "x"}}}, "did you mean 'decisions'"),
    ],
)
def test_wrong_files(tmp_path: Path, offers: str, payments: str | None, options: dict[str, Any], message: str) -> None:
    """What is wrong with a table or an option is one line that names the place and the value."""
    first = write(tmp_path, "offers.csv", offers)
    second = None if payments is None else write(tmp_path, "paid.csv", payments)
    if options.get("map") is True:
        columns = {"decision": "id", "time": "time", "amount": "amount"}
        options = {"map": {"decisions": {"id": "id", "time": "time", "arm": "arm"}, "payments": columns}}
    with pytest.raises(DataError) as error:
        import_log(first, second, out=tmp_path / "a.arrows", **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "a.arrows").exists()


@pytest.mark.parametrize(
    ("amounts", "options"),
    [
        (("1.234,50", "-20,00", "1.000.000"), {}),
        (('"1,234.50"', "-20.00", '"1,000,000"'), {}),
        (("1.234,50", "-20,00", "1.000.000"), {"decimal": ","}),
        (("1234,5", "-20", "1000000"), {"decimal": ","}),
    ],
)
def test_marks_between_thousands(tmp_path: Path, amounts: tuple[str, ...], options: dict[str, Any]) -> None:
    """Marks between thousands are told from decimal marks, whichever of the two a table uses."""
    lines = "\n".join(f"1;2024-01-02;{one}" for one in amounts)
    payments = write(tmp_path, "paid.csv", f"id;time;amount\n{lines}\n")
    log = import_log(write(tmp_path, "offers.csv", GOOD[0]), payments, out=tmp_path / "a.arrows", window=9, **options)
    assert [row[3] for row in rows_of(log, Kind.PARTIAL)] == [1234.5, -20.0, 1_000_000.0]


def test_whole_ids_with_a_point(tmp_path: Path) -> None:
    """Ids that are written as 1.0, since some are missing, are those of decisions; columns may have bars between."""
    offers = write(tmp_path, "offers.csv", "id|time|arm\n1|2024-01-01|x\n2|2024-01-01|y\n")
    payments = write(tmp_path, "paid.csv", "id|time|amount\n1.0|2024-01-02|5\n|2024-01-03|7\n2.0|2024-01-03|2,5\n")
    log = import_log(offers, payments, out=tmp_path / "a.arrows")
    assert [row[3] for row in rows_of(log, Kind.PARTIAL)] == [5.0, 2.5]


def test_guesses(tmp_path: Path) -> None:
    """Columns are found by the words in their titles, whatever their spelling, and by their type."""
    offers = pd.DataFrame(
        {"OfferID": ["a"], "customerName": ["Ann"], "CreatedAt": ["2024-01-01"], "Variant": ["x"], "propensity": [0.5]}
    )
    paid = pd.DataFrame({"TransactionId": [7], "OfferID": ["a"], "booked": ["2024-01-02"], "revenue": [5.0]})
    log = import_log(offers, paid, out=tmp_path / "a.jsonl", window=3)
    assert log.header.imported is not None
    columns = log.header.imported["map"]
    assert columns["decisions"] == {
        "id": "OfferID", "time": "CreatedAt", "arm": "Variant", "probability": "propensity", "keep": [],
    }  # fmt: skip
    assert columns["payments"] == {
        "decision": "OfferID", "time": "booked", "amount": "revenue", "id": "TransactionId", "columns": [],
    }  # fmt: skip


DAYS = ["2024-03-01", "2024-03-02", "2024-03-03"]
VALUES: dict[str, list[Any]] = dict.fromkeys(["created_at", "order_date", "day", "paid_at"], DAYS)
VALUES |= {"variant": ["A", "B", "A"], "customer_id": [7, 7, 8], "product_id": [1, 1, 1], "amount": [5.0, 6.0, 7.0]}
"""What is in columns; 1, 2, 3 in those that are not named."""
LAYOUTS = {
    "a database": (
        ["id", "created_at", "variant"], ["id", "offer_id", "paid_at", "amount"], ("id", "offer_id", "id"),
    ),
    "unknown words": (
        ["id", "created_at", "variant"], ["id", "session_id", "paid_at", "amount"], ("id", "session_id", "id"),
    ),
    "products": (
        ["id", "created_at", "variant"], ["id", "product_id", "offer_id", "paid_at", "amount"],
        ("id", "offer_id", "id"),
    ),
    "customers": (
        ["id", "customer_id", "created_at", "variant"], ["payment_id", "offer_id", "paid_at", "amount"],
        ("id", "offer_id", "payment_id"),
    ),
    "orders of customers": (
        ["order_id", "customer_id", "order_date", "variant"],
        ["payment_id", "order_id", "customer_id", "day", "amount"],
        ("order_id", "order_id", "payment_id"),
    ),
    "customers in both": (
        ["id", "customer_id", "created_at", "variant"], ["id", "customer_id", "offer_id", "paid_at", "amount"],
        ("id", "offer_id", "id"),
    ),
    "a decision a customer": (
        ["user_id", "day", "variant"], ["transaction_id", "user_id", "day", "amount"],
        ("user_id", "user_id", "transaction_id"),
    ),
    "no more than ids": (["id", "day", "variant"], ["id", "day", "amount"], ("id", "id", None)),
    "own ids in one": (
        ["OfferId", "day", "variant"], ["Id", "OfferId", "day", "amount"], ("OfferId", "OfferId", "Id"),
    ),
    "two words": (["offer", "day", "variant"], ["decision_id", "day", "amount"], ("offer", "decision_id", None)),
}  # fmt: skip
"""Titles of decisions and payments, and the columns that link them, with the payments' own id."""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_which_columns_link_two_tables(layout: str) -> None:
    """Payments are joined by the decision they refer to: not by their own id, and by customers only if need be."""
    first, second, (id, decision, unique) = LAYOUTS[layout]
    offers, paid = (pa.table({title: VALUES.get(title, [1, 2, 3]) for title in titles}) for titles in (first, second))
    found = guess_map(offers, paid, ["decisions", "payments"])
    assert (found.decisions.id, found.payments.decision, found.payments.id) == (id, decision, unique)
