"""The page on reports tells the truth: its command, its program, and which commands take the option."""

import re
import shlex
from pathlib import Path

import pytest
from command import Command, tpstream
from typer.main import get_command

from tpstream.cli.app import app

__all__ = ["tpstream"]
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "reports.md").read_text("utf-8")


def test_the_command_and_the_program_write_reports(
    tpstream: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run here with fewer rounds, they write the files that they name."""
    (command,) = re.findall(r"^tpstream (.*)$", PAGE, re.MULTILINE)
    assert tpstream(*shlex.split(command.replace("5000", "50"))).code == 0
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(program, {})  # noqa: S102 (the program of the page)
    assert "Page of 0.0" in capsys.readouterr().out
    for name in re.findall(r"logs/\w+\.html", PAGE):
        assert (tmp_path / name).stat().st_size < 200_000


def test_the_commands_that_take_the_option_are_listed(tpstream: Command) -> None:
    """The table of the page and the README name the commands that have `--report` in their help, and no other."""
    tpstream("--help")  # loads all commands
    commands = get_command(app).commands  # type: ignore[attr-defined]
    taking = {name for name, one in commands.items() if any("--report" in option.opts for option in one.params)}
    assert "--report" in tpstream("answer", "--help").out
    assert set(re.findall(r"^\| `tpstream (\w+) .*--report", PAGE, re.MULTILINE)) == taking
    (told,) = re.findall(r"With `--report FILE.html`, (.*?) write what was found", README, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", told)) == taking
