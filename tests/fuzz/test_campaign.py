"""A short part of the campaign, and all that failed once: see docs/reliability.md and `make fuzz`."""

import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parent


def run_campaign(*words: str) -> str:
    """What a campaign found to be bad, in a process of its own since it forks."""
    done = subprocess.run([sys.executable, CAMPAIGN, *words], capture_output=True, check=False, text=True)
    bad = [line for line in done.stdout.splitlines() if line.startswith("bad")]
    assert done.returncode == bool(bad), done.stderr
    return "\n".join(bad)


def test_what_failed_once_is_mended() -> None:
    """Every case in tests/corpus/ ends as it should."""
    assert run_campaign("--corpus") == ""


@pytest.mark.slow
def test_a_short_campaign() -> None:
    """Some cases of every target, always the same ones."""
    assert run_campaign("--short", "--seed", "1") == ""
