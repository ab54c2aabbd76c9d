"""Tables of calendars, which compiled code reads (calendar_times.py).

A calendar either has a period (reports at the times first, first + every, ...) or days with opening hours. Day n lasts
from the end of day n - 1 to its own end, which belongs to it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Bools, Floats, Ints

HOURS_PER_DAY = 24.0
FIRST, EVERY, HOURS, OPENING, CLOSING = range(5)
"""Places of a calendar's numbers: of a period its first report and its length (0: no period); of days the hours in a
unit of time, and the hours of a day at which it opens and closes."""


class CalendarTable(NamedTuple):
    """Some calendars: their numbers, and their days one after another."""

    numbers: Floats
    """Of shape (calendars, 5)."""
    waits: Ints
    """For each day of a cycle of days, how many days to the next open one; 0 on an open day."""
    waits_from: Ints
    """Where the waits of each calendar begin, and the end of all."""
    closed: Ints
    """Numbers of the days that are closed although their day of the cycle is open, rising."""
    closed_from: Ints
    """Where the closed days of each calendar begin, and the end of all."""


def period_table(first: float, every: float) -> CalendarTable:
    """Reports at the times first, first + every, ..."""
    return _table((first, every, 0.0, 0.0, 0.0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def days_table(is_open: Bools, hours: float, opening: tuple[float, float], closed: Sequence[int] = ()) -> CalendarTable:
    """Days of a cycle, `opening` from one hour to another on open days, except on the days of these numbers.

    `hours` is how many hours a unit of time has. At least one day of the cycle is open.
    """
    days = len(is_open)
    following = np.flatnonzero(np.concatenate([is_open, is_open]))
    today = np.arange(days)
    waits = following[np.searchsorted(following, today)] - today
    return _table((0.0, 0.0, hours, *opening), waits, np.unique(np.array(closed, dtype=np.int64)))


def _table(numbers: tuple[float, ...], waits: Ints, closed: Ints) -> CalendarTable:
    starts = [np.array([0, len(days)]) for days in (waits, closed)]
    return CalendarTable(np.array([numbers]), waits, starts[0], closed, starts[1])


def join_tables(tables: Sequence[CalendarTable]) -> CalendarTable:
    """Several calendars as one table, in this order."""
    waits, closed = [table.waits for table in tables], [table.closed for table in tables]
    return CalendarTable(
        np.concatenate([np.zeros((0, 5)), *(table.numbers for table in tables)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *waits]),
        np.cumsum([0, *map(len, waits)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *closed]),
        np.cumsum([0, *map(len, closed)]),
    )
