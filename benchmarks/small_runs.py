"""What do many small runs cost: trials of 300 patients, four arms, twelve visits, delays and drop-out?

First the processor time of one run, the best of several turns taken in alternation, beside two things that are real:
the draws that every program needs which pays by the same random numbers (the first block of 256 pulls of each arm), and
our SimPy engine. Then whole studies on two cores, by the clock and by the processor time of all processes: with free
cores a study takes half of the latter.

    python benchmarks/small_runs.py [--runs 10000] [--turns 20]
"""

import argparse
import resource
import time
from collections.abc import Callable

from measuring import best

from tpstream import Scenario, compare, trial
from tpstream.engines.draws import Draws
from tpstream.run.loop import counted_rounds, run_policies
from tpstream.run.options import RunOptions

CORES = 2
POLICY = "tp-ucb-fr"
TRIAL = {
    "name": "small-trial",
    "horizon": 300,
    "visits": [30.0 * month for month in range(1, 13)],
    "visit_spread": 5.0,
    "time_unit": "day",
    "drain": True,
    "rewards": {"kind": "smooth-beta", "groups": 4},
    "arms": [{"maximum": 12.0, "a": [a] * 4, "b": [1 - a] * 4} for a in (0.4, 0.5, 0.55, 0.6)],
    "arrivals": {"kind": "poisson", "rate": 1.0},
    "delays": [
        {"kind": "dropout", "probability": 0.2, "by": 360.0},
        {"kind": "lognormal", "median": 3.0, "sigma": 0.5},
    ],
}


def draw_first_blocks(scenario: Scenario) -> None:
    """Draw what the first pulls of every arm pay, and when."""
    draws = Draws(scenario.build_world(1, 0))
    for arm in range(len(scenario.arms)):
        draws.block(arm, 0)


def run_of(scenario: Scenario, engine: str) -> Callable[[], object]:
    """A run as a study does it."""
    choices, rounds = [scenario.policy(POLICY)], counted_rounds(scenario.horizon, ())
    return lambda: run_policies(scenario, choices, 1, 0, rounds, RunOptions(engine=engine))


def one_run(scenario: Scenario, turns: int) -> None:
    """Print the milliseconds of one run."""
    jobs = {
        "draws alone": lambda: draw_first_blocks(scenario),
        "a run": run_of(scenario, "compiled"),
        "a run by SimPy": run_of(scenario, "simpy"),
    }
    for job in jobs.values():
        job()  # compile first
    times = dict(zip(jobs, best(turns, *jobs.values()), strict=True))
    print(f"{scenario.name}: {scenario.horizon} pulls of {scenario.span} parts, {len(scenario.arms)} arms, {POLICY}")
    for name, seconds in times.items():
        print(f"  {name:16}{seconds * 1e3:8.2f} ms {seconds / times['draws alone']:8.2f} times the draws")


def whole_study(name: str, study: Callable[[], object], runs: int) -> None:
    """Print the seconds of a study."""
    used, began = processor_seconds(), time.perf_counter()
    study()
    clock, processor = time.perf_counter() - began, processor_seconds() - used
    half = processor / CORES
    print(f"  {name:34}{clock:7.1f} s {processor:7.1f} s, half of it {half:6.1f} s, {clock / runs * 1e3:6.2f} ms a run")


def processor_seconds() -> float:
    """Of this process, and of those that it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=20)
    given = parser.parse_args()
    scenario = Scenario(**TRIAL)
    one_run(scenario, given.turns)
    print(f"\n{given.runs:,} runs on {CORES} cores: by the clock, and of all processors")
    whole_study("compare", lambda: compare(scenario, [POLICY], runs=given.runs, jobs=CORES), given.runs)
    whole_study(
        "trial, with fixed randomisation", lambda: trial(scenario, [POLICY], runs=given.runs, jobs=CORES), given.runs
    )


if __name__ == "__main__":
    main()
