"""Sessions: the listening sessions in a log file that the paper keeps, read in pieces of bounded size.

Kept are sessions of 20 different songs, all from an editorial playlist, without a change of context. A song pays up to
four levels, each 0 or 1 and nested: skip_1 is false, then skip_2, then skip_3, then not_skipped is true. So a song that
was only played very briefly pays 0 0 0 0, one that was heard in full 1 1 1 1.

How do real listening sessions become an experiment? The Music Streaming Sessions Dataset, prepared as the paper did.

The data set (Brost, Mehrotra and Jehan, WWW 2019) is Spotify's and not shipped here. Its session logs are CSV files
with a row for each song played: session_id, session_position (from 1), session_length (10 to 20), track_id_clean,
skip_1 (the song was only played very briefly), skip_2 (only briefly), skip_3 (most of it was played), not_skipped (all
of it was), context_switch (another context than in the row before), context_type ("editorial_playlist" among others),
and columns that are not needed. A song that is left very early has all three skips, one that is left late the last.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from tpstream.model.errors import ScenarioError

SONGS, LEVELS = 20, 4
SPAN = SONGS * LEVELS
FLAGS = ("skip_1", "skip_2", "skip_3", "not_skipped", "context_switch")
TYPES = {
    "session_id": pa.string(),
    "session_position": pa.int64(),
    "session_length": pa.int64(),
    "track_id_clean": pa.string(),
    **dict.fromkeys(FLAGS, pa.bool_()),
    "context_type": pa.string(),
}
"""The columns that are read; the files have more."""
EDITORIAL = "editorial_playlist"
PIECE = 1 << 26
"""How many bytes of a file are read at a time."""


@dataclass(eq=False)
class Sieve:
    """How many sessions were read, and how many fell through each mesh, in this order."""

    read: int = 0
    dropped: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("not 20 songs", "incomplete", "another context", "context switch", "repeated song"), 0
        )
    )
    kept: int = 0


@dataclass(frozen=True, eq=False)
class Sessions:
    """Sessions that were kept: fingerprints of their songs in order (session, song), and what they paid."""

    songs: NDArray[np.uint64]
    levels: NDArray[np.uint8]
    """Levels reached of each song, 0 to 4, (session, song)."""

    def playlists(self) -> NDArray[np.uint64]:
        """A fingerprint of each session's set of songs: the same whatever their order."""
        found: NDArray[np.uint64] = self.songs.sum(axis=1, dtype=np.uint64)
        return found


def log_files(folder: Path) -> list[Path]:
    """The session logs in a folder and below: CSV files, plain or compressed, that have the needed columns."""
    if not folder.is_dir():
        raise ScenarioError(f"{folder}: there is no such folder; give the one with the data set's session logs")
    files = sorted([*folder.rglob("*.csv"), *folder.rglob("*.csv.gz")])
    found = [file for file in files if set(TYPES) <= set(columns_of(file))]
    if not found:
        raise ScenarioError(
            f"{folder}: none of its {len(files)} CSV files has the columns {', '.join(TYPES)}; "
            f"unpack the session logs (log_*.csv) there"
        )
    return found


def columns_of(file: Path) -> list[str]:
    """The names in the header; none if it is not a table."""
    try:
        with pa.input_stream(str(file), compression="detect", buffer_size=1 << 16) as opened:
            header = opened.read(1 << 16).split(b"\n")[0]
    except (OSError, pa.ArrowException):
        return []
    return [name.strip().strip('"') for name in header.decode("utf-8-sig", "replace").split(",")]


def read_sessions(file: Path, sieve: Sieve, piece: int = PIECE) -> Iterator[Sessions]:
    """The kept sessions of a log file, some at a time; the sieve counts the others."""
    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(block_size=piece),
        "convert_options": csv.ConvertOptions(include_columns=list(TYPES), column_types=TYPES),
    }
    rest = pd.DataFrame()
    try:
        with csv.open_csv(file, **options) as reader:
            for batch in reader:
                rows = pd.concat([rest, batch.to_pandas()], ignore_index=True) if len(rest) else batch.to_pandas()
                # The last session may go on in the next piece.
                last = rows["session_id"] == rows["session_id"].iloc[-1]
                rest = rows[last]
                yield sift(rows[~last], sieve)
    except pa.ArrowException as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ScenarioError(f"{file}: cannot be read as a session log ({reason}); unpack the file again") from error
    if len(rest):
        yield sift(rest, sieve)


def sift(rows: pd.DataFrame, sieve: Sieve) -> Sessions:
    """The sessions among these rows that are kept."""
    session, names = pd.factorize(rows["session_id"])
    sieve.read += len(names)
    long = _per_session(session, rows["session_length"].to_numpy() == SONGS, len(names))
    _drop(sieve, "not 20 songs", ~long)
    position = rows["session_position"].to_numpy()
    order = np.lexsort((position, session))
    # Complete: twenty rows, one at each position.
    count = np.bincount(session, minlength=len(names))
    place = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    complete = long & (count == SONGS) & _per_session(session[order], position[order] == place + 1, len(names))
    _drop(sieve, "incomplete", long & ~complete)
    order = order[complete[session[order]]]
    table = {column: rows[column].to_numpy()[order].reshape(-1, SONGS) for column in TYPES if column != "session_id"}
    return _choose(table, sieve)


def _choose(table: dict[str, Any], sieve: Sieve) -> Sessions:
    """Of complete sessions (session, song), those that are editorial, without a switch and without a repeated song."""
    editorial = (table["context_type"] == EDITORIAL).all(axis=1)
    steady = editorial & ~table["context_switch"].astype(bool).any(axis=1)
    songs = pd.util.hash_array(table["track_id_clean"].ravel()).reshape(-1, SONGS)
    different = (np.diff(np.sort(songs, axis=1), axis=1) != 0).all(axis=1)
    kept = steady & different
    _drop(sieve, "another context", ~editorial)
    _drop(sieve, "context switch", editorial & ~steady)
    _drop(sieve, "repeated song", steady & ~different)
    sieve.kept += int(kept.sum())
    reached = [~table[name].astype(bool) for name in FLAGS[:3]] + [table["not_skipped"].astype(bool)]
    nested = np.logical_and.accumulate(np.stack(reached, axis=-1), axis=-1)
    return Sessions(songs[kept], nested.sum(axis=-1, dtype=np.uint8)[kept])


def _per_session(session: Any, holds: Any, sessions: int) -> Any:
    """Whether something holds for all rows of each session."""
    return np.bincount(session[~holds], minlength=sessions) == 0


def _drop(sieve: Sieve, reason: str, dropped: Any) -> None:
    sieve.dropped[reason] += int(dropped.sum())
