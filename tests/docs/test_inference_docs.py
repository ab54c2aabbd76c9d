"""The page on inference after adaptation tells the truth: its commands work, and its program prints what it says."""

from pathlib import Path

from pages import DOCS, blocks, run, tpstream

PAGE = (DOCS / "inference.md").read_text("utf-8")


def test_the_example(tmp_path: Path) -> None:
    """Beside the scenario the commands run, the second one prints both tables, and the program its text."""
    (tmp_path / "trial.toml").write_text(blocks(PAGE, "toml")[0], encoding="utf-8")
    simulate, infer = blocks(PAGE, "sh")[0].splitlines()
    tpstream(tmp_path, simulate)
    shown = tpstream(tmp_path, infer)
    assert "new - standard" in shown
    assert "randomisation test, two-sided, 1,000 replications" in shown
    assert run(tmp_path, "-c", blocks(PAGE, "python")[0]) == blocks(PAGE, "text")[0]


def test_the_page_is_that_of_its_template() -> None:
    """What stands around the numbers is the template's text."""
    template = (DOCS / "inference_template.txt").read_text("utf-8").replace("{{", "{").replace("}}", "}")
    for line in template.splitlines():
        if "{" not in line or "1{W" in line or "{one" in line or "{test." in line:
            assert line in PAGE
