"""Would threads do for studies, instead of processes?

Two runs under all policies of their scenario: by one thread, by two threads, and by two processes, which are started
and warm. Both begin at the same moment and have priority over other programs (measuring.py), so that the clock means
something. Prints how many times as fast two are as one, and the processor time that they take, by medians; and beside
it, how much of a run's time is spent outside of compiled code, where threads wait for each other.

    python benchmarks/threads.py [--turns 15]
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache, partial
from multiprocessing import get_context
from statistics import median
from typing import Any
from unittest.mock import patch

from measuring import undisturbed

from tpstream import Scenario
from tpstream.engines import compiled_engine, compiled_real, draws
from tpstream.rewards import price, smooth_beta
from tpstream.run.loop import counted_rounds, run_policies
from tpstream.run.options import RunOptions

WORLDS = {
    "setting-1": 60_000,
    "setting-2-200-20": 60_000,
    "setting-2.1-100-10": 60_000,
    "e-commerce": 20_000,
    "medical-trial": 2_000,
}
"""Shipped scenarios, and rounds that take less than 0.1 s."""
AHEAD = 0.2
"""Seconds after which workers begin, so that all of them are ready."""


@cache
def prepare(name: str) -> Callable[[int], object]:
    """What does the run of this number, in a world that is loaded once."""
    scenario = Scenario.load(name).with_(horizon=WORLDS[name])
    rounds = counted_rounds(scenario.horizon, ())
    return lambda run: run_policies(scenario, scenario.choices(), 1, run, rounds, RunOptions())


def work(name: str, runs: tuple[int, ...], moment: float) -> tuple[float, float]:
    """Do these runs from that moment on: when they were done, and the processor time."""
    do = prepare(name)
    with undisturbed():
        time.sleep(max(moment - time.perf_counter(), 0))
        began = time.thread_time()
        for run in runs:
            do(run)
        return time.perf_counter(), time.thread_time() - began


def measure(executor: Executor, name: str, shares: list[tuple[int, ...]]) -> tuple[float, float]:
    """The seconds by the clock, and of the processor, that two runs take in such shares."""
    moment = time.perf_counter() + AHEAD
    done = [future.result() for future in [executor.submit(work, name, runs, moment) for runs in shares]]
    return max(end for end, _ in done) - moment, sum(processor for _, processor in done)


def share_outside(name: str, turns: int) -> float:
    """The share of a run's processor time that is spent outside of compiled code."""
    spent: list[float] = []

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> object:
            began = time.thread_time()
            try:
                return function(*arguments)
            finally:
                spent.append(time.thread_time() - began)

        return call

    def seconds_of(run: Callable[[int], object]) -> float:
        with undisturbed():
            began = time.thread_time()
            run(0)
            return time.thread_time() - began

    run, compiled = prepare(name), []
    whole = min(seconds_of(run) for _ in range(turns))
    load = compiled_real.RealRun._load  # noqa: SLF001 (its loop is what is timed)
    with ExitStack() as stack:
        for place, function in (
            (smooth_beta, "fill_groups"),
            (price, "fill_sales"),
            (draws, "fill_sums"),
            (compiled_engine, "fill_sums"),
            (compiled_engine.PlainRun, "_call"),
        ):
            stack.enter_context(patch.object(place, function, timed(getattr(place, function))))
        stack.enter_context(
            patch.object(compiled_real.RealRun, "_load", lambda self, **asked: timed(load(self, **asked)))
        )
        for _ in range(turns):
            spent.clear()
            seconds_of(run)
            compiled.append(sum(spent))
    return 1 - min(compiled) / whole


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15)
    turns = parser.parse_args().turns
    print(f"{'':20}{'one, ms':>9}{'threads':>9}{'processes':>11}{'their processor time':>23}{'outside':>9}")
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, get_context("spawn")) as processes:
        for name in WORLDS:
            apart = [(0,), (1,)]
            ways = {
                "one": partial(measure, threads, name, [(0, 1)]),
                "threads": partial(measure, threads, name, apart),
                "processes": partial(measure, processes, name, apart),
            }
            for way in ways.values():
                way()  # compiles and loads
            found = [{name: way() for name, way in ways.items()} for _ in range(turns)]
            clock, processor = ({way: median(turn[way][place] for turn in found) for way in ways} for place in range(2))
            ratios = f"{clock['one'] / clock['threads']:>9.2f}{clock['one'] / clock['processes']:>11.2f}"
            taken = f"{processor['threads'] / processor['one']:>14.2f}, {processor['processes'] / processor['one']:.2f}"
            print(f"{name:20}{clock['one'] * 1e3:>9.0f}{ratios}{taken:>23}{share_outside(name, turns):>9.0%}")


if __name__ == "__main__":
    main()
