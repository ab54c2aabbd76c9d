"""How studies scale: speed-up from one to two workers against the ideal, overhead, and many short runs.

What threads would gain is in threads.py, what small trials cost in small_runs.py. Speed-ups by the clock mean something
on free cores only; the processor time next to them, of all processes together and relative to one worker, means the
same on a busy machine. Needs the extra `dask`.

    python benchmarks/scaling.py [--runs 80] [--horizon 100000] [--short 10000] [--turns 5]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import psutil
from distributed import Client

from tpstream import Scenario, Study, compare
from tpstream.experiment import executors as chunker
from tpstream.experiment.executors import dask_executor
from tpstream.experiment.plan import Chunk
from tpstream.experiment.store import NAME, RunResult, Store

WORKERS = 2
SCENARIO = "setting-2-200-20"
JOBS = f"--jobs {WORKERS}"


@dataclass(frozen=True)
class Cost:
    """Seconds of a study by the clock, of all processors, and inside of its pieces."""

    wall: float
    processor: float
    pieces: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=80)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--short", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    speed_up(Scenario.load(SCENARIO).with_(horizon=given.horizon), given.runs, given.turns)
    pieces(given.short)
    short_runs(given.short)
    store_rate()


def speed_up(scenario: Scenario, runs: int, turns: int) -> None:
    """One worker against two processes and two Dask workers, in turn; compared turn by turn, medians."""
    rounds = len(scenario.choices()) * scenario.horizon * runs
    print(f"\n{scenario.name}: {len(scenario.choices())} policies, {runs} runs of {scenario.horizon:,} rounds")
    measure(lambda folder: compare(scenario, runs=1, folder=folder))  # compiles, and loads what writes files
    with (
        ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool,
        dask_cluster() as address,
        dask_executor(address) as dask,
    ):
        for executor in (pool, dask):
            compare(scenario, runs=4 * WORKERS, executor=executor)  # starts and loads
        ways: dict[str, Callable[[Path], Study]] = {
            "one worker": lambda folder: compare(scenario, runs=runs, folder=folder),
            "two processes": with_executor(scenario, runs, pool),
            "two on Dask": with_executor(scenario, runs, dask),
            JOBS: lambda folder: compare(scenario, runs=runs, jobs=WORKERS, folder=folder),
        }
        costs: dict[str, list[Cost]] = {who: [] for who in ways}
        for _ in range(turns):
            for who, study in ways.items():
                costs[who].append(measure(study))
    alone = costs.pop("one worker")
    wall, outside = median(cost.wall for cost in alone), median(1 - cost.pieces / cost.wall for cost in alone)
    pace = f"{wall / rounds * 1e9:.0f} ns per round and policy"
    print(f"  one worker    {wall:6.2f} s  {pace}, {outside:.1%} outside of pieces")
    for who, of in costs.items():
        ratios = sorted(one.wall / cost.wall for one, cost in zip(alone, of, strict=True))
        faster = f"{median(ratios):.2f} times as fast ({ratios[0]:.2f} to {ratios[-1]:.2f}; ideal {WORKERS})"
        processor = median(cost.processor / one.processor for one, cost in zip(alone, of, strict=True))
        # What `--jobs` starts it also ends, so that its processor time cannot be read afterwards.
        spent = f", processor time {processor:.2f}" if who != JOBS else ", its start included"
        print(f"  {who:13} {median(cost.wall for cost in of):6.2f} s  {faster}{spent}")


def with_executor(scenario: Scenario, runs: int, executor: Executor) -> Callable[[Path], Study]:
    """The study by that executor."""
    return lambda folder: compare(scenario, runs=runs, executor=executor, folder=folder)


def measure(study: Callable[[Path], Study]) -> Cost:
    """What a study with a folder costs, its result files included."""
    spent: list[float] = []
    with tempfile.TemporaryDirectory() as folder, noted_pieces(spent):
        processor, began = processor_seconds(), time.perf_counter()
        study(Path(folder))
        return Cost(time.perf_counter() - began, processor_seconds() - processor, sum(spent))


@contextmanager
def noted_pieces(spent: list[float]) -> Iterator[None]:
    """Note the seconds of every piece that is done."""
    learn = chunker.Chunker.learn

    def noted(self: chunker.Chunker, piece: Chunk, seconds: float) -> None:
        spent.append(seconds)
        learn(self, piece, seconds)

    chunker.Chunker.learn = noted  # type: ignore[method-assign]
    try:
        yield
    finally:
        chunker.Chunker.learn = learn  # type: ignore[method-assign]


def processor_seconds() -> float:
    """Of this process and all that it started and that are alive."""
    here = psutil.Process()
    times = [one.cpu_times() for one in (here, *here.children(recursive=True))]
    return float(sum(one.user + one.system for one in times))


def pieces(runs: int) -> None:
    """What one piece costs besides its work: runs of ten rounds with two arms, one policy."""
    rewards = {"kind": "smooth-beta", "groups": 1}
    scenario = Scenario(name="tiny", horizon=10, span=1, rewards=rewards, arms=[{"maximum": 1.0}, {"maximum": 2.0}])
    compare(scenario, ["uniform"], runs=1)
    print(f"\noverhead of pieces, from {runs:,} runs of 10 rounds under one policy")
    few = runs // 10
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool, dask_cluster() as address:
        compare(scenario, ["uniform"], runs=4, executor=pool)
        with dask_executor(address) as dask:
            compare(scenario, ["uniform"], runs=4, executor=dask)
            for who, executor in (("here", None), ("processes", pool), ("Dask", dask)):
                seconds = one_by_one(scenario, few, executor)
                print(f"  {who:13} {seconds / few * 1e3:6.2f} ms per piece of one run")


def one_by_one(scenario: Scenario, runs: int, executor: Executor | None) -> float:
    """The seconds of a study in which every run is a piece of its own."""
    lengths = chunker.LENGTH, chunker.LENGTH_PER_WORKER
    chunker.LENGTH = chunker.LENGTH_PER_WORKER = 0.0
    try:
        return measure(lambda folder: compare(scenario, ["uniform"], runs=runs, executor=executor, folder=folder)).wall
    finally:
        chunker.LENGTH, chunker.LENGTH_PER_WORKER = lengths


def short_runs(runs: int) -> None:
    """Many runs of a thousand rounds: time, memory and disk for each."""
    scenario = Scenario.load(SCENARIO).with_(horizon=1000)
    policies = len(scenario.choices())
    print(f"\n{runs:,} short runs: {policies} policies, {scenario.horizon:,} rounds, {len(scenario.arms)} arms")
    compare(scenario, runs=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        found = compare(scenario, runs=runs, jobs=WORKERS, folder=folder)
        wall = time.perf_counter() - began
        work = float(found.times()["seconds"].sum())
        again = time.perf_counter()
        compare(scenario, runs=runs, jobs=WORKERS, folder=folder)
        again = time.perf_counter() - again
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        size, files = (Path(folder) / NAME).stat().st_size, len(list(Path(folder).iterdir()))
    print(
        f"  {wall / runs * 1e3:.2f} ms per run of all policies by the clock, {work / runs * 1e3:.2f} ms inside of runs"
    )
    print(f"  {again:.1f} s to go on when nothing is missing: reading, tables, files")
    print(f"  {memory:.0f} MB more memory at the peak, {memory / runs / policies * 1024:.1f} kB per policy and run")
    print(f"  {size / 1e6:.1f} MB in the store, {size / runs / policies:.0f} bytes per policy and run, {files} files")


def store_rate(rows: int = 20_000, size: int = 700) -> None:
    """How fast the one writer is: results of 100 runs and policies at a time."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        began = time.perf_counter()
        for first in range(0, rows, 100):
            store.keep([RunResult("entry", run, os.urandom(size), 1.0) for run in range(first, first + 100)])
        seconds = time.perf_counter() - began
    print(f"\nthe store takes {rows / seconds:,.0f} results a second, {rows / seconds / 100:,.0f} pieces of 100")


@contextmanager
def dask_cluster() -> Iterator[str]:
    """The address of a scheduler with two workers on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        words = ("--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(file))
        started = [start("dask_scheduler", "--port", "0", *words)]
        while not file.exists():
            time.sleep(0.05)
        started += [
            start("dask_worker", "--nthreads", "1", "--no-nanny", "--local-directory", folder, *words)
            for _ in range(WORKERS)
        ]
        try:
            address = address_in(file)
            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(WORKERS)
            yield address
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


def address_in(file: Path) -> str:
    """The address that a scheduler wrote down."""
    while True:
        try:
            return str(json.loads(file.read_text())["address"])
        except ValueError:
            time.sleep(0.05)


def start(module: str, *words: str) -> "subprocess.Popen[bytes]":
    """A process of Dask's, whose talk is not heard."""
    command = [sys.executable, "-m", f"distributed.cli.{module}", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
