"""Which engine serves: compiled where it can, SimPy else; one that is asked for and cannot serve is an error."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import moody
import numpy as np
import pytest
from bad_plugins import Kind
from studies import small

from tpstream import simulate
from tpstream.engines import compiled_engine, engine as selection
from tpstream.engines.compiled_engine import note_memory
from tpstream.engines.compiled_real_room import RealRoom
from tpstream.engines.engine import obstacle, select
from tpstream.model.errors import EngineError
from tpstream.model.notes import NOTES, VERBOSE, logger
from tpstream.model.world import BLOCK, World
from tpstream.policies import POLICIES, loader
from tpstream.policies.base import Parameters, PythonPolicy
from tpstream.scenario.plugins import REGISTRIES

PYTHON = PythonPolicy(name="in-python", parameters=Parameters, create=moody.create)


class Process:
    """A user's process, which hands everything out when it arrives."""

    def run(self, context: Any) -> Any:
        """The process of one pull."""
        for time, part in context.arrivals:
            yield context.wait_until(time)
            context.deliver(part)


class Calendar:
    """A user's calendar, which hands everything out when it arrives."""

    whole = True

    def reported(self, times: Any) -> Any:
        """The same times."""
        return times.copy()


PLUGGED = {"own-process": Kind(lambda *_: Process()), "own-calendar": Kind(lambda *_: Calendar())}
POISSON = {"arrivals": {"kind": "poisson", "rate": 2.0}}
LAB = {"kind": "lab-queue", "resource": "lab", "mean": 0.1}
UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "process": ({"delays": [{"kind": "own-process"}]}, "delays[0] (own-process) is a process on SimPy's timeline"),
    "calendar": ({"delays": [{"kind": "own-calendar"}], **POISSON}, "delays[0] (own-calendar) is written in Python"),
    "later calendar": (
        {"delays": [LAB, {"kind": "own-calendar"}], "resources": {"lab": 2}},
        "delays[1] (own-calendar) is written in Python",
    ),
}
"""Keys that only the SimPy engine can serve, and what is said about them."""
FIT: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "delays": {"delays": [{"kind": "geometric", "p": 0.5}, {"kind": "reporting", "every": 2}]},
    "losses": {"delays": [{"kind": "missing", "p": 0.5}], "window": 9},
    "own calendar at whole rounds": {"delays": [{"kind": "own-calendar"}]},
    "arrivals": POISSON,
    "lags": {"delays": [{"kind": "lognormal", "median": 2.0, "sigma": 1.0}]},
    "calendar": {"delays": [{"kind": "reporting", "every": 1.5}]},
    "window": {"window": 7.5},
    "queue": {"delays": [LAB], "resources": {"lab": 2}},
}


@pytest.fixture(autouse=True)
def _nothing_was_told() -> Iterator[None]:
    selection._note_choice.cache_clear()
    REGISTRIES["delays"].added.update(PLUGGED)
    yield
    for name in PLUGGED:
        del REGISTRIES["delays"].added[name]
    selection._note_choice.cache_clear()


@pytest.mark.parametrize("keys", FIT.values(), ids=FIT)
def test_the_compiled_engine_is_taken_where_it_can_serve(keys: dict[str, Any]) -> None:
    """Worlds without processes of users are compiled, and SimPy serves when it is asked for; both decide alike."""
    scenario, form = small(**keys), POLICIES.find("tp-ucb-fr")
    chosen = [select(name, form, scenario.timing()) for name in ("auto", "compiled", "simpy")]
    assert chosen == ["compiled", "compiled", "simpy"]
    runs = [simulate(scenario, "tp-ucb-fr", engine=engine).arms for engine in ("auto", "compiled", "simpy")]
    assert all(np.array_equal(runs[0], arms) for arms in runs)


@pytest.mark.parametrize(("keys", "reason"), UNFIT.values(), ids=UNFIT)
def test_what_cannot_be_compiled_is_an_error_that_says_why(keys: dict[str, Any], reason: str) -> None:
    """Asked for by name, the compiled engine refuses with the reason and the remedy; auto takes SimPy."""
    scenario = small(**keys)
    with pytest.raises(EngineError, match='use engine "simpy" or "auto"') as raised:
        simulate(scenario, "tp-ucb-fr", engine="compiled")
    assert reason in str(raised.value)
    assert select("auto", POLICIES.find("tp-ucb-fr"), scenario.timing()) == "simpy"
    assert simulate(scenario, "tp-ucb-fr").arms.size == scenario.horizon


def test_a_policy_in_python_cannot_be_compiled() -> None:
    """Neither can an ordinary Python object as a policy."""
    assert "'in-python' is an ordinary Python object" in str(obstacle(PYTHON, small().timing()))
    with pytest.raises(EngineError, match="not in the shared form"):
        simulate(small(), PYTHON, engine="compiled")


def test_a_fall_to_simpy_is_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """That auto took SimPy is noted once, with the reason; if SimPy is asked for by name, nothing is noted."""
    monkeypatch.setenv(NOTES, "1")
    scenario = small(**UNFIT["process"][0])
    for engine in ("simpy", "auto", "auto"):
        select(engine, POLICIES.find("ucb1"), scenario.timing())
    (line,) = capsys.readouterr().err.splitlines()
    assert "the SimPy engine serves" in line
    assert "a process on SimPy's timeline" in line


def test_on_a_terminal_notes_are_sentences(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """People read a sentence; programs, and those who ask for all messages, read named fields."""
    monkeypatch.delenv(NOTES, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logger(run=3).warning("only one core is used", remedy="wait", reason="it is Monday")
    assert capsys.readouterr().err == "warning: only one core is used (run 3): it is Monday; wait\n"
    logger().info("the SimPy engine serves", reason="it was asked for")
    assert capsys.readouterr().err == "note: the SimPy engine serves: it was asked for\n"
    monkeypatch.setenv(VERBOSE, "1")
    logger().info("compiling", policy="ucb1")
    assert capsys.readouterr().err == "level=info event=compiling policy=ucb1\n"


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}, reason="nothing is compiled")
def test_compiling_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The first use on a machine says that it compiles, which policy and where to; the second says nothing."""
    monkeypatch.setenv(NOTES, "1")
    monkeypatch.setenv("TPSTREAM_CACHE", str(tmp_path))
    told = []
    for _ in range(2):
        loader._load.cache_clear()
        simulate(small(), "uniform")
        told.append(capsys.readouterr().err.splitlines())
    assert told[1] == []
    (line,) = told[0]
    assert line.startswith("level=info event=compiling policy=uniform")
    assert str(tmp_path) in line
    loader._load.cache_clear()


def test_large_blocks_are_told_before_they_are_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Memory that grows with arms and span is told with its numbers, once; what no machine has is an error."""
    monkeypatch.setattr(compiled_engine, "LARGE", 3 * 256 * 6 * 8)
    note_memory.cache_clear()
    for _ in range(2):
        simulate(small(), "tp-ucb-fr")
    told = [line for line in capsys.readouterr().err.splitlines() if "blocks of rewards" in line]
    assert len(told) == 1
    assert 'sum="3 arms x 256 pulls x span 6 x 8 bytes"' in told[0]
    simulate(small(delays=[{"kind": "constant", "lag": 1}]), "tp-ucb-fr")
    assert 'sum="3 arms x 256 pulls x span 6 x 17 bytes"' in capsys.readouterr().err
    with pytest.raises(EngineError, match=r"take 2,048,000\.0 GB \(1,000,000 arms x 256 pulls x span 1,000,000 x 8"):
        note_memory(10**6, 10**6, 8)
    note_memory.cache_clear()


class Room(RealRoom):
    """The memory of a world at real-valued times, before the first round."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.memory = self._make_memory()


SAMPLED = {"kind": "lognormal", "median": 1.0, "sigma": 0.5}
CALENDAR = {"kind": "reporting", "every": 2.5}
MEMORY: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "sampled": [SAMPLED, {"kind": "missing", "p": 0.1}],
    "calendar": [CALENDAR],
    "later": [SAMPLED, CALENDAR, SAMPLED, {"kind": "missing", "p": 0.1}],
    "queues": [CALENDAR, LAB, SAMPLED, LAB],
}


@pytest.mark.parametrize("name", MEMORY)
def test_the_memory_that_is_told_is_that_of_the_blocks(name: str) -> None:
    """All arrays of blocks together take as many bytes for each part as the timing says, whatever the stages."""
    world = small(delays=MEMORY[name], arrivals=POISSON["arrivals"], resources={"lab": 2}).build_world(1, 0)
    memory = Room(world).memory
    blocks = [array.nbytes for array in memory if isinstance(array, np.ndarray) and array.shape[1:2] == (BLOCK,)]
    parts = world.problem.arms * BLOCK * world.problem.span
    assert sum(blocks) - memory.totals.nbytes == parts * world.timing.bytes_per_part
