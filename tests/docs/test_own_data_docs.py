"""The page on data of one's own tells the truth: its files can be imported, its program prints what it says."""

import tomllib
from pathlib import Path

import pytest
from pages import DOCS, blocks, run, tpstream

from tpstream import check_log, read_log
from tpstream.log.imports.column_map import read_map

PAGE = (DOCS / "own-data.md").read_text("utf-8")


def test_the_way_from_two_tables_to_a_log(tmp_path: Path) -> None:
    """The files, saved under the names of the page, can be imported, checked, shown and asked; the map is valid."""
    texts = blocks(PAGE, "text")
    for name, text in (("offers.csv", texts[0]), ("payments.csv", texts[1]), ("visits.csv", texts[3])):
        (tmp_path / name).write_text(text)
    for command in [line for block in blocks(PAGE, "sh")[:3] for line in block.splitlines()]:
        assert tpstream(tmp_path, command)
    imported = read_log(tmp_path / "shop.arrows").header.imported
    assert imported is not None
    assert (imported["payments"]["taken"], imported["payments"]["duplicate"]) == (4, 1)
    assert check_log(tmp_path / "trial.arrows").sound
    (map_text,) = blocks(PAGE, "toml")
    written = read_map(tmp_path / "shop.map.toml")
    shown = read_map(tomllib.loads(map_text))
    assert (shown.decisions, shown.payments) == (written.decisions, written.payments)


@pytest.mark.parametrize(("program", "text"), [(0, 2), (1, 4)])
def test_the_programs_print_what_they_say(tmp_path: Path, program: int, text: int) -> None:
    """Each program prints the text below it."""
    assert run(tmp_path, "-c", blocks(PAGE, "python")[program]) == blocks(PAGE, "text")[text]


def test_the_trial(tmp_path: Path) -> None:
    """The commands of the trial run, and what the page says of it is what they print."""
    commands = next(block for block in blocks(PAGE, "sh") if "data rossi" in block)
    printed = " ".join("".join(tpstream(tmp_path, command) for command in commands.splitlines()).split())
    text = PAGE.partition("## 8. A trial")[2].partition("## 9.")[0]
    for found in ("46.65", "44.84", "44.53", "42.49", "2.125", "-0.3201", "4.57", "some 141 more"):
        assert found in printed
        assert found in text
