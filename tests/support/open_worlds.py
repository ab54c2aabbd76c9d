"""Decisions that are still paying, from worlds whose truth is known: for tests and the tables of docs/coverage.md."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tpstream.analysis.age_tables import AgeTable
from tpstream.analysis.open_values import ArmAges
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats

WINDOW, END = 60, 120
"""Periods of age, and the time of the data cut."""


@dataclass(frozen=True)
class PaymentWorld:
    """How an arm pays: a share of zeros; else one to three payments, some of them refunds.

    Payments are lognormal(3, sigma), or follow Pareto's law from 10 on, with index sigma.
    """

    decisions: int
    zeros: float
    sigma: float
    refunds: float
    early: float = 2.0
    """Ages are Beta(1, early) times the window: the larger, the earlier."""
    tail: Literal["lognormal", "pareto"] = "lognormal"
    growth: float = 0.6
    """Decisions are made at the time END * u**growth, u uniform: 1 is steady traffic, less is growing."""

    @property
    def value(self) -> float:
        """What a decision truly pays."""
        mean = 10 * self.sigma / (self.sigma - 1) if self.tail == "pareto" else float(np.exp(3 + self.sigma**2 / 2))
        return (1 - self.zeros) * 2 * mean * (1 - 2 * self.refunds)

    def draw_amounts(self, random: np.random.Generator, count: int) -> Floats:
        """What some payments are."""
        if self.tail == "pareto":
            return 10 * (1 + random.pareto(self.sigma, count))
        return random.lognormal(3.0, self.sigma, count)

    @property
    def mean_age(self) -> float:
        """The mean age of a payment."""
        return WINDOW / (1 + self.early)


@dataclass(frozen=True, eq=False)
class DrawnArm:
    """An arm as known at the cut, when its payments came, and what came later."""

    arm: ArmAges
    times: Floats
    later: float


def draw_arm(random: np.random.Generator, world: PaymentWorld) -> DrawnArm:
    """Decisions of growing traffic, unless the world says otherwise: more than half of them are open at the cut."""
    made = np.sort(END * random.random(world.decisions) ** world.growth)
    paying = np.flatnonzero(random.random(world.decisions) >= world.zeros)
    row = np.repeat(paying, random.integers(1, 4, len(paying)))
    amount = world.draw_amounts(random, len(row))
    amount = np.where(random.random(len(row)) < world.refunds, -amount, amount)
    age = random.beta(1.0, world.early, len(row)) * WINDOW
    times = made[row] + age
    seen = times <= END
    observed = np.minimum(np.floor(END - made), WINDOW).astype(np.int64)
    arm = ArmAges(made, observed, row[seen], np.floor(age[seen]).astype(np.int64), amount[seen], WINDOW)
    return DrawnArm(arm, times[seen], float(amount[~seen].sum()))


def make_table(*drawn: DrawnArm) -> AgeTable:
    """The table of some arms, as read from an imported log."""
    names = [f"arm {number}" for number in range(len(drawn))]
    header = Header(
        scenario={}, policy="recorded", kind="recorded", parameters={}, seed=0, run=0, arms=names,
        means=[None] * len(names), maxima=[None] * len(names), span=WINDOW, horizon=1, groups=None, clairvoyant=False,
        payments=True, window=float(WINDOW), until=float(END), imported={}, versions={},
    )  # fmt: skip
    return AgeTable(header, tuple(one.arm for one in drawn), tuple(one.times for one in drawn), float(END), 0.0, None)
