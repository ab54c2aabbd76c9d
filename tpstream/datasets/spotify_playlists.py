"""Spotify's playlists: the most played ones among the sessions of the data set, written as a trace and a scenario.

The logs do not say which playlist a session played. A kept session is twenty songs of one editorial playlist, so
sessions with the same set of songs, in any order, count as sessions of the same playlist. A session that starts at
another song of a longer playlist has another set of songs; since that set shares songs with the first one it is left
out, as the paper leaves out playlists that share songs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tpstream.datasets.prepared import check_output, write_scenario, write_trace
from tpstream.datasets.spotify_sessions import LEVELS, SONGS, SPAN, SessionCounts, Sessions, log_files, read_sessions
from tpstream.model.arrays import Ints
from tpstream.model.errors import ScenarioError

CANDIDATES = 10_000
"""How many of the most played sets of songs are searched for sets that share no song."""
Keys = NDArray[np.uint64]


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
