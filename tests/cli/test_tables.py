"""Printed tables: intervals are broken as little as the width allows."""

import re

import pytest

from tpstream.cli.output import print_table

ROW = {
    "policy": "delayed-ucb1",
    "runs": "20",
    "on best arm": "758 (645 to 871)",
    "best chosen": "100% (84% to 100%)",
    "benefit lost": "3,282 (3,151 to 3,413)",
    "against fixed": "-1,352 (-1,495 to -1,208)",
    "last read-out (months)": "62.2 (61.9 to 62.4)",
}


def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int) -> list[list[str]]:
    """The lines of the row's cells, top to bottom, as they are printed in that width."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")
    print_table([ROW])
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= width
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown if line.startswith("│")]
    return [[line for line in column if line] for column in zip(*lines, strict=True)]


def test_wide_enough(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where all fits, each cell is one line."""
    assert printed(monkeypatch, capsys, 200) == [[cell] for cell in ROW.values()]


def test_an_interval_is_one_piece(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In 120 columns each value and each interval is on one line."""
    for cell, lines in zip(ROW.values(), printed(monkeypatch, capsys, 120), strict=True):
        assert lines in ([cell], re.split(r" (?=\()", cell))


def test_narrow(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In 90 columns an interval may be broken before "to", but no number is."""
    found = printed(monkeypatch, capsys, 90)
    for cell, lines in zip(ROW.values(), found, strict=True):
        assert lines in ([cell], re.split(r" (?=\()", cell), re.split(r" (?=\(|to)", cell))
    assert max(map(len, found)) == 3
