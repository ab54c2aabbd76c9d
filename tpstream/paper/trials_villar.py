"""The allocation rules that Villar, Bowden and Wason (2015) compare, simulated once more.

Binary outcomes that are known at once, Beta(1, 1) priors, a control and one or three treatments, of which the last may
be better. The published numbers are those of an independent simulation of 50,000 trials and more. Alpha is the
probability that a treatment is called better although none is, power that the better one is. z tests are one-sided and
unpooled, at 5 % divided by the number of treatments. The deterministic rules leave an arm with few patients; there
Fisher's exact test has a cut-off at which alpha is 5 %, found by as many trials more. EPS is the share of patients on
the better arm, ENS the expected number of successes.
"""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from tpstream.looks.proportions import fisher_p
from tpstream.model.arrays import Bools, Floats
from tpstream.paper.immediate_trials import Trials, simulate_trials
from tpstream.paper.published import Effort, Number, mean, share

ALPHA = 0.05
SIMULATED = 50_000
"""Trials behind the published numbers, at least."""
CONTROL, BETTER = 0.3, 0.5
BELIEF, GITTINS = "gittins:discount=0,ties=first", "gittins:ties=first"
RULES = {
    "fixed": "uniform",
    "Thompson": "best-probability:power=i/(2n)",
    "UCB": "beta-ucb",
    "current belief": BELIEF,
    "Gittins": GITTINS,
}
EXACT = ("current belief", "Gittins")
"""The rules whose trials are analysed by Fisher's exact test."""


class Row(NamedTuple):
    """What was published of a rule."""

    alpha: float
    power: float
    on_better: float
    successes: float
    deviation: float = math.nan
    bias: float = math.nan


TWO: Mapping[str, Row] = {
    "fixed": Row(0.052, 0.807, 0.500, 59.19, 5.95, 0.000),
    "Thompson": Row(0.062, 0.798, 0.683, 64.61, 6.49, 0.010),
    "UCB": Row(0.062, 0.795, 0.726, 65.90, 6.57, 0.015),
    "current belief": Row(0.052, 0.243, 0.790, 67.78, 12.02, 0.095),
    "Gittins": Row(0.051, 0.373, 0.872, 70.21, 7.14),
}
FOUR: Mapping[str, Row] = {
    "fixed": Row(0.046, 0.810, 0.250, 148.07),
    "UCB": Row(0.053, 0.875, 0.530, 171.70),
    "Thompson": Row(0.056, 0.876, 0.515, 170.40),
}


def villar_two(effort: Effort) -> list[Number]:
    """Two arms, 148 patients."""
    return [number for rule, row in TWO.items() for number in _compare("Villar: two arms", effort, rule, row, 2, 148)]


def villar_four(effort: Effort) -> list[Number]:
    """Four arms, 423 patients."""
    return [number for rule, row in FOUR.items() for number in _compare("Villar: four arms", effort, rule, row, 4, 423)]


def _compare(table: str, effort: Effort, rule: str, row: Row, arms: int, patients: int) -> Iterator[Number]:
    """The numbers of one rule, with and without a better arm."""
    equal, unequal = (CONTROL,) * arms, (*(CONTROL,) * (arms - 1), BETTER)
    null, better = (simulate_trials(effort, RULES[rule], rates, patients) for rates in (equal, unequal))
    cut = math.nan
    if rule in EXACT:
        cut = cut_off(simulate_trials(effort, RULES[rule], equal, patients, first=effort.trials))
    called = [np.array([_is_called(one, arm, cut) for arm in range(1, arms)]) for one in (null, better)]
    on_better = better.patients[:, -1] / patients
    successes, difference = better.successes.sum(axis=1), better.estimates[:, -1] - better.estimates[:, 0]
    deviation = float(np.std(successes)) if math.isnan(row.deviation) else row.deviation
    yield share(table, f"{rule}: alpha", called[0].any(axis=0), row.alpha, SIMULATED)
    yield share(table, f"{rule}: power", called[1][-1], row.power, SIMULATED)
    yield mean(table, f"{rule}: EPS", on_better, row.on_better, float(np.std(on_better)), SIMULATED, 0.0005)
    yield mean(table, f"{rule}: ENS", successes, row.successes, deviation, SIMULATED, 0.005)
    if not math.isnan(row.bias):
        known = difference[~np.isnan(difference)] - (BETTER - CONTROL)
        yield mean(table, f"{rule}: bias", known, row.bias, float(np.std(known)), SIMULATED, 0.0005)


def _is_called(trials: Trials, arm: int, cut: float) -> Bools:
    """Whether this arm is called better than the control: by the z test, or by Fisher's if there is a cut-off."""
    if math.isnan(cut):
        level = ALPHA / (trials.patients.shape[1] - 1)
        called: Bools = trials.z(arm) > norm.isf(level)
        return called
    return _p_values(trials, arm) <= cut


def _p_values(trials: Trials, arm: int = -1) -> Floats:
    """Fisher's, of this arm against the control."""
    return fisher_p(trials.successes[:, arm], trials.patients[:, arm], trials.successes[:, 0], trials.patients[:, 0])


def cut_off(null: Trials) -> float:
    """The largest p value of Fisher's test at which not more than 5 % of trials without a better arm call one."""
    values = np.sort(_p_values(null))
    return float(values[max(math.floor(ALPHA * len(values)) - 1, 0)])
