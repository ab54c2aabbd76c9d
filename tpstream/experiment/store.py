"""The store: one SQLite file that holds every finished run of a study, whatever happens to the study.

Records: how often each arm was pulled in a run, packed small, and unpacked where someone looks."""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from tpstream.experiment.identity import SCHEMA
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import StudyError

INCREMENT = np.dtype("<u4")
"""What is stored: pulls between two checkpoints, which are far below 2^32."""
LEVEL = 1
"""zlib's fastest: half of the numbers are zeros, and more effort saves little."""


@dataclass(frozen=True)
class RunResult:
    """What became of one policy in one run: packed counts and seconds, or why it failed."""

    entry: str
    run: int
    counts: bytes
    seconds: float
    failure: str | None = None


@dataclass(frozen=True, eq=False)
class Records:
    """The outcomes of one policy in one world, by run: packed counts of pulls (rounds, arms), and seconds."""

    shape: tuple[int, int]
    runs: Ints
    packed: list[bytes]
    seconds: Floats

    def counts(self) -> Ints:
        """All counts, of shape (runs, rounds, arms)."""
        found = np.empty((len(self.runs), *self.shape), dtype=np.int64)
        for place, counts in enumerate(self):
            found[place] = counts
        return found

    def __iter__(self) -> Iterator[Ints]:
        """The counts of one run after the other."""
        return (unpack(packed, self.shape) for packed in self.packed)

    def __len__(self) -> int:
        return len(self.runs)


def pack(counts: Ints) -> bytes:
    """The counts (rounds, arms), which grow over rounds, as compressed increments."""
    return zlib.compress(np.diff(counts, axis=0, prepend=0).astype(INCREMENT).tobytes(), LEVEL)


def unpack(packed: bytes, shape: tuple[int, int]) -> Ints:
    """The counts as they were packed."""
    increments = np.frombuffer(zlib.decompress(packed), dtype=INCREMENT)
    if increments.size != shape[0] * shape[1]:
        raise StudyError(f"a stored result has {increments.size} numbers instead of {shape[0]} x {shape[1]}")
    return increments.reshape(shape).cumsum(axis=0, dtype=np.int64)


@dataclass(frozen=True)
class Counts(Mapping[str, Ints]):
    """Counts of pulls (runs, rounds, arms) for every policy, unpacked when asked for."""

    records: Mapping[str, Records] = field(default_factory=dict)

    def __getitem__(self, policy: str) -> Ints:
        return self.records[policy].counts()

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


NAME = "study.sqlite"
TABLES = """
CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, entry TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS done (
    id INTEGER NOT NULL, run INTEGER NOT NULL, seconds REAL NOT NULL, counts BLOB NOT NULL, PRIMARY KEY (id, run)
);
CREATE TABLE IF NOT EXISTS failed (
    id INTEGER NOT NULL, run INTEGER NOT NULL, failure TEXT NOT NULL, PRIMARY KEY (id, run)
);
"""


class Store:
    """Finished and failed runs, by entry (what was run) and number; in memory without a folder.

    One process at a time has it, by SQLite's own lock, which ends with the process. What one call of `keep` was given
    is there after a kill at any moment in whole or not at all: it is a transaction in a write-ahead log.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._place = str(folder / NAME) if folder else "a study in memory"
        with self._explained():
            self._database = sqlite3.connect(folder / NAME if folder else ":memory:", timeout=1)
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> None:
        # The lock must be exclusive before the log begins: then it needs no shared memory, and network folders work.
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        (schema,) = self._database.execute("PRAGMA user_version").fetchone()
        if schema not in {0, SCHEMA}:
            raise StudyError(f"{self._place}: has schema {schema}, this tpstream knows {SCHEMA}; choose another folder")
        self._database.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")

    def keep(self, outcomes: Iterable[RunResult]) -> None:
        """Write all of them, or none if the process dies on the way."""
        with self._explained(), self._database as database:
            for one in outcomes:
                database.execute("INSERT OR IGNORE INTO entries (entry) VALUES (?)", (one.entry,))
                (number,) = database.execute("SELECT id FROM entries WHERE entry = ?", (one.entry,)).fetchone()
                if one.failure is None:
                    row = (number, one.run, one.seconds, one.counts)
                    database.execute("INSERT OR REPLACE INTO done VALUES (?, ?, ?, ?)", row)
                    database.execute("DELETE FROM failed WHERE id = ? AND run = ?", (number, one.run))
                else:
                    failed = (number, one.run, one.failure)
                    database.execute("INSERT OR REPLACE INTO failed VALUES (?, ?, ?)", failed)

    def finished(self, entry: str) -> set[int]:
        """The runs of an entry that are done."""
        query = "SELECT run FROM done JOIN entries USING (id) WHERE entry = ?"
        with self._explained():
            return {run for (run,) in self._database.execute(query, (entry,))}

    def records(self, entry: str, runs: range, shape: tuple[int, int]) -> Records:
        """What is known of an entry's runs in a range."""
        query = """SELECT run, counts, seconds FROM done JOIN entries USING (id)
                   WHERE entry = ? AND run >= ? AND run < ? ORDER BY run"""
        with self._explained():
            rows = self._database.execute(query, (entry, runs.start, runs.stop)).fetchall()
        numbers = np.array([row[0] for row in rows], dtype=np.int64)
        return Records(shape, numbers, [row[1] for row in rows], np.array([row[2] for row in rows], dtype=np.float64))

    def failures(self, entry: str, runs: range) -> dict[int, str]:
        """Why runs of an entry failed, by run."""
        query = """SELECT run, failure FROM failed JOIN entries USING (id)
                   WHERE entry = ? AND run >= ? AND run < ? ORDER BY run"""
        with self._explained():
            return dict(self._database.execute(query, (entry, runs.start, runs.stop)).fetchall())

    def size(self) -> int:
        """How many runs are done, of all entries."""
        with self._explained():
            (size,) = self._database.execute("SELECT count(*) FROM done").fetchone()
        return int(size)

    def close(self) -> None:
        """Leave one whole file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors as ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StudyError(
                    f"{self._place}: another process is at work on this study; wait for it, or choose another folder"
                ) from None
            raise StudyError(f"{self._place}: {error}; make room or check its permissions, then go on") from None
        except sqlite3.DatabaseError as error:
            raise StudyError(f"{self._place}: is not the store of a study ({error}); choose another folder") from None


def kept_runs(folder: Path) -> int:
    """How many finished runs a study's folder holds."""
    if not (folder / NAME).exists():
        return 0
    with Store(folder) as store:
        return store.size()
