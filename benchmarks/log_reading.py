"""What it costs to read a log with all checks, against reading it without them.

Usage: python benchmarks/log_reading.py [--rounds 10000] [--turns 5]. Writes a log of Setting 1 (a hundred events a
round) in every format and reads all columns of it in turns: as it is read, without the validation of Arrow's buffers
and messages and of columns, and without the SHA-256 in addition, which a thread computes meanwhile. Prints times by the
clock on cores that nobody else uses for the moment, of all turns the shortest, and the processor time of all threads in
brackets.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from measuring import undisturbed

from tpstream import Scenario, read_log, simulate
from tpstream.log.reader import Log
from tpstream.log.writer import convert

UNVALIDATED = {
    "tpstream.log.arrow.validated": lambda batch, *_: batch,
    "tpstream.log.parquet.validated": lambda batch, *_: batch,
    "tpstream.log.arrow.whole_messages": lambda *_: [],
    "tpstream.log.guard.Fitting.fit": lambda _, batch: batch,
}
UNCHECKED = {**UNVALIDATED, "tpstream.log.guard._Guard._begin": lambda _: None}
"""What is put in the place of the checks."""


def read(path: Path, replaced: dict[str, Callable[..., object]]) -> None:
    """Read all columns of a log, with some functions replaced."""
    patches = [patch(name, function) for name, function in replaced.items()]
    for one in patches:
        one.start()
    try:
        log: Log = read_log(path)
        for _ in log.batches():
            pass
    finally:
        for one in patches:
            one.stop()


Way = dict[str, Callable[..., object]]


def times(path: Path, ways: list[Way], turns: int) -> list[tuple[float, float]]:
    """For each way the shortest time by the clock and of the processor; the ways take turns."""
    clock, processor = [float("inf")] * len(ways), [float("inf")] * len(ways)
    for _ in range(turns):
        for number, way in enumerate(ways):
            with undisturbed():
                began, used = time.perf_counter(), time.process_time()
                read(path, way)
                clock[number] = min(clock[number], time.perf_counter() - began)
                processor[number] = min(processor[number], time.process_time() - used)
    return list(zip(clock, processor, strict=True))


def main() -> None:
    """Write the logs and print a line for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder) / f"run{suffix}" for suffix in (".arrows", ".parquet", ".jsonl")]
        simulate(Scenario.load("setting-1").with_(horizon=options.rounds), "tp-ucb-ew", log=logs[0])
        for copy in logs[1:]:
            convert(logs[0], copy)
        for path in logs:
            checked, unvalidated, bare = times(path, [{}, UNVALIDATED, UNCHECKED], options.turns)
            costs = [
                f"{what} {more[0] / bare[0] - less[0] / bare[0]:+.1%} ({more[1] / bare[1] - less[1] / bare[1]:+.1%})"
                for what, more, less in (
                    ("all checks", checked, bare),
                    ("validation", checked, unvalidated),
                    ("SHA-256", unvalidated, bare),
                )
            ]
            print(f"{path.suffix[1:]:8} {bare[0]:.3f} s without checks; {', '.join(costs)}", flush=True)


if __name__ == "__main__":
    main()
