"""A study is shown again from its folder alone."""

import json
import shutil
from pathlib import Path

import moody
import pytest
from command import Command, tpstream
from plugged import forgetful, write_greedy
from studies import small

from tpstream import Study, Sweep, compare, read_study, sweep, trial
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
    without = ("out", "figure", "warnings")
    expected = json.loads(as_json.out)
    assert {key: told[key] for key in told if key not in without} == {
        key: expected[key] for key in expected if key not in without
    }


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
    assert f"code: {plugin.name}" in shown.out


def test_failed_runs_are_shown_again(tpstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that repeats each, and the same exit code."""
    monkeypatch.setitem(POLICIES.builtin, "moody", "moody:POLICY")  # type: ignore[arg-type]
    first = tpstream("compare", "small.toml", "-p", "moody", "-p", "ucb1", "-n", 8, "-j", 1, "-o", "out", "--quiet")
    monkeypatch.delitem(POLICIES.builtin, "moody")
    again = tpstream("show", "out", "--quiet")
    assert (again.code, again.out, again.err) == (1, first.out, first.err)


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
    with pytest.raises(StudyError, match=r"holds no study; give the folder of `compare`, `sweep` or `trial`"):
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
