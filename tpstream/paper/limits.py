"""Limits: whether any measured regret exceeds its upper bound, or grows more slowly than the lower bound allows.

Crossings: from which round on one policy's mean regret is below another's, with a bootstrap interval over runs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tpstream.analysis.intervals import LEVEL, RESAMPLES, t_interval
from tpstream.analysis.theory import bounds_of, fr_beats_ew_from, lower_slope
from tpstream.experiment.bounds import known_to_theory
from tpstream.model.arrays import Floats, Ints
from tpstream.paper.reproduction import Curves, Reproduction
from tpstream.scenario.scenario import PolicyChoice, Scenario

SMOOTH = "smooth-beta"
"""The kind of rewards whose groups are independent, as the theorems ask for."""


@dataclass(frozen=True)
class Ceiling:
    """How near any run of a policy came to its upper bound, at any checkpoint."""

    scenario: str
    policy: str
    share: float
    """The largest regret of a single run divided by the bound at that round."""
    covered: bool
    """Whether the theorem's assumptions hold: smooth rewards, and groups of which the world's are made."""


@dataclass(frozen=True)
class Floor:
    """How fast a policy's regret grows per ln T over the last nine tenths of the rounds, and how fast it must."""

    scenario: str
    policy: str
    slope: float
    low: float
    high: float
    least: float
    """The lower bound's coefficient: Theorem 2 for smooth rewards, Theorem 1 for others."""
    covered: bool

    @property
    def undercut(self) -> bool:
        """Whether the slope is below the bound by more than noise: its 95 % interval ends below it."""
        return self.high < self.least


def is_covered(scenario: Scenario, choice: PolicyChoice) -> bool:
    """Whether the theorems speak about this policy in this world."""
    groups, assumed = scenario.problem().groups, getattr(choice.parameters, "groups", None)
    if assumed is None:
        return True
    return scenario.rewards.kind == SMOOTH and groups is not None and groups % assumed == 0


def ceilings(found: Reproduction) -> list[Ceiling]:
    """The upper bound of every policy in every scenario against every run."""
    checks = []
    for setting, scenario, study in found.worlds():
        choices = {choice.label: choice for choice in map(scenario.policy, setting.policies)}
        for bound in bounds_of(scenario.problem(), known_to_theory(choices.values())):
            if bound.upper:
                share = float((study.regret(bound.name) / bound.at(study.rounds)).max())
                covered = is_covered(scenario, choices[bound.name])
                checks.append(Ceiling(scenario.name, bound.name, share, covered))
    return checks


def floors(found: Reproduction) -> list[Floor]:
    """The lower bound's slope against the slope of every policy in every scenario."""
    checks = []
    for setting, scenario, study in found.worlds():
        problem = scenario.problem()
        smooth = scenario.rewards.kind == SMOOTH and problem.groups is not None
        least = lower_slope(problem, problem.groups or 1) if smooth else lower_slope(problem)
        for choice in map(scenario.policy, setting.policies):
            slope = late_slope(Curves(study.rounds, study.regret(choice.label)))
            checks.append(Floor(scenario.name, choice.label, *slope, least, is_covered(scenario, choice)))
    return checks


def late_slope(curves: Curves) -> tuple[float, float, float]:
    """The mean slope in ln T from T/10 to T, with its 95 % interval over runs."""
    tenth = curves.near(curves.rounds[-1] / 10)
    growth = curves.final - curves.regret[:, tenth]
    interval = t_interval(growth / math.log(curves.rounds[-1] / curves.rounds[tenth]))
    return float(interval.mean), float(interval.low), float(interval.high)


@dataclass(frozen=True)
class Forecast:
    """From when on TP-UCB-FR is below TP-UCB-EW: by the bounds, and in the runs."""

    scenario: str
    predicted: int | None
    measured: float
    """Infinite if it is not at the end."""


def forecasts(found: Reproduction) -> list[Forecast]:
    """The predicted and the measured overtaking of every scenario in which both have the world's groups."""
    rows = []
    for setting, scenario, study in found.worlds():
        groups = scenario.problem().groups
        choices = [choice for choice in map(scenario.policy, setting.policies) if assumed(choice) == groups]
        fr, ew = ([choice.label for choice in choices if choice.form.name == f"tp-ucb-{kind}"] for kind in ("fr", "ew"))
        if groups is None or not (fr and ew):
            continue
        difference = study.regret(fr[0]).mean(axis=0) - study.regret(ew[0]).mean(axis=0)
        below = np.flatnonzero(difference >= 0)
        last = int(below[-1]) if below.size else -1
        measured = math.inf if last == len(difference) - 1 else float(study.rounds[last + 1])
        rows.append(Forecast(scenario.name, fr_beats_ew_from(scenario.problem(), groups), measured))
    return rows


def assumed(choice: PolicyChoice) -> int | None:
    """The groups that a policy assumes."""
    groups: int | None = getattr(choice.parameters, "groups", None)
    return groups


SEED = 20220723
"""Of the resamples; fixed, so that the same runs give the same interval."""


@dataclass(frozen=True)
class Estimate:
    """A number computed from all runs, with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


def bootstrap(runs: int, statistic: Callable[[Floats], Floats]) -> Estimate:
    """The percentile interval of a statistic; it is given weights of the runs (resample, run) that add up to 1 each."""
    stream = np.random.default_rng(SEED)
    weights = stream.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    values = np.sort(statistic(weights))
    tail = (1 - LEVEL) / 2
    # Order statistics, not interpolation: a resample without a crossing is infinite.
    low, high = values[int(np.floor(tail * (RESAMPLES - 1)))], values[int(np.ceil((1 - tail) * (RESAMPLES - 1)))]
    return Estimate(float(statistic(np.full((1, runs), 1 / runs))[0]), float(low), float(high))


def crossing(rounds: Ints, first: Floats, second: Floats) -> Estimate:
    """From which round on the first's mean regret (run, round) is below the second's, to the end.

    Between checkpoints the difference is taken as linear. The first checkpoint if it is below all along; infinite if
    it is not below at the end.
    """
    difference = first - second
    return bootstrap(len(difference), lambda weights: last_crossings(rounds, weights @ difference))


def last_crossings(rounds: Ints, differences: Floats) -> Floats:
    """The place after which each row stays negative."""
    above = differences >= 0
    last = above.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)  # the last checkpoint that is not negative
    after = np.minimum(last + 1, above.shape[1] - 1)
    row = np.arange(len(differences))
    high, low = differences[row, last], differences[row, after]
    with np.errstate(invalid="ignore", divide="ignore"):
        places = rounds[last] + (rounds[after] - rounds[last]) * high / (high - low)
    places = np.where(last == above.shape[1] - 1, np.inf, places)
    return np.where(above.any(axis=1), places, rounds[0].astype(np.float64))


def ratio(numerator: Floats, denominator: Floats) -> Estimate:
    """The ratio of two means over the same runs."""
    return bootstrap(len(numerator), lambda weights: (weights @ numerator) / (weights @ denominator))
