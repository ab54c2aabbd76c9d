"""The schema of events: all views have the columns that are stated once, and events are cut and joined whole."""

import re
from dataclasses import fields
from pathlib import Path

import msgspec
import numpy as np
from hypothesis import given, strategies as st
from log_samples import bits, logs, make_events, split

from tpstream.log.schema import Header
from tpstream.model.events import (
    COLUMN_NAMES,
    COLUMNS,
    KIND_NAMES,
    LOOK_KINDS,
    OUTSIDE_COLUMNS,
    PART_KINDS,
    Event,
    EventColumns,
    Events,
    Kind,
    empty_columns,
    filled_events,
)

DOCS = Path(__file__).parents[2] / "docs" / "log-format.md"


def test_all_views_have_the_stated_columns() -> None:
    """One event and events as arrays have the columns of the statement, in its order; compiled code has fewer."""
    assert tuple(field.name for field in fields(Events)) == COLUMN_NAMES
    assert tuple(field.name for field in msgspec.structs.fields(Event)) == COLUMN_NAMES
    assert EventColumns._fields == tuple(name for name in COLUMN_NAMES if name not in OUTSIDE_COLUMNS)


def test_optional_columns_have_a_default() -> None:
    """Events and an event can be made without the optional columns, and without no other."""
    optional = {column.name for column in COLUMNS if column.optional}
    assert {field.name for field in fields(Events) if field.default is None} == optional
    assert {field.name for field in msgspec.structs.fields(Event) if field.default is None} == optional


def test_the_page_tells_all_columns_and_kinds() -> None:
    """docs/log-format.md has a row for every column, and names every kind and those without a part."""
    section = DOCS.read_text(encoding="utf-8").split("## Events")[1].split("## Header")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == COLUMN_NAMES
    kinds = re.search(r"^\| `kind` \| text \| (.*) \|$", section, re.MULTILINE)
    without = re.search(r"^\| `part` .*\((.*)\) \|$", section, re.MULTILINE)
    assert kinds is not None
    assert without is not None
    assert tuple(re.findall(r"`(\w+)`", kinds[1])) == KIND_NAMES
    assert re.findall(r"`(\w+)`", without[1]) == [
        kind.name.lower() for kind in Kind if kind not in (*PART_KINDS, *LOOK_KINDS)
    ]


@given(log=logs(), cuts=st.lists(st.integers(0, 30), max_size=3))
def test_cut_and_joined_events_are_the_same(log: tuple[Header, Events], cuts: list[int]) -> None:
    """Events that are cut into batches and joined again are unchanged, bit for bit, with their indices."""
    events = log[1]
    assert bits(Events.join(split(events, [min(cut, len(events)) for cut in cuts]))) == bits(events)


def test_nothing_joined_is_no_events() -> None:
    """Events of no batches are arrays of the right types without rows."""
    nothing = Events.join([])
    assert (len(nothing), nothing.kind.dtype, nothing.time.dtype, nothing.indices) == (0, np.int8, np.float64, None)


def test_compiled_columns_have_no_rows_where_a_column_is_absent() -> None:
    """What a loop gets has every column; an optional one has rows only where it was asked for."""
    assert empty_columns(8, 2, 3).indices.shape == (0, 3)
    assert empty_columns(8, 2, 3, ["indices"]).indices.shape == (2, 3)
    assert {len(rows) for rows in empty_columns(8, 2, 3)} == {0, 8}
    assert len(make_events(7, indices=True).arrays().indices) == 0


def test_filled_columns_become_events() -> None:
    """The first rows that a loop wrote are events, numbered from the given number on."""
    written = make_events(7, indices=True)
    room = empty_columns(10, 4, 2, ["indices"])
    for name, rows in written.columns().items():
        getattr(room, name)[: len(rows)] = rows
    found = filled_events(room, 0, 7, 2)
    assert bits(found) == bits(written)
    assert filled_events(room, 90, 7, 2).seq.tolist() == list(range(90, 97))
    assert filled_events(empty_columns(10, 4, 2), 0, 0, 0).indices is None
