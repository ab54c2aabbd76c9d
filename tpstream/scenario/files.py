"""Where scenario files are found, those that ship with the package by name, and their content as a mapping."""

import re
import tomllib
from pathlib import Path
from typing import Any

from tpstream.model.errors import ScenarioError, did_you_mean

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
    first_lines = {name: file.read_text(encoding="utf-8").partition("\n")[0] for name, file in shipped().items()}
    return {name: line.removeprefix("#").strip() for name, line in first_lines.items()}


def find_file(path: str | Path) -> Path:
    """The file at that path, else the shipped scenario of that name."""
    file = Path(path)
    if file.is_file():
        return file
    known = shipped()
    if str(path) in known:
        return known[str(path)]
    if file.is_dir():
        raise ScenarioError(f"{path}: is a folder; give a scenario file")
    near = did_you_mean(file.stem if file.suffix == ".toml" else file.name, known)
    raise ScenarioError(f"{path}: no such file{near}; `tpstream list scenarios` shows the ones that ship")


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{file}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise ScenarioError(f"{file}: cannot be read ({error.strerror}); check its place and permissions") from None
    except tomllib.TOMLDecodeError as error:
        reason, place = re.fullmatch(r"(.*?)(?: \(at (.*)\))?", str(error), re.DOTALL).groups()  # type: ignore[union-attr]
        raise ScenarioError(f"{file}: {place or 'TOML'}: {reason[0].lower()}{reason[1:]}") from None
