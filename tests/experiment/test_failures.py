"""A run that fails is told of and can be repeated alone; the others go on."""

import math
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import moody
import numpy as np
import pytest
from studies import TOML, small

from tpstream import Scenario, compare, read_log, sweep
from tpstream.cli.app import main
from tpstream.engines import draws
from tpstream.experiment.plan import make_cell
from tpstream.experiment.runs import how_to_repeat
from tpstream.model.arrays import Floats
from tpstream.model.errors import StudyError
from tpstream.model.events import Events
from tpstream.model.world import Problem, World
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PythonPolicy
from tpstream.scenario.policy_choice import request_policies

FAILING = [run for run in range(8) if moody.fails(3, run)]
FINE = [run for run in range(8) if not moody.fails(3, run)]
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The moody policy, by its name."""
    monkeypatch.setitem(POLICIES.builtin, "moody", "moody:POLICY")  # type: ignore[arg-type]


@pytest.fixture
def tpstream(
    registered: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Call:
    """The command line, in a folder with small.toml; returns exit code, output and complaints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(TOML)

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tpstream", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return int(left.value.code or 0), printed.out, printed.err

    return call


def test_there_are_both() -> None:
    """The policy of these tests fails in some of eight runs."""
    assert FAILING
    assert FINE


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_others_go_on(jobs: int) -> None:
    """Whoever fails, all others have the result that they would have had without it."""
    study = compare(small(), ["uniform", moody.POLICY, "ucb1"], runs=8, jobs=jobs)
    without = compare(small(), ["uniform", "ucb1"], runs=8)
    assert study.records["moody"].runs.tolist() == FINE
    for policy in ("uniform", "ucb1"):
        assert study.counts[policy].tolist() == without.counts[policy].tolist()
    assert [(one.policy, one.run, one.seed) for one in study.failures] == [("moody", run, 3) for run in FAILING]
    assert all("ValueError" in one.reason and "(moody.py, line 29)" in one.reason for one in study.failures)
    row = study.table().set_index("policy").loc["moody"]
    assert (row["runs"], row["failed"]) == (len(FINE), len(FAILING))


def test_a_reward_out_of_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reward model pays is checked by run, too: policies that never meet the bad pull do not fail."""
    check = draws.check_block

    def check_spoiled(block: Floats, pulls: int, world: World, arm: int, first: int) -> object:
        if world.run == 1 and arm == 0:
            block[5] = -1.0
        return check(block, pulls, world, arm, first)

    alone = compare(small(), ["oracle", "ucb1"], runs=3)
    monkeypatch.setattr(draws, "check_block", check_spoiled)
    study = compare(small(), ["oracle", "uniform", "ucb1"], runs=3)
    assert [(one.policy, one.run) for one in study.failures] == [("uniform", 1), ("ucb1", 1)]
    assert "of arm 'low': pull 6 of the arm has part 1 = -1.0; parts must be at least 0" in study.failures[0].reason
    assert study.counts["oracle"].tolist() == alone.counts["oracle"].tolist()
    assert study.counts["ucb1"].tolist() == alone.counts["ucb1"][[0, 2]].tolist()
    assert study.contrast("oracle", "ucb1").runs == 2


def test_progress_counts_failed_runs(tmp_path: Path) -> None:
    """Progress adds up to all rounds, whatever fails and is done again."""
    told: list[int] = []
    compare(small(), ["uniform", moody.POLICY, "ucb1"], runs=8, folder=tmp_path, progress=told.append)
    assert sum(told) == 3 * 8 * 60
    assert min(told) >= 0


def test_logs_of_a_run_in_which_one_fails(tmp_path: Path) -> None:
    """The others' logs are whole although they were begun twice; that of the failed policy ends where it failed."""
    run = FAILING[0]
    one: dict[str, Any] = {"runs": 1, "first": run, "engine": "simpy"}
    study = compare(small(), ["uniform", moody.POLICY, "ucb1"], logs=tmp_path / "mixed", **one)
    compare(small(), ["uniform", "ucb1"], logs=tmp_path / "alone", **one)
    assert len(study.failures) == 1
    for log in (tmp_path / "alone").iterdir():
        assert (tmp_path / "mixed" / log.name).read_bytes() == log.read_bytes()
    assert not read_log(tmp_path / f"mixed/moody.run-{run:03d}.jsonl").complete


def test_failed_runs_are_tried_again(tmp_path: Path) -> None:
    """The same call tries what failed, and nothing else; once it is well, no failure is left."""
    first = compare(small(), ["uniform", moody.POLICY], runs=8, folder=tmp_path)
    again = compare(small(), ["uniform", moody.POLICY], runs=8, folder=tmp_path)
    assert first.failures == again.failures
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moody, "ROUND", 1000)
        assert compare(small(), ["uniform", moody.POLICY], runs=8, folder=tmp_path).failures == ()
    assert (tmp_path / "failures.csv").read_text() == "scenario,policy,run,seed,reason,repeat\n"


def test_how_to_repeat() -> None:
    """What exists in Python only is repeated by a call."""
    (failure, *_) = compare(small(), ["uniform", moody.POLICY], runs=8).failures
    assert failure.repeat == f"simulate(scenario, 'moody', seed=3, run={FAILING[0]})"


def test_on_the_command_line(tpstream: Call) -> None:
    """The exit code is 1, the failure is told with a command, and that command fails alike, alone."""
    words = ("compare", "small.toml", "-p", "uniform", "-p", "moody", "-n", 8, "-j", 1, "-t", 50, "-s", 3)
    code, out, err = tpstream(*words)
    assert code == 1
    assert "uniform" in out
    first = f"tpstream: small: moody failed in run {FAILING[0]} with seed 3: "
    assert err.startswith(first)
    assert "not in the mood" in err
    repeat = err.splitlines()[1].removeprefix("  repeat: ")
    assert repeat == f"tpstream run small.toml --policy moody --horizon 50 --seed 3 --run {FAILING[0]}"
    code, out, err = tpstream(*shlex.split(repeat)[1:])
    assert (code, out) == (2, "")
    assert err.startswith(first)


def test_what_was_set_is_repeated(tpstream: Call) -> None:
    """The command sets what the failed one set, and neither names policies that it does not run nor counts them."""
    sets = ("--set", "drain=false", "--set", "policies[0].groups=3", "--set", "arms.low.maximum=4")
    code, _, err = tpstream("run", "small.toml", "-p", "tp-ucb-fr", "-p", "moody", "-n", 8, "-j", 1, *sets)
    repeat = err.splitlines()[1].removeprefix("  repeat: ")
    assert code == 1
    assert (
        f"--policy moody --horizon 60 --set drain=false --set arms.low.maximum=4 --seed 3 --run {FAILING[0]}" in repeat
    )
    assert tpstream(*shlex.split(repeat)[1:])[2].startswith(err.splitlines()[0])


def test_a_parameter_that_was_set_is_repeated() -> None:
    """The policy is written out with all its parameters, those that were set among them."""
    scenario = Scenario.load("setting-1")
    asked = request_policies(scenario.policies, ["ucb1", "tp-ucb-fr"])
    cell = make_cell(scenario, asked, {"policies.tp-ucb-fr.groups": 5}, 3, ())
    repeat = how_to_repeat(cell.world.scenario, cell.policies[1].choice, 3, 7)
    assert "--policy tp-ucb-fr:groups=5,ties=random --horizon" in repeat
    assert "--set" not in repeat


def test_many_failures_are_counted(tpstream: Call) -> None:
    """Ten failures are told one by one, the rest as a number."""
    failing = sum(moody.fails(3, run) for run in range(40))
    code, _, err = tpstream("run", "small.toml", "-p", "moody", "-n", 40, "-j", 1)
    assert code == 1
    assert err.count("  repeat: ") == 10
    assert f"and {failing - 10} more runs failed" in err


def test_a_failure_in_a_sweep(registered: None, tmp_path: Path) -> None:  # noqa: ARG001
    """The command of a failed run in a sweep sets what its cell sets."""
    (tmp_path / "small.toml").write_text(TOML)
    scenario = Scenario.load(tmp_path / "small.toml")
    found = sweep(scenario, {"span": [6, 12]}, ["moody"], runs=8)
    assert [(one.scenario, one.run) for one in found.failures] == [
        (f"small span={span}", run) for span in (6, 12) for run in FAILING
    ]
    assert f"--set span=12 --seed 3 --run {FAILING[0]}" in found.failures[len(FAILING)].repeat
    assert len(found.failed()) == 2 * len(FAILING)


def test_a_policy_that_always_fails(tpstream: Call, tmp_path: Path) -> None:
    """It has a row without numbers, is left out of the figure, and has no contrast."""
    study = compare(small(), ["uniform", moody.POLICY], runs=1, first=FAILING[0])
    row = study.table().set_index("policy").loc["moody"]
    assert (row["runs"], row["failed"], math.isnan(row["regret"])) == (0, 1, True)
    assert study.pulls()["policy"].unique().tolist() == ["uniform"]
    assert study.contrast("uniform", "moody").runs == 0
    study.plot(tmp_path / "regret.svg")
    assert (tmp_path / "regret.svg").exists()
    code, out, _ = tpstream("run", "small.toml", "-p", "uniform", "-p", "moody", "--run", FAILING[0])
    assert (code, "all failed" in out) == (1, True)


def test_nothing_but_failures() -> None:
    """A study in which every run fails is an error with the first reason."""
    with pytest.raises(
        StudyError, match=rf"moody failed in run {FAILING[0]} .*not in the mood \(moody\.py, line \d+\)$"
    ):
        compare(small(), [moody.POLICY], runs=1, first=FAILING[0])


class Leaving:
    """A policy that ends the program in its third round."""

    def __init__(self, problem: Problem, *_: object) -> None:
        self._arms = problem.arms

    def hear(self, events: Events) -> None:
        """Take no notice."""

    def decide(self, round: int) -> int:
        """Leave, or choose the first arm."""
        if round == 3:
            sys.exit()
        return 0

    def indices(self) -> Floats:
        """None."""
        return np.full(self._arms, np.nan)


class LeavingSink:
    """A sink that ends the program with its first events."""

    def hear(self, _: Events) -> None:
        """Leave."""
        sys.exit(3)


def test_a_plugin_that_leaves_the_program_fails_alone() -> None:
    """`sys.exit()` in a policy or a sink is a failure of that run like any other, and the others go on."""
    leaving = PythonPolicy("leaving", Parameters, Leaving)
    study = compare(small(), ["uniform", leaving], runs=2)
    assert len(study.records["uniform"]) == 2
    assert [one.policy for one in study.failures] == ["leaving"] * 2
    assert "raised SystemExit in round 3" in study.failures[0].reason
    with pytest.raises(StudyError, match="subscriber 'sink LeavingSink' raised SystemExit"):
        compare(small(), ["uniform"], runs=1, sinks=[LeavingSink()])


class OwnKind(BaseException):  # that it is no ordinary exception is the point
    """What `except Exception` lets pass, like cancellations of some libraries."""


class Cancelled(Leaving):
    """A policy that raises such an exception."""

    def decide(self, round: int) -> int:
        """Raise it, or choose the first arm."""
        if round == 3:
            raise OwnKind("cancelled")
        return 0


def test_a_plugin_with_exceptions_of_its_own_kind_fails_alone() -> None:
    """An exception that is no `Exception` is a failure of that run, too."""
    study = compare(small(), ["uniform", PythonPolicy("cancelled", Parameters, Cancelled)], runs=2)
    assert len(study.records["uniform"]) == 2
    assert ["OwnKind" in one.reason for one in study.failures] == [True, True]


def test_one_policy_under_two_names_has_both_logs(tmp_path: Path) -> None:
    """Equal policies share their results; each name has logs of its own, which tell the same."""
    twice = [{"kind": "uniform", "name": name} for name in ("first", "second")]
    study = compare(small(policies=twice), runs=2, logs=tmp_path)
    assert all(path.exists() for paths in study.logs.values() for path in paths)
    arms = [[read_log(path).columns(["arm"])["arm"].tolist() for path in paths] for paths in study.logs.values()]
    assert arms[0] == arms[1]
    assert read_log(study.logs["second"][0]).header.policy == "second"
