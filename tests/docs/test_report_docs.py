"""The page on reports tells the truth: its command, its program, and which commands take the option."""

import re
import shlex
from pathlib import Path

import pytest
from command import Command, tpstream

__all__ = ["tpstream"]
PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text("utf-8")


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


def test_every_command_of_the_table_takes_the_option(tpstream: Command) -> None:
    """`--report` is in the help of each."""
    commands = re.findall(r"^\| `tpstream (\w+) .*--report", PAGE, re.MULTILINE)
    assert set(commands) == {"compare", "sweep", "league", "trial", "show", "paper"}
    for command in commands:
        assert "--report" in tpstream(command, "--help").out
