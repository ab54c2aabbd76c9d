"""The page on the explorer tells the truth: its commands work, and its table of options is complete."""

import re
import shlex
from pathlib import Path

import pytest
from command import Command, tpstream

__all__ = ["tpstream"]
PAGE = (Path(__file__).parents[2] / "docs" / "view.md").read_text("utf-8")


@pytest.mark.slow
def test_the_commands_write_the_page(tpstream: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run one after the other, here with fewer rounds, they end with the page that is named, and open it."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for command in re.findall(r"^\$ tpstream (.*)$", PAGE, re.MULTILINE):
        command = command.replace("--runs 200", "--runs 2 --horizon 50")  # noqa: PLW2901 (a short one)
        assert tpstream(*shlex.split(command.replace("5000", "50"))).code == 0
    page = tmp_path / re.findall(r"writes `(.*?)`", PAGE)[0]
    assert opened == [page.as_uri()]
    assert page.exists()


def test_all_options_are_listed(tpstream: Command) -> None:
    """The table has every option of the command but --quiet and --help."""
    shown = set(re.findall(r"--[a-z]+", tpstream("view", "--help").out)) - {"--quiet", "--help"}
    listed = re.findall(r"^\| `(--\w+)", PAGE, re.MULTILINE)
    assert shown == set(listed)
