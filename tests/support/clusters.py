"""A real Dask cluster on this machine: a scheduler and workers as processes of their own."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

QUIET = ("--no-dashboard", "--host", "127.0.0.1")


@dataclass(frozen=True)
class Cluster:
    """Where the scheduler listens, and its workers."""

    address: str
    workers: list["subprocess.Popen[bytes]"]


@contextmanager
def start_cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """A scheduler with so many workers of one thread each, ended by the block's end."""
    file = folder / "scheduler.json"
    started = [_start(folder, "dask_scheduler", "--port", "0", "--scheduler-file", file, *QUIET)]
    try:
        address = _wait_for_address(file)
        for number in range(workers):
            place = ("--local-directory", folder / f"worker-{number}")
            started.append(_start(folder, "dask_worker", address, "--nthreads", "1", "--no-nanny", *place, *QUIET))
        yield Cluster(address, started[1:])
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _start(folder: Path, module: str, *words: object) -> "subprocess.Popen[bytes]":
    with (folder / "cluster.log").open("ab") as told:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *map(str, words)], stdout=told, stderr=told
        )


def _wait_for_address(file: Path, patience: float = 60.0) -> str:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.05)
    raise TimeoutError(f"no scheduler after {patience} s")
