"""The page on decisions of one's own tells the truth: its programs print what they say."""

import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, blocks

PAGE = (DOCS / "step-by-step.md").read_text("utf-8")
PROGRAMS = list(zip(blocks(PAGE, "python"), blocks(PAGE, "text"), strict=False))


@pytest.mark.parametrize("number", range(4))
def test_a_program_prints_what_it_says(number: int, tmp_path: Path) -> None:
    """Each program prints exactly the text below it."""
    program, printed = PROGRAMS[number]
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


def test_all_programs_are_run() -> None:
    """There are no others."""
    assert len(blocks(PAGE, "python")) == len(PROGRAMS) == 4
