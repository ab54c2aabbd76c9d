"""The reproduction: all runs of some settings, and what every table, claim and figure is made from.

Cost: what the runs took, and how much of it were random draws.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tpstream.analysis.intervals import Interval, t_interval
from tpstream.experiment.compare import compare
from tpstream.experiment.result import Study
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import StudyError
from tpstream.model.interfaces import ArmRewards
from tpstream.model.random_streams import BLOCK
from tpstream.paper.settings import Setting
from tpstream.run.options import Progress
from tpstream.scenario.scenario import Scenario


def silent(scenario: str) -> AbstractContextManager[Progress | None]:  # noqa: ARG001 (nobody looks)
    """Tell nobody."""
    return nullcontext()


@dataclass(frozen=True, eq=False)
class Curves:
    """The regret of every run (first axis) at every checkpoint."""

    rounds: Ints
    regret: Floats

    @property
    def final(self) -> Floats:
        """The final regret of every run."""
        return self.regret[:, -1]

    @cached_property
    def interval(self) -> Interval:
        """The mean over runs with its 95 % interval."""
        return t_interval(self.regret)

    def since(self, round: int) -> "Curves":
        """The checkpoints from a round on."""
        later = self.rounds >= round
        return Curves(self.rounds[later], self.regret[:, later])

    def near(self, round: float) -> int:
        """The place of the checkpoint nearest to a round."""
        return int(np.argmin(np.abs(self.rounds - round)))


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The studies of the settings, by the scenario's name."""

    settings: tuple[Setting, ...]
    runs: int
    horizon: int | None
    """The number of rounds, if it is not the paper's."""
    studies: dict[str, Study]
    scenarios: dict[str, Scenario]
    seconds: dict[str, float]
    """What each setting took by the clock, in this call: less for runs that were there already."""
    jobs: int

    @property
    def full(self) -> bool:
        """Whether the rounds are the paper's, so that its numbers can be compared with."""
        return self.horizon is None

    def has(self, setting: str) -> bool:
        """Whether the setting was run."""
        return any(one.name == setting for one in self.settings)

    def worlds(self) -> Iterator[tuple[Setting, Scenario, Study]]:
        """Every scenario with its setting and its study."""
        for setting in self.settings:
            for name in setting.scenarios:
                yield setting, self.scenarios[name], self.studies[name]

    def curves(self, scenario: str, policy: str) -> Curves:
        """The regret of a policy in a scenario."""
        study = self.studies[scenario]
        return Curves(study.rounds, study.regret(policy))

    def average(self, setting: Setting, policy: str) -> Curves:
        """The regret of a policy, averaged over the scenarios of a setting run by run."""
        studies = [self.studies[name] for name in setting.scenarios]
        return Curves(studies[0].rounds, np.mean([study.regret(policy) for study in studies], axis=0))


def reproduce(
    settings: list[Setting],
    *,
    runs: int,
    jobs: int,
    seed: int | None = None,
    horizon: int | None = None,
    folder: Path | None = None,
    progress: Callable[[str], AbstractContextManager[Progress | None]] = silent,
) -> Reproduction:
    """Run all scenarios of the settings; runs that are in the folder already are not done again.

    `progress` is asked before each scenario for what is to be told of its rounds.
    """
    studies, scenarios, seconds = {}, {}, {}
    for setting in settings:
        began = time.perf_counter()
        for name in setting.scenarios:
            scenario = Scenario.load(name)
            scenarios[name] = scenario if horizon is None else scenario.with_(horizon=horizon)
            place = None if folder is None else folder / (name if horizon is None else f"{name}-{horizon}")
            with progress(f"Setting {setting.name}: {name}") as tell:
                study = compare(
                    scenarios[name], setting.policies, runs=runs, seed=seed, jobs=jobs, folder=place, progress=tell
                )
            if study.failures:
                raise StudyError(f"{name}: {len(study.failures)} runs failed, the first with: {study.failures[0]}")
            studies[name] = study
        seconds[setting.name] = time.perf_counter() - began
    return Reproduction(tuple(settings), runs, horizon, studies, scenarios, seconds, jobs)


PAPER_HOURS = 468
"""What the paper's experiments took."""
TIMES = 3
"""How often a block is timed; the shortest time counts."""


@dataclass(frozen=True)
class Cost:
    """The seconds of a setting: of the clock, of its runs, and of the processors if they only drew rewards."""

    setting: str
    clock: float
    """Of this call: less for runs that were there already."""
    recorded: float
    """Of all runs, also those that were there already, as each took by the clock."""
    draws: float


def costs(found: Reproduction) -> list[Cost]:
    """What every setting took."""
    return [
        Cost(
            setting.name,
            found.seconds[setting.name],
            sum(float(seconds.sum()) for name in setting.scenarios for seconds in found.studies[name].seconds.values()),
            sum(draw_seconds(found.scenarios[name], found.studies[name]) for name in setting.scenarios),
        )
        for setting in found.settings
    ]


def shares_by_kind(found: Reproduction) -> dict[str, float]:
    """The share of the time in runs that each kind of policy took; UCB1 comes first and draws for the others."""
    spent: dict[str, float] = {}
    for _, _, study in found.worlds():
        for policy, seconds in study.seconds.items():
            kind = policy.partition(":")[0]
            spent[kind] = spent.get(kind, 0.0) + float(seconds.sum())
    return {kind: seconds / sum(spent.values()) for kind, seconds in spent.items()}


def draw_seconds(scenario: Scenario, study: Study) -> float:
    """The blocks that a study drew (policies of one run share them) times the seconds that one takes."""
    pulls = np.stack([study.pulled(policy)[:, 0] for policy in study.records]).max(axis=0)
    blocks = np.ceil(pulls / BLOCK).sum(axis=0)
    stream = np.random.default_rng(0)
    total = 0.0
    for arm, number in zip(scenario.build_rewards().arms, blocks, strict=True):
        total += min(_seconds_of_a_block(arm, stream) for _ in range(TIMES)) * float(number)
    return total


def _seconds_of_a_block(arm: ArmRewards, stream: np.random.Generator) -> float:
    began = time.process_time()
    arm.sample(stream, BLOCK)
    return time.process_time() - began
