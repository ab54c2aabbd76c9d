"""What does a step cost, if decisions are made outside: in `open_world`, and in environments of Gymnasium?

The floor, measured in the same run, is `simulate` in the compiled engine with a sink that takes every event and does
nothing: what a round costs when the policy is inside. Prints microseconds per step, with what opening the world and
drawing its rewards takes; and for environments also steps per second. Each figure is the best of several turns, taken
in alternation.

    python benchmarks/stepping.py [--horizon 4000] [--envs 64] [--turns 5]
"""

import argparse
import concurrent.futures

import numpy as np
from measuring import best

from tpstream import Scenario, open_world, simulate
from tpstream.gym import PartialRewardEnv, PartialRewardVectorEnv
from tpstream.model.events import Events

WORLDS = {
    "setting-1": {},
    "setting-1, delayed": {"delays": [{"kind": "geometric", "p": 0.5}]},
    "e-commerce": {},
    "medical-trial": {},
}
"""Worlds that ship, some of them with other keys."""


class Nothing:
    """Takes every event as it is, and does nothing."""

    borrows = True

    def hear(self, _: Events) -> "concurrent.futures.Future[None] | None":
        """Do nothing."""
        return None


def steps(scenario: Scenario, arms: list[int]) -> None:
    """A loop over `open_world` with given decisions."""
    with open_world(scenario, seed=1, engine="compiled") as world:
        for arm in arms:
            world.pull(arm)


def episode(env: PartialRewardEnv, arms: list[int]) -> None:
    """An episode of one environment."""
    env.reset(seed=1)
    for arm in arms:
        env.step(arm)


def episodes(envs: PartialRewardVectorEnv, arms: list[int]) -> None:
    """An episode of many environments."""
    envs.reset(seed=1)
    for arm in arms:
        envs.step(np.full(envs.num_envs, arm))


def measure(name: str, scenario: Scenario, worlds: int, turns: int) -> None:
    """Measure one world and print its line."""
    horizon = scenario.horizon
    arms = np.random.default_rng(1).integers(0, len(scenario.arms), horizon).tolist()
    env, envs = PartialRewardEnv(scenario), PartialRewardVectorEnv(scenario, worlds)
    simulate(scenario, "uniform", sinks=[Nothing()])  # compile first
    floor, stepped, single = best(
        turns,
        lambda: simulate(scenario, "uniform", seed=1, sinks=[Nothing()], engine="compiled"),
        lambda: steps(scenario, arms),
        lambda: episode(env, arms),
    )
    (many,) = best(max(turns // 2, 1), lambda: episodes(envs, arms))
    events = len(simulate(scenario, "uniform", seed=1).events()) / horizon
    each = 1e6 / horizon
    print(
        f"{name:20}{events:>8.1f}{floor * each:>8.1f}{stepped * each:>12.1f}{stepped / floor:>7.1f}"
        f"{single * each:>9.1f}{many * each / worlds:>7.2f}{horizon * worlds / many:>14,.0f}"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=4000)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    print(f"{asked.horizon} rounds, {asked.envs} worlds at once, best of {asked.turns}; us per step")
    print(f"{'':20}{'events':>8}{'floor':>8}{'open_world':>12}{'ratio':>7}{'one env':>9}{'many':>7}{'many, per s':>14}")
    for name, keys in WORLDS.items():
        scenario = Scenario.load(name.partition(",")[0]).with_(horizon=asked.horizon, **keys)
        measure(name, scenario, asked.envs, asked.turns)


if __name__ == "__main__":
    main()
