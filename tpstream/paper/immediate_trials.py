"""Trials with binary outcomes, as those of which tables were published: patients and successes of every arm."""

from typing import ClassVar, NamedTuple, Self

import numpy as np

from tpstream.experiment.compare import run_study
from tpstream.experiment.plan import make_plan
from tpstream.looks.proportions import z_of_proportions
from tpstream.model.arrays import Floats
from tpstream.model.events import CLOSED, PULL, Events
from tpstream.model.world import World
from tpstream.paper.published import Effort
from tpstream.run.options import Measures, RunOptions
from tpstream.scenario.scenario import Scenario

BETTER = -1
"""The arm that may be better: the last one."""


class ArmTotals:
    """Hears the events of one run, and counts the patients and the successes of every arm."""

    name: ClassVar[str] = "arm totals"

    def __init__(self, arms: int) -> None:
        self._totals = np.zeros((2, arms))

    @classmethod
    def of_world(cls, world: World) -> Self:
        """Those of one run in this world."""
        return cls(world.problem.arms)

    def hear(self, events: Events) -> None:
        """Count the next patients and outcomes."""
        for row, kind, weights in ((0, PULL, None), (1, CLOSED, events.value)):
            mine = events.kind == kind
            found = np.bincount(
                events.arm[mine], None if weights is None else weights[mine], minlength=self._totals.shape[1]
            )
            self._totals[row] += found

    def values(self) -> Measures:
        """`patients` and `successes` of each arm."""
        return {"patients": self._totals[0], "successes": self._totals[1]}


class Trials(NamedTuple):
    """Simulated trials: numbers of shape (trials, arms)."""

    patients: Floats
    successes: Floats

    @property
    def estimates(self) -> Floats:
        """The share of successes of each arm; NaN for one without patients."""
        with np.errstate(invalid="ignore"):
            return self.successes / self.patients

    def z(self, arm: int = BETTER) -> Floats:
        """The unpooled z statistic of an arm against the control, which is the first one."""
        return z_of_proportions(
            self.successes[:, arm], self.patients[:, arm], self.successes[:, 0], self.patients[:, 0]
        )


def simulate_trials(
    effort: Effort, policy: str, rates: tuple[float, ...], patients: int, *, later: int = 0, first: int = 0
) -> Trials:
    """Trials in which so many patients are allocated by a policy, and each outcome is known before the next patient.

    Parameters
    ----------
    effort
        How many trials, from which seed.
    policy
        The allocation, as on the command line.
    rates
        The probability of a success on each arm; the control is the first one.
    patients
        The size of a trial.
    later
        How many patients later an outcome is known.
    first
        The number of the first trial: another one gives other random numbers.
    """
    scenario = Scenario(
        name="published trial",
        horizon=patients,
        span=1,
        drain=True,
        rewards={"kind": "binary"},
        arms=[{"probability": rate} for rate in rates],
        delays=[{"kind": "constant", "lag": later}] if later else [],
    )
    runs = range(first, first + effort.trials)
    options = RunOptions(measurer=ArmTotals, progress=effort.progress)
    plan = make_plan(scenario, [policy], runs, effort.seed, (), options)
    design = f"{policy} {'-'.join(map(str, rates))} n={patients} later={later} from={first} seed={effort.seed}"
    (study,) = run_study(plan, jobs=effort.jobs, folder=effort.place(design), executor=None)
    (records,) = study.records.values()
    return Trials(records.measure("patients"), records.measure("successes"))
