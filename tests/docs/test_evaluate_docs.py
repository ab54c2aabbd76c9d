"""The page on evaluating another policy tells the truth: its commands run, its program prints what it says."""

from pathlib import Path

from pages import DOCS, blocks, run, tpstream

PAGE = (DOCS / "evaluate.md").read_text("utf-8")


def test_the_commands_and_the_program(tmp_path: Path) -> None:
    """With the scenario of the page, every command runs, and the program prints the text below it."""
    (scenario,) = blocks(PAGE, "toml")
    (tmp_path / "offers.toml").write_text(scenario)
    for command in [line for block in blocks(PAGE, "sh") for line in block.splitlines()]:
        assert tpstream(tmp_path, command)
    assert (tmp_path / "greedy.html").is_file()
    (program,), (text,) = blocks(PAGE, "python"), blocks(PAGE, "text")
    assert run(tmp_path, "-c", program) == text
