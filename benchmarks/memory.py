"""Does memory grow with the horizon?

A study with one policy and no log keeps tallies at some rounds only, and `simulate` one byte for every decision.
Prints the peak of the memory of a process that runs Setting 1 over ever more rounds, and its ratio to the first; an
array of the decisions as 64-bit integers alone would take 80 MB for the last line.

    python benchmarks/memory.py [--policy tp-ucb-fr]
"""

import argparse
import subprocess
import sys

HORIZONS = (100_000, 1_000_000, 10_000_000)
RUN = """
import resource, sys, time
from tpstream import Scenario, compare, simulate
scenario = Scenario.load("setting-1").with_(horizon=int(sys.argv[2]))
began = time.perf_counter()
if sys.argv[3] == "simulate":
    simulate(scenario, sys.argv[1])
else:
    compare(scenario, [sys.argv[1]], runs=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.perf_counter() - began)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="tp-ucb-fr")
    policy = parser.parse_args().policy
    print(f"Setting 1 under {policy}, one run")
    print(f"{'':10}{'rounds':>12}{'peak MB':>10}{'ratio':>8}{'seconds':>9}")
    for way in ("compare", "simulate"):
        first = None
        for horizon in HORIZONS:
            command = [sys.executable, "-c", RUN, policy, str(horizon), way]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            peak, seconds = map(float, done.stdout.split())
            first = first or peak
            print(f"{way:10}{horizon:>12,}{peak:>10.0f}{peak / first:>8.3f}{seconds:>9.1f}")


if __name__ == "__main__":
    main()
