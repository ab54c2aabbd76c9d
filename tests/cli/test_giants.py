"""Giants, and what goes wrong in the machine: one line and exit code 2, soon."""

import subprocess
import sys
from pathlib import Path

import pytest
from command import Command, tpstream
from studies import TOML

from tpstream.experiment import compare as compare_module

__all__ = ["tpstream"]
MAIN = "from tpstream.cli.app import main; main()"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "small.toml", "--rounds", "1:1000000000000:1"), "has more than 100,000 values"),
        (("compare", "small.toml", "--rounds", "1:1e999999999:1"), "cannot be computed; use smaller numbers"),
        (("compare", "small.toml", "-n", "1" * 21), "numbers below 10,000,000 are possible"),
        (("run", "small.toml", "--run", "1" * 21), "numbers below 10,000,000 are possible"),
        (("run", "small.toml", "--set", "span=1000000000000"), "span: must be at most 1000000"),
        (("run", "small.toml", "--set", "delays=" + "[" * 3000 + "]" * 3000), "must be a list"),
        (("run", "small.toml", *(["-p", "ucb1"] * 1001)), "1,001 policies are asked for; at most 1,000"),
        (("run", "small.toml", "-p", "uniform:x=" + "9" * 5000), "uniform"),
    ],
)
def test_giants_on_the_command_line(tpstream: Command, words: tuple[str, ...], message: str) -> None:
    """They are refused before anything is computed from them."""
    shown = tpstream(*words)
    assert (shown.code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
    assert message in shown.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[delays]]\nkind = "reporting"\ndays = [1]\nweek = 1_000_000_000\n', "week: must be at most 100000"),
        ("x = " + "[" * 2000 + "]" * 2000 + "\n", "nested"),
        ("[" + ".".join(["x"] * 2000) + "]\ny = 1\n", "nested"),
        (f'"{"k" * 10_000_000}" = 1\n', "a key of 10,000,000 letters"),
        ("".join(f'[[delays]]\nkind = "fixed"\ndelay = {n}\n' for n in range(300)), "at most 100"),
    ],
)
def test_giants_in_a_file(tpstream: Command, tmp_path: Path, text: str, message: str) -> None:
    """A file that is valid TOML, and no scenario."""
    (tmp_path / "giant.toml").write_text(TOML + "\n" + text if text.startswith("[") else text + TOML)
    shown = tpstream("run", "giant.toml")
    assert (shown.code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
    assert message in shown.err


@pytest.mark.parametrize(("error", "message"), [(MemoryError("x"), "memory does not"), (RecursionError(), "deep")])
def test_errors_of_the_machine(
    tpstream: Command, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    """Memory or stack that does not suffice is a line that says what to do."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(compare_module, "compare", fail)
    shown = tpstream("run", "small.toml")
    assert (shown.code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
    assert message in shown.err


@pytest.mark.parametrize("words", [("list", "policies"), ("schema",), ("--help",)])
def test_a_closed_pipe(words: tuple[str, ...]) -> None:
    """`| head -1` ends a command with a line and without a traceback."""
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, len(told.splitlines())) == (2, 1)
    assert "the output was closed before its end" in told
