"""The guide tells the truth: its programs and commands run, and the files that it names are there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
PROGRAMS = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines()]


def run(folder: Path, *words: str) -> str:
    """What a Python process prints, if it ends well and complains of nothing."""
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_programs_run(tmp_path: Path) -> None:
    """All programs of the guide, one after the other in one folder, run and print something."""
    program = "\n".join(PROGRAMS)
    assert len(PROGRAMS) == 3
    assert "tp-ucb-ew" in run(tmp_path, "-c", program)
    assert all((tmp_path / name).exists() for name in ("groups.png", "both.png"))


@pytest.mark.slow
def test_commands_run(tmp_path: Path) -> None:
    """All commands of the guide run in their order, in one process; the folder holds the files of the guide's list."""
    (file,) = [text for language, text in BLOCKS if language == "toml"]
    (tmp_path / "sweep.toml").write_text(file)
    commands = [
        shlex.split(line) for line in [*COMMANDS, "tpstream sweep setting-2-100-10 -t 2000 --file sweep.toml -n 2"]
    ]
    code = f"""
import sys
from tpstream.cli.app import main
for words in {commands!r}:
    sys.argv = words
    try:
        main()
    except SystemExit as left:
        assert not left.code, words
"""
    assert len(commands) > 5
    run(tmp_path, "-c", code)
    listed = dict.fromkeys(re.findall(r"`([\w.]+\.(?:csv|json|parquet|sqlite))`", GUIDE))
    assert len(listed) == 13
    missing = [name for name in listed if not (tmp_path / "logs/first" / name).exists()]
    assert missing == ["money.csv", "money_contrasts.csv"]  # the rewards of that study are not money
