"""Cells: every published number beside ours, and whether it is as near as an exact implementation must be.

Agreement: a number of ours beside a published one, both with their intervals.
"""

import math
from dataclasses import dataclass

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.paper.limits import ratio
from tpstream.paper.published import Z95, setting2_percent, setting2_regret, spotify_regret
from tpstream.paper.reproduction import Reproduction
from tpstream.paper.settings import DELAYED, EW, FAMILY, FR, ROUND_ROBIN, SETTINGS, UCB1, family_scenario

ALLOWED = 1.96
"""So many standard errors of the difference are allowed: two equal means differ by more in 5 % of comparisons."""


@dataclass(frozen=True)
class Agreement:
    """Our mean and a published one; `half` is half of a 95 % interval."""

    ours: float
    half: float
    published: float
    published_half: float

    @property
    def percent(self) -> float:
        """The difference in percent of the published number."""
        return 100 * (self.ours - self.published) / self.published

    @property
    def errors(self) -> float:
        """The difference in standard errors of the difference; the two have independent random numbers."""
        return (self.ours - self.published) / (math.hypot(self.half, self.published_half) / Z95)

    @property
    def agrees(self) -> bool:
        """Whether the difference is within what both intervals together allow."""
        return abs(self.errors) <= ALLOWED


def agreement(values: Floats, published: float, published_half: float) -> Agreement:
    """Our runs beside a published number, with the paper's kind of interval: 1.96 standard deviations of the mean."""
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Agreement(float(np.mean(values)), half, published, published_half)


POLICY = {"ucb1": UCB1, "delayed-ucb1": DELAYED, "tp-ucb-fr": FR, "tp-ucb-ew": EW}
"""The policy behind each published number."""
TOLERANCE = {UCB1: 2.5, DELAYED: 3.0, ROUND_ROBIN: 3.0, FR: 1.5, EW: 1.5}
"""How far our regret may be from the published one, in percent."""
WIDER = {("2.3", 100, 50, DELAYED): 4.0, ("2.3", 100, 50, ROUND_ROBIN): 4.0}
"""Cells with a tolerance of their own: runs of Delayed-UCB1 vary most here."""
POINTS = 1.5
"""How far a percentage of Delayed-UCB1's regret may be from the published one, in points."""


@dataclass(frozen=True)
class Cell:
    """A published number and ours."""

    setting: str
    span: int
    groups: int
    policy: str
    agreement: Agreement
    tolerance: float | None
    """In percent of the published number; None if nothing is promised."""

    @property
    def within(self) -> bool | None:
        """Whether it is within its tolerance."""
        return None if self.tolerance is None else abs(self.agreement.percent) <= self.tolerance


def family_cells(found: Reproduction, delayed: str = DELAYED) -> list[Cell]:
    """The cells of Settings 2, 2.1, 2.2 and 2.3 that were run, Delayed-UCB1 with that start."""
    cells = []
    for setting, span, groups, kind, regret, half in setting2_regret().itertuples(index=False):
        if not found.has(setting):
            continue
        policy = delayed if kind == "delayed-ucb1" else POLICY[kind]
        final = found.curves(family_scenario(setting, span, groups), policy).final
        tolerance = WIDER.get((setting, span, groups, policy), TOLERANCE[policy])
        cells.append(Cell(setting, span, groups, policy, agreement(final, regret, half), tolerance))
    order = {name: place for place, name in enumerate(FAMILY)}
    return sorted(cells, key=lambda cell: order[cell.setting])


@dataclass(frozen=True)
class Percentage:
    """A policy's regret in percent of Delayed-UCB1's, ours with its interval and the published one."""

    span: int
    groups: int
    policy: str
    ours: float
    half: float
    published: float
    printed_half: float
    """As printed: it is the policy's own, without Delayed-UCB1's."""
    true_half: float
    """With Delayed-UCB1's interval, from the table of regrets."""

    @property
    def points(self) -> float:
        """The difference in points."""
        return self.ours - self.published

    @property
    def errors(self) -> float:
        """The difference in standard errors."""
        return self.points / (math.hypot(self.half, self.true_half) / 1.96)

    @property
    def within(self) -> bool:
        """Whether it is within its tolerance."""
        return abs(self.points) <= POINTS


def percentages(found: Reproduction) -> list[Percentage]:
    """The main text's table on Setting 2, if it was run."""
    if not found.has("2"):
        return []
    regrets = {
        (span, groups, kind): (regret, half)
        for setting, span, groups, kind, regret, half in setting2_regret().itertuples(index=False)
        if setting == "2"
    }
    rows = []
    for span, groups, kind, percent, half in setting2_percent().itertuples(index=False):
        scenario = family_scenario("2", span, groups)
        ours = ratio(found.curves(scenario, POLICY[kind]).final, found.curves(scenario, DELAYED).final)
        own, own_half = regrets[span, groups, kind]
        delayed, delayed_half = regrets[span, groups, "delayed-ucb1"]
        true_half = percent * math.hypot(own_half / own, delayed_half / delayed)
        rows.append(
            Percentage(
                span,
                groups,
                POLICY[kind],
                100 * ours.value,
                100 * (ours.high - ours.low) / 2,
                percent,
                half,
                true_half,
            )
        )
    return rows


def spotify_cells(found: Reproduction) -> list[Cell]:
    """The Spotify table beside the synthetic stand-in, of which no agreement is promised."""
    if not found.has("spotify"):
        return []
    (scenario,) = SETTINGS["spotify"].scenarios
    return [
        Cell("spotify", 80, 20, policy, agreement(found.curves(scenario, policy).final, regret, half), None)
        for kind, regret, half in spotify_regret().itertuples(index=False)
        for policy in ((DELAYED, ROUND_ROBIN) if kind == "delayed-ucb1" else (POLICY[kind],))
    ]


def spotify_ucb1_at_half(found: Reproduction) -> Agreement:
    """UCB1's published Spotify regret beside ours after half of the rounds, which it fits better."""
    (scenario,) = SETTINGS["spotify"].scenarios
    curves = found.curves(scenario, UCB1)
    (published,) = (row for row in spotify_regret().itertuples(index=False) if row[0] == "ucb1")
    middle = curves.regret[:, curves.near(curves.rounds[-1] / 2)]
    return agreement(np.asarray(middle), published[1], published[2])
