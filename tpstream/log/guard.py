"""Where the bytes of a log become data that others trust: what a format's reader gives is looked at once, for all.

- What decoding raises is damage to the file, and told as such.
- The bytes of a log that tells its SHA-256 are compared with it, whatever its events are read for.
- Columns have the types of the schema in arrays of one kind, so that compiled code is compiled once, and have as many
  rows as there are events or pulls. An optional column is there for all batches or for none; where the header says
  which ones there are, those.
- Arms, parts, pulls and times are in their ranges for whoever asks for columns that can be `counted`. Those who look at
  every event by the rules of a log read the others, since they can say more about what is wrong.
"""

import hashlib
import mmap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.log.formats import DIGITS
from tpstream.log.schema import Header
from tpstream.model.errors import LogError
from tpstream.model.events import (
    COLUMN,
    LATE,
    NO_PULL,
    PARTIAL,
    PULL,
    WORLD_COLUMNS,
    Column,
    Columns,
    schema_array,
)
from tpstream.model.limits import LARGEST

CHUNK = 1 << 22
"""Bytes that are hashed at a time; between them a check can be given up."""
SMALL = 1 << 18
"""Bytes of a file that is hashed at once: a thread would cost as much."""
Rows = NDArray[Any]
NONE = np.empty(0)
"""The rows of a column that is not read."""


@dataclass(frozen=True, eq=False)
class FormatReader:
    """An open log in one format: its header, how it ends, and how its events are read."""

    header: Header
    last: int | None
    """The seq of the last whole event; -1: there is none; None: unknown, since the last line is broken."""
    end: int | None
    """The number of events that the end marker tells; None for a torn log."""
    batches: Callable[[Sequence[str]], Iterator[Columns]]
    """Reads the columns of these names, batch by batch; "kind" must be among them if one has rows for pulls only."""
    written: "FormatReader | None" = None
    """Of a sparse log: the reader of the events that are in the file, without the zeros that are put in."""
    last_round: int | None = None
    """The round of the last whole event of a log that is not complete; None if there is none, or it is not needed."""
    sha256: str | None = None
    """The SHA-256 that the end marker tells; None for a torn log, or an end marker that tells none."""

    verify: Callable[[], None] = lambda: None
    """Raises LogError if the file is not as it was written, by its SHA-256."""

    @property
    def complete(self) -> bool:
        """Whether the log proves that it is all there: an end marker without a SHA-256 could stand anywhere."""
        return self.end is not None and self.sha256 is not None


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Take what decoding raises for damage to the log: no error of a library, and no traceback, reaches the user."""
    try:
        yield
    except (ValueError, LookupError, ArithmeticError, NotImplementedError, RecursionError) as error:
        raise LogError(f"{path}: the log is damaged: {type(error).__name__}: {error}") from error


class WholenessCheck:
    """Compares a file with the SHA-256 of its end marker; large ones in a thread, from now on, while events are read.

    Hashing takes 10 to 40 % of the time of reading, and no part of Python.

    Parameters
    ----------
    path
        The file.
    sha256
        What its end marker tells: the SHA-256 of the file with zeros in the place of these digits.
    """

    def __init__(self, path: Path, sha256: str) -> None:
        self._path, self._told = path, sha256
        self._found: str | None = None
        self._failure: OSError | ValueError | None = None
        self._given_up = False
        self._thread: threading.Thread | None = None
        if path.stat().st_size > SMALL:
            self._thread = threading.Thread(target=self._hash, name="tpstream-sha256", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Wait for the end; LogError if the bytes of the file are not those that were written."""
        if self._thread is None:
            self._hash()
        else:
            self._thread.join()
        if self._failure is not None:
            raise self._failure
        if self._found != self._told:
            raise LogError(
                f"{self._path}: the log is damaged: it has not the SHA-256 that its end marker tells; "
                f"take an undamaged copy, or make the run again"
            )

    def give_up(self) -> None:
        """Stop soon: nobody asks any more."""
        self._given_up = True

    def _hash(self) -> None:
        try:
            self._found = self._digest()
        except (OSError, ValueError) as error:
            self._failure = error

    def _digest(self) -> str | None:
        """The SHA-256 of the file with zeros for its digits; None if they are not in it, or if it was given up."""
        digits, digest = self._told.encode(), hashlib.sha256()
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place = data.rfind(digits)
            if place < 0:
                return None
            with memoryview(data) as view:
                for first in range(0, place, CHUNK):
                    if self._given_up:
                        return None
                    digest.update(view[first : min(first + CHUNK, place)])
                digest.update(DIGITS)
                digest.update(view[place + len(digits) :])
        return digest.hexdigest()


def guarded(reader: FormatReader, path: Path) -> FormatReader:
    """The same reader, of whose batches nothing has to be feared but what events say."""
    guard = _Guard(reader, path)
    return replace(reader, batches=guard.batches, verify=guard.verify)


class _Guard:
    """Stands between a reader and those who read."""

    def __init__(self, reader: FormatReader, path: Path) -> None:
        self._reader, self._path = reader, path
        self._found_whole = False

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names, batch by batch."""
        check, fitting = self._begin(), Fitting(self._reader.header, self._path, names)
        try:
            with damage_told(self._path):
                yield from map(fitting.fit, self._reader.batches(names))
            # Not before: whoever looks at the events has more to say about a damaged one.
            self._finish(check)
        finally:
            if check is not None:
                check.give_up()

    def verify(self) -> None:
        """Raise LogError if the file is not as it was written, by the SHA-256 in its end marker; looked at once."""
        self._finish(self._begin())

    def _begin(self) -> WholenessCheck | None:
        """A check of the file that begins now; None if there is nothing to compare, or it was found to be whole."""
        if self._reader.sha256 is None or self._found_whole:
            return None
        return WholenessCheck(self._path, self._reader.sha256)

    def _finish(self, check: WholenessCheck | None) -> None:
        if check is not None:
            check.finish()
            self._found_whole = True


class Fitting:
    """Fits the consecutive batches of a log to the schema and to each other.

    Parameters
    ----------
    header
        Of the log.
    path
        Its file, for errors.
    names
        The columns that are read.
    """

    def __init__(self, header: Header, path: Path, names: Sequence[str]) -> None:
        self._path, self._arms = path, len(header.arms)
        # A log of which nobody said what it must have may still have optional columns, as its first rows show.
        self._has: dict[str, bool] = {name: name in header.world_columns for name in WORLD_COLUMNS}
        if header.decider is not None and header.detail != "all":
            self._has["probability"] = "probabilities" in header.detail  # a policy may be changed for one without
        if header.detail == "pulls":
            del self._has["shown"]
        self._stated = frozenset(self._has)
        self._names = [name for name in names if not COLUMN[name].outside or self._has[name]]

    def fit(self, batch: Columns) -> Columns:
        """The columns of one batch."""
        pulls = int(np.count_nonzero(batch["kind"] == PULL)) if "kind" in batch else None
        events = next((len(rows) for name, rows in batch.items() if not COLUMN[name].per_pull), 0)
        fitted: Columns = {}
        for column in (COLUMN[name] for name in self._names):
            count = pulls if column.per_pull else events
            rows = batch.get(column.name)
            if column.optional and count is not None:
                rows = self._optional(column, rows, count)
            if rows is None:
                continue
            if count is not None and rows.shape != ((count, self._arms) if column.per_arm else (count,)):
                raise LogError(
                    f"{self._path}: {len(rows)} of {count} {'pulls' if column.per_pull else 'events'} have "
                    f"{column.name}; give them for all or for none"
                )
            fitted[column.name] = schema_array(rows, column)
        return fitted

    def _optional(self, column: Column, rows: Rows | None, count: int) -> Rows | None:
        """The rows of an optional column: those that are there, or what stands for them; None if the log has none."""
        name, there = column.name, self._has.get(column.name)
        if not count:
            return column.empty(0, self._arms) if there else None
        if there is None:
            self._has[name] = there = rows is not None
        if there == (rows is not None):
            return rows
        if there and column.nullable:
            return column.missing(count)
        if name in self._stated:
            says = (
                "has no column {}, which the header needs" if there else "has a column {}, of which the header says {}"
            )
            raise LogError(f"{self._path}: {says.format(name, 'nothing')}")
        which = "pulls" if column.per_pull else "events"
        raise LogError(f"{self._path}: {name} are given for some {which} and not for others; give them for all or none")


def counted(reader: FormatReader, path: Path, names: Sequence[str]) -> Iterator[Columns]:
    """The columns of these names, "kind" among them, if their numbers can be counted with: else LogError.

    Arms and parts are those of the header, pulls were made before, times and values are finite. A value is missing only
    where its event has none.
    """
    header, made = reader.header, 0
    for columns in reader.batches(names):
        of_pulls = None if columns["kind"].max(initial=0) < NO_PULL else columns["kind"] < NO_PULL  # others are of none
        made += int(np.count_nonzero(columns["kind"] == PULL))
        last = {"arm": len(header.arms) - 1, "part": header.span, "pull": min(made, header.horizon)}
        for name, first in (("arm", 0), ("part", 0), ("pull", 1)):
            rows = columns.get(name)
            numbers = rows if rows is None or of_pulls is None else rows[of_pulls]
            if numbers is not None and len(numbers) and not first <= numbers.min() <= numbers.max() <= last[name]:
                article = "an" if name == "arm" else "a"
                raise LogError(
                    f"{path}: {article} {name} is outside of {first} to {last[name]}; `tpstream check` says where"
                )
        times = columns.get("time", NONE)
        if not -LARGEST <= times.min(initial=0) <= times.max(initial=0) <= LARGEST:  # not so if one is NaN
            raise LogError(f"{path}: a time is not between {-LARGEST:g} and {LARGEST:g}; `tpstream check` says where")
        if "value" in columns:
            _check_values(path, columns["kind"], columns["value"])
        yield columns


def _check_values(path: Path, kinds: Rows, values: Rows) -> None:
    """Raise unless all values are finite; only from `partial` to `late`, events of every kind have one."""
    if np.isinf(values).any():
        raise LogError(f"{path}: a value is infinite; `tpstream check` says where")
    if (np.isnan(values) & (kinds >= PARTIAL) & (kinds <= LATE)).any():
        raise LogError(f"{path}: a value is missing; `tpstream check` says where")
