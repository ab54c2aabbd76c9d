"""Worlds in which no arm is better than the others are never told as if the best one had been found."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import Command, tpstream
from studies import TOML

from tpstream.analysis.regret import best_arms, no_best_arm

__all__ = ["tpstream"]
EQUAL = TOML.replace("10.0", "30.0").replace("20.0", "30.0")
TIED = "arms low, middle, high are equally good: no best arm"
WORDS = ("-p", "ucb1", "-p", "uniform", "-n", "2", "-j", "1")


@pytest.fixture
def equal(tmp_path: Path) -> str:
    """A scenario of three equal arms."""
    (tmp_path / "equal.toml").write_text(EQUAL)
    return "equal.toml"


def test_which_arm_is_best() -> None:
    """Means that differ by rounding are equal; several best arms of many count together."""
    assert best_arms(np.array([0.1 + 0.2, 0.3, 0.2])).tolist() == [True, True, False]
    assert no_best_arm(["a", "b"], np.array([1.0, 2.0])) is None
    assert str(no_best_arm(["a"], np.array([1.0]))).startswith("a is the only arm: there is nothing to choose")
    assert str(no_best_arm(["a", "b", "c"], np.array([2.0, 2.0, 1.0]))).startswith(
        "arms a, b are equally good: no single best arm"
    )
    assert TIED in str(no_best_arm(["low", "middle", "high"], np.zeros(3)))


@pytest.mark.parametrize("command", ["run", "compare", "trial"])
def test_commands_say_it(tpstream: Command, equal: str, command: str) -> None:
    """The reason is printed with how often each arm was taken; nothing is told of the best arm, which is null in JSON.

    A trial prints patients and choices of each arm first, and no column without a value.
    """
    shown = tpstream(command, equal, *WORDS)
    assert f"note: {TIED}" in " ".join(shown.out.split())
    assert "middle" in shown.out
    if command == "trial":
        assert shown.out.index("chosen in the end") < shown.out.index("last read-out")
        for title in ("none", "on best arm", "best chosen", "benefit lost", "against fixed"):
            assert title not in shown.out
    else:
        assert "none" in shown.out
        assert "100" not in shown.out.split("note:")[0]
    found = json.loads(tpstream(command, equal, *WORDS, "--json").out)
    assert found["no_best_arm"].startswith(TIED)
    for row in found["policies"]:
        assert all(row[name] is None for name in row if "best" in name)
    arms = found["arms" if command == "trial" else "pulls"]
    assert {row["arm"] for row in arms} == {"low", "middle", "high"}


def test_one_arm_only(tpstream: Command, tmp_path: Path) -> None:
    """A world with one arm has nothing to choose."""
    (tmp_path / "one.toml").write_text(EQUAL[: EQUAL.index('[[arms]]\nname = "middle"')])
    for words in (("compare", "one.toml", *WORDS), ("trial", "one.toml", *WORDS), ("validate", "one.toml")):
        assert "low is the only arm" in tpstream(*words).out


def test_sweeps_validation_and_logs_say_it(tpstream: Command, equal: str, tmp_path: Path) -> None:
    """Of a sweep the cells are named; validate and regret say it, too."""
    swept = tpstream("sweep", "small.toml", *WORDS, "--set", "arms.*.maximum=30,40")
    assert swept.out.count("equally good") == 2
    mixed = tpstream("sweep", equal, *WORDS, "--set", "arms.low.maximum=20,30")
    partly = "arms.low.maximum = 20: arms middle, high are equally good: no single best arm"
    assert partly in " ".join(mixed.out.split())
    assert TIED in tpstream("validate", equal).out
    tpstream("run", equal, *WORDS, "--log", tmp_path / "logs")
    shown = tpstream("regret", tmp_path / "logs")
    assert TIED in " ".join(shown.out.split())
    assert "middle" in shown.out
    found = json.loads(tpstream("regret", tmp_path / "logs", "--json").out)
    assert found["no_best_arm"].startswith(TIED)
    assert [row["best_arm_share"] for row in found["policies"]] == [None, None]


def test_a_best_arm_needs_no_note(tpstream: Command) -> None:
    """Where an arm is best nothing of this is printed."""
    for command in ("compare", "trial"):
        assert "equally good" not in tpstream(command, "small.toml", *WORDS).out
        assert json.loads(tpstream(command, "small.toml", *WORDS, "--json").out)["no_best_arm"] is None
