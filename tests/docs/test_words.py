"""Pages are understood without the others, riddles do not come back, and the map of the tests is true."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGES = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
APPLICATIONS = ("medical-trial", "actg175", "e-commerce", "playlist")
"""Pages whose readers do not know the paper's symbols."""
RIDDLES = (
    "nobody's",
    "bend this",
    "nothing that is sure",
    "had paid at once",
    "of whom it was",
    "move that moment",
    "costs nothing in what is known",
    "until a time that is past",
)
"""Parts of sentences that readers of earlier versions did not understand."""


def words(page: Path) -> str:
    """The text of a page, whatever its lines are."""
    return " ".join(page.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_riddle_comes_back(page: Path) -> None:
    """What readers did not understand once is not written again."""
    assert [riddle for riddle in RIDDLES if riddle in words(page)] == []


@pytest.mark.parametrize("page", APPLICATIONS)
def test_alpha_is_explained(page: str) -> None:
    """The symbol stands only beside a word for it: groups of parts, or the error that a test may make."""
    text = words(TOP / "docs" / f"{page}.md")
    found = [text[max(0, one.start() - 80) : one.end() + 80] for one in re.finditer(r"\balpha\b", text)]
    assert [around for around in found if not re.search(r"group|error", around)] == []


def test_the_map_of_the_tests_is_true() -> None:
    """Every file and every test that tests/README.md names is there; `::name` is a test of the file before it."""
    folder = TOP / "tests"
    file = folder
    for name in re.findall(r"`([\w/.]*(?:\.py|::\w+|/))`", (folder / "README.md").read_text(encoding="utf-8")):
        path, _, test = name.partition("::")
        file = folder / path if path else file
        assert file.exists() or (TOP / path).exists(), name
        assert not test or f"def {test}(" in file.read_text(encoding="utf-8"), name
