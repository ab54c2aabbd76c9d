"""What a run leaves that was killed, failed or ran out of space: whole events, and the truth about what is torn."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from killed_runs import KILLS
from log_samples import bits, make_events, make_header, split, write_log

from tpstream.log.reader import read_log
from tpstream.log.writer import LogWriter, convert
from tpstream.model.errors import LogError
from tpstream.model.events import Events
from tpstream.replay.replay import replay

STREAMS = ("jsonl", "arrow")


def fail(*_: object) -> None:
    """Raise what no log expects."""
    raise ZeroDivisionError


def words_for(events: Events, horizon: int = 100) -> str:
    """How a log is called torn that has these events."""
    if not len(events):
        return f"cut before the first of {horizon:,} rounds"
    return f"cut after round {events.round[-1]:,} of {horizon:,} (seq {events.seq[-1]})"


@pytest.mark.parametrize("format", STREAMS)
def test_killed_runs(tmp_path: Path, format: str) -> None:
    """However a run is killed, its log reads, holds a prefix of the whole run's events, and replays."""
    program = Path(__file__).parents[1] / "support" / "killed_runs.py"
    subprocess.run([sys.executable, program, tmp_path, format], check=True, capture_output=True)
    whole = read_log(tmp_path / f"whole.{format}").join()
    lengths = set()
    for kill in range(KILLS):
        log = read_log(tmp_path / f"{kill}.{format}")
        events = log.join()
        assert bits(events) == bits(whole.cut(0, len(events)))
        assert log.truncated == (None if log.complete else words_for(events, log.header.horizon))
        assert replay(log).equal
        lengths.add(len(events))
    assert len(lengths) > KILLS // 4


@pytest.mark.parametrize("format", STREAMS)
def test_log_torn_at_any_byte(tmp_path: Path, format: str) -> None:
    """Cut anywhere after its header, a log keeps every event that is whole and says after which it is torn.

    The cuts are a few bytes apart, fewer than any message's, and prime to Arrow's padding of eight.
    """
    header, events = make_header(), make_events(12, indices=True)
    empty = write_log(tmp_path / f"empty.{format}", header, [], end=False).path.stat().st_size
    data = write_log(tmp_path / f"log.{format}", header, split(events, [1, 5, 6])).path.read_bytes()
    lengths = []
    for cut in range(empty, len(data), 7):
        (tmp_path / "cut").write_bytes(data[:cut])
        log = read_log(tmp_path / "cut")
        read = log.join()
        assert bits(read) == bits(events.cut(0, len(read)))
        assert log.truncated == (None if log.complete else words_for(read))
        lengths.append(len(read))
    assert lengths == sorted(lengths)
    assert set(lengths) == ({0, 1, 5, 6, 12} if format == "arrow" else set(range(13)))


def test_event_without_its_newline_is_whole(tmp_path: Path) -> None:
    """If only a newline is torn off, no event is dropped."""
    log = write_log(tmp_path / "log.jsonl", make_header(), [make_events(4)], end=False)
    log.path.write_bytes(log.path.read_bytes().removesuffix(b"\n"))
    assert read_log(log.path).truncated == words_for(make_events(4))
    assert bits(read_log(log.path).join()) == bits(make_events(4))


@pytest.mark.parametrize("format", STREAMS)
def test_failed_run_keeps_what_it_told(tmp_path: Path, format: str) -> None:
    """A run that ends with an exception leaves all that was heard, marked as torn."""
    with pytest.raises(ZeroDivisionError), LogWriter(tmp_path / f"log.{format}", make_header()) as writer:
        fail(writer.hear(make_events(7)))
    log = read_log(tmp_path / f"log.{format}")
    assert (log.truncated, bits(log.join())) == (words_for(make_events(7)), bits(make_events(7)))


@pytest.mark.parametrize("format", STREAMS)
def test_run_that_could_not_start_leaves_nothing(tmp_path: Path, format: str) -> None:
    """A run that fails before its first event leaves no file to be overwritten by the next try."""
    with pytest.raises(ZeroDivisionError), LogWriter(tmp_path / f"log.{format}", make_header()):
        fail()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", STREAMS)
def test_existing_log_is_kept(tmp_path: Path, format: str) -> None:
    """Without force a log that is there is an error that says so, and not a byte of it changes."""
    before = write_log(tmp_path / f"log.{format}", make_header(), [make_events(7)]).path.read_bytes()
    with pytest.raises(LogError, match=r"there is a log already; .* overwrite it with --force"):
        LogWriter(tmp_path / f"log.{format}", make_header())
    assert (tmp_path / f"log.{format}").read_bytes() == before


@pytest.mark.parametrize("format", STREAMS)
def test_forced_log_is_replaced_by_its_first_events(tmp_path: Path, format: str) -> None:
    """With force the old log stays until the new run has something to tell, then the new one is in its place."""
    path = tmp_path / f"log.{format}"
    write_log(path, make_header(), [make_events(7)])
    with LogWriter(path, make_header(run=1), force=True, patience=0.0) as writer:
        assert read_log(path).header.run == 0
        writer.hear(make_events(3))
        assert read_log(path).header.run == 1
    assert ([file.name for file in tmp_path.iterdir()], read_log(path).complete) == ([path.name], True)


@pytest.mark.parametrize("format", STREAMS)
def test_forced_run_that_could_not_start_keeps_the_old_log(tmp_path: Path, format: str) -> None:
    """A forced run that fails before its first event costs nothing."""
    before = write_log(tmp_path / f"log.{format}", make_header(), [make_events(7)]).path.read_bytes()
    with pytest.raises(ZeroDivisionError), LogWriter(tmp_path / f"log.{format}", make_header(), force=True):
        fail()
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [before]


@pytest.mark.parametrize("format", STREAMS)
def test_full_disk(tmp_path: Path, format: str) -> None:
    """When no more can be written the run ends with an error; the log has all flushes before it, and none in parts."""
    events = make_events(20_000)
    message = r"cannot write: File too large; .* free space"
    with limited_file_size(40_000), pytest.raises(LogError, match=message) as caught:
        write_in_batches(tmp_path / f"log.{format}", events)
    log = read_log(tmp_path / f"log.{format}")
    read = log.join()
    assert len(read) > 100
    assert len(read) % 100 == 0
    assert (log.truncated, bits(read)) == (words_for(read), bits(events.cut(0, len(read))))
    assert "\n" not in str(caught.value)


def write_in_batches(path: Path, events: Events) -> None:
    """Let a run tell events, a hundred at a time."""
    with LogWriter(path, make_header(), patience=0.0) as writer:
        for batch in split(events, range(100, len(events), 100)):
            writer.hear(batch)


class limited_file_size:  # noqa: N801 (it is used like a function)
    """No file may become larger: writes fail as on a full disk, after writing what fits."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __enter__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


def test_read_only_folder(tmp_path: Path) -> None:
    """A folder that cannot be written is an error before the run starts."""
    tmp_path.chmod(0o500)
    folder = tmp_path if os.geteuid() else Path("/sys")  # where even root may not write
    denied = "(Permission denied|Read-only file system)"
    with pytest.raises(LogError, match=rf"cannot create the log: {denied}; choose a folder that can be written"):
        LogWriter(folder / "log.jsonl", make_header())


def test_failed_conversion_leaves_nothing(tmp_path: Path) -> None:
    """A copy that could not be finished is not there: it would be taken for a torn log."""
    log = write_log(tmp_path / "log.jsonl", make_header(), [make_events(20_000)])
    data = log.path.read_bytes()
    log.path.write_bytes(data[:-200] + b"broken\n" + data[-200:])
    with pytest.raises(LogError, match="is broken"):
        convert(log.path, tmp_path / "copy.arrows")
    assert [file.name for file in tmp_path.iterdir()] == ["log.jsonl"]
