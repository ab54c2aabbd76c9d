"""An environment of Gymnasium: one world at a time, in either engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tpstream.engines.engine import EngineName
from tpstream.engines.stepping import Stepping, open_stepping
from tpstream.gym.spaces import Reward, Setting
from tpstream.model.arrays import Ints
from tpstream.model.errors import PolicyError
from tpstream.model.events import PARTIAL, Events
from tpstream.scenario.scenario import Scenario

Observation = dict[str, Any]


class PartialRewardEnv(gymnasium.Env[Observation, Any]):
    """A world as an environment of Gymnasium: an action is an arm, and a step lasts until the next decision is due.

    An observation is a dictionary of arrays. `pull`, `arm`, `part`, `value` and `age` are about the parts that have
    arrived since the step before, in their order: which pull each belongs to (from 1), its arm, which part of the pull
    it is (from 1), what it paid, and how long after the pull it came. There is room for a fixed number of them, and
    zeros after the last one. `arrived` is how many there were, also those beyond the room. `counts` and `sums` are how
    often each arm was pulled so far, and what has arrived of its pulls. `time` is when the next decision is due.

    The horizon is the end of an episode (`terminated`): after the last decision all that is still to come arrives, if
    the scenario is drained, and else it never does. `truncated` is always false.

    Parameters
    ----------
    scenario : Scenario, str, Path or mapping
        The world: a `Scenario`, a scenario file, the name of one that ships, or a dictionary of its keys.
    reward : {"received", "total"}
        What a step is rewarded with: what has arrived since the step before, of whatever pull; or what this pull pays
        in total, as if nothing were delayed or lost.
    room : int, optional
        For how many arrivals there is room; by default the span in the paper's world, and four times the span where
        parts are delayed.
    engine : str
        "compiled", "simpy", or "auto" (the default): compiled where that is possible.

    Raises
    ------
    TpstreamError
        If Gymnasium is missing, the scenario has a trial, or the engine cannot serve it.

    Examples
    --------
    >>> from tpstream.gym import PartialRewardEnv
    >>> env = PartialRewardEnv("setting-1")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(3)
    >>> observation["pull"][:2].tolist(), observation["counts"].tolist(), terminated
    ([1, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0], False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(
        self,
        scenario: Scenario | str | Path | Mapping[str, Any],
        *,
        reward: Reward = "received",
        room: int | None = None,
        engine: EngineName = "auto",
    ) -> None:
        self._setting = Setting(scenario, reward, room)
        self._engine = engine
        self._stepping: Stepping | None = None
        self._episode = (0, -1)
        self._counts: Ints = np.zeros(0, dtype=np.int64)
        self._sums = self._pulled = np.zeros(0)
        self.observation_space = self._setting.observation_space
        self.action_space = self._setting.action_space

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 (there are none)
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            The world's seed: the episode is run 0 of it, as `open_world(scenario, seed=seed, run=0)` has it. Without a
            seed it is the next run of the last one; if there was none, a seed is drawn.
        options : dict, optional
            Not used.

        Returns
        -------
        tuple
            The first observation, and the `seed` and `run` of the episode.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._episode = (seed, 0)
        elif self._episode[1] < 0:
            self._episode = (int(self.np_random.integers(2**32)), 0)
        else:
            self._episode = (self._episode[0], self._episode[1] + 1)
        setting = self._setting
        self._stepping = open_stepping(setting.world(*self._episode), self._engine)
        self._counts = np.zeros(setting.problem.arms, dtype=np.int64)
        self._sums = np.zeros(setting.problem.arms)
        self._pulled = np.zeros(setting.problem.horizon + 1)
        return self._observe(None), {"seed": self._episode[0], "run": self._episode[1]}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Pull an arm, and let time pass until the next decision is due.

        Parameters
        ----------
        action : int
            The arm, from 0.

        Returns
        -------
        tuple
            The observation, the reward, whether the episode has ended, False, and the `round` that is due and the
            cumulative pseudo-`regret`.
        """
        stepping, problem = self._stepping, self._setting.problem
        if stepping is None:
            raise PolicyError("there is no episode yet; call reset first")
        if stepping.round > problem.horizon:
            raise PolicyError(f"the episode has ended after {problem.horizon} decisions; call reset")
        if not self.action_space.contains(action):
            raise PolicyError(f"action {action!r} is no arm; arms are 0 to {problem.arms - 1}")
        self._pulled[stepping.round] = stepping.time
        self._counts[action] += 1
        events = stepping.pull(int(action))
        observation = self._observe(events)
        reward = stepping.total if self._setting.reward == "total" else self._received(events)
        info = {"round": stepping.round, "regret": float(self._counts @ self._setting.gaps)}
        return observation, reward, stepping.round > problem.horizon, False, info

    def _observe(self, events: Events | None) -> Observation:
        """What is seen after these events."""
        found = {
            name: np.zeros(space.shape, space.dtype)
            for name, space in self.observation_space.items()  # type: ignore[attr-defined] # a Dict
        }
        if events is not None:
            parts = np.flatnonzero(events.kind == PARTIAL)
            np.add.at(self._sums, events.arm[parts], events.value[parts])
            found["arrived"][0] = len(parts)
            parts = parts[: self._setting.room]
            for name in ("pull", "arm", "part", "value"):
                found[name][: len(parts)] = getattr(events, name)[parts]
            found["age"][: len(parts)] = events.time[parts] - self._pulled[events.pull[parts]]
        stepping = self._stepping
        assert stepping is not None  # noqa: S101 (the caller has opened it)
        due = min(stepping.round, self._setting.problem.horizon)
        found["time"][0] = stepping.time if stepping.round == due else self._pulled[due]
        found["counts"][:], found["sums"][:] = self._counts, self._sums
        return found

    @staticmethod
    def _received(events: Events) -> float:
        """What has arrived, added in its order."""
        paid = events.value[events.kind == PARTIAL]
        return float(np.cumsum(paid)[-1]) if len(paid) else 0.0
