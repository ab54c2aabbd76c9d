"""What becomes of every row of the tables: taken, or left out for a reason that the report counts."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tpstream.log.imports.clock import Clock
from tpstream.log.imports.report import Fate
from tpstream.log.imports.tables import Decisions, OpenTable, Payments, decision_rows, first_rows
from tpstream.log.imports.times import Moments, Times
from tpstream.model.arrays import Bools, Bytes, Ints


@dataclass(frozen=True, eq=False)
class PaymentRows:
    """The fates of payments, and what is known of those that are taken or late (the others have any value)."""

    fates: Bytes
    decision: Ints
    """The row of the decision."""
    times: Moments
    """When it was paid; not before the decision."""
    ages: Moments
    moved: Bools
    """Whether it was before its decision, within the tolerance."""


def decision_fates(decisions: Decisions, made: Times, clock: Clock) -> Bytes:
    """The fate of every row about a decision."""
    ids, arms = decisions.ids, decisions.arms
    incomplete = made.missing | _nulls(ids) | _nulls(arms)
    fates = np.full(len(ids), Fate.TAKEN, dtype=np.int8)
    fates[clock.is_after_cut(made.moments)] = Fate.AFTER_CUT
    if decisions.rows is None:
        _mark_repeated(fates, first_rows(ids), decisions.source, incomplete)
    fates[incomplete] = Fate.INCOMPLETE
    return fates


def payment_fates(
    payments: Payments, paid: Times | None, made: Times, taken: Bytes, rows: Ints, clock: Clock
) -> PaymentRows:
    """The fate of every payment; `taken` are the fates of decisions and `rows` the decision of each payment."""
    there = rows >= 0
    decision = np.maximum(rows, 0)
    start = made.moments[decision]
    times: Moments
    if paid is None:
        ages = (payments.ages if payments.ages is not None else np.zeros(len(rows))) * clock.length
        missing = np.isnan(ages)
        ages = np.nan_to_num(ages).astype(start.dtype)
        times = start + ages
    else:
        missing, times = paid.missing, paid.moments
        ages = times - start
    moved = (ages < 0) & (ages >= -clock.tolerance)
    ages = np.where(moved, 0, ages)
    fates = np.full(len(rows), Fate.TAKEN, dtype=np.int8)
    fates[clock.is_late(ages)] = Fate.LATE
    fates[ages < 0] = Fate.BEFORE_DECISION
    fates[clock.is_after_cut(times) | (taken[decision] == Fate.AFTER_CUT)] = Fate.AFTER_CUT
    fates[~there | (taken[decision] == Fate.INCOMPLETE)] = Fate.WITHOUT_DECISION
    incomplete = missing | np.isnan(payments.amounts) | _nulls(payments.ids)
    if payments.unique is not None:
        whole = incomplete | _nulls(payments.unique)
        _mark_repeated(fates, first_rows(payments.unique), payments.source, whole)
    elif not payments.is_wide:
        fates[pd.DataFrame(payments.source.codes()).duplicated().to_numpy()] = Fate.DUPLICATE
    fates[incomplete] = Fate.INCOMPLETE
    return PaymentRows(fates, decision, np.maximum(times, start), ages, moved)


def _nulls(texts: object) -> Bools:
    missing: Bools = texts.is_null().to_numpy(zero_copy_only=False)  # type: ignore[attr-defined]
    return missing


def _mark_repeated(fates: Bytes, numbered: tuple[Ints, Ints], source: OpenTable, left_out: Bools) -> None:
    """Mark all rows of an id but the first complete one: as duplicates where they are equal to it."""
    _, number = numbered
    usable = np.flatnonzero(~left_out)
    _, place = np.unique(number[usable], return_index=True)
    first = np.full(int(number.max(initial=0)) + 1, -1)
    first[number[usable[place]]] = usable[place]
    repeated = np.flatnonzero(~left_out & (first[number] != np.arange(len(number))))
    if len(repeated):
        codes = source.codes()
        same = (codes[repeated] == codes[first[number[repeated]]]).all(axis=1)
        fates[repeated] = np.where(same, Fate.DUPLICATE, Fate.CONFLICTING)


def match(decisions: Decisions, payments: Payments, fates: Bytes) -> Ints:
    """For every payment the row of its decision, as the first of the rows with its id that was not left out."""
    usable = np.flatnonzero(~np.isin(fates, [Fate.INCOMPLETE, Fate.DUPLICATE, Fate.CONFLICTING]))
    found = decision_rows(decisions.ids.take(usable), payments.ids)
    rows: Ints = np.where(found >= 0, usable[np.maximum(found, 0)] if len(usable) else -1, -1)
    return rows
