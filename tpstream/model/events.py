"""The events of a run: their kinds and columns, and events one by one (`Event`) or as arrays (`Events`).

Kinds and columns are stated here and nowhere else: `Kind` lists the kinds and their numbers, `COLUMNS` the columns and
their types. Engines, compiled loops, log formats and the rules of a log take both from here; the three classes below
(`Event`, `Events`, `EventColumns`) name the same columns in the same order, each for one way of looking at events.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import repeat
from math import isinf, isnan
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tpstream.model.arrays import Bools, Bytes, Floats, Ints


class Kind(IntEnum):
    """The kinds of events; the numbers are part of the log's schema.

    A `PULL` is a decision. A `PARTIAL` is a part that was paid and credited, a `LATE` part came after its pull was
    closed, a `DROPPED` part never comes; neither of them is credited. `CLOSED` ends a pull. The others are about
    no pull: a `LOOK` is a number that a trial's analysis found for an arm, `STOPPED` an arm that is closed after it;
    `CHANGED` says that from here on decisions are made in another way.

    Examples
    --------
    >>> [kind.name.lower() for kind in Kind]
    ['pull', 'partial', 'closed', 'late', 'dropped', 'look', 'stopped', 'changed']
    >>> int(Kind.CLOSED)
    2
    """

    PULL = 0
    PARTIAL = 1
    CLOSED = 2
    LATE = 3
    DROPPED = 4
    LOOK = 5
    STOPPED = 6
    CHANGED = 7


KIND_NAMES = tuple(kind.name.lower() for kind in Kind)
"""The kinds as they are written in logs; the place in the tuple is the kind's number."""
PULL, PARTIAL, CLOSED, LATE, DROPPED, LOOK, STOPPED, CHANGED = (int(kind) for kind in Kind)
"""The kinds as plain integers, for compiled code, which knows no enumerations."""
PART_KINDS = (PARTIAL, LATE, DROPPED)
"""The kinds of events that are about one part of a pull; the column `part` of a pull and of a closing is 0."""
LOOK_KINDS = (LOOK, STOPPED)
"""The kinds of events that are about a look: `pull` is its number, `part` says what the value is, or the reason."""
NO_PULL = LOOK
"""The kinds from this number on are about no pull: looks, and changes of how decisions are made."""


@dataclass(frozen=True)
class Column:
    """One column of events: its name, and what its values are."""

    name: str
    type: type[np.generic]
    """The type of one value in memory."""
    optional: bool = False
    """Whether the column may be absent."""
    per_pull: bool = False
    """Whether it has a row for each event of kind pull only, instead of one for each event."""
    per_arm: bool = False
    """Whether a row has a value for each arm, instead of a single value."""
    nullable: bool = False
    """Whether single values may be missing: NaN in memory, null in a log."""
    short: bool = False
    """Whether logs store these integers in 32 bits whatever the horizon; others get 64 bits for a long one."""
    outside: bool = False
    """Whether it says what somebody outside called or dated the event; compiled code never sees it."""

    def empty(self, rows: int, arms: int = 0, *, narrow: bool = False) -> NDArray[Any]:
        """An array with that many rows, not yet filled; `narrow`: with 32 bits instead of 64 for whole numbers."""
        kind = np.int32 if narrow and self.type is np.int64 else self.type
        return np.empty((rows, arms) if self.per_arm else rows, dtype=kind)

    def missing(self, rows: int) -> NDArray[Any]:
        """That many values of which each is missing, for a column that is nullable."""
        return np.full(rows, None if self.type is np.object_ else np.nan, dtype=self.type)


COLUMNS = (
    Column("seq", np.int64),
    Column("time", np.float64),
    Column("kind", np.int8),
    Column("round", np.int64),
    Column("pull", np.int64),
    Column("arm", np.int64, short=True),
    Column("part", np.int64, short=True),
    Column("value", np.float64, nullable=True),
    Column("shown", np.bool_, optional=True),
    Column("site", np.int64, optional=True, per_pull=True, short=True),
    Column("indices", np.float64, optional=True, per_pull=True, per_arm=True),
    Column("probability", np.float64, optional=True, per_pull=True, nullable=True),
    Column("probabilities", np.float64, optional=True, per_pull=True, per_arm=True),
    Column("key", np.object_, optional=True, nullable=True, outside=True),
    Column("event_time", np.float64, optional=True, nullable=True, outside=True),
)
"""All columns, in the order of the schema."""
Detail = Literal["all", "pulls", "indices", "probabilities"]
"""What a log holds: every event, only the pulls, or every event and the optional columns of this name."""
OUTSIDE_COLUMNS = tuple(column.name for column in COLUMNS if column.outside)
"""The columns of logs of decisions that were made for real, step by step."""
WORLD_COLUMNS = ("shown", "site", *OUTSIDE_COLUMNS)
"""The optional columns that a log has if its world needs them: where feedback is hidden, where there are sites, and
where events come from outside."""
DETAIL_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "indices": ("indices",),
    "probabilities": ("probability", "probabilities"),
}
"""The optional columns that a log has if it is asked for this detail."""
COLUMN: Mapping[str, Column] = {column.name: column for column in COLUMNS}
COLUMN_NAMES = tuple(COLUMN)
OPTIONAL_COLUMNS = tuple(column.name for column in COLUMNS if column.optional)

Columns = dict[str, NDArray[Any]]
"""Some columns of some events by name; an optional one may be absent."""


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One event, as a line of a log has it.

    `round` is the number of the last decision made; `part` is 0 where no single part is meant (pull, closed);
    `value` is what a part paid, what a closed pull was credited with, or the total that a clairvoyant
    policy was shown at the pull; None where nothing was shown. `shown` is whether the policy is told the event, where
    feedback is hidden. `site` is the number of the site at which a decision was due, where there are any. `indices` is
    the policy's index of every arm, with "inf" for an infinite one (JSON has no number for it) and None for one that is
    not a number. `probabilities` is the probability with which each arm was chosen, and `probability` that of the
    chosen one; None where it is not known. `key` is what the caller of a `Decider` called the event, and what changed
    at one of kind changed, as JSON; `event_time` is when it happened, as far as that was told: `time` is when it came.
    """

    seq: int
    time: float
    kind: str
    round: int
    pull: int
    arm: int
    part: int
    value: float | None
    shown: bool | None = None
    site: int | None = None
    indices: tuple[float | str | None, ...] | None = None
    probability: float | None = None
    probabilities: tuple[float | str | None, ...] | None = None
    key: str | None = None
    event_time: float | None = None


class EventColumns(NamedTuple):
    """The columns of events for compiled code: those from outside are not there, an absent one has no rows."""

    seq: Ints
    time: Floats
    kind: Bytes
    round: Ints
    pull: Ints
    arm: Ints
    part: Ints
    value: Floats
    shown: Bools
    site: Ints
    indices: Floats
    probability: Floats
    probabilities: Floats


@dataclass(frozen=True, eq=False)
class Events:
    """Consecutive events as one array for each column; `value` is NaN where an event has no value.

    Policies and sinks are handed events in this form.

    Examples
    --------
    >>> from tpstream import Scenario, simulate
    >>> class Paid:
    ...     total = 0.0
    ...     def hear(self, events):
    ...         self.total += events.value[events.kind == Kind.PARTIAL].sum()
    >>> paid = Paid()
    >>> run = simulate(Scenario.load("setting-1").with_(horizon=20), "uniform", sinks=[paid])
    >>> bool(paid.total > 0)
    True
    """

    seq: Ints
    time: Floats
    kind: Bytes
    round: Ints
    pull: Ints
    arm: Ints
    part: Ints
    value: Floats
    shown: Bools | None = None
    """Whether the policy is told the event; None where it is told all of them."""
    site: Ints | None = None
    """One row for each event of kind pull: the site at which the decision was due, where there are any."""
    indices: Floats | None = None
    """One row for each event of kind pull, when the policy's indices were asked for."""
    probability: Floats | None = None
    """The same for the probability of the arm that was chosen."""
    probabilities: Floats | None = None
    """The same for the probability of every arm."""
    key: NDArray[np.object_] | None = None
    """What the event was called outside, as text; None where it has no name."""
    event_time: Floats | None = None
    """When it happened outside; NaN where nobody said."""
    borrowed: ClassVar[bool] = False
    """Whether the arrays are views of buffers that will be used again: `copy` what is to be kept."""

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Iterator[Event]:
        """The events one by one."""
        return map(Event, *(self._values(column) for column in COLUMNS))

    def _values(self, column: Column) -> Iterable[Any]:
        """A column's value for each `Event`."""
        rows = getattr(self, column.name)
        if rows is None:
            return repeat(None)
        values = rows.tolist()
        if column.name == "kind":
            return [KIND_NAMES[kind] for kind in values]
        if column.per_arm:
            values = [tuple(map(json_number, row)) for row in values]
        elif column.nullable and column.type is np.float64:
            values = [None if isnan(value) else value for value in values]
        return spread(values, self.kind) if column.per_pull else values

    def columns(self) -> Columns:
        """The columns that are there, by name."""
        return {name: rows for name in COLUMN_NAMES if (rows := getattr(self, name)) is not None}

    def arrays(self) -> EventColumns:
        """The columns for compiled code; those with rows for pulls only are left out, that is, they have no rows."""
        found = [None if COLUMN[name].per_pull else getattr(self, name) for name in EventColumns._fields]
        whole: list[Any] = [_no_rows()[place] if rows is None else rows for place, rows in enumerate(found)]
        return EventColumns(*whole)

    def copy(self) -> "Events":
        """The same events in arrays of their own, in the types of the schema."""
        return Events(**{name: rows.astype(COLUMN[name].type) for name, rows in self.columns().items()})

    @staticmethod
    def join(batches: Sequence["Events"]) -> "Events":
        """Consecutive batches as one."""
        return Events(**concatenate([batch.columns() for batch in batches], COLUMN_NAMES))

    def take(self, chosen: Bytes | Ints | slice) -> "Events":
        """The chosen rows, without the columns that have a row for each pull only."""
        return Events(**{name: rows[chosen] for name, rows in self.columns().items() if not COLUMN[name].per_pull})

    def cut(self, first: int, last: int) -> "Events":
        """The events from `first` up to before `last`, with all their columns."""
        columns = self.columns()
        events = pulls = slice(first, last)
        if any(COLUMN[name].per_pull for name in columns):
            before, inside = (int(np.count_nonzero(self.kind[rows] == PULL)) for rows in (slice(0, first), events))
            pulls = slice(before, before + inside)
        return Events(**{name: rows[pulls if COLUMN[name].per_pull else events] for name, rows in columns.items()})


class BorrowedEvents(Events):
    """Events that a compiled loop left in its buffers; their whole numbers may have 32 bits instead of 64."""

    borrowed = True


@cache
def _no_rows() -> EventColumns:
    """Columns that are not there."""
    return EventColumns(*(COLUMN[name].empty(0) for name in EventColumns._fields))


def schema_array(rows: NDArray[Any], column: Column) -> NDArray[Any]:
    """The rows of a column in the one kind of array for which compiled code that reads logs is compiled.

    It is contiguous, of the schema's type, and may be written to, as a choice of its rows may.
    """
    return np.require(rows, column.type, ("C", "W"))


def pull_events(columns: Columns) -> Columns:
    """The columns of the events of pulls, each part once; `kind` and `value` must be among them.

    Where feedback is hidden, a column `shown` says which events a policy is told. One that it is not told stands at its
    true time; a shown event of kind partial that pays nothing, or less, repeats it when its pull is closed. So whatever
    adds up or counts parts leaves these out. Events about no pull are left out too.
    """
    columns = about_pulls(columns)
    if "shown" not in columns:
        return columns
    return _chosen(columns, ~(columns["shown"] & (columns["kind"] == PARTIAL) & ~(columns["value"] > 0)))


def about_looks(kinds: Bytes) -> Bools:
    """Which of these kinds are about a look."""
    found: Bools = np.isin(kinds, LOOK_KINDS)
    return found


def about_pulls(columns: Columns) -> Columns:
    """The columns without the events about no pull, such as looks; `kind` must be among them."""
    of_pulls: Bools = columns["kind"] < NO_PULL
    return columns if of_pulls.all() else _chosen(columns, of_pulls)


def _chosen(columns: Columns, rows: Bools) -> Columns:
    return {name: column if COLUMN[name].per_pull else column[rows] for name, column in columns.items()}


class Told:
    """What a policy is told of the events of a run: those that it is shown, and nothing of the others.

    They are numbered anew, so that no gap in `seq` tells of a hidden event, and have no optional columns. Events about
    no pull are not feedback, and never told. It is the same in a run and in a replay.
    """

    def __init__(self) -> None:
        self.count = 0
        """The number of events that were told."""

    def of(self, events: Events) -> Events:
        """What it is told of the next events."""
        told = events.kind < NO_PULL if events.shown is None else events.shown
        is_all, number = bool(told.all()), len(events)
        is_next = number > 0 and events.seq[-1] == self.count + number - 1
        if is_all and is_next and all(getattr(events, name) is None for name in OPTIONAL_COLUMNS):
            self.count += number
            return events
        columns = {name: rows for name, rows in events.columns().items() if not COLUMN[name].optional}
        if not is_all:
            columns = {name: rows[told] for name, rows in columns.items()}
        count = len(columns["seq"])
        if count and columns["seq"][-1] != self.count + count - 1:
            columns["seq"] = np.arange(self.count, self.count + count)
        self.count += count
        return Events(**columns)


def concatenate(batches: Sequence[Columns], names: Iterable[str]) -> Columns:
    """These columns of consecutive batches as one; an optional column is there if a batch has it."""
    joined: Columns = {}
    for name in names:
        rows = [batch[name] for batch in batches if name in batch]
        if rows:
            joined[name] = np.concatenate(rows)
        elif not COLUMN[name].optional:
            joined[name] = COLUMN[name].empty(0)
    return joined


def spread(values: Iterable[Any], kinds: Bytes) -> list[Any]:
    """One value for each event, from the values of the pulls: None for an event that is no pull."""
    following = iter(values)
    return [next(following) if is_pull else None for is_pull in (kinds == PULL).tolist()]


def empty_columns(
    events: int, pulls: int, arms: int, optional: Iterable[str] = (), *, narrow: bool = False
) -> EventColumns:
    """Arrays that a compiled loop fills, with that many rows; an optional column has rows only if it is named.

    `seq` counts from 0 on. `narrow`: whole numbers other than `seq` get 32 bits, as logs store them.
    """
    chosen = set(optional)
    inside = [COLUMN[name] for name in EventColumns._fields]
    rows = {column.name: pulls if column.per_pull else events for column in inside}
    absent = {column.name: 0 for column in inside if column.optional and column.name not in chosen}
    columns = {column.name: column.empty((rows | absent)[column.name], arms, narrow=narrow) for column in inside}
    return EventColumns(**columns | {"seq": np.arange(events)})


def filled_events(room: EventColumns, seq: int, events: int, pulls: int) -> Events:
    """What a compiled loop wrote to the first rows, as views of them; the events are numbered from `seq` on."""
    if events:
        np.add(room.seq, seq - room.seq[0], out=room.seq)  # all rows, so that they go on counting
    columns: Columns = {}
    for column in map(COLUMN.__getitem__, EventColumns._fields):
        rows = getattr(room, column.name)
        if len(rows) or not column.optional:
            columns[column.name] = rows[: pulls if column.per_pull else events]
    return BorrowedEvents(**columns)


def json_number(number: float) -> float | str | None:
    """A number as JSON can carry it."""
    if isnan(number):
        return None
    return str(number) if isinf(number) else number
