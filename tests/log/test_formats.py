"""The formats of a log: whatever is written is read again, in every format and through every conversion."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from log_samples import FORMATS, bits, logs, make_events, make_header, split, write_log
from studies import small
from tampering import write_lines

from tpstream import compare, simulate
from tpstream.log.contract import Checker
from tpstream.log.reader import read_log, read_logs
from tpstream.log.schema import Header
from tpstream.log.writer import LogWriter, convert
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import Events


@pytest.mark.parametrize("format", FORMATS)
@given(log=logs(), cuts=st.lists(st.integers(0, 30), max_size=3))
def test_round_trip(format: str, log: tuple[Header, Events], cuts: Sequence[int]) -> None:
    """Any log, in any batches, is read as it was written, bit for bit, and is complete."""
    header, events = log
    with TemporaryDirectory() as folder:
        read = write_log(Path(folder) / f"log.{format}", header, split(events, [min(cut, len(events)) for cut in cuts]))
        assert (read.header, bits(read.join()), read.format, read.truncated) == (header, bits(events), format, None)


@settings(max_examples=30)
@given(log=logs(), end=st.booleans())
def test_conversions_lose_nothing(log: tuple[Header, Events], end: bool) -> None:  # noqa: FBT001
    """A log converted to any format, and from there to any other, is the same log; a torn one stays torn."""
    header, events = log
    with TemporaryDirectory() as folder:
        for first, second, third in product(FORMATS, repeat=3):
            log_file = write_log(Path(folder) / f"1.{first}", header, [events], end=end)
            convert(log_file, Path(folder) / f"2.{second}")
            read = convert(Path(folder) / f"2.{second}", Path(folder) / f"3.{third}")
            assert (read.header, bits(read.join()), read.complete) == (header, bits(events), end)
            for path in Path(folder).iterdir():
                path.unlink()


@pytest.mark.parametrize("format", FORMATS)
@given(log=logs())
def test_events_one_by_one(format: str, log: tuple[Header, Events]) -> None:
    """The iterator of events gives what the columns say."""
    header, events = log
    with TemporaryDirectory() as folder:
        assert list(write_log(Path(folder) / f"log.{format}", header, [events]).events()) == list(events)


def test_conversion_keeps_a_wrong_count(tmp_path: Path) -> None:
    """A foreign log whose end counts an event that is not there says the same in another format."""
    write_log(tmp_path / "a.jsonl", make_header(), [make_events(20)])
    lines = (tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True)
    write_lines(tmp_path / "a.jsonl", [json.loads(line) for line in [*lines[:5], *lines[6:]]])
    convert(tmp_path / "a.jsonl", tmp_path / "b.arrows")
    convert(tmp_path / "b.arrows", tmp_path / "c.jsonl")
    *events, end = (tmp_path / "c.jsonl").read_bytes().splitlines(keepends=True)
    assert (events, json.loads(end)["end"]) == ([*lines[:5], *lines[6:-1]], 20)


def test_conversion_onto_itself(tmp_path: Path) -> None:
    """A log may be converted onto its own place."""
    write_log(tmp_path / "a.arrows", make_header(), [make_events(20)])
    assert bits(convert(tmp_path / "a.arrows", tmp_path / "a.arrows", force=True).join()) == bits(make_events(20))


def test_large_batches_are_cut(tmp_path: Path) -> None:
    """A batch beyond the size of a flush is written in several, with its indices."""
    events = make_events(250_000, indices=True)
    read = write_log(tmp_path / "log.arrows", make_header(), [events])
    assert ([len(batch) for batch in read.batches()], bits(read.join())) == ([100_000, 100_000, 50_000], bits(events))


def test_numbers_beyond_the_header_are_refused(tmp_path: Path) -> None:
    """The columnar format has room for what the header announces; a larger number is an error that names it."""
    events = replace(make_events(1), pull=np.array([2**40]))
    with pytest.raises(LogError, match=r"events 0 to 0 do not fit the header: pull 1099511627776 is beyond 2147483647"):
        write_log(tmp_path / "log.arrows", make_header(horizon=100), [events])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("column", "number"), [("value", np.inf), ("time", np.nan), ("time", -np.inf)])
def test_infinite_numbers_are_refused(tmp_path: Path, format: str, column: str, number: float) -> None:
    """What JSON cannot carry is refused in every format instead of being changed."""
    numbers = np.array([0.5, number, 0.5])
    with pytest.raises(LogError, match=f"event 1 has the {column} {number}; {column}s must be finite"):
        write_log(tmp_path / f"log.{format}", make_header(), [replace(make_events(3), **{column: numbers})])


def test_giant_times_are_refused(tmp_path: Path) -> None:
    """What no command would read is not written either."""
    with pytest.raises(LogError, match=r"event 2 has the time 2e\+15; times of logs go up to 1e\+15"):
        write_log(tmp_path / "log.jsonl", make_header(), [replace(make_events(3), time=np.array([0.5, 1.0, 2e15]))])


def test_json_lines_are_plain_json(tmp_path: Path) -> None:
    """The readable format is one JSON object a line: the header, the events, their number and the SHA-256."""
    write_log(tmp_path / "log.jsonl", make_header(), [make_events(7, indices=True)])
    data = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    lines = [json.loads(line) for line in data]
    assert (lines[0]["policy"], [line["seq"] for line in lines[1:-1]], lines[-1]) == (
        "ucb1",
        list(range(7)),
        {
            "end": 7,
            "sha256": hashlib.sha256(b"".join(data).replace(lines[-1]["sha256"].encode(), b"0" * 64)).hexdigest(),
        },
    )


def test_arrow_stream_is_plain_arrow(tmp_path: Path) -> None:
    """Any Arrow library reads the columnar format; the sum of the steps, from -1, is the number of the event."""
    write_log(tmp_path / "log.arrows", make_header(), split(make_events(7), [3]))
    table = pa.ipc.open_stream((tmp_path / "log.arrows").read_bytes()).read_all()
    assert table["step"].to_pylist() == [1] * 7
    assert table["kind"].to_pylist() == [event.kind for event in make_events(7)]
    assert json.loads(table.schema.metadata[b"tpstream"])["policy"] == "ucb1"


def test_parquet_is_plain_parquet(tmp_path: Path) -> None:
    """The export is read by pandas, with the schema's column names."""
    write_log(tmp_path / "log.parquet", make_header(), [make_events(7)])
    assert pd.read_parquet(tmp_path / "log.parquet")["seq"].tolist() == list(range(7))


def test_columns_of_other_programs(tmp_path: Path) -> None:
    """A stream of other integers, kinds as text in any order, `seq` as it is and no indices reads like one of ours."""
    events = make_events(9).cut(1, 9)
    columns = {name: pa.array(getattr(events, name)) for name in ("seq", "time", "value")}
    columns |= {name: pa.array(getattr(events, name).astype(np.int16)) for name in ("round", "pull", "arm", "part")}
    columns |= {"kind": pa.array([event.kind for event in events])}
    table = pa.table(columns).replace_schema_metadata({b"tpstream": msgspec.json.encode(make_header())})
    with pa.OSFile(str(tmp_path / "log.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    read = read_log(tmp_path / "log.arrows")
    assert (bits(read.join()), read.truncated) == (bits(events), "cut after round 2 of 100 (seq 8)")


def test_columnar_form_is_compact(tmp_path: Path) -> None:
    """Rounds of a hundred open pulls with groups of five equal parts take less than three bytes an event."""
    read = write_log(tmp_path / "log.arrows", make_header(arms=10), [regular_events(1000, span=100, width=5)])
    assert read.path.stat().st_size < 3 * len(read.join())


def regular_events(rounds: int, *, span: int, width: int) -> Events:
    """Rounds in the paper's world in which every pull of the last `span` rounds delivers a part."""
    random = np.random.default_rng(1)
    arms = random.integers(0, 10, rounds + span)
    parts = np.repeat(random.random((rounds + span, span // width)), width, axis=1)
    round, place = np.divmod(np.arange(rounds * (span + 1)), span + 1)
    part = np.where(place == 0, 0, span + 1 - place)
    pull = np.where(place == 0, round + span, round + place)
    return Events(
        seq=np.arange(len(part)),
        time=round + 1.0,
        kind=np.minimum(place, 1).astype(np.int8),
        round=round + 1,
        pull=pull,
        arm=arms[pull - 1],
        part=part,
        value=np.where(part == 0, np.nan, parts[pull - 1, part - 1]),
    )


def test_format_by_name_beats_the_suffix(tmp_path: Path) -> None:
    """A format that is named is written whatever the file is called, and found by its content."""
    with LogWriter(tmp_path / "log.jsonl", make_header(), format="arrow") as writer:
        writer.hear(make_events(3))
    assert read_log(tmp_path / "log.jsonl").format == "arrow"


@pytest.mark.parametrize(
    ("name", "format", "error", "message"),
    [
        ("log.txt", None, LogError, r"the ending '.txt' names no format of a log; use .jsonl, .arrows, .parquet"),
        ("log", "arow", UnknownNameError, r"unknown format of a log 'arow' \(did you mean 'arrow'\?\)"),
        ("log.parquet", None, LogError, r"parquet cannot be written while a run goes on; write arrow and convert it"),
    ],
)
def test_formats_that_a_run_cannot_write(
    tmp_path: Path, name: str, format: str | None, error: type[Exception], message: str
) -> None:
    """A format that does not exist, or that has no use before its end, is refused and leaves no file."""
    with pytest.raises(error, match=message):
        LogWriter(tmp_path / name, make_header(), format=format)
    assert not list(tmp_path.iterdir())


def command(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does."""
    code = "from tpstream.cli.app import main; main()"
    return subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False)


def test_convert_command(tmp_path: Path) -> None:
    """`tpstream convert` writes the copy and says what it is."""
    write_log(tmp_path / "a.jsonl", make_header(), [make_events(20)], end=False)
    done = command("convert", tmp_path / "a.jsonl", tmp_path / "b.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "jsonl to parquet" in done.stdout
    assert "cut after round 4 of 100 (seq 19)" in done.stdout
    assert bits(read_log(tmp_path / "b.parquet").join()) == bits(make_events(20))


def test_convert_command_overwrites_nothing(tmp_path: Path) -> None:
    """A target that is there already is an error of one line, exit code 2, and stays as it is."""
    write_log(tmp_path / "a.jsonl", make_header(), [make_events(20)])
    write_log(tmp_path / "b.arrows", make_header(), [make_events(3)])
    done = command("convert", tmp_path / "a.jsonl", tmp_path / "b.arrows")
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert len(read_log(tmp_path / "b.arrows").join()) == 3


def test_documented_log_from_elsewhere(tmp_path: Path) -> None:
    """The program of the documentation that uses nothing of ours writes a complete log that breaks no rule."""
    text = (Path(__file__).parents[2] / "docs" / "log-format.md").read_text(encoding="utf-8")
    program = text[text.rindex("```python\n") + len("```python\n") : text.rindex("```")]
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    log = read_log(tmp_path / "elsewhere.jsonl")
    assert (log.complete, len(log.join()), Checker(log.header).first_broken(log.join())) == (True, 245, None)


def test_arrow_streams_have_the_registered_ending(tmp_path: Path) -> None:
    """Runs name Arrow streams `.arrows`; the ending `.arrow` of older logs is still read and written."""
    compare(small(horizon=20), ["uniform"], runs=1, jobs=1, logs=tmp_path / "logs", log_format="arrow")
    assert [log.path.name for log in read_logs(tmp_path / "logs")] == ["uniform.run-000.arrows"]
    write_log(tmp_path / "old" / "a.arrow", make_header(), [make_events(3)])
    (old,) = read_logs(tmp_path / "old")
    assert (old.format, len(old.join())) == ("arrow", 3)


def test_other_programs_read_the_files(tmp_path: Path) -> None:
    """The programs of docs/log-format.md that read a log with pandas give its events."""
    simulate(small(horizon=20), "uniform", log=tmp_path / "run.arrows")
    events = convert(tmp_path / "run.arrows", tmp_path / "run.parquet").frame()
    convert(tmp_path / "run.arrows", tmp_path / "run.jsonl")
    page = (Path(__file__).parents[2] / "docs" / "log-format.md").read_text()
    code = page.partition("## Reading logs with other programs")[2].partition("```python\n")[2].partition("```")[0]
    names: dict[str, pd.DataFrame] = {}
    exec(code.replace('"run.', f'"{tmp_path}/run.'), names)  # noqa: S102 (our own page)
    for name in ("stream", "parquet", "lines"):
        assert names[name]["kind"].astype(str).tolist() == events["kind"].tolist()
        assert np.array_equal(names[name]["value"].astype(float), events["value"], equal_nan=True)
        assert names[name]["seq"].tolist() == events["seq"].tolist()
