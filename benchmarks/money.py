"""What it costs to follow the money of runs, against the same runs with rewards that are not money.

Usage: python benchmarks/money.py [ROUNDS]. Prints seconds with and without, and their ratio, for the shop without a log
(the paper's world, from the pulls) and with weekly reports (from the events). Each is the best of five repetitions, in
turns, after a first one for compilation.
"""

import sys
import time

from tpstream import Scenario
from tpstream.run.loop import counted_rounds, run_policies
from tpstream.run.options import RunOptions

RUNS = 4
REPETITIONS = 5


class NoMoney(Scenario):
    """A scenario whose rewards are not money, whatever they are."""

    @property
    def money(self) -> None:
        """None: not money."""
        return


def seconds(scenario: Scenario) -> float:
    """How long some runs of all policies take."""
    rounds, began = counted_rounds(scenario.horizon, ()), time.perf_counter()
    for run in range(RUNS):
        run_policies(scenario, scenario.choices(), 1, run, rounds, RunOptions())
    return time.perf_counter() - began


def main() -> None:
    """Print a line for each scenario."""
    horizon = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for name in ("e-commerce", "e-commerce-weekly"):
        with_money = Scenario.load(name).with_(horizon=horizon)
        without = NoMoney.load(name).with_(horizon=horizon)
        found = [[seconds(one) for one in (with_money, without)] for _ in range(REPETITIONS + 1)][1:]
        one, other = (min(times) for times in zip(*found, strict=True))
        print(f"{name}, {horizon:,} rounds: {one:.3f} s with money, {other:.3f} s without, ratio {one / other:.2f}")


if __name__ == "__main__":
    main()
