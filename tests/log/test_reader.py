"""The reader: chosen columns and kinds, tables, folders, and what it says of files that are no whole logs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from log_samples import FORMATS, bits, logs, make_events, make_header, write_log
from studies import small

import tpstream
from tpstream import compare, simulate
from tpstream.log import jsonl
from tpstream.log.reader import read_log, read_logs
from tpstream.log.schema import Header
from tpstream.log.writer import LogWriter
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import COLUMN, COLUMN_NAMES, Events, Kind

Change = Callable[[bytes], bytes]


@settings(max_examples=40)
@pytest.mark.parametrize("format", FORMATS)
@given(
    log=logs(),
    names=st.lists(st.sampled_from(COLUMN_NAMES[: COLUMN_NAMES.index("indices") + 1]), min_size=1, unique=True),
    kinds=st.none() | st.lists(st.sampled_from(Kind), unique=True),
)
def test_choosing(format: str, log: tuple[Header, Events], names: list[str], kinds: list[Kind] | None) -> None:
    """Chosen columns of chosen kinds are what choosing from the whole gives."""
    header, events = log
    rows = np.isin(events.kind, list(Kind) if kinds is None else kinds)
    there = {name: column for name, column in events.columns().items() if name in names and not COLUMN[name].per_pull}
    wanted = {name: column[rows].tobytes() for name, column in there.items() if name != "value" and len(column)}
    with TemporaryDirectory() as folder:
        columns = write_log(Path(folder) / f"log.{format}", header, [events]).columns(names, kinds)
    plain = [name for name in columns if name != "value" and not COLUMN[name].per_pull]
    assert {name: columns[name].tobytes() for name in plain if len(events)} == wanted
    if "value" in names:
        np.testing.assert_array_equal(columns["value"], events.value[rows])
    if "indices" in columns:
        np.testing.assert_array_equal(columns["indices"], events.indices)


@pytest.mark.parametrize("format", FORMATS)
def test_frame_is_typed(tmp_path: Path, format: str) -> None:
    """The table has a row for each event; kinds are a category, whole numbers whole, indices an array for each pull."""
    table = write_log(tmp_path / f"log.{format}", make_header(), [make_events(6, indices=True)]).frame()
    kinds = ["int64", "float64", "category", "int64", "int64", "int64", "int64", "float64", "object"]
    assert ([str(kind) for kind in table.dtypes], len(table)) == (kinds, 6)
    assert [None if row is None else row.shape for row in table["indices"]] == [(2,), None, None, None, None, (2,)]


@pytest.mark.parametrize("format", FORMATS)
def test_frame_of_some_columns(tmp_path: Path, format: str) -> None:
    """A table can have the pulls only, and their arms and indices only."""
    log = write_log(tmp_path / f"log.{format}", make_header(), [make_events(20, indices=True)])
    table = log.frame(["arm", "indices"], [Kind.PULL])
    assert (list(table), table["arm"].tolist()) == (["arm", "indices"], [0, 1, 0, 1])
    assert all(row.shape == (2,) for row in table["indices"])


@pytest.mark.parametrize(
    ("origin", "unit", "first"),
    [
        ("2024-02-28T00:00:00", "day", "2024-02-29 00:00:00"),
        ("2024-02-28T12:00:00", "hour", "2024-02-28 13:00:00"),
        ("2024-02-28T00:00:00+02:00", "week", "2024-03-06 00:00:00+02:00"),
    ],
)
def test_the_table_has_dates_where_the_header_has_an_origin(tmp_path: Path, origin: str, unit: str, first: str) -> None:
    """The date of an event is the origin plus its time; a time that is too late for a date has none."""
    header = msgspec.structs.replace(make_header(), origin=origin, time_unit=unit)
    log = write_log(tmp_path / "log.arrows", header, [replace(make_events(2), time=np.array([1.0, 1e12]))])
    table = log.frame()
    assert (list(table)[-1], str(table["date"][0]), table["date"].isna().tolist()) == ("date", first, [False, True])
    assert (list(log.frame(["date"])), list(log.frame(["pull"]))) == (["date"], ["pull"])


@pytest.mark.parametrize("keys", [{}, {"origin": "2024-02-28"}, {"origin": "2024-02-28", "time_unit": "month"}])
def test_the_table_has_no_dates_elsewhere(tmp_path: Path, keys: dict[str, str]) -> None:
    """Without an origin, or with a unit of no fixed length, there is no such column."""
    log = write_log(tmp_path / "log.arrows", msgspec.structs.replace(make_header(), **keys), [make_events(2)])
    assert "date" not in log.frame()


@pytest.mark.parametrize("format", FORMATS)
def test_empty_log(tmp_path: Path, format: str) -> None:
    """A log without events has empty columns of the right types."""
    log = write_log(tmp_path / f"log.{format}", make_header(), [])
    assert (len(log.frame()), log.join().kind.dtype, log.complete) == (0, np.int8, True)


def test_unknown_column(tmp_path: Path) -> None:
    """A column that does not exist is named, with the nearest that does."""
    log = write_log(tmp_path / "log.arrows", make_header(), [make_events(3)])
    with pytest.raises(UnknownNameError, match=r"unknown column 'rounds' \(did you mean 'round'\?\)"):
        log.frame(["rounds"])


def test_read_log_is_public(tmp_path: Path) -> None:
    """`tpstream.read_log` opens a log given by the name of its file."""
    write_log(tmp_path / "log.arrows", make_header(), [make_events(3)])
    assert len(tpstream.read_log(str(tmp_path / "log.arrows")).frame()) == 3


@pytest.mark.parametrize("format", ["jsonl", "arrow"])
def test_log_that_is_being_written(tmp_path: Path, format: str) -> None:
    """A log reads while it is written; what was opened stays as it was when more is written."""
    path, events = tmp_path / f"log.{format}", make_events(20)
    with LogWriter(path, make_header(), patience=0.0) as writer:
        writer.hear(events.cut(0, 12))
        log = read_log(path)
        writer.hear(events.cut(12, 20))
        assert (log.truncated, bits(log.join())) == ("cut after round 3 of 100 (seq 11)", bits(events.cut(0, 12)))
    assert bits(read_log(path).join()) == bits(events)


@pytest.mark.parametrize("format", ["jsonl", "arrow"])
def test_log_before_its_first_event(tmp_path: Path, format: str) -> None:
    """The header is on disk before anything happens."""
    with LogWriter(tmp_path / f"log.{format}", make_header()):
        log = read_log(tmp_path / f"log.{format}")
        assert (log.header, log.truncated) == (make_header(), "cut before the first of 100 rounds")


def test_folder_is_a_study(tmp_path: Path) -> None:
    """All logs of a folder, whatever their formats, by policy and run; other files do not matter."""
    for name, policy, run in [("a.jsonl", "ucb1", 10), ("b.arrows", "ucb1", 9), ("c.parquet", "tp-ucb-fr", 0)]:
        write_log(tmp_path / name, make_header(policy=policy, run=run), [make_events(3)])
    (tmp_path / "regret.png").write_bytes(b"a figure")
    assert [log.path.name for log in read_logs(tmp_path)] == ["c.parquet", "b.arrows", "a.jsonl"]


def test_file_is_a_study_of_one(tmp_path: Path) -> None:
    """Where a folder of logs is asked for, one log will do."""
    write_log(tmp_path / "a.jsonl", make_header(), [])
    assert [log.path.name for log in read_logs(tmp_path / "a.jsonl")] == ["a.jsonl"]


def test_folder_with_a_run_twice(tmp_path: Path) -> None:
    """A run and its copy in another format would count twice: an error that names both."""
    for name in ("a.jsonl", "a.arrows"):
        write_log(tmp_path / name, make_header(run=3), [])
    with pytest.raises(LogError, match=r"a.arrows and a.jsonl are both run 3 of 'ucb1'; move one of them away"):
        read_logs(tmp_path)


def test_folder_of_a_study(tmp_path: Path) -> None:
    """The tables of a study are no logs, which is said; logs beside them are read."""
    compare(small(), ["uniform"], runs=2, folder=tmp_path)
    told = rf"{tmp_path}: holds the results of a study and no log; `tpstream show {tmp_path}` shows the study"
    with pytest.raises(LogError, match=told):
        read_logs(tmp_path)
    with pytest.raises(LogError, match=r"results.parquet: is a Parquet file without the header of a log"):
        read_log(tmp_path / "results.parquet")
    simulate(small(), "uniform", log=tmp_path / "one.jsonl")
    assert [log.path.name for log in read_logs(tmp_path)] == ["one.jsonl"]


def test_folder_without_logs(tmp_path: Path) -> None:
    """A folder without logs is an error that says how logs end."""
    with pytest.raises(LogError, match=r"there is no log in this folder; logs end in .jsonl, .arrows, .parquet"):
        read_logs(tmp_path)


def replace_line(number: int, text: bytes) -> Change:
    """Put another line in place of the one of this number, from 1."""

    def change(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        lines[number - 1] = text
        return b"".join(lines)

    return change


EVENT = b'{"seq":2,"time":1,"kind":"%s","round":1,"pull":1,"arm":0,"part":1,"value":%s}\n'
WITH_INDICES = EVENT.replace(b"%s}", b'1,"indices":[%s]}')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replace_line(4, b'{"seq":2,"time"\n'), r"line 4 is broken: Input data was truncated"),
        (replace_line(4, b'{"seq":2}\n'), r"line 4 is broken: .*missing required field `time`"),
        (replace_line(4, EVENT % (b"pul", b"1")), r"line 4 is broken: unknown kind 'pul' \(did you mean 'pull'\?\)"),
        (replace_line(4, EVENT % (b"pull", b'"much"')), r"line 4 is broken: Expected `float \| null`, got `str`"),
        (replace_line(4, b'{"seq":%d,' % 2**63 + EVENT[9:] % (b"late", b"1")), r"line 4 is broken: .*too large"),
        (replace_line(4, b'{"end":2}\n'), r"line 4 is broken: .*missing required field `seq`"),
        (
            replace_line(2, EVENT.replace(b"}", b',"indices":[1,2,3]}') % (b"pull", b"1")),
            r"line 2 .*3 indices.* 2 arms",
        ),
        (
            replace_line(4, EVENT.replace(b"}", b',"indices":[1,2]}') % (b"late", b"1")),
            r"line 4 .*a late, has 2 indices",
        ),
        (replace_line(2, WITH_INDICES % (b"pull", b'"inf",null')), r"give them for all or for none"),
    ],
)
def test_broken_line_is_named(tmp_path: Path, change: Change, message: str) -> None:
    """A line in the middle that is no event is an error with its number and what is wrong."""
    path = tmp_path / "log.jsonl"
    write_log(path, make_header(), [make_events(20)])
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(LogError, match=message):
        read_log(path).join()


def test_broken_line_is_named_in_a_long_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are counted from the beginning of the file, though they are decoded piece by piece."""
    monkeypatch.setattr(jsonl, "CHUNK", 200)
    path = tmp_path / "log.jsonl"
    write_log(path, make_header(), [make_events(50)])
    path.write_bytes(replace_line(41, b"{}\n")(path.read_bytes()))
    with pytest.raises(LogError, match="line 41 is broken"):
        read_log(path).join()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", r"the file is empty; its run ended before it began"),
        ("a.jsonl", b'{"schema":1,"scenario":{', r"the header is broken or torn"),
        ("a.jsonl", b'{"schema":1}\n', r"header: Object missing required field `scenario`; correct it"),
        (
            "a.jsonl",
            b'{"schema":2,"world":{}}\n',
            r"the log has schema 2 and .* reads 1; upgrade it",
        ),
        ("a.jsonl", b"seq,time\n0,1\n", r"this is not a log; logs are JSON lines, an Arrow stream or Parquet"),
        ("a.arrows", b"\xff\xff\xff\xff\x10\x00", r"the header is broken or torn"),
        ("a.arrows", b"ARROW1\x00\x00", r"an Arrow file with a footer; write it as an Arrow stream"),
        ("a.parquet", b"PAR1\x00\x00\x00\x00", r"the Parquet file is torn or broken"),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """What is no log is an error of one line that says why."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogError, match=message) as caught:
        read_log(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", ["missing.jsonl", "."])
def test_places_that_are_no_files(tmp_path: Path, place: str) -> None:
    """A file that is missing, or a folder, is an error with the system's reason."""
    with pytest.raises(LogError, match=r"cannot read the log: (No such file|Is a directory)"):
        read_log(tmp_path / place)


def test_damaged_batch_is_not_taken_for_a_tear(tmp_path: Path) -> None:
    """A batch in the middle that cannot be decompressed is an error, not the end of the log."""
    path = tmp_path / "log.arrows"
    with LogWriter(path, make_header(), patience=0.0) as writer:
        for first in range(0, 5000, 1000):
            writer.hear(make_events(5000).cut(first, first + 1000))
    data = bytearray(path.read_bytes())
    frame = data.index(b"\x28\xb5\x2f\xfd", len(data) // 2)  # how Zstandard begins
    data[frame : frame + 4] = b"\0\0\0\0"
    path.write_bytes(data)
    with pytest.raises(LogError, match=r"batch \d is damaged"):
        read_log(path).join()
