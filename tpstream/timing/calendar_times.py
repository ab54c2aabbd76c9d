"""When a calendar hands something out: the one formula, which compiled loops and Python use alike."""

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.numba_support import cached, compiled, compiled_loop
from tpstream.timing.calendar_tables import CLOSING, EVERY, FIRST, HOURS, HOURS_PER_DAY, OPENING, CalendarTable

FARTHEST = 2.0**50
"""Later than this, days are not told apart any more, and everything is open."""


@compiled_loop
def next_report(table: CalendarTable, calendar: int, time: float) -> float:
    """The first time, not before this one, at which the calendar hands something out."""
    numbers = table.numbers
    if numbers[calendar, EVERY] > 0.0:
        return next_period(numbers[calendar, FIRST], numbers[calendar, EVERY], time)
    hours = numbers[calendar, HOURS]
    if time > FARTHEST:
        return time
    day = next_day(table, calendar, int(np.ceil(time * hours / HOURS_PER_DAY)))
    while time > ((day - 1) * HOURS_PER_DAY + numbers[calendar, CLOSING]) / hours:
        day = next_day(table, calendar, day + 1)
    opening: float = ((day - 1) * HOURS_PER_DAY + numbers[calendar, OPENING]) / hours
    return max(time, opening)


@compiled
def next_period(first: float, every: float, time: float) -> float:
    """The first of the times first, first + every, ... that is not before this one."""
    number = max(np.ceil((time - first) / every), 0.0)
    # The quotient is rounded: the report before may still be in time, or this one a hair too early.
    before = first + max(number - 1.0, 0.0) * every
    this = first + number * every
    later: float = first + (number + 1.0) * every
    return before if before >= time else this if this >= time else later


@compiled
def next_day(table: CalendarTable, calendar: int, day: int) -> int:
    """Find the first open day that is not before this one."""
    begin = table.waits_from[calendar]
    cycle = table.waits_from[calendar + 1] - begin
    while True:
        day += table.waits[begin + (day - 1) % cycle]
        low, high = table.closed_from[calendar], table.closed_from[calendar + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if table.closed[middle] < day:
                low = middle + 1
            else:
                high = middle
        if low == end or table.closed[low] != day:
            return day
        day += 1


@cached
def report(table: CalendarTable, times: Floats, reported: Floats) -> None:
    """Write for each time when what arrives then is handed out by a calendar that is alone in its table."""
    for place in range(times.size):
        reported[place] = next_report(table, 0, times[place])
