"""The README tells the truth: its programs print what it says, its files are valid, its commands exist."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tpstream import Scenario

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PROGRAMS = [
    (text, BLOCKS[number + 1][1] if BLOCKS[number + 1 :] and BLOCKS[number + 1][0] == "text" else "")
    for number, (language, text) in enumerate(BLOCKS)
    if language == "python"
]
COMMANDS = sorted(set(re.findall(r"(?:`|^)tpstream ([a-z]+)", README, re.MULTILINE)) - {"is"})


def run(folder: Path, *words: str) -> str:
    """What a Python process prints."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def tpstream(folder: Path, *words: str) -> str:
    """What the command line prints."""
    return run(folder, "-c", "from tpstream.cli.app import main; main()", *words)


@pytest.mark.parametrize(("program", "printed"), PROGRAMS, ids=[f"program-{n + 1}" for n in range(len(PROGRAMS))])
def test_a_program_prints_what_it_says(tmp_path: Path, program: str, printed: str) -> None:
    """Each Python program, saved to a file and run, prints exactly the text below it."""
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    assert printed
    assert run(tmp_path, "program.py") == printed


def test_the_example_is_short() -> None:
    """The first program has ten lines, empty ones aside."""
    assert len([line for line in PROGRAMS[0][0].splitlines() if line]) <= 10


@pytest.mark.parametrize("text", [text for language, text in BLOCKS if language == "toml"])
def test_a_scenario_file_is_valid(text: str) -> None:
    """Each scenario file can be loaded, and says what it says."""
    scenario = Scenario.parse(tomllib.loads(text))
    assert (scenario.name, [choice.label for choice in scenario.choices()]) == (
        "two-prices",
        ["tp-ucb-fr", "tp-ucb-ew", "delayed-ucb1"],
    )


def test_commands_exist(tmp_path: Path) -> None:
    """Every command that is named is shown by --help."""
    shown = tpstream(tmp_path, "--help")
    assert {"run", "compare", "validate", "list", "schema"} <= set(COMMANDS)
    for command in COMMANDS:
        assert re.search(rf"^\W*{command} ", shown, re.MULTILINE), command


def test_targets_exist() -> None:
    """Every `make` target that is named is in the Makefile."""
    named = set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    assert named == {"demo", "test"}
    for target in named:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_links_lead_somewhere() -> None:
    """Every file that is linked, and every folder of the map, is there."""
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    mapped = re.findall(r"^\| `([\w/]+/)` ", README, re.MULTILINE)
    assert (len(linked) > 3, len(mapped) > 10) == (True, True)
    assert [path for path in (*linked, *mapped) if not (ROOT / path).exists()] == []
