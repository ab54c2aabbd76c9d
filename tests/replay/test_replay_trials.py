"""Replay of trials with looks: the policy is told of them as in the run, and they are computed again."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from tampering import write_lines
from trials import WRITING, trial_keys, trials

from tpstream import Scenario, read_log, replay, simulate, what_if
from tpstream.log.schema import Header
from tpstream.model.arrays import Bools
from tpstream.model.errors import LogError
from tpstream.model.events import Kind
from tpstream.policies.runner import Runner
from tpstream.replay import looks as replayed

MANY = 8 if numba.config.DISABLE_JIT else 25


@settings(max_examples=MANY, deadline=None)
@given(trials())
def test_trials_replay(scenario: Scenario) -> None:
    """A policy that decides by all that it was told, looks included, decides the same again; all looks are equal."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trial.jsonl"
        simulate(scenario, WRITING, log=path)
        result = replay(path, WRITING)
        held = {*read_log(path).columns(["pull"], [Kind.LOOK])["pull"].tolist()}
    assert result.equal
    assert result.looks == len(held)
    assert not result.notes


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a trial that drops an arm and then stops."""
    path = tmp_path_factory.mktemp("trial") / "stopped.jsonl"
    for seed in range(40):
        simulate(Scenario(**trial_keys()), WRITING, seed=seed, log=path, force=True)
        stops = read_log(path).columns(["pull", "arm"], [Kind.STOPPED])
        if len(set(stops["pull"].tolist())) == 2 and len(stops["arm"]) == 3:
            return path
    raise AssertionError("no run drops an arm and stops later")


def test_a_stopped_trial_says_how_many_looks_are_equal(stopped: Path) -> None:
    """The result counts the looks."""
    result = replay(stopped, WRITING)
    assert result.equal
    assert result.looks >= 2
    assert f"{result.looks} looks computed again, all equal" in " ".join(repr(result).split())


def changed(path: Path, target: Path, change: Callable[[list[dict[str, Any]]], None]) -> Path:
    """A copy of the log with its lines changed and numbered anew."""
    header, *lines, _ = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    change(lines)
    rows = [line | {"seq": seq} for seq, line in enumerate(lines)]
    return write_lines(target, [header, *rows, {"end": len(rows)}])


def of_kind(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The lines of this kind."""
    return [line for line in lines if line["kind"] == kind]


def more(lines: list[dict[str, Any]]) -> None:
    """Another number of a look."""
    of_kind(lines, "look")[3]["value"] = 0.125


def slightly_more(lines: list[dict[str, Any]]) -> None:
    """A number of a look that is a millionth larger."""
    of_kind(lines, "look")[0]["value"] *= 1 + 1e-6


def less(lines: list[dict[str, Any]]) -> None:
    """A look with a number less."""
    lines.remove(of_kind(lines, "look")[-1])


def without_look(lines: list[dict[str, Any]]) -> None:
    """No looks at all."""
    lines[:] = [line for line in lines if line["kind"] not in ("look", "stopped")]


def another_reason(lines: list[dict[str, Any]]) -> None:
    """An arm that is closed for another reason."""
    of_kind(lines, "stopped")[0]["part"] = 3


def another_winner(lines: list[dict[str, Any]]) -> None:
    """No arm is selected."""
    for line in of_kind(lines, "stopped"):
        line["value"] = 0.0


def without_drop(lines: list[dict[str, Any]]) -> None:
    """An arm is not closed."""
    lines.remove(of_kind(lines, "stopped")[0])


def rounded_otherwise(lines: list[dict[str, Any]]) -> None:
    """Numbers of looks as a machine may give them whose products of matrices are rounded in another order."""
    for line in of_kind(lines, "look"):
        line["value"] = line["value"] and line["value"] * (1 + 1e-14)


def test_rounding_is_no_difference(stopped: Path, tmp_path: Path) -> None:
    """A log of another machine replays."""
    assert replay(changed(stopped, tmp_path / "rounded.jsonl", rounded_otherwise), WRITING).equal


CHANGES = [more, slightly_more, less, without_look, another_reason, another_winner, without_drop]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_look_is_found(change: Callable[[list[dict[str, Any]]], None], stopped: Path, tmp_path: Path) -> None:
    """A number, a look or a stop that is not what the events give is an error that says what they give."""
    with pytest.raises(LogError, match="where its events and the design give"):
        replay(changed(stopped, tmp_path / "changed.jsonl", change), WRITING)


def test_a_torn_trial_replays(stopped: Path, tmp_path: Path) -> None:
    """Wherever a log is torn, what is there replays."""
    lines = stopped.read_text(encoding="utf-8").splitlines()
    looks = [place for place, line in enumerate(lines) if '"kind":"look"' in line]
    for place in (looks[0] - 1, looks[0] + 2, looks[-1] + 1, len(lines) - 3):
        (tmp_path / "torn.jsonl").write_text("\n".join(lines[: place + 1]) + "\n")
        result = replay(tmp_path / "torn.jsonl", WRITING)
        assert result.equal
        assert not result.complete


def shuffled(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Plant a fault into what a policy is told of looks in a replay."""
    if fault == "never told":
        monkeypatch.setattr(replayed, "tell_look", lambda *_: None)
    elif fault == "decided at the cut":
        monkeypatch.setattr(Header, "cleaning", 0.0)
    else:

        def keep(_: Runner, __: Bools) -> None:
            return

        monkeypatch.setattr(Runner, "set_open_arms", keep)


@pytest.mark.parametrize("fault", ["never told", "decided at the cut", "arms stay open"])
def test_planted_faults_are_found(fault: str, stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay that tells of looks in another way decides differently."""
    shuffled(monkeypatch, fault)
    assert not replay(stopped, WRITING).equal


def test_what_if_of_a_stopped_trial(stopped: Path) -> None:
    """The other policy is compared up to where the first of the two trials stops."""
    result = what_if(stopped, WRITING)
    assert result.common == 1.0
    assert result.rounds == np.count_nonzero(read_log(stopped).join().kind == Kind.PULL)


def test_a_log_of_one_decision(tmp_path: Path) -> None:
    """A log that is cut right after its first pull, before which nothing has happened, replays as far as it goes."""
    path = tmp_path / "one.jsonl"
    simulate(Scenario(**trial_keys()), "uniform", log=path)
    path.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n")
    result = replay(path)
    assert (result.equal, result.rounds) == (True, 1)
