"""The runs of the paper's settings: made again, and their regret and cost."""

import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.analysis.intervals import Interval, t_interval
from tpstream.experiment.compare import compare
from tpstream.experiment.processes import process_pool
from tpstream.experiment.result import Study
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import StudyError
from tpstream.model.world import BLOCK
from tpstream.paper.settings import SETTINGS, Setting
from tpstream.run.options import Progress
from tpstream.scenario.scenario import Scenario

TIMINGS = 3
"""How often the drawing of a block is timed; the shortest time counts."""


@dataclass(frozen=True, eq=False)
class Curves:
    """The regret of every run (first axis) at every checkpoint (second axis)."""

    rounds: Ints
    regret: Floats

    @property
    def final(self) -> Floats:
        """The final regret of every run."""
        return self.regret[:, -1]

    @cached_property
    def interval(self) -> Interval:
        """The mean over runs with its 95 % interval, at every checkpoint."""
        return t_interval(self.regret)

    def since(self, round: int) -> "Curves":
        """The checkpoints from a round on."""
        later = self.rounds >= round
        return Curves(self.rounds[later], self.regret[:, later])

    def nearest(self, round: float) -> int:
        """The index of the checkpoint nearest to a round."""
        return int(np.argmin(np.abs(self.rounds - round)))


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The studies of some settings; `studies` and `scenarios` have the scenarios' names as keys."""

    settings: tuple[Setting, ...]
    runs: int
    horizon: int | None
    """The number of rounds if it is not the paper's."""
    studies: dict[str, Study]
    scenarios: dict[str, Scenario]
    seconds: dict[str, float]
    """The elapsed time of each setting in this call, by the setting's name; little for runs that were stored before."""
    jobs: int

    @property
    def full(self) -> bool:
        """Whether the runs have the paper's horizons, so that its numbers can be compared with ours."""
        return self.horizon is None

    def has(self, *settings: str) -> bool:
        """Whether any of these settings was run."""
        return any(setting.name in settings for setting in self.settings)

    def items(self) -> Iterator[tuple[Setting, Scenario, Study]]:
        """Every scenario with its setting and its study."""
        for setting in self.settings:
            for name in setting.scenarios:
                yield setting, self.scenarios[name], self.studies[name]

    def curves(self, scenario: str, policy: str) -> Curves:
        """The regret of a policy in a scenario."""
        study = self.studies[scenario]
        return Curves(study.rounds, study.regret(policy))

    def average(self, setting: str, policy: str) -> Curves:
        """The regret of a policy, averaged over the scenarios of a setting run by run."""
        curves = [self.curves(name, policy) for name in SETTINGS[setting].scenarios]
        return Curves(curves[0].rounds, np.mean([one.regret for one in curves], axis=0))


def reproduce(
    settings: list[Setting],
    *,
    runs: int,
    jobs: int,
    seed: int | None = None,
    horizon: int | None = None,
    folder: Path | None = None,
    progress: Callable[[str], AbstractContextManager[Progress | None]] | None = None,
) -> Reproduction:
    """Run all scenarios of the settings, except runs that the folder holds already.

    Runs of the paper's length share one pool of processes, which would else be started for each scenario.
    `progress` is called with a title before each scenario and returns a context that gives the progress of its study.
    """
    studies, scenarios, seconds = {}, {}, {}
    with process_pool(jobs) if jobs > 1 and horizon is None else nullcontext() as pool:
        for setting in settings:
            began = time.perf_counter()
            for name in setting.scenarios:
                scenario = Scenario.load(name)
                scenarios[name] = scenario if horizon is None else scenario.with_(horizon=horizon)
                place = None if folder is None else folder / (name if horizon is None else f"{name}-{horizon}")
                with progress(f"Setting {setting.name}: {name}") if progress else nullcontext() as report:
                    studies[name] = study = compare(
                        scenarios[name],
                        setting.policies,
                        runs=runs,
                        seed=seed,
                        jobs=jobs,
                        folder=place,
                        progress=report,
                        executor=pool,
                    )
                if study.failures:
                    raise StudyError(f"{name}: {len(study.failures)} runs failed, the first with: {study.failures[0]}")
            seconds[setting.name] = time.perf_counter() - began
    return Reproduction(tuple(settings), runs, horizon, studies, scenarios, seconds, jobs)


def costs(found: Reproduction) -> pd.DataFrame:
    """The seconds that each setting took, and those of all in the last row.

    `clock` is the elapsed time of this call, `recorded` the sum of the times that all runs took, also those stored
    before, and `draws` the processor time of drawing their rewards, measured alone.
    """
    draws = {
        setting.name: sum(draw_seconds(found.scenarios[name], found.studies[name]) for name in setting.scenarios)
        for setting in found.settings
    }
    recorded = _times(found).groupby("setting")["seconds"].sum()
    table = pd.DataFrame({"clock": found.seconds, "recorded": recorded, "draws": draws}).loc[list(found.seconds)]
    return pd.concat([table, table.sum().to_frame("all").T])


def time_shares(found: Reproduction) -> "pd.Series[float]":
    """The share of each kind of policy in the recorded time; UCB1 runs first and draws the rewards for the others."""
    times = _times(found)
    spent = times.groupby(times["policy"].str.partition(":")[0], sort=False)["seconds"].sum()
    return spent / spent.sum()


def _times(found: Reproduction) -> pd.DataFrame:
    """The time that every run took, with the setting and the policy."""
    return pd.concat([study.times().assign(setting=setting.name) for setting, _, study in found.items()])


def draw_seconds(scenario: Scenario, study: Study) -> float:
    """The number of blocks of rewards that a study drew (the policies of a run share them) times the time of one."""
    pulls = np.stack([study.pulled(policy)[:, 0] for policy in study.records]).max(axis=0)
    blocks = np.ceil(pulls / BLOCK).sum(axis=0)
    stream = np.random.default_rng(0)
    arms = scenario.build_rewards().arms
    seconds = [
        min(timeit.repeat(partial(arm.sample, stream, BLOCK), number=1, repeat=TIMINGS, timer=time.process_time))
        for arm in arms
    ]
    return float(blocks @ seconds)
