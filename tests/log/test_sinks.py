"""Sinks by name and as objects: who hears a run besides its log."""

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

import pytest
from plugged import forgetful
from studies import small

from tpstream import TpstreamError, compare, load_plugin, read_log, simulate
from tpstream.engines.engine import EngineName
from tpstream.model.errors import SubscriberError, UnknownNameError
from tpstream.model.events import Events
from tpstream.templates.scaffold import write_plugin

__all__ = ["forgetful"]
pytestmark = pytest.mark.usefixtures("forgetful")

FAULTY = '''
from contextlib import contextmanager
from tpstream.model.settings import Settings

class FaultySettings(Settings):
    """Raises at a moment."""
    at: str = "never"

class Faulty:
    settings = FaultySettings

    @contextmanager
    def open(self, settings, header):
        self.at = settings.at
        if self.at == "open":
            raise KeyError("lost")
        yield self
        if self.at == "close":
            raise KeyError("lost")

    def hear(self, events):
        if self.at == "hear":
            raise KeyError("lost")

PLUGINS = {"sinks": {"faulty": Faulty()}}
'''


class Diary:
    """Keeps what happens to it."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def __enter__(self) -> Self:
        self.told.append("enter")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.told.append(kind.__name__ if kind else "end")

    def hear(self, events: Events) -> None:
        """Count."""
        self.told.append(len(events))


class Ear:
    """Only hears."""

    events = 0

    def hear(self, events: Events) -> None:
        """Count."""
        self.events += len(events)


@pytest.fixture
def faulty(tmp_path: Path) -> None:
    """The sink "faulty"."""
    (tmp_path / "faulty.py").write_text(FAULTY)
    load_plugin(tmp_path / "faulty.py")


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_objects_hear_a_run(tmp_path: Path, engine: EngineName) -> None:
    """An object with `hear` hears every event of the log; a context manager is entered before and left after."""
    diary, ear = Diary(), Ear()
    simulate(small(), "tp-ucb-fr", engine=engine, sinks=[diary, ear], log=tmp_path / "run.jsonl")
    count = len(read_log(tmp_path / "run.jsonl").frame())
    assert (diary.told[0], sum(diary.told[1:-1]), diary.told[-1], ear.events) == ("enter", count, "end", count)


@pytest.mark.usefixtures("faulty")
def test_a_sink_is_told_of_a_failure() -> None:
    """When the run ends by an error, the sink is left with it."""
    diary = Diary()
    with pytest.raises(SubscriberError):
        simulate(small(), "uniform", sinks=[diary, "faulty:at=hear"])
    assert diary.told[-1] == "SubscriberError"


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_named_sink_hears_every_run(tmp_path: Path, engine: EngineName) -> None:
    """A sink by name is opened for each run of each policy, in whichever process or thread that happens."""
    load_plugin(write_plugin("sink", "tally", tmp_path)[0])
    spec = f"tally:file={json.dumps(str(tmp_path / 'pulls.csv'))}"
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        study = compare(small(), ["uniform", "ucb1"], runs=3, engine=engine, sinks=[spec], executor=processes)
    rows = sorted(line.split(",") for line in (tmp_path / "pulls.csv").read_text().splitlines())
    expected = [
        [policy, str(run), *map(str, study.counts[policy][run][-1])]
        for policy in ("ucb1", "uniform")
        for run in range(3)
    ]
    assert rows == expected


def test_a_sink_changes_nothing(tmp_path: Path) -> None:
    """Runs with a sink have the same results."""
    load_plugin(write_plugin("sink", "tally", tmp_path)[0])
    spec = f"tally:file={json.dumps(str(tmp_path / 'pulls.csv'))}"
    with_sink, without = (compare(small(), runs=2, sinks=sinks) for sinks in ([spec], []))
    assert {policy: counts.tolist() for policy, counts in with_sink.counts.items()} == {
        policy: counts.tolist() for policy, counts in without.counts.items()
    }


def test_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The sink "lines" prints what the log holds."""
    simulate(small(), "uniform", sinks=["lines:to=stdout"], log=tmp_path / "run.jsonl")
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    logged = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert printed == logged[1:-1]


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("faulty:at=open", r"^sink faulty raised KeyError when it was opened: 'lost'$"),
        ("faulty:at=hear", r"^subscriber 'sink faulty' raised KeyError on events 0 to \d+ \(round \d+\): 'lost'$"),
        ("faulty:at=close", r"^sink faulty raised KeyError when it was closed: 'lost'$"),
        ("faulty:when=now", r"^sink faulty: when: unknown key; known: at$"),
        ("faulty:at=3", r"^sink faulty: at: must be text in quotes, got 3$"),
        ("faulty:at", r"^sink 'faulty:at': 'at' is no parameter; write it as in faulty:key=value$"),
    ],
)
def test_a_sink_that_goes_wrong(spec: str, message: str) -> None:
    """A sink that raises, or does not take its settings, is named with the moment or the key."""
    with pytest.raises(TpstreamError, match=message):
        simulate(small(), "uniform", sinks=[spec])


def test_an_unknown_sink() -> None:
    """An unknown name has a suggestion."""
    with pytest.raises(UnknownNameError, match=r"unknown sink 'line' \(did you mean 'lines'\?\)"):
        simulate(small(), "uniform", sinks=["line"])
