"""Many environments of Gymnasium at once: one call of compiled code makes a step of each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from tpstream.engines.compiled_stepping import Arrivals
from tpstream.engines.engine import timing_obstacle
from tpstream.engines.stepped_worlds import SteppedWorlds
from tpstream.gym.spaces import Reward, Setting
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import EngineError, PolicyError, ScenarioError
from tpstream.scenario.scenario import Scenario

Observation = dict[str, Any]
Infos = dict[str, Any]


class PartialRewardVectorEnv(VectorEnv[Observation, Ints, Any]):
    """Many `PartialRewardEnv` side by side, in compiled code: their observations, rewards and episodes are the same.

    Parameters
    ----------
    scenario : Scenario, str, Path or mapping
        The world: a `Scenario`, a scenario file, the name of one that ships, or a dictionary of its keys.
    num_envs : int
        How many worlds there are.
    reward : {"received", "total"}
        What a step is rewarded with, as in `PartialRewardEnv`.
    room : int, optional
        For how many arrivals there is room, as in `PartialRewardEnv`.
    autoreset_mode : AutoresetMode or str
        What becomes of a world whose episode has ended: the next step resets it instead of making a decision
        ("NextStep", the default), it is reset at once ("SameStep", and the last observation is in
        `infos["final_obs"]`), or by a call of `reset` with a mask ("Disabled").

    Raises
    ------
    TpstreamError
        If Gymnasium is missing, the scenario has a trial, or only SimPy can serve it.

    Examples
    --------
    >>> from tpstream.gym import PartialRewardVectorEnv
    >>> envs = PartialRewardVectorEnv("setting-1", 3)
    >>> observations, infos = envs.reset(seed=7)
    >>> observations, rewards, terminated, truncated, infos = envs.step(np.array([0, 4, 4]))
    >>> observations["counts"][:, 4].tolist(), infos["round"].tolist()
    ([0, 1, 1], [2, 2, 2])
    """

    def __init__(
        self,
        scenario: Scenario | str | Path | Mapping[str, Any],
        num_envs: int,
        *,
        reward: Reward = "received",
        room: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        self._setting = Setting(scenario, reward, room)
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise ScenarioError(f"num_envs: must be a whole number of at least 1, got {num_envs!r}")
        timing = self._setting.scenario.timing()
        reason = timing_obstacle(timing, stepped=True)
        if reason is not None:
            raise EngineError(
                f"many worlds at once are stepped by compiled code, which cannot serve: {reason}; "
                "use gymnasium.vector.SyncVectorEnv with functions that make a PartialRewardEnv"
            )
        self._mode = AutoresetMode(autoreset_mode)
        self._worlds = SteppedWorlds(num_envs, self._setting.problem, timing, self._setting.room)
        self._episodes: list[tuple[int, int]] = [(0, -1)] * num_envs
        self._ended = np.zeros(num_envs, dtype=np.bool_)
        self._opened = np.zeros(num_envs, dtype=np.bool_)
        self.num_envs = num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        self.single_observation_space = self._setting.observation_space
        self.single_action_space = self._setting.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Infos]:
        """Begin an episode in every world.

        Parameters
        ----------
        seed : int or sequence, optional
            World k gets `seed + k`, or the k-th of a sequence, and its episode is run 0 of that seed. Without a seed it
            is the next run of its last seed; if there was none, seeds are drawn.
        options : dict, optional
            `reset_mask`: which worlds are reset, as booleans; the others go on.

        Returns
        -------
        tuple
            The observations, and the `seed` and `run` of every episode that began.
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, int) else seed
        seeds = [None] * self.num_envs if seeds is None else list(seeds)
        if len(seeds) != self.num_envs:
            raise ScenarioError(f"seed: {len(seeds)} seeds for {self.num_envs} worlds; give one for each")
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=np.bool_)))
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ScenarioError(f"reset_mask: must be {self.num_envs} booleans, got {mask.dtype} {mask.shape}")
        infos = self._begin(mask, seeds)
        return self._observations(self._worlds.seen), infos

    def step(self, actions: Any) -> tuple[Observation, Floats, Bools, Bools, Infos]:
        """Pull an arm in every world; one whose episode has ended is reset, as `autoreset_mode` says.

        Parameters
        ----------
        actions : array of int
            The arm of every world, from 0.

        Returns
        -------
        tuple
            Observations, rewards, whether episodes have ended, False, and for every world the `round` that is due and
            the cumulative pseudo-`regret`; with the `seed` and `run` of episodes that began.
        """
        arms = self._arms(actions)
        goes_on, infos = ~self._ended, {}
        if self._mode == AutoresetMode.DISABLED and not goes_on.all():
            ended = np.flatnonzero(self._ended).tolist()
            raise PolicyError(f"the episodes of worlds {ended} have ended; reset them with options reset_mask")
        if not goes_on.all():
            infos = self._begin(self._ended.copy())
        seen = self._worlds.step(arms, goes_on)
        rewards = np.where(goes_on, seen.total if self._setting.reward == "total" else seen.received, 0.0)
        terminated = seen.done.copy()
        infos |= {"round": seen.counts.sum(axis=1) + 1, "regret": (seen.counts * self._setting.gaps).sum(axis=1)}
        if self._mode == AutoresetMode.SAME_STEP and terminated.any():
            infos |= self._final(seen, infos, terminated) | self._begin(terminated)
        else:
            self._ended = terminated.copy()
        return self._observations(self._worlds.seen), rewards, terminated, np.zeros(self.num_envs, np.bool_), infos

    def _arms(self, actions: Any) -> Ints:
        """The actions, checked."""
        arms = np.asarray(actions)
        if not self._opened.all():
            raise PolicyError("not every world has an episode; call reset first")
        whole = arms.shape == (self.num_envs,) and np.issubdtype(arms.dtype, np.integer)
        if not whole or (arms < 0).any() or (arms >= self._setting.problem.arms).any():
            last = self._setting.problem.arms - 1
            raise PolicyError(f"actions {actions!r} are no arms; give {self.num_envs} whole numbers from 0 to {last}")
        return arms.astype(np.int64)

    def _begin(self, mask: Bools, seeds: Sequence[int | None] | None = None) -> Infos:
        """Begin an episode in these worlds; returns their seeds and runs."""
        infos: Infos = {"seed": np.zeros(self.num_envs, dtype=object), "run": np.zeros(self.num_envs, dtype=np.int64)}
        rows = np.flatnonzero(mask)
        for row in rows.tolist():
            seed, (last, run) = None if seeds is None else seeds[row], self._episodes[row]
            if seed is None and run < 0:
                seed = int(self.np_random.integers(2**32))
            self._episodes[row] = (last, run + 1) if seed is None else (int(seed), 0)
            infos["seed"][row], infos["run"][row] = self._episodes[row]
        self._worlds.open(rows, (self._setting.world(*self._episodes[row]) for row in rows))
        self._ended[mask], self._opened[mask] = False, True
        return infos | {"_seed": mask, "_run": mask}

    def _final(self, seen: Arrivals, infos: Infos, ended: Bools) -> Infos:
        """The last observations of episodes that have ended, and what was said of them."""
        last, final = self._observations(seen), np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended).tolist():
            final[row] = {name: rows[row].copy() for name, rows in last.items()}
        said = {name: infos[name].copy() for name in ("round", "regret")}
        return {"final_obs": final, "_final_obs": ended, "final_info": said, "_final_info": ended}

    @staticmethod
    def _observations(seen: Arrivals) -> Observation:
        """What is seen of all worlds; what the next step goes on from is copied."""
        found = {name: getattr(seen, name) for name in ("pull", "arm", "part", "value", "age")}
        found |= {name: getattr(seen, name).copy() for name in ("counts", "sums")}
        return found | {name: getattr(seen, name)[:, np.newaxis].copy() for name in ("arrived", "time")}
