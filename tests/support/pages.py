"""Pages of the documentation as tests read them: their blocks of code, and what their commands print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def run(folder: Path, *words: str) -> str:
    """What a Python process prints in that folder, if it complains of nothing."""
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def tpstream(folder: Path, command: str) -> str:
    """What a command prints without the notes about compiling."""
    words = shlex.split(command)
    assert words[0] == "tpstream"
    quiet = ["--quiet"] if words[1] in {"run", "compare"} else []
    return run(folder, "-c", "from tpstream.cli.app import main; main()", *words[1:], *quiet)
