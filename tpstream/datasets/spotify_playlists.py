"""Playlists: the most played ones among the sessions, written as a trace and a scenario.

The logs do not say which playlist a session played. Since a kept session is twenty songs of one editorial playlist,
sessions with the same set of songs, in whatever order, are taken as sessions of the same playlist. A session that
starts at another song of a longer playlist has another set; that one shares songs with the first and is passed over,
as the paper passes over playlists that share songs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from tpstream.datasets.prepared import refuse_existing, write_scenario
from tpstream.datasets.spotify_sessions import LEVELS, SONGS, SPAN, Sessions, Sieve, log_files, read_sessions
from tpstream.model.arrays import Ints
from tpstream.model.errors import ScenarioError

CANDIDATES = 10_000
"""So many of the most played sets of songs are looked at for sets that share no song."""
ENDINGS = (".csv", ".parquet")
Keys = NDArray[np.uint64]
SCENARIO = """\
# The paper's Spotify experiment on real sessions: {playlists} playlists of {songs} songs.
# Prepared by `tpstream data spotify`. A song has four levels. The {songs} groups are what the paper's policies assume;
# songs of one session are not independent.

name = "spotify"
horizon = 100_000
span = {span}                 # {songs} songs of {levels} levels
seed = 1

[rewards]
kind = "trace"
file = "{trace}"
draw = "resample"
groups = {songs}
{arms}
[[policies]]
kind = "ucb1"             # clairvoyant: is shown every cumulative reward at the pull

[[policies]]
kind = "delayed-ucb1"
start = "random"          # the start behind the published numbers; the paper's algorithm box says "round-robin"

[[policies]]
kind = "tp-ucb-fr"

[[policies]]
kind = "tp-ucb-ew"
"""


@dataclass(frozen=True, eq=False)
class Prepared:
    """What was written: the trace, the scenario, the sieve's counts, and the sessions' totals by playlist."""

    trace: Path
    scenario: Path
    sieve: Sieve
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

    The files are read twice, in pieces: first to count the playlists, then to collect the sessions of the most played
    ones. `progress` is told how many files of how many were done.
    """
    scenario = out.with_suffix(".toml")
    check_places(out, scenario, force=force)
    files, sieve = log_files(folder), Sieve()
    tell = progress or (lambda done, of: None)  # noqa: ARG005 (nobody listens)
    counts: tuple[Keys, Ints] = (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))
    for number, file in enumerate(files, start=1):
        for sessions in read_sessions(file, sieve):
            counts = add_counts(counts, sessions.playlists())
        tell(number, 2 * len(files))
    candidates = most_played(counts, CANDIDATES)
    kept: list[Sessions] = []
    for number, file in enumerate(files, start=len(files) + 1):
        for sessions in read_sessions(file, Sieve()):
            wanted = np.isin(sessions.playlists(), candidates)
            kept.append(Sessions(sessions.songs[wanted], sessions.levels[wanted]))
        tell(number, 2 * len(files))
    chosen = choose_disjoint(kept, candidates, arms, folder)
    write_trace(out, chosen)
    names = [f"playlist-{number}" for number in range(1, arms + 1)]
    write_scenario(
        scenario, SCENARIO, names, SPAN, playlists=arms, songs=SONGS, span=SPAN, levels=LEVELS, trace=out.name
    )
    return Prepared(out, scenario, sieve, [levels.sum(axis=1, dtype=np.int64) for levels in chosen])


def check_places(out: Path, scenario: Path, *, force: bool) -> None:
    """Raise before any file is read if the results could not be written."""
    if out.suffix.lower() not in ENDINGS:
        raise ScenarioError(f"{out}: a trace ends in {' or '.join(ENDINGS)}, got {out.suffix or 'no ending'!r}")
    refuse_existing([out, scenario], force=force)


def add_counts(counts: tuple[Keys, Ints], playlists: Keys) -> tuple[Keys, Ints]:
    """The counts of playlists with some more sessions."""
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


def write_trace(out: Path, chosen: list[NDArray[np.uint8]]) -> None:
    """One row per session: the arm, and the 80 parts in the order of songs and levels."""
    levels = np.concatenate(chosen)
    parts = (levels[:, :, np.newaxis] > np.arange(LEVELS)).reshape(len(levels), SPAN).astype(np.uint8)
    names = np.repeat([f"playlist-{number}" for number in range(1, len(chosen) + 1)], [len(one) for one in chosen])
    columns = {"arm": names, **{f"x{part + 1}": parts[:, part] for part in range(SPAN)}}
    table = pa.table(columns)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix.lower() == ".parquet":
        parquet.write_table(table, out)
    else:
        csv.write_csv(table, out)
