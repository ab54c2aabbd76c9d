"""What an environment is: the world of its episodes, its spaces, and what counts as the reward."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces

from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError, did_you_mean
from tpstream.model.limits import LARGEST
from tpstream.model.world import World
from tpstream.run.open_world import refuse_trial
from tpstream.scenario.scenario import Scenario

Reward = Literal["received", "total"]
"""What a step is rewarded with:

- received: what has arrived since the step before, of whatever pull;
- total: what this pull pays in total, at once, as if nothing were delayed or lost. No policy in the world knows that.
"""
PER_SPAN = 4
"""Room for arrivals, in spans, where they do not come one part of each pull at a time."""


class Setting:
    """The scenario of the episodes, checked, with the spaces that follow from it."""

    def __init__(self, scenario: Scenario | str | Path | Mapping[str, Any], reward: Reward, room: int | None) -> None:
        self.scenario = Scenario.load(scenario)
        refuse_trial(self.scenario, "an environment")
        if reward not in get_args(Reward):
            near = did_you_mean(str(reward), get_args(Reward))
            raise ScenarioError(f"reward: {reward!r} is unknown{near}; use one of {', '.join(get_args(Reward))}")
        if room is not None and (isinstance(room, bool) or not isinstance(room, int) or room < 1):
            raise ScenarioError(f"room: must be a whole number of at least 1, got {room!r}")
        self.reward = reward
        self.problem = self.scenario.problem().without_means()
        plain = self.scenario.timing().plain
        self.room = room or self.problem.span * (1 if plain else PER_SPAN)
        self.gaps: Floats = self.scenario.means.max() - self.scenario.means
        self.action_space = spaces.Discrete(self.problem.arms)
        self.observation_space = self._observations()

    def world(self, seed: int, run: int) -> World:
        """The world of an episode."""
        return self.scenario.build_world(seed, run)

    def _observations(self) -> spaces.Dict:
        problem = self.problem
        lowest = -LARGEST if problem.signed else 0.0

        def numbers(rows: int, high: int) -> spaces.Box:
            return spaces.Box(0, high, (rows,), np.int64)

        def amounts(rows: int, low: float = 0.0) -> spaces.Box:
            return spaces.Box(low, LARGEST, (rows,), np.float64)

        return spaces.Dict(
            {
                "pull": numbers(self.room, problem.horizon),
                "arm": numbers(self.room, problem.arms - 1),
                "part": numbers(self.room, problem.span),
                "value": amounts(self.room, lowest),
                "age": amounts(self.room),
                "arrived": numbers(1, 2 * problem.horizon * problem.span),
                "counts": numbers(problem.arms, problem.horizon),
                "sums": amounts(problem.arms, lowest),
                "time": amounts(1),
            }
        )
