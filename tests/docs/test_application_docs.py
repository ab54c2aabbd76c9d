"""The pages of the applications tell the truth: their programs print what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("medical-trial", "actg175", "e-commerce", "playlist")
PROGRAM = re.compile(r"^```python\n(.*?)^```$\s*^prints$\s*^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = [(page, *found) for page in PAGES for found in PROGRAM.findall((DOCS / f"{page}.md").read_text("utf-8"))]


@pytest.mark.parametrize(("page", "program", "printed"), PROGRAMS)
def test_a_program_prints_what_it_says(tmp_path: Path, page: str, program: str, printed: str) -> None:
    """Each Python program prints exactly the text below it."""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout) == (0, printed), page


def test_there_are_programs() -> None:
    """The pattern finds them."""
    assert "medical-trial" in {page for page, *_ in PROGRAMS}
