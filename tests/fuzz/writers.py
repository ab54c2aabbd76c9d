"""Commands that write: what they are given, how they go on, and what must be the same however they were disturbed."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from children import run_command
from hypothesis import strategies as st
from mutations import toml_text
from samples import KEYS, Files, _tables, run_here, worlds, write_files

from tpstream import Scenario, simulate
from tpstream.log.reader import Log, read_log
from tpstream.model.arrays import Floats
from tpstream.model.errors import LogError

LONG = 2500
"""Rounds of a run that is disturbed."""
SMALL = ("small.toml", "-p", "tp-ucb-fr", "-p", "uniform", "--jobs", "1")
TIMES = (".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal", "times.csv")
"""Endings of the files of a study in which the seconds of each run are."""

WHOLE = (".html", ".svg", ".csv", ".parquet", ".toml")
"""Endings of files that are there in whole or not at all."""


@dataclass(frozen=True)
class Writer:
    """A command that writes, and the words by which it goes on after it was disturbed."""

    words: Sequence[str]
    again: Sequence[str] = ()


@dataclass(frozen=True)
class Written:
    """What an undisturbed command wrote, and in how many seconds of the processor."""

    files: Files
    seconds: float


WRITERS = {
    "run": Writer(("run", *SMALL, "--log", "out", "--log-detail", "indices"), ("--force",)),
    "run-arrow": Writer(("run", *SMALL, "--log", "out", "--log-format", "arrow"), ("--force",)),
    "compare": Writer(("compare", *SMALL, "--runs", "6", "--out", "out", "--horizon", "1500")),
    "compare-logs": Writer(("compare", *SMALL, "--runs", "3", "--out", "out", "--log", "logs", "--horizon", "1500")),
    "sweep": Writer(("sweep", *SMALL, "--set", "span=6,12,18", "--runs", "3", "--out", "out", "--horizon", "1500")),
    "league": Writer(("league", "small.toml", "busy.toml", "-p", "ucb1", "--runs", "3", "--jobs", "1", "--out", "out")),
    "trial": Writer(("trial", "small.toml", "-p", "uniform", "--runs", "6", "--jobs", "1", "--out", "out")),
    "convert": Writer(("convert", "log.jsonl", "copy.arrows"), ("--force",)),
    "convert-parquet": Writer(("convert", "log.jsonl", "copy.parquet"), ("--force",)),
    "import": Writer(("import", "offers.csv", "payments.csv", "--window", "20d", "--out", "a.jsonl"), ("--force",)),
    "fit": Writer(("fit", "log.jsonl", "--out", "twin.toml", "--figure", "b.svg"), ("--force",)),
    "answer": Writer(("answer", "log.jsonl", "--figure", "b.svg", "--report", "b.html")),
    "calibrate": Writer(
        ("calibrate", "trial.toml", "--target", "type1=0.1", "--runs", "40", "--jobs", "1", "--out", "found.toml"),
    ),
    "view": Writer(("view", "log.jsonl", "--out", "page.html")),
    "report": Writer(("compare", *SMALL, "--runs", "2", "--horizon", "200", "--report", "a.html", "--figure", "a.svg")),
}


@cache
def inputs() -> Files:
    """The files that these commands read."""
    small = KEYS | {"horizon": LONG, "drain": False}
    busy = small | {"name": "busy", "horizon": 400, "delays": [{"kind": "geometric", "p": 0.4}], "window": 9.0}
    with tempfile.TemporaryDirectory() as folder:
        simulate(Scenario(**small), "tp-ucb-fr", log=Path(folder) / "log.jsonl")
        log = (Path(folder) / "log.jsonl").read_bytes()
    scenarios = {"small.toml": toml_text(small).encode(), "busy.toml": toml_text(busy).encode()}
    scenarios["trial.toml"] = toml_text(worlds()["trial"]).encode()
    return {**scenarios, "log.jsonl": log, **_tables()}


@cache
def undisturbed(name: str) -> Written:
    """What a command writes if nobody disturbs it; it is run here first, so that children find all of it compiled."""
    assert run_here(WRITERS[name].words, inputs())
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), inputs())
        ended = run_command(WRITERS[name].words, Path(folder))
        assert ended.succeeded, ended
        return Written(written(Path(folder)), ended.seconds)


def writers() -> st.SearchStrategy[str]:
    """The names of all writers, whose code is ready then."""
    return st.sampled_from([name for name in sorted(WRITERS) if undisturbed(name)])


def written(folder: Path) -> Files:
    """The files in a folder that must be the same to the last byte."""
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(str(folder).encode(), b"")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(TIMES)
    }


def logs_in(folder: Path) -> dict[str, Log]:
    """The logs that a command has written so far; raises LogError if one cannot be read."""
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in {".jsonl", ".arrows"} and path.stat().st_size]
    return {
        str(path.relative_to(folder)): read_log(path) for path in paths if str(path.relative_to(folder)) not in inputs()
    }


def not_a_prefix(folder: Path, name: str) -> str | None:
    """Which log in a folder does not begin as that of an undisturbed command does."""
    try:
        logs = logs_in(folder)
    except LogError as error:
        return f"a log cannot be read: {str(error).partition(': ')[2]}"
    for place, log in logs.items():
        whole = undisturbed(name).files[place]
        data = log.path.read_bytes()
        if log.format == "jsonl" and not whole.startswith(data[: data.rfind(b"\n") + 1]):
            return "the events of a log are others"
        if log.format == "arrow":
            count = len(log.columns(["arm"])["arm"])
            if log.columns(["value"])["value"].tobytes() != _values(whole)[:count].tobytes():
                return "the events of a log are others"
    return None


def _values(data: bytes) -> Floats:
    """The values of the events of an Arrow log."""
    with tempfile.NamedTemporaryFile(suffix=".arrows") as file:  # not in the folder, where there may be no room
        Path(file.name).write_bytes(data)
        return read_log(file.name).columns(["value"])["value"]


def repeated(folder: Path, name: str) -> str | None:
    """What is bad about the command given once more: it must end with the files of an undisturbed one."""
    ended = run_command([*WRITERS[name].words, *WRITERS[name].again], folder)
    if ended.fault is not None or ended.code:
        return f"again: {ended.fault or ended.printed.strip().splitlines()[-1]}"
    expected, found = undisturbed(name).files, written(folder)
    differ = [place for place in expected if found.get(place) != expected[place]]
    return f"again: other bytes in {differ[0]}" if differ else None


def left_over(folder: Path, name: str) -> str | None:
    """A file that no undisturbed command leaves."""
    extra = [place for place in written(folder) if place not in undisturbed(name).files]
    return f"left: {Path(extra[0]).suffix} beside the results" if extra else None


def half_written(folder: Path, name: str) -> str | None:
    """A page, a figure or a table that is there and is not what an undisturbed command writes."""
    expected = undisturbed(name).files
    wrong = [place for place, data in written(folder).items() if place.endswith(WHOLE) and expected.get(place) != data]
    return f"half written: {Path(wrong[0]).suffix}" if wrong else None


def clear(folder: Path) -> None:
    """Empty a folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
