"""Spotify: the most played playlists among the sessions of the data set, written as a trace and a scenario.

The Music Streaming Sessions Dataset (Brost, Mehrotra and Jehan, WWW 2019) belongs to Spotify and is not part of
tpstream. Its session logs are CSV files with a row for each song played: session_id, session_position (from 1),
session_length (10 to 20), track_id_clean, skip_1 (the song was only played very briefly), skip_2 (only briefly), skip_3
(most of it was played), not_skipped (all of it was played), context_switch (another context than in the row before),
context_type ("editorial_playlist" among others), and columns that are not needed here. A song that is skipped very
early has all three skips, one that is skipped late only the last.

As in the paper, kept are sessions of 20 different songs, all from an editorial playlist, without a change of context. A
song pays up to four levels, each 0 or 1, and a level only if the one before is paid: skip_1 is false, skip_2 is false,
skip_3 is false, not_skipped is true. So a song that was only played very briefly pays 0 0 0 0, one that was heard in
full 1 1 1 1.

The logs do not say which playlist a session played. A kept session is twenty songs of one editorial playlist, so
sessions with the same set of songs, in any order, count as sessions of the same playlist. A session that starts at
another song of a longer playlist has another set of songs; since that set shares songs with the first one it is left
out, as the paper leaves out playlists that share songs.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from tpstream.datasets.prepared import check_output, write_scenario, write_trace
from tpstream.model.arrays import Bools, Ints
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
CHUNK = 1 << 26
"""How many bytes of a file are read at a time."""
CANDIDATES = 10_000
"""How many of the most played sets of songs are searched for sets that share no song."""
Keys = NDArray[np.uint64]


@dataclass(eq=False)
class SessionCounts:
    """How many sessions were read, how many were kept, and how many were dropped for each reason.

    A session to which several reasons apply is counted under the first of them.
    """

    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    kept: int = 0


@dataclass(frozen=True, eq=False)
class Sessions:
    """Sessions that were kept; the axes of both arrays are session and song, in the order of playing."""

    songs: NDArray[np.uint64]
    """A hash of each song."""
    levels: NDArray[np.uint8]
    """How many levels each song paid, 0 to 4."""

    def playlists(self) -> NDArray[np.uint64]:
        """A hash of each session's set of songs, which does not depend on their order."""
        hashes: NDArray[np.uint64] = self.songs.sum(axis=1, dtype=np.uint64)
        return hashes


@dataclass(frozen=True, eq=False)
class Prepared:
    """The files that were written, the counts of sessions, and for each playlist the totals of its sessions."""

    trace: Path
    scenario: Path
    counts: SessionCounts
    totals: list[Ints]


def prepare(
    folder: Path,
    out: Path,
    *,
    arms: int = 6,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Prepared:
    """Write the trace of the most played playlists in the session logs of a folder, and a scenario beside it.

    The files are read twice, in chunks: first to count the playlists, then to collect the sessions of the most played
    ones. `progress` is called after each file with the number of files read and that of all files to read.
    """
    scenario = out.with_suffix(".toml")
    check_output(out, scenario, force=force)
    files, counts = log_files(folder), SessionCounts()
    report = progress or (lambda done, total: None)  # noqa: ARG005 (without progress nothing is reported)
    played: tuple[Keys, Ints] = (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))
    for number, file in enumerate(files, start=1):
        for sessions in read_sessions(file, counts):
            played = add_counts(played, sessions.playlists())
        report(number, 2 * len(files))
    candidates = most_played(played, CANDIDATES)
    kept: list[Sessions] = []
    for number, file in enumerate(files, start=len(files) + 1):
        for sessions in read_sessions(file, SessionCounts()):
            wanted = np.isin(sessions.playlists(), candidates)
            kept.append(Sessions(sessions.songs[wanted], sessions.levels[wanted]))
        report(number, 2 * len(files))
    chosen = choose_disjoint(kept, candidates, arms, folder)
    names = [f"playlist-{number}" for number in range(1, arms + 1)]
    parts = np.concatenate(chosen)[:, :, np.newaxis] > np.arange(LEVELS)
    arm = np.repeat(np.arange(arms), [len(levels) for levels in chosen])
    write_trace(out, names, arm, parts.reshape(-1, SPAN))
    values = {"playlists": arms, "songs": SONGS, "span": SPAN, "levels": LEVELS, "trace": out.name}
    write_scenario(scenario, "spotify_template.toml", names, SPAN, **values)
    return Prepared(out, scenario, counts, [levels.sum(axis=1, dtype=np.int64) for levels in chosen])


def log_files(folder: Path) -> list[Path]:
    """The session logs in a folder and below: CSV files, plain or compressed, that have the needed columns."""
    if not folder.is_dir():
        raise ScenarioError(f"{folder}: there is no such folder; give the one with the data set's session logs")
    files = sorted([*folder.rglob("*.csv"), *folder.rglob("*.csv.gz")])
    found = [file for file in files if set(TYPES) <= set(header_columns(file))]
    if not found:
        raise ScenarioError(
            f"{folder}: none of its {len(files)} CSV files has the columns {', '.join(TYPES)}; "
            f"unpack the session logs (log_*.csv) there"
        )
    return found


def header_columns(file: Path) -> list[str]:
    """The names of the columns in the first line; none if the file cannot be read."""
    try:
        with pa.input_stream(str(file), compression="detect", buffer_size=1 << 16) as opened:
            header = opened.read(1 << 16).split(b"\n")[0]
    except (OSError, pa.ArrowException):
        return []
    return [name.strip().strip('"') for name in header.decode("utf-8-sig", "replace").split(",")]


def read_sessions(file: Path, counts: SessionCounts, chunk: int = CHUNK) -> Iterator[Sessions]:
    """The kept sessions of a log file, chunk by chunk; kept and dropped ones are added to the counts."""
    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(block_size=chunk),
        "convert_options": csv.ConvertOptions(include_columns=list(TYPES), column_types=TYPES),
    }
    rest = pd.DataFrame()
    try:
        with csv.open_csv(file, **options) as reader:
            for batch in reader:
                rows = pd.concat([rest, batch.to_pandas()], ignore_index=True) if len(rest) else batch.to_pandas()
                # The last session may continue in the next chunk.
                last = rows["session_id"] == rows["session_id"].iloc[-1]
                rest = rows[last]
                yield keep_sessions(rows[~last], counts)
    except pa.ArrowException as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ScenarioError(f"{file}: cannot be read as a session log ({reason}); unpack the file again") from error
    if len(rest):
        yield keep_sessions(rest, counts)


def keep_sessions(rows: pd.DataFrame, counts: SessionCounts) -> Sessions:
    """The sessions among these rows, all of them whole, that are kept."""
    session, names = pd.factorize(rows["session_id"])
    counts.read += len(names)
    position = rows["session_position"].to_numpy()
    order = np.lexsort((position, session))
    # A complete session has twenty rows, one for each position.
    size = np.bincount(session, minlength=len(names))
    place = np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)
    long = _holds_throughout(session, rows["session_length"].to_numpy() == SONGS, len(names))
    in_place = _holds_throughout(session[order], position[order] == place + 1, len(names))
    complete = _count_dropped(counts, {"not 20 songs": long, "incomplete": (size == SONGS) & in_place})
    order = order[complete[session[order]]]
    table = {column: rows[column].to_numpy()[order].reshape(-1, SONGS) for column in TYPES if column != "session_id"}
    return _keep_complete(table, counts)


def _keep_complete(table: dict[str, Any], counts: SessionCounts) -> Sessions:
    """Of complete sessions, those of one editorial playlist, without a change of context or a repeated song.

    Each column of the table is an array with the axes session and song.
    """
    songs = pd.util.hash_array(table["track_id_clean"].ravel()).reshape(-1, SONGS)
    conditions = {
        "another context": (table["context_type"] == EDITORIAL).all(axis=1),
        "context switch": ~table["context_switch"].astype(bool).any(axis=1),
        "repeated song": (np.diff(np.sort(songs, axis=1), axis=1) != 0).all(axis=1),
    }
    kept = _count_dropped(counts, conditions)
    counts.kept += int(kept.sum())
    reached = [~table[name].astype(bool) for name in FLAGS[:3]] + [table["not_skipped"].astype(bool)]
    nested = np.logical_and.accumulate(np.stack(reached, axis=-1), axis=-1)
    return Sessions(songs[kept], nested.sum(axis=-1, dtype=np.uint8)[kept])


def _holds_throughout(session: Ints, holds: Bools, sessions: int) -> Any:
    """Whether a condition holds in all rows of each session."""
    return np.bincount(session[~holds], minlength=sessions) == 0


def _count_dropped(counts: SessionCounts, conditions: dict[str, Bools]) -> Any:
    """Whether each session meets all conditions; one that does not is counted under the first that it misses."""
    kept: Any = True
    for reason, met in conditions.items():
        counts.dropped[reason] += int(np.sum(kept & ~met))
        kept = kept & met
    return kept


def add_counts(counts: tuple[Keys, Ints], playlists: Keys) -> tuple[Keys, Ints]:
    """Playlists and how often each was played, with the playlists of some more sessions added."""
    new, times = np.unique(playlists, return_counts=True)
    keys, place = np.unique(np.concatenate([counts[0], new]), return_inverse=True)
    total = np.bincount(place, weights=np.concatenate([counts[1], times]), minlength=len(keys))
    return keys, total.astype(np.int64)


def most_played(counts: tuple[Keys, Ints], number: int) -> Keys:
    """The most played playlists, the most played first; equally played ones in the order of their fingerprints."""
    keys, times = counts
    return keys[np.argsort(-times, kind="stable")[:number]]


def choose_disjoint(kept: list[Sessions], candidates: Keys, arms: int, folder: Path) -> list[NDArray[np.uint8]]:
    """The levels of the sessions of the most played playlists of which no two share a song."""
    songs = np.concatenate([sessions.songs for sessions in kept]) if kept else np.empty((0, SONGS), dtype=np.uint64)
    levels = np.concatenate([sessions.levels for sessions in kept]) if kept else np.empty((0, SONGS), dtype=np.uint8)
    playlists = Sessions(songs, levels).playlists()
    keys, first = np.unique(playlists, return_index=True)
    example = dict(zip(keys.tolist(), first.tolist(), strict=True))
    taken: set[int] = set()
    chosen: list[NDArray[np.uint8]] = []
    for candidate in candidates.tolist():
        of_playlist = set(songs[example[candidate]].tolist())
        if taken.isdisjoint(of_playlist):
            taken |= of_playlist
            chosen.append(levels[playlists == candidate])
        if len(chosen) == arms:
            return chosen
    raise ScenarioError(
        f"{folder}: only {len(chosen)} playlists without shared songs, {arms} are needed; add files, or ask for fewer"
    )
