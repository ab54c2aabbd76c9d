"""Names are text everywhere: on the terminal, in figures, in CSV tables and in names of files."""

import csv
from pathlib import Path

import pytest
from command import Command, tpstream
from hypothesis import given, strategies as st
from studies import TOML

from tpstream.model.names import file_names, spreadsheet_text, visible

__all__ = ["tpstream"]
NAMES = ["$x_{$", "[/red]", "[bold]x", "\x1b[31mred\x1b[0m", "=cmd|' /C calc'!A0", "a b", "a-b", "<b>", "@x", "x\x07y"]
"""Names that mean something to Matplotlib, Rich, a terminal, a spreadsheet, a file system or a browser."""


def write_world(folder: Path) -> Path:
    """A scenario whose arms and policies have such names."""
    start, _, _ = TOML.partition("[[arms]]")
    arms = [f"[[arms]]\nname = {toml(name)}\nmaximum = {place + 1}\n" for place, name in enumerate(NAMES)]
    kind = '[[policies]]\nkind = "epsilon-greedy"\nepsilon = '
    policies = [f"{kind}0.0{place}\nname = {toml(name)}\n" for place, name in enumerate(NAMES)]
    file = folder / "names.toml"
    file.write_text(start.partition("[[policies]]")[0] + "\n".join(arms + policies), encoding="utf-8")
    return file


def toml(name: str) -> str:
    """The name as TOML."""
    return '"' + "".join(f"\\u{ord(one):04x}" for one in name) + '"'


def test_a_study_of_such_names(tpstream: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, CSV, logs and a figure of all of them: nothing breaks, nothing is obeyed, nothing is lost."""
    monkeypatch.setenv("COLUMNS", "200")
    file = write_world(tmp_path)
    words = ("compare", file, "-n", 2, "-t", 20, "--jobs", 1, "--out", "out", "--log", "logs", "--figure", "a.svg")
    shown = tpstream(*words)
    assert shown.code == 0
    assert "\x1b" not in shown.out + shown.err
    for name in NAMES:
        assert visible(name) in shown.out
    with (tmp_path / "out" / "table.csv").open(encoding="utf-8", newline="") as table:
        cells = [row["policy"] for row in csv.DictReader(table)]
    assert cells == [spreadsheet_text(name) for name in NAMES]
    assert "'=cmd|' /C calc'!A0" in cells
    assert len(list((tmp_path / "logs").iterdir())) == 2 * len(NAMES)
    assert b"$x_{$" in (tmp_path / "a.svg").read_bytes()
    again = tpstream("show", "out")
    assert (again.code, "[bold]x" in again.out) == (0, True)
    told = tpstream("regret", "logs")
    assert (told.code, "[/red]" in told.out) == (0, True)


def test_errors_show_no_escapes(tpstream: Command) -> None:
    """What an error repeats of the command line or a file is text, too, and a giant is cut."""
    shown = tpstream("run", "small.toml", "-p", "\x1b]0;title\x07[bold]x")
    assert (shown.code, "\x1b" in shown.err, "[bold]x" in shown.err) == (2, False, True)
    long = tpstream("run", "small.toml", "-p", "x" * 10_000_000)
    assert (long.code, len(long.err) < 6000, len(long.err.splitlines())) == (2, True, 1)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300), min_size=1, max_size=6, unique=True))
def test_file_names(names: list[str]) -> None:
    """They differ, also without capital letters, have no separator, and are not too long."""
    found = list(file_names(names).values())
    assert len({one.casefold() for one in found}) == len(names)
    assert all("/" not in one and "\\" not in one and "\0" not in one and len(one) <= 130 for one in found)


@given(st.text(max_size=20))
def test_no_cell_is_a_formula(text: str) -> None:
    """A cell begins as no formula does, unless it is a number; nothing else is changed."""
    cell = spreadsheet_text(text)
    if cell == text:
        try:
            float(text)
        except ValueError:
            assert text[:1] not in {"=", "+", "-", "@", "\t", "\r"}
    else:
        assert cell == f"'{text}"
