"""Where scenario files are found, those that ship with the package by name; TOML as it is read and written."""

import re
import tomllib
from pathlib import Path
from typing import Any

from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.whole_files import parse_toml, read_whole, toml_value
from tpstream.scenario.messages import quote

PACKAGE = Path(__file__).parents[1]
NO_WORDS = ("true", "false", "inf", "nan")
"""What means something else than text if it has no quotes."""


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
    if file.exists():
        return file  # a pipe or a device: whoever reads it says so
    beside = {one.stem: one for one in file.parent.glob("*.toml")}
    near = did_you_mean(file.stem if file.suffix == ".toml" else file.name, [*beside, *known])
    for name, one in beside.items():
        near = near.replace(repr(name), repr(str(one)))
    raise ScenarioError(f"{path}: no such file{near}; `tpstream list scenarios` shows the ones that ship")


def read_toml(file: Path, what: str = "scenario file") -> dict[str, Any]:
    """The content of a TOML file; `what` it should be is said of one that is something else."""
    try:
        text = read_whole(file).decode("utf-8-sig")
        return parse_toml(text)
    except OSError as error:
        raise ScenarioError(f"{file}: cannot be read ({error.strerror}); check its place and permissions") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        if file.suffix not in {".toml", ""}:
            plugin = "; a plug-in file is given with --plugin" if file.suffix == ".py" else ""
            raise ScenarioError(f"{file}: is not a {what}, which is TOML text (FILE.toml){plugin}") from None
        if isinstance(error, UnicodeDecodeError):
            raise ScenarioError(f"{file}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
        raise ScenarioError(f"{file}: {_explain(error, text)}") from None


def _explain(error: tomllib.TOMLDecodeError, text: str) -> str:
    """Where TOML is wrong, and why, with the line."""
    reason, place = re.fullmatch(r"(.*?)(?: \(at (.*)\))?", str(error), re.DOTALL).groups()  # type: ignore[union-attr]
    number = re.match(r"line (\d+)", place or "")
    lines = text.splitlines()[: int(number[1]) if number else None]
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    without_value = re.fullmatch(r"([^=]*\S)\s*=\s*(#.*)?", line)
    if without_value:
        return f"{place}: {without_value[1]} has no value; write one behind the = or remove the line"
    return f"{place or 'TOML'}: {reason[0].lower()}{reason[1:]}, in {quote(line)}"


def toml_text(value: object) -> str:
    """A value as in TOML, where text that is a single word needs no quotes."""
    is_word = isinstance(value, str) and re.fullmatch(r"[^\W\d][\w-]*", value) and value not in NO_WORDS
    return str(value) if is_word else toml_value(value)
