"""A short part of the campaign, and all that failed once: see docs/reliability.md and `make fuzz`."""

import importlib.util
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import kept_children
import pytest
from children import RAISED
from search import Found

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


def test_rows_of_runs_are_put_into_one_table(tmp_path: Path) -> None:
    """Each run writes the rows of its own targets, in the order of all targets, or adds to them; the others stay."""
    spec = importlib.util.spec_from_file_location("campaign", CAMPAIGN / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    campaign = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(campaign)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{campaign.BEGIN}\n{campaign.END}\nafter\n")
    aims = [campaign.TARGETS[name].aim for name in ("scenario", "engines", "damage")]
    for aim, cases in ((aims[2], 10), (aims[0], 1234), (aims[1], 30), (aims[2], 40)):
        campaign.write_row(campaign.Row(aim).with_(Found(cases, 2.0), 7), page)
    more = Found(60, 4.0, Counter(hangs=1))
    campaign.write_row(campaign.read_row(aims[1], page).with_(more, 8), page)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert [tuple(line.split(" | ")[:3]) for line in lines if line.startswith("| ")][1:] == [
        (f"| {aims[0]}", "1,234", "0"),
        (f"| {aims[1]}", "90", "1"),
        (f"| {aims[2]}", "40", "0"),
    ]


def _misbehave(how: str) -> int:
    """A case that goes wrong in one way or another, for want of a command that does."""
    if how == "raise":
        raise ZeroDivisionError
    if how == "crash":
        os.kill(os.getpid(), signal.SIGUSR1)
    if how == "leave":
        os._exit(5)
    print(Path("note").read_text() if how == "read" else how)  # noqa: T201 (a case prints)
    return 2 if how == "refuse" else 0


def test_a_kept_child_tells_each_case() -> None:
    """Cases in one child are told apart, and a crash in it is told and hurts none of the others."""
    ended = {}
    for how in ("read", "raise", "refuse", "crash", "read", "leave", "refuse"):
        ended[how] = kept_children.try_files({"note": b"here"}, _misbehave, how)
    kept_children.end_kept()
    assert (ended["read"].fault, ended["read"].printed) == (None, "here\n")
    assert (ended["refuse"].fault, ended["refuse"].printed) == (None, "refuse\n")
    assert (ended["raise"].code, ended["leave"].code) == (RAISED, 5)
    assert ended["crash"].fault == "ended by SIGUSR1"


@pytest.mark.slow
def test_a_short_campaign() -> None:
    """Some cases of every target, always the same ones."""
    assert run_campaign("--short", "--seed", "1") == ""
