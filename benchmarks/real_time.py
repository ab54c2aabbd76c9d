"""How fast are worlds at real-valued times, against our SimPy engine in the same run?

The medical trial (2,000 patients at random times, 24 checks, a lab with a queue) under four policies; a shop of 20,000
offers, each of which pays daily for 60 days with a random delay, in the middle of the day; and the loop for real-valued
times against the loop for whole rounds, where both can serve: the reason why the second one stays. Every figure is
processor time, the best of several turns, taken in alternation.

    python benchmarks/real_time.py [--turns 5]
"""

import argparse

from measuring import best

from tpstream import Scenario, simulate
from tpstream.engines import compiled_engine
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.log.sinks import MemorySink

POLICIES = ("uniform", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew")
SHOP = {
    "name": "shop",
    "horizon": 20_000,
    "span": 60,
    "rewards": {"kind": "price", "items": 60},
    "arms": [{"price": 15.0, "rate": 1.4}, {"price": 24.0, "rate": 0.9}],
    "arrivals": {"kind": "poisson", "rate": 20.0},
    "delays": [{"kind": "lognormal", "median": 2.0, "sigma": 0.5}, {"kind": "reporting", "every": 1, "first": 0.5}],
    "window": 90,
}


def against_simpy(scenario: Scenario, policies: tuple[str, ...], turns: int) -> None:
    """Seconds of a run in both engines, and their ratio."""
    print(f"\n{scenario.name}: {scenario.horizon:,} pulls of {scenario.span} parts, milliseconds of a run")
    print(f"{'':14}{'compiled':>10}{'our SimPy':>12}{'ratio':>7}")
    for policy in policies:
        simulate(scenario, policy, engine="compiled")  # compile first
        (compiled,) = best(turns, lambda policy=policy: simulate(scenario, policy, engine="compiled"))
        (simpy,) = best(1, lambda policy=policy: simulate(scenario, policy, engine="simpy"))
        print(f"{policy:14}{compiled * 1e3:>10.1f}{simpy * 1e3:>12.0f}{simpy / compiled:>7.0f}")


def run_logged(scenario: Scenario, policy: str, *, whole: bool) -> None:
    """A run with all its events through the loop for whole rounds, or through that for real-valued times."""
    choice, world = scenario.policy(policy), scenario.build_world(1, 0)
    engine = compiled_engine.CompiledEngine(
        world, choice.form, choice.parameters, DrawsReader(Draws(world)), choice.label
    )
    engine.bus.subscribe("memory", MemorySink())
    usual = compiled_engine.at_whole_rounds
    compiled_engine.at_whole_rounds = lambda _: whole
    try:
        for _ in engine.round_batches():
            pass
    finally:
        compiled_engine.at_whole_rounds = usual


def against_whole_rounds(turns: int) -> None:
    """The two loops in worlds at whole rounds, with all events."""
    print("\nworlds at whole rounds, tp-ucb-fr with all events: milliseconds by loop")
    print(f"{'':20}{'whole rounds':>13}{'real times':>12}{'ratio':>7}")
    for name, scenario in (
        # With a window it is no longer the paper's world, which has a loop of its own.
        ("setting-1, window", Scenario.load("setting-1").with_(horizon=20_000, window=200)),
        ("weekly reports", Scenario.load("e-commerce").with_(delays=[{"kind": "reporting", "every": 7}])),
    ):
        jobs = [lambda whole=whole, one=scenario: run_logged(one, "tp-ucb-fr", whole=whole) for whole in (True, False)]
        best(1, *jobs)
        listed, heap = best(turns, *jobs)
        print(f"{name:20}{listed * 1e3:>13.1f}{heap * 1e3:>12.1f}{heap / listed:>7.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    against_simpy(Scenario.load("medical-trial"), POLICIES, turns)
    against_simpy(Scenario(**SHOP), ("tp-ucb-fr",), turns)
    against_whole_rounds(turns)


if __name__ == "__main__":
    main()
