"""The console script as tests call it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from studies import TOML

from tpstream.cli.app import main


@dataclass(frozen=True)
class CommandResult:
    """The exit code of a command, and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., CommandResult]


@pytest.fixture
def tpstream(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The console script, in this process and an empty folder with a scenario, small.toml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    (tmp_path / "small.toml").write_text(TOML)

    def call(*words: object) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["tpstream", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return CommandResult(int(left.value.code or 0), printed.out, printed.err)

    return call
