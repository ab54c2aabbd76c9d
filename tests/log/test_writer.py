"""The log that a run writes: header, every event, end; readable after a crash, never overwritten by accident."""

import json
import math
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from studies import KEYS, read_lines, small, start_python
from worlds import events_of

from tpstream import simulate
from tpstream.log import writer as writer_module
from tpstream.log.formats import FORMATS
from tpstream.log.schema import Header
from tpstream.log.writer import LogWriter
from tpstream.model.arrays import Floats
from tpstream.model.errors import LogError
from tpstream.model.events import Events
from tpstream.policies.base import Parameters, PythonPolicy
from tpstream.run.loop import make_header

PART = ("partial", 1, 0, 1, 0.5)
ENDLESS = f"""
import sys
from tpstream import Scenario, simulate
simulate(Scenario(**({KEYS!r} | {{"horizon": 10**7}})), "uniform", log=sys.argv[1])
"""


class Failing:
    """A policy that fails at a round."""

    def __init__(self, at: int) -> None:
        self.at = at

    def hear(self, events: Events) -> None:
        """Learn nothing."""

    def decide(self, round: int) -> int:
        """The first arm, until it fails."""
        if round == self.at:
            raise LogError("it failed")
        return 0

    def indices(self) -> Floats:
        """None."""
        return np.full(3, np.nan)


def failing(at: int) -> PythonPolicy:
    """The form of such a policy."""
    return PythonPolicy("failing", Parameters, lambda *_: Failing(at))


@pytest.fixture
def header() -> Header:
    """The header of some run."""
    return make_header(small(), small().policy("tp-ucb-fr"), seed=1, run=0)


def seqs(path: Path) -> list[int]:
    """The numbers of the events that can be read in a log so far."""
    return [line["seq"] for line in read_lines(path) if "seq" in line]


def test_header_comes_first(tmp_path: Path) -> None:
    """The first line says what the run was: scenario, policy, randomness, the world's truth and the versions."""
    log = tmp_path / "run.jsonl"
    simulate(small(), "tp-ucb-fr:groups=2", seed=5, run=4, log=log)
    first = read_lines(log)[0]
    told: dict[str, Any] = {
        "scenario": small().resolved(),
        "policy": "tp-ucb-fr:groups=2",
        "kind": "tp-ucb-fr",
        "parameters": {"groups": 2, "ties": "random", "caps": None},
        "seed": 5,
        "run": 4,
        "arms": ["low", "middle", "high"],
        "means": [5.0, 10.0, 15.0],
        "maxima": [10.0, 20.0, 30.0],
        "span": 6,
        "horizon": 60,
        "groups": 3,
        "clairvoyant": False,
    }
    assert {key: first.get(key) for key in told} == told
    assert first["schema"] >= 1
    assert {"tpstream", "numpy", "numba", "simpy"} <= set(first["versions"])


def test_every_event_has_a_line(tmp_path: Path) -> None:
    """Between header and end there is one line per event, numbered from 0 in the order of time."""
    log = tmp_path / "run.jsonl"
    simulate(small(), "uniform", log=log)
    events = read_lines(log)[1:-1]
    kinds = [event["kind"] for event in events]
    assert [event["seq"] for event in events] == list(range(480))
    assert [kinds.count(kind) for kind in ("pull", "partial", "closed")] == [60, 360, 60]
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)


def test_the_last_line_counts_the_events(tmp_path: Path) -> None:
    """A run that came to its end says so, with the number of its events."""
    log = tmp_path / "run.jsonl"
    simulate(small(drain=False), "uniform", log=log)
    *before, last = read_lines(log)
    assert last["end"] == len(before) - 1


def test_a_large_batch_is_written_at_once(tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events wait until there are enough of them, then all are in the file."""
    monkeypatch.setattr(writer_module, "FLUSH_SECONDS", 1e9)
    enough = math.ceil(writer_module.ENOUGH * FORMATS["jsonl"].batch)
    with LogWriter(tmp_path / "run.jsonl", header) as writer:
        writer.hear(events_of([PART] * (enough - 1)))
        before = seqs(writer.path)
        writer.hear(events_of([PART], seq=enough - 1))
        assert (before, seqs(writer.path)) == ([], list(range(enough)))


def test_an_old_batch_is_written(tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that has waited long enough is written with the next one, however few they are."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(writer_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    with LogWriter(tmp_path / "run.jsonl", header) as writer:
        writer.hear(events_of([PART]))
        clock.now = writer_module.FLUSH_SECONDS * 0.9
        writer.hear(events_of([PART], seq=1))
        young = seqs(writer.path)
        clock.now = writer_module.FLUSH_SECONDS
        writer.hear(events_of([PART], seq=2))
        assert (young, seqs(writer.path)) == ([], [0, 1, 2])


def test_the_header_is_written_at_once(tmp_path: Path, header: Header) -> None:
    """Before the first event the file says whose it is."""
    with LogWriter(tmp_path / "run.jsonl", header) as writer:
        assert [line["policy"] for line in read_lines(writer.path)] == ["tp-ucb-fr"]


def test_a_killed_run_leaves_a_readable_log(tmp_path: Path) -> None:
    """After SIGKILL the file holds the header and whole events in order; only the last line may be torn."""
    log = tmp_path / "run.jsonl"
    process = start_python(ENDLESS, log)
    try:
        deadline = time.monotonic() + 60
        while not (log.exists() and log.stat().st_size > 2_000_000):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    *whole, _torn = log.read_bytes().split(b"\n")
    first, *events = [json.loads(line) for line in whole]
    assert first["policy"] == "uniform"
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert len(events) > 10_000


def test_a_run_that_fails_keeps_what_was_told(tmp_path: Path) -> None:
    """All that happened before the failure is in the log, and no end: 29 pulls and the parts due in rounds 1 to 29."""
    log = tmp_path / "run.jsonl"
    with pytest.raises(LogError, match="it failed"):
        simulate(small(), failing(at=30), log=log)
    _, *events = read_lines(log)
    last = events[-1]
    assert [event["pull"] for event in events if event["kind"] == "pull"] == list(range(1, 30))
    assert (last["time"], last["round"], last["pull"], last["part"]) == (29.0, 29, 29, 1)


def test_a_log_is_not_overwritten(tmp_path: Path) -> None:
    """A log that is there already is an error that names it and the remedy, and stays as it is."""
    log = tmp_path / "run.jsonl"
    simulate(small(), "uniform", log=log)
    before = log.read_bytes()
    with pytest.raises(LogError, match=r"run\.jsonl: there is a log already; .*--force"):
        simulate(small(), "uniform", seed=99, log=log)
    assert log.read_bytes() == before


def test_a_log_is_overwritten_by_force(tmp_path: Path) -> None:
    """With force there is nothing but the new log."""
    log = tmp_path / "run.jsonl"
    simulate(small(), "uniform", log=log)
    simulate(small(horizon=10), "oracle", log=log, force=True)
    assert (read_lines(log)[0]["policy"], read_lines(log)[-1]["end"]) == ("oracle", 80)


def test_folders_are_made(tmp_path: Path) -> None:
    """The folders above a log are made when they are missing."""
    log = tmp_path / "a" / "b" / "run.jsonl"
    assert simulate(small(), "uniform", log=log).log == log
    assert log.is_file()


def test_a_log_cannot_be_below_a_file(tmp_path: Path) -> None:
    """A place that cannot be is an error before the run starts."""
    (tmp_path / "file").touch()
    with pytest.raises(LogError, match="cannot create the log"):
        simulate(small(), "uniform", log=tmp_path / "file" / "below" / "run.jsonl")
