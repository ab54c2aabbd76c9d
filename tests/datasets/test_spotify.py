"""The Spotify loader, on a small generated file in the data set's schema."""

import gzip
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from tpstream import Scenario, simulate
from tpstream.cli.app import main
from tpstream.datasets.spotify import (
    Prepared,
    SessionCounts,
    add_counts,
    log_files,
    most_played,
    prepare,
    read_sessions,
)
from tpstream.model.errors import ScenarioError

HEADER = (
    "session_id,session_position,session_length,track_id_clean,skip_1,skip_2,skip_3,not_skipped,context_switch,"
    "no_pause_before_play,short_pause_before_play,long_pause_before_play,hist_user_behavior_n_seekfwd,"
    "hist_user_behavior_n_seekback,hist_user_behavior_is_shuffle,hour_of_day,date,premium,context_type,"
    "hist_user_behavior_reason_start,hist_user_behavior_reason_end"
)
FLAGS = (
    "true,true,true,false",
    "false,true,true,false",
    "false,false,true,false",
    "false,false,false,false",
    "false,false,false,true",
)
"""skip_1, skip_2, skip_3 and not_skipped of a song that is heard 0 to 4 levels deep."""


def lines(
    name: str,
    songs: Iterable[int],
    levels: Iterable[int],
    *,
    context: str = "editorial_playlist",
    switch_at: int = 0,
    length: int | None = None,
) -> list[str]:
    """The rows of one session."""
    played = list(zip(songs, levels, strict=True))
    return [
        f"{name},{position},{length or len(played)},t_{song:04d},{FLAGS[level]},{str(position == switch_at).lower()},"
        f"1,0,0,0,0,false,16,2018-07-15,true,{context},trackdone,trackdone"
        for position, (song, level) in enumerate(played, start=1)
    ]


def songs_of(playlist: int) -> list[int]:
    """Twenty songs of their own for each playlist."""
    return list(range(100 * playlist, 100 * playlist + 20))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two log files: playlist k of 0..6 has 12 - k good sessions; each kind of bad session is there too."""
    stream = np.random.default_rng(1)

    def levels() -> list[int]:
        return stream.integers(0, 5, 20).tolist()

    sessions = []
    for playlist in range(7):
        for number in range(12 - playlist):
            songs = songs_of(playlist)
            if number % 2:
                stream.shuffle(songs)
            sessions.append(lines(f"good-{playlist}-{number}", songs, levels()))
    shared = [0, *songs_of(9)[1:]]
    sessions += [lines(f"shared-{number}", shared, levels()) for number in range(11)]  # shares a song with playlist 0
    sessions += [lines("short", songs_of(1)[:19], levels()[:19])]
    sessions += [lines("torn", songs_of(1), levels(), length=20)[:15]]
    sessions += [lines("radio", songs_of(1), levels(), context="radio")]
    sessions += [lines("switch", songs_of(1), levels(), switch_at=7)]
    sessions += [lines("again", [*songs_of(1)[:19], songs_of(1)[0]], levels())]
    stream.shuffle(sessions)  # type: ignore[arg-type]
    logs = tmp_path / "training_set"
    logs.mkdir()
    half = len(sessions) // 2
    (logs / "log_0.csv").write_text("\n".join([HEADER, *chain.from_iterable(sessions[:half])]) + "\n")
    with gzip.open(logs / "log_1.csv.gz", "wt") as file:
        file.write("\n".join([HEADER, *chain.from_iterable(sessions[half:])]) + "\n")
    (logs / "tf_mini.csv").write_text("track_id,duration\nt_0001,3\n")
    return logs


@pytest.fixture
def prepared(folder: Path, tmp_path: Path) -> Prepared:
    """The trace of the six most played playlists."""
    return prepare(folder, tmp_path / "spotify.csv")


def test_six_most_played_playlists(prepared: Prepared) -> None:
    """The arms are the six most played sets of songs; one that shares a song with a more played one is passed over."""
    assert [len(totals) for totals in prepared.totals] == [12, 11, 10, 9, 8, 7]


def test_every_bad_session_is_dropped_for_its_reason(prepared: Prepared) -> None:
    """The counts say how many sessions were dropped and why."""
    assert prepared.counts.dropped == {
        "not 20 songs": 1,
        "incomplete": 1,
        "another context": 1,
        "context switch": 1,
        "repeated song": 1,
    }
    assert (prepared.counts.read, prepared.counts.kept) == (63 + 11 + 5, 63 + 11)


def test_rows_are_the_sessions_levels(tmp_path: Path) -> None:
    """A song heard so many levels deep pays so many ones and then zeros, in the order in which songs were played."""
    rows = lines("one", songs_of(0), [0, 1, 2, 3, 4] * 4)
    (tmp_path / "log.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    prepare(tmp_path, tmp_path / "out.parquet", arms=1)
    trace = pd.read_parquet(tmp_path / "out.parquet")
    expected = [1 if level > part else 0 for level in [0, 1, 2, 3, 4] * 4 for part in range(4)]
    assert trace[[f"x{part}" for part in range(1, 81)]].to_numpy().tolist() == [expected]


def test_chunks_change_nothing(folder: Path) -> None:
    """Sessions that are cut by the end of a chunk are put together again."""
    whole, parts = SessionCounts(), SessionCounts()
    few = list(read_sessions(folder / "log_0.csv", whole))
    many = list(read_sessions(folder / "log_0.csv", parts, chunk=4000))
    assert len(many) > 10 > len(few)
    levels = [np.concatenate([sessions.levels for sessions in found]).tolist() for found in (few, many)]
    assert (levels[0], vars(whole)) == (levels[1], vars(parts))


def test_scenario_runs(prepared: Prepared) -> None:
    """The scenario beside the trace loads with the sessions' means and runs under the paper's policies."""
    scenario = Scenario.load(prepared.scenario)
    means = scenario.problem().means
    assert means is not None
    assert means.tolist() == pytest.approx([totals.mean() for totals in prepared.totals])
    assert len(simulate(scenario.with_(horizon=300), "tp-ucb-fr").arms) == 300


def test_same_files_same_trace(folder: Path, prepared: Prepared, tmp_path: Path) -> None:
    """Preparing twice gives the same bytes."""
    again = prepare(folder, tmp_path / "again.csv")
    assert again.trace.read_bytes() == prepared.trace.read_bytes()


def test_capital_booleans(folder: Path, prepared: Prepared, tmp_path: Path) -> None:
    """The mini version of the data set writes True and False; it means the same."""
    text = (folder / "log_0.csv").read_text().replace("true", "True").replace("false", "False")
    (folder / "log_0.csv").write_text(text)
    assert prepare(folder, tmp_path / "again.csv").trace.read_bytes() == prepared.trace.read_bytes()


@given(st.lists(st.lists(st.integers(0, 9), max_size=30), max_size=5))
def test_counts_add_up(pieces: list[list[int]]) -> None:
    """Counting in pieces gives the counts of the whole; the most played comes first."""
    counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    for piece in pieces:
        counts = add_counts(counts, np.array(piece, dtype=np.uint64))
    everything = pd.Series([one for piece in pieces for one in piece], dtype=int).value_counts()
    assert dict(zip(*(array.tolist() for array in counts), strict=True)) == everything.to_dict()
    order = [everything[key] for key in most_played(counts, 100).tolist()]
    assert order == sorted(order, reverse=True)


def test_errors(folder: Path, prepared: Prepared, tmp_path: Path) -> None:
    """What cannot be done is said in one line with its remedy."""
    with pytest.raises(ScenarioError, match="only 7 playlists without shared songs, 9 are needed"):
        prepare(folder, tmp_path / "more.csv", arms=9)
    with pytest.raises(ScenarioError, match="is there already"):
        prepare(folder, prepared.trace)
    with pytest.raises(ScenarioError, match="a trace ends in"):
        prepare(folder, tmp_path / "out.txt")
    with pytest.raises(ScenarioError, match="no such folder"):
        log_files(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScenarioError, match="none of its 0 CSV files"):
        log_files(tmp_path / "empty")
    (folder / "log_0.csv").write_text(f"{HEADER}\n" + "a,b,c\n")
    with pytest.raises(ScenarioError, match="cannot be read as a session log"):
        prepare(folder, tmp_path / "torn.csv")


def test_data_command(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tpstream data spotify` prints the arms, the counts and the places of the files."""
    monkeypatch.setattr(sys, "argv", ["tpstream", "data", "spotify", str(folder), "--out", str(tmp_path / "s.parquet")])
    with pytest.raises(SystemExit) as left:
        main()
    printed = capsys.readouterr().out
    assert not left.value.code
    assert "79 read, 74 kept" in printed
    assert (tmp_path / "s.toml").is_file()
