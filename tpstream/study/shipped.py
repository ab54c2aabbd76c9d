"""The scenarios that ship with the package, by name."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped() -> dict[str, Path]:
    """The files of the shipped scenarios: in the package if it was installed, else at the top of the checkout."""
    for folder in (PACKAGE / "scenarios", PACKAGE.parent / "scenarios"):
        files = sorted(folder.glob("*/*.toml"), key=natural_order)
        if files:
            return {file.stem: file for file in files}
    return {}


def natural_order(file: Path) -> tuple[bool, list[tuple[list[int], str]]]:
    """Sorts the paper's files first, 2.1 after 2, and 10 after 9."""
    words = file.stem.split("-")
    pieces = [([int(digits) for digits in re.findall(r"\d+", word)], word) for word in words]
    return file.parent.name != "paper", pieces


def describe_shipped() -> dict[str, str]:
    """What each shipped scenario is, from the comment at its top."""
    return {name: _first_comment(file) for name, file in shipped().items()}


def _first_comment(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("#").strip()
