"""Does memory grow with the horizon?

A study with one policy and no log keeps tallies at some rounds only. Prints the peak of the memory of a process that
runs Setting 1 over ever more rounds, and its ratio to the first; a list of the decisions alone would take 8 bytes for
every round, 80 MB for the last line.

    python benchmarks/memory.py [--policy tp-ucb-fr]
"""

import argparse
import subprocess
import sys

HORIZONS = (100_000, 1_000_000, 10_000_000)
RUN = """
import resource, sys, time
from tpstream import Scenario, compare
began = time.perf_counter()
compare(Scenario.load("setting-1").with_(horizon=int(sys.argv[2])), [sys.argv[1]], runs=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.perf_counter() - began)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="tp-ucb-fr")
    policy = parser.parse_args().policy
    print(f"Setting 1 under {policy}, one run")
    print(f"{'rounds':>12}{'peak MB':>10}{'ratio':>8}{'seconds':>9}")
    first = None
    for horizon in HORIZONS:
        done = subprocess.run(
            [sys.executable, "-c", RUN, policy, str(horizon)], capture_output=True, text=True, check=True
        )
        peak, seconds = map(float, done.stdout.split())
        first = first or peak
        print(f"{horizon:>12,}{peak:>10.0f}{peak / first:>8.3f}{seconds:>9.1f}")


if __name__ == "__main__":
    main()
