"""The page on twins tells the truth: its commands run, its files are as shown, its program prints what it says."""

from pathlib import Path

from pages import DOCS, blocks, run, tpstream

PAGE = (DOCS / "twin.md").read_text("utf-8")


def test_the_way_from_a_log_to_a_world(tmp_path: Path) -> None:
    """The tables are made, imported and fitted; the scenario has the lines of the page, the program its text."""
    tables, program = blocks(PAGE, "python")
    lines, printed = blocks(PAGE, "text")
    run(tmp_path, "-c", tables)
    for command in [line for block in blocks(PAGE, "sh") for line in block.splitlines()]:
        assert tpstream(tmp_path, command)
    written = (tmp_path / "twin.toml").read_text()
    assert all(line in written for line in lines.splitlines() if line != "...")
    assert run(tmp_path, "-c", program) == printed
