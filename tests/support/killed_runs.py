"""A program that kills a run again and again: killed_runs.py FOLDER FORMAT leaves a log of each, and a whole one.

Each run is a process of its own, forked so that it starts at once, and killed with SIGKILL at a random moment. Flushes
are small and slow here, so that the moments fall between them and into them.
"""

import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from studies import small

from tpstream import simulate
from tpstream.log.formats import FORMATS, LogFile

KILLS = 50
LONGEST = 0.06
"""Seconds after which at the latest a run is killed."""
ROUNDS = 1500


def run(log: Path) -> None:
    """The run, always the same one."""
    simulate(small(horizon=ROUNDS, drain=False), "tp-ucb-fr", log=log, log_detail="indices")


def run_and_kill(log: Path, seconds: float) -> None:
    """Start the run in another process and kill it so many seconds after its log appeared."""
    child = os.fork()
    if child == 0:
        run(log)
        os._exit(0)
    while not log.exists():
        time.sleep(0.0005)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def slow_down() -> None:
    """Let every flush take a while, some of it between two halves of what is written."""
    flush = LogFile.flush

    def flush_slowly(file: LogFile) -> None:
        data = b"".join(file._waiting)
        for half in (data[: len(data) // 2], data[len(data) // 2 :]):
            file._waiting[:] = [half]
            flush(file)
            time.sleep(0.0005)

    LogFile.flush = flush_slowly  # type: ignore[method-assign]


def main() -> None:
    """Run once to the end, then kill."""
    folder, format = Path(sys.argv[1]), sys.argv[2]
    run(folder / f"whole.{format}")
    slow_down()
    moments = random.Random(format)  # noqa: S311 (moments, no secrets)
    for kill in range(KILLS):
        FORMATS[format] = replace(FORMATS[format], batch=moments.choice([100, 1000]))  # type: ignore[index]
        run_and_kill(folder / f"{kill}.{format}", moments.uniform(0, LONGEST))


if __name__ == "__main__":
    main()
