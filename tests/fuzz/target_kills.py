"""Commands that write, killed at any moment with SIGKILL: what was flushed is there, and the command goes on."""

import os
import signal
import tempfile
from pathlib import Path
from typing import Any

from children import command, end_of, start_child, wait_until
from hypothesis import strategies as st
from samples import write_files
from writers import WRITERS, inputs, logs_in, not_a_prefix, repeated, undisturbed, writers

from tpstream.log.reader import read_log
from tpstream.model.errors import LogError

Case = dict[str, Any]


def cases() -> st.SearchStrategy[Case]:
    """A command, and a moment as a share of the time that it takes of the processor; sometimes it is killed twice."""
    moments = st.lists(st.floats(0.01, 1.05), min_size=1, max_size=2)
    return st.fixed_dictionaries({"writer": writers(), "moments": moments})


def check(case: Case) -> str | None:
    """What is lost, cannot be read or is not as it would have been."""
    name = case["writer"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder, inputs())
        fault = None
        for number, moment in enumerate(case["moments"]):
            words = [*WRITERS[name].words, *(WRITERS[name].again if number else ())]
            flushed = _kill(words, folder, moment * undisturbed(name).seconds)
            fault = fault or _lost(folder, flushed) or not_a_prefix(folder, name)
        fault = fault or repeated(folder, name)
    return None if fault is None else f"{name}: {fault}"


def _kill(words: list[str], folder: Path, seconds: float) -> dict[str, bytes]:
    """Start a command and kill it; returns the logs as they were just before."""
    child = start_child(command(words), folder)
    wait_until(child, seconds)
    logs = [path for path in folder.rglob("*") if path.suffix in {".jsonl", ".arrows"} and path.name not in inputs()]
    flushed = {str(path): path.read_bytes() for path in logs}
    os.kill(child, signal.SIGKILL)
    end_of(child, folder)
    return flushed


def _lost(folder: Path, flushed: dict[str, bytes]) -> str | None:
    """Whether a log has fewer events than just before the command was killed."""
    try:
        now = {str(log.path): _events(log.path) for log in logs_in(folder).values()}
        for path, data in flushed.items():
            if data and _events_in(folder, data) > now.get(path, 0):
                return "flushed events are lost"
    except LogError as error:
        return f"a log cannot be read: {str(error).partition(': ')[2]}"
    return None


def _events(path: Path) -> int:
    return len(read_log(path).columns(["kind"])["kind"])


def _events_in(folder: Path, data: bytes) -> int:
    place = folder / "flushed"
    place.write_bytes(data)
    try:
        return _events(place)
    finally:
        place.unlink()
