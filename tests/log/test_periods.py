"""What a policy is told of payments: each part once, when its period is over or its pull is closed."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tpstream.log.periods import PeriodTeller
from tpstream.log.schema import DeciderSettings, Header
from tpstream.model.events import CLOSED, DROPPED, LATE, PARTIAL, PULL, Events

Row = tuple[float, int, int, int, float]
"""Time, kind, pull, part and value."""


def header_of(span: int, window: float) -> Header:
    """A header of payments."""
    settings = DeciderSettings(identity="0", clock="caller", silence="zero")
    known: dict[str, Any] = dict.fromkeys(("policy", "kind"), "uniform")
    known |= {"parameters": {}, "scenario": {}, "versions": {}, "seed": 0, "run": 0, "horizon": 99, "groups": None}
    known |= {"arms": ["a"], "means": [None], "maxima": [None], "clairvoyant": False}
    return Header(span=span, sparse=True, payments=True, window=window, decider=settings, **known)


def events_of(rows: list[Row]) -> Events:
    """Rows as events."""
    time, kind, pull, part, value = (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 5
    return Events(
        seq=np.arange(len(rows)),
        time=np.array(time, dtype=float),
        kind=np.array(kind, dtype=np.int8),
        round=np.cumsum(np.array(kind) == PULL).astype(np.int64),
        pull=np.array(pull, dtype=np.int64),
        arm=np.zeros(len(rows), dtype=np.int64),
        part=np.array(part, dtype=np.int64),
        value=np.array(value, dtype=float),
    )


def told(events: Events) -> list[tuple[float, ...]]:
    """What is told, as rows with the round."""
    columns = (events.time, events.round, events.kind, events.pull, events.part, events.value)
    return [tuple(row) for row in zip(*(np.nan_to_num(column, nan=-1.0).tolist() for column in columns), strict=True)]


def test_parts_are_told_when_their_periods_end() -> None:
    """By hand: two payments in one period, an empty period, a loss, and a closing before the window ends."""
    rows: list[Row] = [
        (0.0, PULL, 1, 0, math.nan),
        (0.2, PARTIAL, 1, 1, 2.0),
        (0.5, PULL, 2, 0, math.nan),
        (0.9, PARTIAL, 1, 1, 3.0),
        (1.2, DROPPED, 1, 3, math.nan),
        (1.7, PARTIAL, 2, 2, 4.0),
        (1.9, CLOSED, 2, 0, 4.0),
        (2.5, CLOSED, 1, 0, 5.0),
        (2.6, LATE, 1, 3, 9.0),
    ]
    assert told(PeriodTeller(header_of(3, 2.5)).tell(events_of(rows))) == [
        (0.0, 1, PULL, 1, 0, -1.0),
        (0.5, 2, PULL, 2, 0, -1.0),
        (1.0, 2, PARTIAL, 1, 1, 5.0),
        (1.2, 2, DROPPED, 1, 3, -1.0),
        (1.5, 2, PARTIAL, 2, 1, 0.0),
        (1.9, 2, PARTIAL, 2, 2, 4.0),
        (1.9, 2, PARTIAL, 2, 3, 0.0),
        (1.9, 2, CLOSED, 2, 0, 4.0),
        (2.0, 2, PARTIAL, 1, 2, 0.0),
        (2.5, 2, CLOSED, 1, 0, 5.0),
    ]


@st.composite
def logs(draw: st.DrawFn) -> tuple[int, float, list[Row]]:
    """A span, a window and the events of some pulls, in the order of a log."""
    span = draw(st.integers(1, 4))
    window = span - draw(st.sampled_from([0.0, 0.5]))
    made = sorted(draw(st.lists(st.integers(0, 24), min_size=1, max_size=12)))
    rows: list[Row] = []
    for pull, quarter in enumerate(made, start=1):
        start = quarter / 4
        end = start + draw(st.sampled_from([window, window, window / 2]))
        ages = draw(st.lists(st.integers(0, 4 * span), max_size=4))
        paid = [(start + age / 4, age) for age in ages if start + age / 4 < end]
        rows.append((start, PULL, pull, 0, math.nan))
        rows += [(time, PARTIAL, pull, int(time - start) + 1, float(age + 1)) for time, age in paid]
        rows.append((end, CLOSED, pull, 0, 0.0))
    rows.sort(key=lambda row: (row[0], row[1] != PULL, row[2], span + 1 if row[1] == CLOSED else row[3]))
    return span, window, rows


def literally(span: int, window: float, rows: list[Row]) -> list[tuple[float, ...]]:
    """The same, pull by pull: what each period paid in all, at its end or at the closing."""
    found: list[tuple[float, ...]] = []
    for start, _, pull, _, _ in [row for row in rows if row[1] == PULL]:
        end = next(row[0] for row in rows if row[1:3] == (CLOSED, pull))
        found.append((start, PULL, pull, 0, -1.0))
        found.append((end, CLOSED, pull, span + 1, 0.0))
        for part in range(1, span + 1):
            paid = sum(row[4] for row in rows if row[1:4] == (PARTIAL, pull, part))
            found.append((min(start + part, start + window, end), PARTIAL, pull, part, paid))
    return sorted(found, key=lambda row: (row[0], row[1] != PULL, row[2], row[3]))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(logs(), st.integers(0, 40), st.integers(0, 40))
def test_what_is_told_does_not_depend_on_batches(log: tuple[int, float, list[Row]], one: int, other: int) -> None:
    """Whatever the batches, it is what a literal version says."""
    span, window, rows = log
    events, teller = events_of(rows), PeriodTeller(header_of(span, window))
    first, second = sorted(min(cut, len(rows)) for cut in (one, other))
    pieces = [events.cut(0, first), events.cut(first, second), events.cut(second, len(rows))]
    found = [row for piece in pieces for row in told(teller.tell(piece))]
    expected = literally(span, window, rows)
    assert [(time, kind, pull, value) for time, _, kind, pull, _, value in found] == [
        (time, kind, pull, value) for time, kind, pull, _, value in expected
    ]
