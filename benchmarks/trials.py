"""How long simulated trials with looks take: 300 patients, four arms, 12 visits, delays, drop-out, six looks.

Usage: python benchmarks/trials.py [TRIALS] [JOBS], by default 1,000 on all cores; the aim is 10,000 in less than 60 s
on two cores. Prints the seconds by the clock and of the processor, and what of that is the simulation without looks.
"""

import os
import sys
import time
from typing import Any

from tpstream import Scenario, trial

RESPONSES = (0.30, 0.35, 0.40, 0.50)
DESIGN: dict[str, Any] = {
    "control": "arm-1",
    "endpoint": "last",
    "looks": {"at": "randomised", "values": [50, 100, 150, 200, 250, 300]},
    "allocation": {"kind": "best-probability", "burn_in": 40, "minimum": 0.1, "update": "look"},
    "rules": [
        {"kind": "superiority", "threshold": 0.995},
        {"kind": "futility", "margin": 0.1, "threshold": 0.01},
    ],
}


def scenario(design: dict[str, Any] | None) -> Scenario:
    """The trial, with or without a design; without one patients are assigned by fixed randomisation."""
    return Scenario(
        name="benchmark",
        horizon=300,
        visits=[30.0 * month for month in range(1, 13)],
        time_unit="day",
        drain=True,
        rewards={"kind": "binary", "correlation": 0.5},
        arms=[{"probability": [response * (month + 1) / 12 for month in range(12)]} for response in RESPONSES],
        arrivals={"kind": "poisson", "rate": 1.0},
        delays=[
            {"kind": "dropout", "probability": 0.1, "by": 360.0},
            {"kind": "lognormal", "median": 4.0, "sigma": 0.5},
        ],
        **({"policies": [{"kind": "uniform"}]} if design is None else {"trial": design}),
    )


def seconds(world: Scenario, trials: int, jobs: int) -> tuple[float, float]:
    """The seconds by the clock and of all processors that so many trials take."""
    before, began = os.times(), time.perf_counter()
    trial(world, runs=trials, jobs=jobs)
    after = os.times()
    return time.perf_counter() - began, sum(after[:4]) - sum(before[:4])


def main() -> None:
    """Run and print."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count() or 1
    for world in (scenario(None), scenario(DESIGN)):
        trial(world, runs=2)  # compiles
    plain, looked = (seconds(world, trials, jobs) for world in (scenario(None), scenario(DESIGN)))
    for name, (clock, used) in {"without looks": plain, "with looks": looked}.items():
        each = 1e3 * used / trials
        print(f"{name}: {trials:,} trials on {jobs} cores in {clock:.1f} s; {each:.2f} ms of a processor for each")


if __name__ == "__main__":
    main()
