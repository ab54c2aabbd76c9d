"""The measured regret compared with the paper's bounds, a table for each kind of check.

`applies` says whether the theorem's assumptions hold: policies that use groups need smooth rewards, and a number of
groups that divides the environment's.
"""

import math

import numpy as np
import pandas as pd

from tpstream.analysis.intervals import t_interval
from tpstream.analysis.theory import bounds_of, fr_beats_ew_from, lower_slope
from tpstream.model.arrays import Floats
from tpstream.paper.reproduction import Curves, Reproduction
from tpstream.paper.settings import EW, FR
from tpstream.scenario.bounds import policy_groups
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario

SMOOTH = "smooth-beta"
"""The kind of rewards whose groups are independent, as the theorems assume."""


def upper_checks(found: Reproduction) -> pd.DataFrame:
    """scenario, policy, applies, and `share`: the largest regret of any run at any checkpoint, divided by the bound."""
    rows = []
    for setting, scenario, study in found.items():
        choices = {choice.label: choice for choice in map(scenario.policy, setting.policies)}
        for bound in bounds_of(scenario.problem(), policy_groups(choices.values())):
            if bound.upper:
                share = float((study.regret(bound.name) / bound.at(study.rounds)).max())
                rows.append((scenario.name, bound.name, _applies(scenario, choices[bound.name]), share))
    return pd.DataFrame(rows, columns=["scenario", "policy", "applies", "share"])


def lower_checks(found: Reproduction) -> pd.DataFrame:
    """scenario, policy, applies, and how fast the regret grows over the last nine tenths of the rounds.

    `slope` is the growth per ln T with its 95 % interval `low` to `high`; `least` the coefficient of the lower bound
    (Theorem 2 for smooth rewards, Theorem 1 for others); `undercut` means that the whole interval is below it.
    """
    rows = []
    for setting, scenario, study in found.items():
        problem = scenario.problem()
        least = lower_slope(problem, problem.groups or 1 if scenario.rewards.kind == SMOOTH else 1)
        for choice in map(scenario.policy, setting.policies):
            growth = t_interval(_late_slopes(Curves(study.rounds, study.regret(choice.label))))
            slope = float(growth.mean), float(growth.low), float(growth.high)
            rows.append((scenario.name, choice.label, _applies(scenario, choice), *slope, least))
    table = pd.DataFrame(rows, columns=["scenario", "policy", "applies", "slope", "low", "high", "least"])
    return table.assign(undercut=table["high"] < table["least"])


def overtakings(found: Reproduction) -> pd.DataFrame:
    """From which round on TP-UCB-FR is below TP-UCB-EW: `predicted` by the bounds, `measured` in the mean of the runs.

    A row for each scenario in which both assume the environment's groups; infinite if it is not below at the end.
    """
    rows = []
    for setting, scenario, study in found.items():
        problem = scenario.problem()
        policies = policy_groups(map(scenario.policy, setting.policies))
        labels = {kind: label for label, kind, groups in policies if groups == problem.groups}
        if problem.groups is None or not {FR, EW} <= labels.keys():
            continue
        fr, ew = (study.regret(labels[kind]).mean(axis=0) for kind in (FR, EW))
        not_below = np.flatnonzero(fr >= ew)
        first_below = int(not_below[-1]) + 1 if len(not_below) else 0
        measured = float(study.rounds[first_below]) if first_below < len(fr) else math.inf
        predicted = fr_beats_ew_from(problem, problem.groups)
        rows.append((scenario.name, math.inf if predicted is None else predicted, measured))
    return pd.DataFrame(rows, columns=["scenario", "predicted", "measured"])


def _applies(scenario: Scenario, choice: PolicyChoice) -> bool:
    """Whether what the policy assumes of groups holds in this world; one group, or none, assumes nothing."""
    groups, assumed = scenario.problem().groups, getattr(choice.parameters, "groups", None)
    if assumed in (None, 1):
        return True
    return scenario.rewards.kind == SMOOTH and groups is not None and groups % assumed == 0


def _late_slopes(curves: Curves) -> Floats:
    """The growth of every run's regret per ln T, from T/10 to T."""
    tenth = curves.nearest(curves.rounds[-1] / 10)
    slopes: Floats = (curves.final - curves.regret[:, tenth]) / math.log(curves.rounds[-1] / curves.rounds[tenth])
    return slopes
