"""A study that is killed: forks itself for every attempt, kills the fork, and tells what each attempt did.

Usage: killed_studies.py FOLDER KILLS SEED; prints a line of JSON for each attempt: the runs that were kept when it
began, and those that it started.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from studies import small

from tpstream import compare
from tpstream.experiment.store import Store
from tpstream.run import loop

POLICIES = ("ucb1", "tp-ucb-fr")
RUNS = 60
STARTED = "started"


def world() -> Any:
    """Sixty runs of it take some seconds."""
    return small(horizon=60_000, drain=False)


def study(folder: Path, patience: tuple[int, float] | None) -> None:
    """The study that is interrupted: whoever starts the last run that is waited for kills it, so many seconds later."""
    take_turns, whole = loop._run_policies_in_turn, os.getpid()

    def noted(scenario: Any, choices: Any, seed: int, run: int, *rest: Any) -> Any:
        with (folder / STARTED).open("a") as file:
            file.write(f"{run}\n")
        if patience is not None and len(started_runs(folder)) >= patience[0]:
            time.sleep(patience[1])
            os.kill(whole, signal.SIGKILL)
        return take_turns(scenario, choices, seed, run, *rest)

    loop._run_policies_in_turn = noted
    compare(world(), POLICIES, runs=RUNS, jobs=2, folder=folder)


def started_runs(folder: Path) -> list[int]:
    """The runs that this attempt has begun; a line that is not whole yet counts next time."""
    return [int(line) for line in (folder / STARTED).read_text().splitlines(keepends=True) if line.endswith("\n")]


def attempt(folder: Path, patience: tuple[int, float] | None) -> dict[str, Any]:
    """One attempt in a process of its own, killed so many seconds after it began so many runs."""
    kept = kept_runs(folder)
    (folder / STARTED).write_text("")
    child = os.fork()
    if child == 0:
        study(folder, patience)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return {"kept": kept, "started": started_runs(folder), "killed": os.WIFSIGNALED(status)}


def kept_runs(folder: Path) -> list[int]:
    """The runs that are done under every policy."""
    if not (folder / "study.sqlite").exists():
        return []
    with Store(folder) as store:
        rows = store._database.execute("SELECT run FROM done GROUP BY run HAVING count(*) = 2").fetchall()
    return [run for (run,) in rows]


def main(folder: Path, kills: int, seed: int) -> None:
    """So many attempts that are killed at random moments, and one that is left alone."""
    compare(world(), POLICIES, runs=1)  # what is compiled now is there in every fork
    moments = random.Random(seed)  # noqa: S311 (moments, not secrets)
    for _ in range(kills):
        patience = moments.randint(1, 5), moments.uniform(0.0, 0.02)
        print(json.dumps(attempt(folder, patience)), flush=True)  # noqa: T201
    print(json.dumps(attempt(folder, None)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
