"""Runs with a time limit: one that takes too long is ended and told of, and the others go on."""

import time
from pathlib import Path

import pytest
from command import Command, tpstream
from plugged import forgetful
from studies import small

from tpstream import compare, load_plugin, read_log, simulate
from tpstream.model.errors import StudyError
from tpstream.model.world import Purpose, open_stream

__all__ = ["forgetful", "tpstream"]
pytestmark = pytest.mark.usefixtures("forgetful")
LIMIT = 1.5
"""Seconds: much more than a run takes, and less than its policy takes to compile."""
PYTHON = """
import numpy as np
from tpstream.policies.base import Parameters, PythonPolicy

class Endless:
    def __init__(self, problem, parameters, stream):
        self.arms, self.endless = problem.arms, stream.random() < 0.5

    def hear(self, events):
        pass

    def decide(self, round):
        while self.endless and round == 30:
            try:
                pass
            except BaseException:
                pass
        return round % self.arms

    def indices(self):
        return np.full(self.arms, np.nan)

PLUGINS = {"policies": {"endless": PythonPolicy("endless", Parameters, Endless)}}
"""
COMPILED = """
from typing import Any, NamedTuple
import numpy as np
from tpstream.model.numba_support import compiled
from tpstream.policies.base import Parameters, SharedPolicy

class EndlessState(NamedTuple):
    indices: Any

def init(problem, parameters):
    return EndlessState(np.full(problem.arms, np.nan))

@compiled
def decide(state, round, stream):
    draw = stream.random()
    while round == 1 and draw < 0.5:
        draw = draw * 0.999
    return round % state.indices.size

POLICY = SharedPolicy(name="endless", parameters=Parameters, init=init, decide=decide)
PLUGINS = {"policies": {"endless": POLICY}}
"""


def endless(seed: int, run: int) -> bool:
    """Whether the policy never returns in this run."""
    return open_stream(seed, run, Purpose.POLICY).random() < 0.5


RUNS = next(range(one, one + 2) for one in range(20) if endless(3, one) and not endless(3, one + 1))
"""Two runs: the policy never returns in the first, and does in the second."""


def write(folder: Path, text: str) -> Path:
    """The plug-in of the endless policy."""
    (folder / "endless.py").write_text(text)
    return folder / "endless.py"


@pytest.mark.parametrize(
    ("text", "jobs"), [(PYTHON, 1), pytest.param(COMPILED, 1, marks=pytest.mark.slow)], ids=["python", "compiled"]
)
def test_the_others_go_on(tmp_path: Path, text: str, jobs: int) -> None:
    """The endless runs are failures that name the limit; all others are as without it, and so are their logs."""
    load_plugin(write(tmp_path, text))
    logs = tmp_path / "logs"
    study = compare(small(), ["endless", "uniform"], runs=2, first=RUNS[0], jobs=jobs, timeout=1.0, logs=logs)
    assert [(one.policy, one.run) for one in study.failures] == [("endless", RUNS[0])]
    assert all("took longer than 1 seconds and was ended (--timeout)" in one.reason for one in study.failures)
    assert study.records["endless"].runs.tolist() == [RUNS[1]]
    plain = compare(small(), ["uniform"], runs=2, first=RUNS[0])
    assert study.results().query("policy == 'uniform'").regret.tolist() == plain.results().regret.tolist()
    assert all(read_log(logs / f"uniform.run-{run:03d}.jsonl").complete for run in RUNS)
    assert not list(logs.glob("*.partial"))


def test_a_single_run(tpstream: Command, tmp_path: Path) -> None:
    """`run --timeout` says which policy and run it was, how to repeat it, and exits with code 1."""
    file = write(tmp_path, PYTHON)
    shown = tpstream(
        "run", "small.toml", "--plugin", file, "-p", "endless", "-p", "uniform", "--run", RUNS[0], "--timeout", 0.5
    )
    assert (shown.code, "uniform" in shown.out) == (1, True)
    assert f"run {RUNS[0]}" in shown.err
    assert "endless" in shown.err
    assert "took longer than 0.5 seconds" in shown.err


@pytest.mark.slow
def test_compiling_does_not_count(tmp_path: Path) -> None:
    """A policy that has to be compiled first, which takes longer than the limit, is not ended for it."""
    text = COMPILED.replace("endless", "brief").replace("Endless", "Brief").replace("draw < 0.5", "draw < -1.0")
    (tmp_path / "brief.py").write_text(text)
    load_plugin(tmp_path / "brief.py")
    begun = time.monotonic()
    assert not compare(small(), ["brief"], runs=2, timeout=LIMIT).failures
    assert time.monotonic() - begun > LIMIT


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_limits_that_are_none(seconds: float) -> None:
    """A limit is a number of seconds."""
    with pytest.raises(StudyError, match="timeout must be a number of seconds greater than 0"):
        compare(small(), ["uniform"], runs=2, timeout=seconds)


def test_where_nothing_can_be_ended() -> None:
    """A single call of `simulate` and an executor of the user have no processes that could be ended."""
    with pytest.raises(StudyError, match="use compare"):
        simulate(small(), "uniform", timeout=1.0)
