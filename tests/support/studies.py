"""Small scenarios for tests of runs, studies and the command line, and other processes to run them in."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from tpstream import Scenario

PAPER = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew")
TOML = """\
name = "small"
horizon = 60
span = 6
seed = 3
drain = true

[rewards]
kind = "smooth-beta"
groups = 3
spread = "random"

[[arms]]
name = "low"
maximum = 10.0
[[arms]]
name = "middle"
maximum = 20.0
[[arms]]
name = "high"
maximum = 30.0
"""
KEYS: dict[str, Any] = {
    "name": "small",
    "horizon": 60,
    "span": 6,
    "seed": 3,
    "drain": True,
    "rewards": {"kind": "smooth-beta", "groups": 3, "spread": "random"},
    "arms": [
        {"name": "low", "maximum": 10.0},
        {"name": "middle", "maximum": 20.0},
        {"name": "high", "maximum": 30.0},
    ],
}
"""The same in Python."""
ASYNCHRONOUS: dict[str, dict[str, Any]] = {
    "geometric": {"delays": [{"kind": "geometric", "p": 0.4}]},
    "missing": {"delays": [{"kind": "missing", "p": 0.3}]},
    "window": {"delays": [{"kind": "geometric", "p": 0.2}], "window": 7.0},
    "default": {"delays": [{"kind": "geometric", "p": 0.2}], "window": 7.0, "default_reward": 0.5},
    "poisson": {
        "arrivals": {"kind": "poisson", "rate": 2.0},
        "delays": [{"kind": "lognormal", "median": 1.5, "sigma": 0.5}],
    },
    "batches": {"arrivals": {"kind": "batches", "size": 4, "every": 3.0}},
}
"""Keys that add delays, losses or other arrivals to the small scenario."""


def small(**changes: Any) -> Scenario:
    """Three arms that pay over six rounds, for sixty rounds; the best arm's mean is 15, the others' 5 and 10."""
    return Scenario(**(KEYS | changes))


def kept_runs(folder: Path) -> int:
    """How many finished runs a study's folder holds, under all keys."""
    if not (folder / "study.sqlite").exists():
        return 0
    with closing(sqlite3.connect(folder / "study.sqlite")) as database:
        (size,) = database.execute("SELECT count(*) FROM done").fetchone()
    return int(size)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a log in the readable form."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def start_python(code: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    """A Python process that runs this code."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """What a process printed, once it has ended well."""
    printed, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints
    return printed
