"""A trial keeps the outcome of every finished run and goes on where it was interrupted."""

import json
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Command, tpstream
from studies import ASYNCHRONOUS, finish, kept_runs, small, start_python

from tpstream import Scenario, compare, read_study, read_trial, simulate, trial
from tpstream.experiment.store import RunResult, Store
from tpstream.model.errors import StudyError
from tpstream.run import loop
from tpstream.trial.characteristics import Trial

__all__ = ["tpstream"]
RESULTS = ("table.csv", "results.csv", "results.parquet", "results.json", "choices.csv", "failures.csv")
KILLED = """
import os, signal, sys
sys.path[:0] = [sys.argv[1]]
from studies import small
from tpstream import trial
from tpstream.experiment.store import Store
keep, times = Store.keep, int(sys.argv[3])

def keep_and_die(store, results):
    global times
    keep(store, results)
    times -= 1
    if not times:
        os.kill(os.getpid(), signal.SIGKILL)

Store.keep = keep_and_die
trial(small(), ["ucb1"], runs=5, folder=sys.argv[2])
"""
"""A program whose trial is killed after so many of its chunks were kept."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs that are started."""
    found: list[int] = []
    take_turns = loop._run_policies_in_turn

    def noted(scenario: Scenario, choices: Any, seed: int, run: int, *rest: Any) -> object:
        found.append(run)
        return take_turns(scenario, choices, seed, run, *rest)

    monkeypatch.setattr(loop, "_run_policies_in_turn", noted)
    return found


def files(folder: Path) -> dict[str, bytes]:
    """The result files of a trial."""
    return {name: (folder / name).read_bytes() for name in RESULTS}


def test_more_runs_are_added(tmp_path: Path, started: list[int]) -> None:
    """Five runs after three add two; table and files are those of five runs at once."""
    trial(small(), ["ucb1"], runs=3, folder=tmp_path / "grown")
    started.clear()
    grown = trial(small(), ["ucb1"], runs=5, folder=tmp_path / "grown")
    assert started == [3, 4]
    whole = trial(small(), ["ucb1"], runs=5, folder=tmp_path / "whole")
    assert grown.table().equals(whole.table())
    assert grown.table().equals(trial(small(), ["ucb1"], runs=5).table())
    assert files(tmp_path / "grown") == files(tmp_path / "whole")


def test_a_killed_trial_goes_on(tmp_path: Path, started: list[int]) -> None:
    """After kill -9 in the middle the finished runs are there, the others are done, and the files are the same."""
    support = Path(__file__).parents[1] / "support"
    process = start_python(KILLED, support, tmp_path / "killed", 2)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    kept = kept_runs(tmp_path / "killed") // 2
    assert 0 < kept < 5
    trial(small(), ["ucb1"], runs=5, folder=tmp_path / "killed")
    assert started == list(range(kept, 5))
    trial(small(), ["ucb1"], runs=5, folder=tmp_path / "undisturbed")
    assert files(tmp_path / "killed") == files(tmp_path / "undisturbed")


def test_an_interrupted_command_goes_on(tpstream: Command, monkeypatch: pytest.MonkeyPatch, started: list[int]) -> None:
    """Ctrl-C says how many runs are kept; the same command does the rest and prints what one command prints."""
    keep = Store.keep

    def keep_and_stop(store: Store, results: Iterable[RunResult]) -> None:
        keep(store, results)
        raise KeyboardInterrupt

    words = ("trial", "small.toml", "-p", "ucb1", "-n", 4, "-j", 1, "--quiet")
    with monkeypatch.context() as patched:
        patched.setattr(Store, "keep", keep_and_stop)
        stopped = tpstream(*words, "--out", "out")
    assert (stopped.code, stopped.out) == (130, "")
    done = len(started)
    assert (
        f"{2 * done} of 8 runs (2 policies x 4) are finished and kept in out; the same command goes on" in stopped.err
    )
    printed = tpstream(*words, "--out", "out").out
    assert started == [0, 1, 2, 3]
    assert printed == tpstream(*words).out


def test_another_study_is_refused(tmp_path: Path) -> None:
    """Another scenario is named with what differs, and a comparison is no trial."""
    trial(small(), ["ucb1"], runs=1, folder=tmp_path)
    with pytest.raises(StudyError, match="holds another study: horizon is 60 there and 50 here"):
        trial(small(horizon=50), ["ucb1"], runs=1, folder=tmp_path)
    with pytest.raises(StudyError, match="kind is 'trial' there and 'comparison' here"):
        compare(small(), ["ucb1"], runs=2, folder=tmp_path)


def test_runs_of_a_comparison_are_not_taken_for_those_of_a_trial(tmp_path: Path) -> None:
    """Even under the same description, since their results have other keys: such runs report no outcome."""
    compare(small(), ["uniform"], runs=1, folder=tmp_path)
    about = json.loads((tmp_path / "study.json").read_text())
    (tmp_path / "study.json").write_text(json.dumps(about | {"kind": "trial"}))
    assert len(trial(small(), ["uniform"], runs=1, folder=tmp_path).outcomes["uniform"]) == 1
    assert kept_runs(tmp_path) == 2


@pytest.mark.parametrize("world", ["geometric", "missing", "window", "default", "poisson", "batches"])
def test_outcomes_by_their_definition(tmp_path: Path, world: str) -> None:
    """What a run reports is what a slow reading of its events says, and what its log says later."""
    scenario = small(**ASYNCHRONOUS[world])
    found = trial(scenario, ["tp-ucb-ew"], runs=2, logs=tmp_path / "logs", folder=tmp_path / "out")
    from_logs, again = read_trial(tmp_path / "logs"), read_study(tmp_path / "out")
    assert isinstance(again, Trial)
    for run, one in enumerate(found.outcomes["tp-ucb-ew"]):
        expected = literal_outcome(simulate(scenario, "tp-ucb-ew", run=run).events(), 3, scenario.span)
        for outcome in (one, from_logs.outcomes["tp-ucb-ew"][run], again.outcomes["tp-ucb-ew"][run]):
            assert (outcome.patients.tolist(), outcome.chosen, outcome.last_readout) == expected
            np.testing.assert_array_equal(outcome.allocation, one.allocation)


def literal_outcome(events: pd.DataFrame, arms: int, span: int) -> tuple[list[int], int | None, float]:
    """Patients by arm, the chosen arm and the last read-out, event by event; a default reward is no read-out."""
    rows = events.to_dict("records")
    missing = {(row["pull"], row["part"]) for row in rows if row["kind"] in {"late", "dropped"}}
    read = [row for row in rows if row["kind"] == "partial" and (row["pull"], row["part"]) not in missing]
    patients = [sum(row["kind"] == "pull" and row["arm"] == arm for row in rows) for arm in range(arms)]
    sums = []
    for arm in range(arms):
        values = [
            [row["value"] for row in read if (row["arm"], row["part"]) == (arm, part + 1)] for part in range(span)
        ]
        means = [sum(one) / len(one) for one in values if one]
        sums.append(span * sum(means) / len(means) if means else -1.0)
    return patients, int(np.argmax(sums)) if read else None, max(row["time"] for row in read)


@pytest.mark.slow
def test_worker_processes_report_the_same(tmp_path: Path) -> None:
    """Outcomes come back from other processes as they are found in this one."""
    code = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "from studies import small\nfrom tpstream import trial\nfrom tpstream.experiment import executors\n"
        "executors.WORTH = 0.0\n"
        "trial(small(), ['ucb1'], runs=6, jobs=2, folder=sys.argv[2])"
    )
    finish(start_python(code, Path(__file__).parents[1] / "support", tmp_path / "two"))
    trial(small(), ["ucb1"], runs=6, folder=tmp_path / "one")
    assert files(tmp_path / "two") == files(tmp_path / "one")
