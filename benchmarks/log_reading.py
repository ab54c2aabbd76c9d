"""What it costs to read a log with all checks, against reading it without them.

Usage: python benchmarks/log_reading.py [--rounds 10000] [--turns 5]. Writes a log of Setting 1 (a hundred events a
round) in every format and reads all columns of it in turns: as it is read, without the validation of Arrow's buffers
and messages, and without the SHA-256 in addition. Prints processor times and their ratios.
"""

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

from measuring import best

from tpstream import Scenario, read_log, simulate
from tpstream.log.reader import Log
from tpstream.log.writer import convert

UNVALIDATED = {
    "tpstream.log.arrow.validated": lambda batch, *_: batch,
    "tpstream.log.parquet.validated": lambda batch, *_: batch,
    "tpstream.log.arrow.whole_messages": lambda *_: [],
}
UNCHECKED = {**UNVALIDATED, "tpstream.log.reader.check_sha256": lambda *_: None}
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
            ways: list[dict[str, Callable[..., object]]] = [{}, UNVALIDATED, UNCHECKED]
            checked, unvalidated, bare = best(options.turns, *[partial(read, path, way) for way in ways])
            print(
                f"{path.suffix[1:]:8} {checked:.3f} s with all checks, {checked / bare - 1:+.1%} against {bare:.3f} s "
                f"without any: {(checked - unvalidated) / bare:+.1%} for validation, "
                f"{(unvalidated - bare) / bare:+.1%} for the SHA-256"
            )


if __name__ == "__main__":
    main()
