"""How fast is the compiled engine, measured against real things in the same run?

Against (a) our SimPy engine, and bare SimPy (a process per pull, a timeout per part, and nothing else), (b) the same
loop as plain Python (the same functions, with Numba turned off) and (c) the floor below which no engine of this design
can get: NumPy draws the rewards of as many pulls of each arm as the policy made, in the same blocks, with the reward
model itself, and adds up the parts of every block once. Setting 1 of the paper: 10 arms, span 100, 20 groups. Every
figure is processor time, the best of several turns, taken in alternation; SimPy and plain Python run over fewer rounds
and are compared per round. Then: the cost of a round as the horizon grows, of TP-UCB-EW as the groups grow, and of UCB1
as the span grows, where the draws, which must grow, are shown apart. Then: what a log costs, of only the pulls and of
every event. Last: a tiny run of 300 rounds, as studies of small trials have thousands of, against the floor.

    python benchmarks/engines.py [--horizon 100000] [--turns 10]
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measuring import best
from simpy_floor import bare_simpy

from tpstream import Scenario, simulate
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import EngineName
from tpstream.model.arrays import Ints
from tpstream.model.world import BLOCK, Purpose, open_stream

POLICIES = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew")
SIMPY_ROUNDS, PYTHON_ROUNDS = 2000, 2000
PYTHON = """
import sys, time
from tpstream import Scenario, simulate
scenario = Scenario.load("setting-1").with_(horizon=int(sys.argv[2]))
simulate(scenario, sys.argv[1], engine="compiled")
began = time.thread_time()
simulate(scenario, sys.argv[1], engine="compiled")
print(time.thread_time() - began)
"""


def decide_all(scenario: Scenario, policy: str, engine: EngineName = "compiled") -> Ints:
    """The arms of a run, without a log."""
    return simulate(scenario, policy, seed=scenario.seed, engine=engine).arms


def draw_only(scenario: Scenario, arms: Ints) -> None:
    """The draws of a run with these decisions as the engines make them: blocks, checked, with their totals."""
    reader = DrawsReader(Draws(scenario.build_world(scenario.seed, 0)))
    for arm, pulls in enumerate(np.bincount(arms).tolist()):
        for _ in range(0, pulls, BLOCK):
            reader.next_block(arm)


def floor(scenario: Scenario, arms: Ints) -> None:
    """The same random numbers drawn by NumPy, and one pass of additions over the parts."""
    models = scenario.build_world(scenario.seed, 0).rewards.arms
    for arm, pulls in enumerate(np.bincount(arms).tolist()):
        stream = open_stream(scenario.seed, 0, Purpose.REWARDS, arm)
        for _ in range(0, pulls, BLOCK):
            np.add.reduce(models[arm].sample(stream, BLOCK), axis=1)


def plain_python(policy: str, rounds: int) -> float:
    """Seconds that the same loop takes as plain Python, in a process with Numba turned off."""
    done = subprocess.run(
        [sys.executable, "-c", PYTHON, policy, str(rounds)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def setting(horizon: int, **changes: int) -> Scenario:
    """Setting 1 with another horizon, span or number of groups."""
    scenario = Scenario.load("setting-1")
    keys = {"rewards": {"kind": "smooth-beta", "groups": changes["groups"]}} if "groups" in changes else {}
    return scenario.with_(horizon=horizon, **{"span": changes["span"]} if "span" in changes else {}, **keys)


def against_others(horizon: int, turns: int) -> None:
    """The four policies against SimPy, plain Python and the floor."""
    scenario, short = setting(horizon), setting(SIMPY_ROUNDS)
    print(f"\nSetting 1, {horizon:,} rounds: nanoseconds per round, and how many times the compiled engine")
    others = "".join(f"{name:>12}{'ratio':>7}" for name in ("our SimPy", "bare SimPy", "Python"))
    print(f"{'':14}{'compiled':>9}{'floor':>7}{'ratio':>7}{others}")
    for policy in POLICIES:
        arms = decide_all(scenario, policy)
        decide_all(short, policy, "simpy")  # compile first
        compiled, lowest, simpy, bare = best(
            turns,
            lambda policy=policy: decide_all(scenario, policy),
            lambda arms=arms: floor(scenario, arms),
            lambda policy=policy: decide_all(short, policy, "simpy"),
            lambda: bare_simpy(short.horizon, short.span),
        )
        python = min(plain_python(policy, PYTHON_ROUNDS) for _ in range(2))
        ours, low = compiled / horizon * 1e9, lowest / horizon * 1e9
        slower = [simpy / SIMPY_ROUNDS * 1e9, bare / SIMPY_ROUNDS * 1e9, python / PYTHON_ROUNDS * 1e9]
        shown = "".join(f"{each:>12,.0f}{each / ours:>7.0f}" for each in slower)
        print(f"{policy:14}{ours:>9.0f}{low:>7.0f}{ours / low:>7.2f}{shown}")


def as_it_grows(title: str, policy: str, scenarios: dict[int, Scenario], turns: int) -> None:
    """The cost of a round of these scenarios, taken in alternation, and how much of it is draws."""
    print(f"\n{policy}: nanoseconds per round, by {title}")
    print(f"{title:14}{'whole':>9}{'draws':>9}{'loop':>9}{'loop, ratio':>13}")
    arms = {size: decide_all(scenario, policy) for size, scenario in scenarios.items()}
    jobs: list[Callable[[], object]] = []
    for size, scenario in scenarios.items():
        jobs.append(lambda scenario=scenario: decide_all(scenario, policy))
        jobs.append(lambda scenario=scenario, size=size: draw_only(scenario, arms[size]))
    times = best(turns, *jobs)
    first = None
    for number, (size, scenario) in enumerate(scenarios.items()):
        whole, draws = (seconds / scenario.horizon * 1e9 for seconds in times[2 * number : 2 * number + 2])
        first = first or whole - draws
        print(f"{size:<14,}{whole:>9.0f}{draws:>9.0f}{whole - draws:>9.0f}{(whole - draws) / first:>13.2f}")


def as_it_is_logged(horizon: int, turns: int) -> None:
    """A run of TP-UCB-FR without a log, with one of only the pulls, and with one of every event, as columns."""
    scenario = setting(horizon)
    with TemporaryDirectory() as folder:
        pulls, everything = Path(folder) / "pulls.arrows", Path(folder) / "all.arrows"
        times = best(
            turns,
            lambda: simulate(scenario, "tp-ucb-fr"),
            lambda: simulate(scenario, "tp-ucb-fr", log=pulls, log_detail="pulls", force=True),
            lambda: simulate(scenario, "tp-ucb-fr", log=everything, force=True),
        )
        sizes = [0, pulls.stat().st_size, everything.stat().st_size]
    print(f"\ntp-ucb-fr, {horizon:,} rounds: what a log costs")
    print(f"{'log':14}{'ns per round':>13}{'ratio':>7}{'bytes':>13}")
    for name, seconds, size in zip(("none", "pulls", "all"), times, sizes, strict=True):
        print(f"{name:14}{seconds / horizon * 1e9:>13.0f}{seconds / times[0]:>7.2f}{size:>13,}")


def as_it_is_tiny(turns: int) -> None:
    """A run of 300 rounds, whose blocks are hardly used, against the floor."""
    scenario = setting(300)
    print(f"\n{'a run of 300 rounds':22}{'ms':>7}{'floor':>7}{'ratio':>7}")
    for policy in POLICIES:
        arms = decide_all(scenario, policy)
        whole, lowest = best(
            20 * turns,
            lambda policy=policy: decide_all(scenario, policy),
            lambda arms=arms: floor(scenario, arms),
        )
        print(f"{policy:22}{whole * 1e3:>7.2f}{lowest * 1e3:>7.2f}{whole / lowest:>7.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=10)
    arguments = parser.parse_args()
    horizon, turns = arguments.horizon, arguments.turns
    against_others(horizon, turns)
    lengths = {rounds: setting(rounds) for rounds in (10_000, 100_000, 1_000_000)}
    for policy in POLICIES:
        as_it_grows("horizon", policy, lengths, max(3, turns // 3))
    as_it_grows("groups", "tp-ucb-ew", {n: setting(horizon, groups=n) for n in (10, 20, 50, 100)}, turns)
    as_it_grows("span", "ucb1", {n: setting(horizon, span=n) for n in (20, 100, 500)}, turns)
    as_it_is_logged(horizon, max(3, turns // 3))
    as_it_is_tiny(turns)


if __name__ == "__main__":
    main()
