"""Tables of decisions and payments, imported as a log: sparse, with its payments, and a report about every row."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from tpstream.log.imports.clock import Clock, set_clock
from tpstream.log.imports.column_map import ColumnMap, DecisionColumns, read_map
from tpstream.log.imports.fates import PaymentRows, decision_fates, match, payment_fates
from tpstream.log.imports.guesses import guess_map
from tpstream.log.imports.report import Fate, count_fates, few_decisions, left_out
from tpstream.log.imports.tables import Decisions, OpenTable, Source, open_table, read_rows
from tpstream.log.imports.times import Moments
from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header
from tpstream.log.writer import LogWriter
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.errors import DataError, ScenarioError
from tpstream.model.events import CLOSED, LATE, PARTIAL, PULL, Events
from tpstream.model.notes import package_versions

POLICY = "recorded"
"""What the header names as the policy: nobody knows it."""


def import_log(
    decisions: Source,
    payments: Source | None = None,
    *,
    out: str | Path,
    map: str | Path | Mapping[str, Any] | ColumnMap | None = None,
    force: bool = False,
    **options: Any,
) -> Log:
    """Import decisions and what they paid as a log.

    Parameters
    ----------
    decisions
        A CSV or Parquet file, a pandas DataFrame or a pyarrow Table with a row for each decision; or the only table:
        a long one with a row for each payment or visit, or a wide one with the columns x1, x2, ...
    payments
        The same with a row for each payment.
    out
        The log to be written; its ending gives the format (.arrows, .jsonl or .parquet).
    map
        Which columns mean what, as a file or a dictionary; by default that is guessed by their names and types.
    force
        Whether a log that is there is replaced.
    **options
        Options of the map, such as `unit`, `window`, `until` and `timezone`; they come before those of the map.

    Returns
    -------
    Log
        The log; `header.imported` says what became of every row, and which columns were used.

    Raises
    ------
    DataError
        If a table cannot be read, a column is missing or a value is wrong.
    LogError
        If the log cannot be written.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import import_log
    >>> offers = pd.DataFrame({"offer": [1, 2], "day": ["2024-03-01", "2024-03-02"], "price": ["low", "high"]})
    >>> days = ["2024-03-02", "2024-03-04", "2024-03-05"]
    >>> paid = pd.DataFrame({"offer": [1, 1, 9], "day": days, "amount": [5, 3, 1]})
    >>> with TemporaryDirectory() as folder:
    ...     log = import_log(offers, paid, out=Path(folder) / "shop.arrows", window="3d")
    ...     total = log.frame(kinds=[1])["value"].sum()
    >>> float(total), {key: count for key, count in log.header.imported["payments"].items() if count}
    (5.0, {'rows': 3, 'taken': 1, 'late': 1, 'without_decision': 1})
    """
    return import_tables(open_tables(decisions, payments, map, options), Path(out), force=force)


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables to be imported, and which of their columns mean what."""

    first: OpenTable
    second: OpenTable | None
    columns: ColumnMap


def open_tables(
    decisions: Source,
    payments: Source | None,
    map: str | Path | Mapping[str, Any] | ColumnMap | None,
    options: Mapping[str, Any],
) -> Tables:
    """Read the tables, and the map; without one it is guessed."""
    with _as_data_errors():
        given = None if map is None else read_map(map)
        chosen = _options(given, options)
        first = open_table(decisions, "decisions", chosen.options)
        second = None if payments is None else open_table(payments, "payments", chosen.options)
        return Tables(first, second, chosen if given is not None else _guessed(first, second, chosen))


@contextmanager
def _as_data_errors() -> Iterator[None]:
    """Files of scenarios are read by the same functions, and raise errors about scenarios."""
    try:
        yield
    except ScenarioError as error:
        raise DataError(str(error)) from error


def _options(columns: ColumnMap | None, options: Mapping[str, Any]) -> ColumnMap:
    """The map with other values of some options; what is None is not given."""
    given = {key: value for key, value in options.items() if value is not None}
    base = columns or ColumnMap(decisions=DecisionColumns(arm=""))  # the columns are guessed later
    keys = {**base.model_dump(), "options": {**base.options.model_dump(), **given}}
    return read_map(keys)


def _guessed(first: OpenTable, second: OpenTable | None, chosen: ColumnMap) -> ColumnMap:
    names = [first.where, "" if second is None else second.where]
    guess = guess_map(first.table, None if second is None else second.table, names)
    return guess.model_copy(update={"options": chosen.options})


def import_tables(tables: Tables, out: Path, *, force: bool = False) -> Log:
    """Write the log of these tables."""
    first, second, columns = tables.first, tables.second, tables.columns
    with _as_data_errors():
        decisions, payments = read_rows(first, second, columns)
        clock, made, paid = set_clock(decisions, payments, columns.options)
    fates = decision_fates(decisions, made, clock)
    rows = payment_fates(payments, paid, made, fates, match(decisions, payments, fates), clock)
    taken = np.flatnonzero(fates == Fate.TAKEN)
    if not len(taken):
        raise DataError(f"{first.where}: no decision is left to import: {left_out('decisions', fates)}")
    order = taken[np.argsort(made.moments[taken], kind="stable")]
    names, arms = _number_arms(decisions.arms.take(pa.array(order)))
    pulls = np.full(len(fates), -1)
    pulls[order] = np.arange(len(order))
    events = _events(clock, made.moments[order], arms, pulls, rows, payments.amounts)
    chances = None if decisions.probabilities is None else decisions.probabilities[order]
    if chances is not None:
        events = Events(**events.columns(), probability=chances)
    imported = _report(fates, rows, payments.amounts, chances, names, arms, events)
    imported |= {"map": columns.model_dump(exclude_none=True), "window": columns.options.window is not None}
    imported["tables"] = [
        {"name": table.where, "separator": table.separator, "encoding": table.encoding}
        for table in (first, second)
        if table is not None
    ]
    header = _header(clock, columns, names, len(order), imported, events)
    with LogWriter(out, header, force=force, staged=True) as writer:
        writer.hear(events)
    _keep(out, decisions, columns, order)
    return read_log(out)


def _number_arms(arms: Any) -> tuple[list[str], Ints]:
    """The names of all arms in their order (that of numbers where they are), and the number of each decision's."""
    coded = pc.dictionary_encode(arms)
    found = coded.dictionary.to_pylist()
    try:
        order = sorted(range(len(found)), key=lambda place: float(found[place]))
    except ValueError:
        order = sorted(range(len(found)), key=found.__getitem__)
    places = np.empty(len(found), dtype=np.int64)
    places[order] = np.arange(len(found))
    return [found[place] for place in order], places[coded.indices.to_numpy(zero_copy_only=False)]


def _events(clock: Clock, made: Moments, arms: Ints, pulls: Ints, rows: PaymentRows, amounts: Floats) -> Events:
    """All events in the order of the schema: pulls, payments in the window, closings, and late payments."""
    count, span = len(made), clock.span
    chosen = np.flatnonzero((rows.fates == Fate.TAKEN) | (rows.fates == Fate.LATE))
    pull_of = pulls[rows.decision[chosen]]
    late = rows.fates[chosen] == Fate.LATE
    closing = clock.to_log(made + (clock.window if clock.kind == "number" else int(clock.window)))
    paid_at = clock.to_log(rows.times[chosen])
    # A rounding error must not move a payment beyond the closing, or a late one before it.
    paid_at = np.where(late, np.maximum(paid_at, closing[pull_of]), np.minimum(paid_at, closing[pull_of]))
    ends = np.flatnonzero(~(made + clock.window > clock.until))
    part = np.minimum(clock.parts(rows.ages[chosen]), span)
    number = np.concatenate([np.arange(count), pull_of, ends])
    kind = np.concatenate([np.full(count, PULL), np.where(late, LATE, PARTIAL), np.full(len(ends), CLOSED)])
    time = np.concatenate([clock.to_log(made), paid_at, closing[ends]])
    parts = np.concatenate([np.zeros(count, np.int64), part, np.zeros(len(ends), np.int64)])
    value = np.concatenate([np.full(count, np.nan), amounts[chosen], np.zeros(len(ends))])
    place = np.where(kind == CLOSED, span + 1, np.where(kind == LATE, span + 2, parts))
    order = np.lexsort((place, number, kind != PULL, time))
    number, kind, parts, value = number[order], kind[order], parts[order], value[order]
    credited = kind == PARTIAL
    # Added in the order of arrival, as the rules of a log add them.
    totals = np.bincount(number[credited], weights=value[credited], minlength=count)
    closed = kind == CLOSED
    value[closed] = totals[number[closed]]
    return Events(
        seq=np.arange(len(order)),
        time=time[order],
        kind=kind.astype(np.int8),
        round=np.cumsum(kind == PULL),
        pull=number + 1,
        arm=arms[number],
        part=parts,
        value=value,
    )


def _report(
    fates: Bytes,
    rows: PaymentRows,
    amounts: Floats,
    chances: Floats | None,
    names: list[str],
    arms: Ints,
    events: Events,
) -> dict[str, Any]:
    """What became of every row, and what is noteworthy about what was taken."""
    kept = (rows.fates == Fate.TAKEN) | (rows.fates == Fate.LATE)
    paying = len(np.unique(events.pull[events.kind == PARTIAL]))
    counts = np.bincount(arms, minlength=len(names)).tolist()
    among = {
        "without_payment": len(arms) - paying,
        "open": len(arms) - int(np.count_nonzero(events.kind == CLOSED)),
        "moved": int(np.count_nonzero(rows.moved & kept)),
        "negative": int(np.count_nonzero(amounts[kept] < 0)),
        "missing_probabilities": len(arms) if chances is None else int(np.count_nonzero(np.isnan(chances))),
    }
    return {
        "decisions": count_fates("decisions", fates),
        "payments": count_fates("payments", rows.fates),
        "among": among,
        "arms": dict(zip(names, counts, strict=True)),
        "few": few_decisions(names, counts),
    }


def _header(
    clock: Clock, columns: ColumnMap, names: list[str], count: int, imported: dict[str, Any], events: Events
) -> Header:
    options = columns.options
    has_chances = events.probability is not None
    return Header(
        scenario={"name": options.name} if options.name else {},
        policy=POLICY,
        kind=POLICY,
        parameters={},
        seed=0,
        run=0,
        arms=names,
        means=[None] * len(names),
        maxima=[None] * len(names),
        span=clock.span,
        horizon=count,
        groups=None,
        clairvoyant=False,
        signed=bool((events.value[events.kind != PULL] < 0).any()),
        detail="probabilities" if has_chances else "all",
        sparse=True,
        payments=True,
        window=clock.window / clock.length,
        until=max(float(clock.to_log(np.array([clock.until]))[0]), float(events.time[-1])),
        time_unit=clock.unit,
        currency=options.currency,
        origin=clock.origin_text(),
        imported=imported,
        versions=package_versions(),
    )


def _keep(out: Path, decisions: Decisions, columns: ColumnMap, order: Ints) -> None:
    """Write the columns that are to be kept beside the log, a row for each pull."""
    if not columns.decisions.keep:
        return
    rows = order if decisions.rows is None else decisions.rows[order]
    kept = {title: decisions.source.column(title).take(pa.array(rows)) for title in columns.decisions.keep}
    table = pa.table({"pull": np.arange(1, len(order) + 1), "id": decisions.ids.take(pa.array(order)), **kept})
    parquet.write_table(table, kept_path(out))


def kept_path(log: Path) -> Path:
    """Where the columns that were kept are: beside the log."""
    return log.with_name(f"{log.stem}.decisions.parquet")
