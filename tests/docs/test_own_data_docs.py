"""The page on data of one's own tells the truth: its files can be imported, its program prints what it says."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pages import DOCS, blocks, run, tpstream

from tpstream import check_log, import_log, read_log
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
    for found in ("46.65", "44.8 ", "44.53", "42.47", "2.125", "-0.3203", "4.601", "some 141 more"):
        assert found in printed
        assert found in text


@pytest.mark.verify
def test_real_purchases(tmp_path: Path) -> None:
    """The commands on CDNOW print what the page says, and the table of what really came is that of its program."""
    pytest.importorskip("lifetimes")
    section = PAGE.partition("## 7. Against")[2].partition("## 8.")[0]
    printed = ""
    for command in [line for block in blocks(section, "sh") for line in block.splitlines()]:
        # Notes, such as warnings about the twin, and the refusal of evaluate are on standard error.
        program = [sys.executable, "-c", "from tpstream.cli.app import main; main()", *command.split()[1:]]
        wide = {**os.environ, "COLUMNS": "200"}
        done = subprocess.run(program, cwd=tmp_path, env=wide, capture_output=True, check=False, text=True)
        assert done.returncode == (2 if " evaluate " in command else 0), done.stderr
        printed += done.stdout + done.stderr
    words = " ".join(re.sub(r"[│┃]", " ", printed).split())
    for line in [line for block in blocks(section, "text") for line in block.splitlines()]:
        assert " ".join(line.split()) in words
    for number in ("23,570", "24,755", "45,708", "20,816", "137"):
        assert number in section
        assert number in words
    assert run(tmp_path, str(DOCS / "cdnow_table.py")) in section


@pytest.mark.verify
def test_the_shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of the shop whose truth is known are those of the program."""
    sys.path.append(str(DOCS))
    import shop_table  # noqa: PLC0415 (a program of the docs)

    monkeypatch.setattr(shop_table, "IMAGES", tmp_path)
    shop = shop_table.make_shop(shop_table.OFFERS, seed=shop_table.SEED)
    options = {"window": "60d", "until": shop.until.isoformat(), "currency": "EUR"}
    log = import_log(shop.offers, shop.payments, out=tmp_path / "shop.arrows", **options)
    tables = [*shop_table.answer_rows(log, shop), *shop_table.evaluation_rows(log, shop)]
    rows = [line for line in tables if line.startswith("|")]
    assert len(rows) == 17
    assert set(rows) <= set(PAGE.splitlines())
