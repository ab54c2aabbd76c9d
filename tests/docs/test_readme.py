"""The README tells the truth: its program prints what it says, its commands are those of the help."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from shops import make_shop

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PROGRAMS = [
    (text, BLOCKS[number + 1][1] if BLOCKS[number + 1 :] and BLOCKS[number + 1][0] == "text" else "")
    for number, (language, text) in enumerate(BLOCKS)
    if language == "python"
]
BEGINNINGS = re.findall(r"^\| \*\*I .*?\*\* \| `tpstream ([^`]+)`", README, re.MULTILINE)


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


def test_the_order() -> None:
    """What it is, the picture, how to install it, Python, where to begin, the commands, the folders."""
    picture = README.index("![")
    assert re.findall(r"^#+ (.+)$", README, re.MULTILINE) == [
        "tpstream",
        "Install",
        "Thirty seconds of Python",
        "Where to begin",
        "Commands",
        "A map of the folders",
    ]
    assert README[:picture].replace("et al.", "").count(".") == 3  # three sentences
    assert picture < README.index("## Install")


def test_the_table_of_commands_is_that_of_the_help(tmp_path: Path) -> None:
    """The same tasks, and in each of them the same commands, in the same order."""
    shown: dict[str, list[str]] = {}
    for title, name in re.findall(r"^(?:╭─ (.+?) ─+╮|│ ([a-z]\w*) .*)$", tpstream(tmp_path, "--help"), re.MULTILINE):
        if title:
            shown[title] = []
        elif name:
            shown[list(shown)[-1]].append(name)
    del shown["Options"]
    table: dict[str, list[str]] = {}
    for title, name in re.findall(r"^\| ([A-Z][\w ]*)?\s*\| `tpstream (\w+)", README, re.MULTILINE):
        table.setdefault(title.strip() or list(table)[-1], []).append(name)
    assert list(table.items()) == list(shown.items())


@pytest.mark.slow
@pytest.mark.parametrize("command", BEGINNINGS)
def test_where_to_begin(tmp_path: Path, command: str) -> None:
    """The three commands to begin with work; here with fewer rounds and runs, and tables as a shop has them."""
    shop = make_shop(500)
    shop.offers.to_csv(tmp_path / "offers.csv", index=False)
    shop.payments.to_csv(tmp_path / "payments.csv", index=False)
    word, fewer = {
        "trial": ("three-arm-trial", ["-n", "2"]),
        "import": ("decisions still open at the cut", []),
        "compare": ("tp-ucb-ew", ["-t", "100", "-n", "2"]),
    }[command.split(maxsplit=1)[0]]
    assert word in tpstream(tmp_path, *shlex.split(command), *fewer)


def test_there_are_three_beginnings() -> None:
    """One for each kind of newcomer."""
    assert len(BEGINNINGS) == 3


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
