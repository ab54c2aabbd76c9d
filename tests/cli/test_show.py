"""A study is shown again from its folder alone."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import moody
import pytest
from command import Command, CommandResult, tpstream
from plugged import forgetful, write_greedy
from studies import small

from tpstream import League, Study, Sweep, compare, read_study, sweep, trial
from tpstream.experiment.store import RunResult, Store
from tpstream.model.errors import StudyError
from tpstream.policies import POLICIES
from tpstream.trial.characteristics import Trial

__all__ = ["forgetful", "tpstream"]
STUDIES = {
    "compare": ("-n", 3, "-p", "ucb1", "-p", "delayed-ucb1", "-p", "tp-ucb-fr", "--rounds", "20,40"),
    "compare of one run": ("-n", 1, "-p", "ucb1", "-p", "uniform"),
    "compare of equal arms": ("-n", 2, "-p", "uniform", "--set", "arms.*.maximum=10"),
    "sweep": ("-n", 2, "-p", "ucb1", "-p", "uniform", "--set", "span=6,12", "--set", "arms.low.maximum=1,5"),
    "trial": ("-n", 3, "-p", "ucb1"),
    "league": ("-n", 2, "-p", "ucb1", "-p", "tp-ucb-fr:groups=7"),
}
"""Words of commands, by what they do."""


@pytest.mark.parametrize("study", STUDIES)
def test_the_same_is_shown_again(tpstream: Command, tmp_path: Path, study: str) -> None:
    """Tables, JSON and figure are those of the command, also when nothing but the folder is left, elsewhere."""
    words = (study.partition(" ")[0], "small.toml", *STUDIES[study], "-j", 1, "--out", "out", "--figure", "one.svg")
    printed, as_json = tpstream(*words, "--quiet"), tpstream(*words, "--json")
    figure = (tmp_path / "one.svg").read_bytes()
    (tmp_path / "small.toml").unlink()
    shutil.move("out", "moved")
    again = tpstream("show", "moved", "--quiet", "--figure", "one.svg")
    assert (again.code, again.out, again.err) == (0, printed.out, "")
    assert (tmp_path / "one.svg").read_bytes() == figure
    told = json.loads(tpstream("show", "moved", "--json").out)
    without = ("out", "figure", "report", "warnings")
    expected = json.loads(as_json.out)
    assert {key: told[key] for key in told if key not in without} == {
        key: expected[key] for key in expected if key not in without
    }


def test_bounds_are_drawn_again(tpstream: Command, tmp_path: Path) -> None:
    """The figure with the bounds of the theory is that of the command; other studies have none."""
    words = ("small.toml", "-n", 2, "-p", "ucb1", "-p", "tp-ucb-fr:groups=2", "-p", "tp-ucb-fr:groups=auto", "-j", 1)
    timed = ("--set", 'delays=[{kind="geometric",p=0.5}]', "--engine", "simpy")
    told = tpstream("compare", *words, *timed, "-o", "out", "--theory", "--figure", "one.svg").err
    assert "the bounds are proved for regular arrivals" in told
    again = tpstream("show", "out", "--theory", "--figure", "two.svg")
    assert (again.code, "the bounds are proved for regular arrivals" in again.err) == (0, True)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert b"lower bound, 3 groups" in (tmp_path / "two.svg").read_bytes()
    tpstream("trial", *words, "-o", "judged")
    assert "--theory is about a comparison" in tpstream("show", "judged", "--theory").err


def test_what_else_a_comparison_can_show(tpstream: Command) -> None:
    """The value of partial feedback and another yardstick, as `compare` shows them; not of other studies."""
    words = ("small.toml", "-n", 3, "-p", "uniform", "-p", "tp-ucb-fr", "-j", 1)
    more = ("--value", "--against", "uniform", "--quiet")
    assert tpstream("compare", *words, "-o", "out", *more).out == tpstream("show", "out", *more).out
    assert "did you mean 'uniform'?" in tpstream("show", "out", "--against", "unifrom").err
    tpstream("trial", *words, "-o", "judged")
    refused = tpstream("show", "judged", "--value")
    assert (refused.code, "--value is about a comparison, and judged holds another study" in refused.err) == (2, True)


@pytest.mark.parametrize("written", [("--against", "uniform"), ("--against=uniform",)])
def test_the_yardstick_of_the_command_is_shown_again(tpstream: Command, written: tuple[str, ...]) -> None:
    """`show` compares with the policy that the last command named, else with the best one or that asked for."""
    words = ("compare", "small.toml", "-n", 3, "-p", "uniform", "-p", "tp-ucb-fr", "-j", 1, "-o", "out")
    for more, yardstick in ((written, "uniform"), ((), "tp-ucb-fr"), (written, "uniform")):
        assert f"against {yardstick}, run by run" in tpstream(*words, *more).out
        assert f"against {yardstick}, run by run" in tpstream("show", "out").out
    assert "against tp-ucb-fr, run by run" in tpstream("show", "out", "--against", "tp-ucb-fr").out


def test_how_it_was_made_is_told(tpstream: Command, tmp_path: Path, forgetful: None) -> None:  # noqa: ARG001
    """Commands, versions and the plug-in's source are in the folder; the copy is text that is never executed."""
    plugin = write_greedy(tmp_path)
    source = plugin.read_bytes()
    words = ("compare", "small.toml", "-p", "greedy", "--plugin", plugin.name, "-j", 1, "--out", "out")
    tpstream(*words, "-n", 2)
    tpstream(*words, "-n", 3)
    plugin.unlink()
    assert (tmp_path / "out" / "code" / plugin.name).read_bytes() == source
    (tmp_path / "out" / "code" / plugin.name).write_text("raise SystemExit('executed')")
    shown = tpstream("show", "out")
    assert shown.code == 0
    assert [line for line in shown.out.splitlines() if line.startswith("command: ")] == [
        f"command: tpstream compare small.toml -p greedy --plugin {plugin.name} -j 1 --out out -n {runs}"
        for runs in (2, 3)
    ]
    assert "versions: tpstream " in shown.out
    assert f"plug-in code kept in code/: {plugin.name}" in shown.out
    assert "packages and other files that it uses: numpy, pydantic" in shown.out


def test_failed_runs_are_shown_again(tpstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that repeats each, and the same exit code."""
    monkeypatch.setitem(POLICIES.builtin, "moody", "moody:POLICY")  # type: ignore[arg-type]
    first = tpstream("compare", "small.toml", "-p", "moody", "-p", "ucb1", "-n", 8, "-j", 1, "-o", "out", "--quiet")
    monkeypatch.delitem(POLICIES.builtin, "moody")
    again = tpstream("show", "out", "--quiet")
    assert (again.code, again.out, again.err) == (1, first.out, first.err)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch, tpstream: Command) -> Command:
    """The console script, interrupted by Ctrl-C as soon as some runs are kept."""

    def call(*words: object) -> CommandResult:
        keep = Store.keep

        def keep_and_stop(store: Store, results: Iterable[RunResult]) -> None:
            keep(store, results)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Store, "keep", keep_and_stop)
            return tpstream(*words)

    return call


@pytest.mark.parametrize(
    ("command", "more", "asked"),
    [
        ("compare", (), "8 runs (2 policies x 4)"),
        ("trial", (), "8 runs (2 policies x 4)"),
        ("sweep", ("--set", "span=6,12"), "16 runs (2 settings x 2 policies x 4)"),
    ],
)
def test_an_interrupted_study_says_so(
    tpstream: Command, stopped: Command, command: str, more: tuple[str, ...], asked: str
) -> None:
    """How many runs are finished, counted as after Ctrl-C, and what goes on; no result file is named before it is."""
    words = (command, "small.toml", "-p", "ucb1", "-p", "uniform", *more, "-n", 4, "-j", 1, "--out", "out")
    told = stopped(*words).err
    finished = told.removeprefix("tpstream: ").partition(" of ")[0]
    assert f"{finished} of {asked} are finished and kept in out; the same command goes on from there" in told
    sentence = f"{finished} of {asked} are finished; the same command goes on: tpstream {' '.join(map(str, words))}"
    shown = tpstream("show", "out").out
    assert shown.startswith(f"note: {sentence}\n")
    assert "out: out (result files are written at the end)" in shown
    assert json.loads(tpstream("show", "out", "--json").out)["warnings"] == [sentence]
    tpstream(*words)
    again = tpstream("show", "out").out
    assert "are finished" not in again
    assert json.loads(tpstream("show", "out", "--json").out)["warnings"] == []
    stopped(*words, "-n", 60)
    assert (
        "out: out (files of an earlier command: table.csv, results.csv, results.parquet, ...)"
        in tpstream("show", "out").out
    )


@pytest.mark.parametrize("command", ["compare", "trial", "sweep", "league"])
def test_the_files_that_are_named_are_there(tpstream: Command, tmp_path: Path, command: str) -> None:
    """Each command names files in its folder that exist."""
    sets = ("--set", "span=6,12") if command == "sweep" else ()
    shown = tpstream(command, "small.toml", "-p", "ucb1", *sets, "-n", 2, "-j", 1, "--out", "out").out
    (line,) = (line for line in shown.splitlines() if line.startswith("out: out ("))
    named = line.removeprefix("out: out (").removesuffix(")").removesuffix(", ...").split(", ")
    assert len(named) == 3
    assert all((tmp_path / "out" / name).is_file() for name in named)


def test_the_last_command_goes_on(tpstream: Command, stopped: Command) -> None:
    """A command that is given again after another one is the one that is named."""
    words = ("compare", "small.toml", "-p", "ucb1", "-j", 1, "--out", "out")
    stopped(*words, "-n", 40)
    tpstream(*words, "-n", 2)
    stopped(*words, "-n", 40)
    assert tpstream("show", "out").out.partition("\n")[0].endswith("--out out -n 40")


def test_an_interrupted_league_counts_the_runs_of_its_worlds(stopped: Command) -> None:
    """The worlds that were begun are counted together."""
    told = stopped("league", "small.toml", "-p", "ucb1", "-n", 4, "-j", 1, "--out", "out").err
    assert " of the 8 runs of 1 world are finished and kept in out" in told


def test_python_is_told_of_missing_runs(stopped: Command, capsys: pytest.CaptureFixture[str]) -> None:
    """`read_study` gives what is there and says on standard error that runs are missing."""
    stopped("compare", "small.toml", "-p", "ucb1", "-n", 40, "-j", 1, "--out", "out")
    assert isinstance(read_study("out"), Study)
    assert "of 40 runs (1 policy x 40) are finished" in capsys.readouterr().err


def test_a_folder_that_does_not_exist(tpstream: Command) -> None:
    """It is called so, with the nearest one that does."""
    tpstream("compare", "small.toml", "-p", "ucb1", "-n", 2, "-j", 1, "--out", "first")
    shown = tpstream("show", "frist")
    assert (shown.code, shown.out) == (2, "")
    assert "frist: no such folder (did you mean 'first'?)" in shown.err
    assert "small.toml: is a file; give the folder of" in tpstream("show", "small.toml").err


def test_in_python(tmp_path: Path) -> None:
    """`read_study` gives what the function returned, to the last bit; the last call counts."""
    compared = compare(small(), ["ucb1", "uniform"], runs=3, first=2, rounds=[7], folder=tmp_path / "compare")
    varied = sweep(small(), {"span": [6, 12]}, ["ucb1"], runs=2, folder=tmp_path / "sweep")
    judged = trial(small(), [moody.POLICY, "ucb1"], runs=8, folder=tmp_path / "trial")
    study, again, third = (read_study(tmp_path / name) for name in ("compare", "sweep", "trial"))
    assert isinstance(study, Study)
    assert isinstance(again, Sweep)
    assert isinstance(third, Trial)
    for one, other in ((compared, study), (varied, again), (judged, third)):
        tables, others = one.tables(), other.tables()
        assert all(tables[name].equals(others[name]) for name in tables), other
    assert study.measure("ucb1", "pulls").tolist() == compared.measure("ucb1", "pulls").tolist()
    compare(small(), ["ucb1"], runs=1, first=2, rounds=[7], folder=tmp_path / "compare")
    last = read_study(tmp_path / "compare")
    assert isinstance(last, Study)
    assert {policy: records.runs.tolist() for policy, records in last.records.items()} == {"ucb1": [2]}


def test_what_cannot_be_shown(tmp_path: Path) -> None:
    """A folder without a study, without runs, of an older version or with a damaged description is an error."""
    with pytest.raises(StudyError, match=r"holds no study; give the folder of `compare`, `sweep`, `league` or `trial`"):
        read_study(tmp_path)
    compare(small(), ["ucb1"], runs=2, folder=tmp_path)
    text = (tmp_path / "study.json").read_text()
    about = json.loads(text)
    for change, message in (
        ({"shown": {"runs": [5, 7], "cells": about["shown"]["cells"]}}, "no run is finished yet"),
        ({"shown": {"runs": [0, 2], "cells": [{"name": 3}]}}, r"study\.json: is damaged \("),
        ({"shown": {}}, "is damaged"),
    ):
        (tmp_path / "study.json").write_text(json.dumps(about | change))
        with pytest.raises(StudyError, match=message):
            read_study(tmp_path)
    del about["shown"]
    (tmp_path / "study.json").write_text(json.dumps(about))
    with pytest.raises(StudyError, match="an older tpstream made it; repeat the study's command"):
        read_study(tmp_path)
    (tmp_path / "study.json").write_text(text)
    (tmp_path / "study.sqlite").unlink()
    with pytest.raises(StudyError, match=r"has no study\.sqlite"):
        read_study(tmp_path)


def test_leagues(tpstream: Command, stopped: Command, tmp_path: Path) -> None:
    """Worlds stay in the order of the command, the refused are named, and an interrupted league is shown as it is."""
    (tmp_path / "other.toml").write_text((tmp_path / "small.toml").read_text().replace('"small"', '"another"'))
    words = ("league", "small.toml", "other.toml", "-p", "ucb1", "-p", "tp-ucb-fr:groups=7", "-j", 1, "--out", "out")
    stopped(*words, "-n", 6)
    shown = tpstream("show", "out").out
    assert " runs of 1 world are finished, 1 world not begun; the same command goes on: tpstream league" in shown
    tpstream(*words, "-n", 2)
    found = read_study("out")
    assert isinstance(found, League)
    assert list(found.studies) == ["small", "another"]
    assert [one.policy for one in found.refusals] == ["tp-ucb-fr:groups=7"] * 2
    assert "--value is about a comparison, and out holds another study" in tpstream("show", "out", "--value").err
    mixed = tpstream("compare", "small.toml", "-p", "ucb1", "-n", 1, "--out", "out")
    assert "out: holds a league; choose another folder" in mixed.err
    assert "holds a study; choose another folder" in tpstream(*words[:-1], "out/small").err
    (tmp_path / "out" / "league.json").write_text("[]")
    assert "league.json: cannot be read; repeat the league's command" in tpstream("show", "out").err
