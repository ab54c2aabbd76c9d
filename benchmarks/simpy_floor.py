"""How fast is the SimPy engine, measured against bare SimPy in the same run?

Bare SimPy: one process per pull, one timeout per part, and nothing else: no values, no policy, no bus, no log.
Ours: the same pulls with their rewards, the policy, the bus, and then also the JSON lines sink. Prints partial rewards
per second and the ratio to bare SimPy; each figure is the best of several turns, taken in alternation.

    python benchmarks/simpy_floor.py [--horizon 3000] [--turns 5]
"""

import argparse
import tempfile
from collections.abc import Generator
from pathlib import Path

import simpy
from measuring import best

from tpstream import Scenario, simulate

SETTING = Path(__file__).parents[1] / "scenarios" / "paper" / "setting-1.toml"
POLICIES = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew")


def bare_simpy(horizon: int, span: int) -> int:
    """The same pulls as bare processes with timeouts; returns how many parts were due by the horizon."""
    environment = simpy.Environment()
    delivered = 0

    def emit() -> Generator[simpy.Event, None, None]:
        nonlocal delivered
        for part in range(span):
            yield environment.timeout(1 if part else 0)
            delivered += 1

    def decide() -> Generator[simpy.Event, None, None]:
        for _ in range(horizon):
            environment.process(emit())
            yield environment.timeout(1)

    environment.process(decide())
    environment.run(until=horizon)
    return delivered


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=3000)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    scenario = Scenario.load(SETTING).with_(horizon=arguments.horizon)
    parts = bare_simpy(scenario.horizon, scenario.span)
    print(f"Setting 1, {scenario.horizon} rounds, {parts:,} partial rewards, best of {arguments.turns}")
    print(f"{'':14}{'bare SimPy':>14}{'no sink':>14}{'ratio':>8}{'JSON lines':>14}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.jsonl"
        for policy in POLICIES:
            simulate(scenario, policy, engine="simpy")  # compile first
            bare, plain, logged = best(
                arguments.turns,
                lambda: bare_simpy(scenario.horizon, scenario.span),
                lambda policy=policy: simulate(scenario, policy, engine="simpy"),
                lambda policy=policy: simulate(scenario, policy, engine="simpy", log=log, force=True),
            )
            print(
                f"{policy:14}{parts / bare:>12,.0f}/s{parts / plain:>12,.0f}/s{bare / plain:>8.2f}"
                f"{parts / logged:>12,.0f}/s{bare / logged:>8.2f}"
            )


if __name__ == "__main__":
    main()
