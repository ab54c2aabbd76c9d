"""The allocation rules that Villar, Bowden and Wason (2015) compare, simulated once more.

Binary outcomes that are known at once, Beta(1, 1) priors, a control and one or three treatments, of which the last may
be better. The published numbers are those of an independent simulation of 50,000 trials and more. Alpha is the
probability that a treatment is called better although none is, power that the better one is. z tests are one-sided and
unpooled, at 5 % divided by the number of treatments. The deterministic rules leave an arm with few patients; there
Fisher's exact test has a cut-off at which alpha is 5 %, found by as many trials more; since theirs and ours are both
simulated, the error of the cut-off counts in the errors of alpha and power. EPS is the share of patients on
the better arm, ENS the expected number of successes.
"""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from tpstream.looks.proportions import fisher_p
from tpstream.model.arrays import Floats
from tpstream.paper.immediate_trials import Trials, simulate_trials
from tpstream.paper.published import Effort, Number, deviation, mean, share
from tpstream.policies.gittins_table import gittins_table

ALPHA = 0.05
SIMULATED = 50_000
"""Trials behind the published numbers, at least."""
OTHERS = 1_000_000
"""The number of the first of the trials that give the cut-offs."""
CONTROL, BETTER = 0.3, 0.5
BELIEF, GITTINS = "gittins:discount=0,ties=first", "gittins:ties=first"
RANDOM_BELIEF = "gittins:discount=0,ties=random"
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


INDICES = {0.99: 0.8699, 0.995: 0.9032}
"""The Gittins index of an arm of which nothing is known, Beta(1, 1), by the discount."""


def gittins_indices(_: Effort) -> list[Number]:
    """Gittins indices of an unknown arm; nothing is simulated."""
    return [
        Number(
            "Gittins indices",
            f"Beta(1, 1), discount {discount:g}",
            0.5 + float(gittins_table(discount, (1.0, 1.0), 10)[0]),  # the table has what is added to the mean
            0.0,
            published,
            rounding=0.00005,
        )
        for discount, published in INDICES.items()
    ]


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
    if rule in EXACT:
        yield from _exact_tests(table, effort, rule, row, null, better)
    else:
        level = float(norm.isf(ALPHA / (arms - 1)))
        largest = np.fmax.reduce([null.z(arm) for arm in range(1, arms)])
        yield share(table, f"{rule}: alpha", is_above(largest, level), row.alpha, SIMULATED)
        yield share(table, f"{rule}: power", is_above(better.z(), level), row.power, SIMULATED)
    successes = better.successes.sum(axis=1)
    yield from _benefits(table, rule, better, row)
    if not math.isnan(row.deviation):
        yield deviation(table, f"{rule}: standard deviation of successes", successes, row.deviation, SIMULATED, 0.005)
    if not math.isnan(row.bias):
        yield _bias(table, f"{rule}: bias", better, row.bias)._replace(known=rule == "current belief")
    if rule == "current belief":
        by_chance = simulate_trials(effort, RANDOM_BELIEF, unequal, patients)
        chance = f"{rule} with random ties"
        yield from (one._replace(known=True) for one in _benefits(table, chance, by_chance, row))
        yield _bias(table, f"{chance}: bias", by_chance, row.bias)


def _benefits(table: str, rule: str, better: Trials, row: Row) -> Iterator[Number]:
    """The share of patients on the better arm, and the expected successes."""
    on_better, successes = better.patients[:, -1] / better.patients[0].sum(), better.successes.sum(axis=1)
    spread = float(np.std(successes)) if math.isnan(row.deviation) else row.deviation
    yield mean(table, f"{rule}: EPS", on_better, row.on_better, float(np.std(on_better)), SIMULATED, 0.0005)
    yield mean(table, f"{rule}: ENS", successes, row.successes, spread, SIMULATED, 0.005)


def _bias(table: str, what: str, better: Trials, published: float) -> Number:
    """The mean error of the estimated difference, in trials with patients on both arms."""
    difference = better.estimates[:, -1] - better.estimates[:, 0]
    errors = difference[~np.isnan(difference)] - (BETTER - CONTROL)
    return mean(table, what, errors, published, float(np.std(errors)), SIMULATED, 0.0005)


def _exact_tests(table: str, effort: Effort, rule: str, row: Row, null: Trials, better: Trials) -> Iterator[Number]:
    """Alpha and power of Fisher's test with a cut-off that other trials give, with the error of the cut-off."""
    equal, patients = (CONTROL,) * null.patients.shape[1], int(null.patients[0].sum())
    others = p_values(simulate_trials(effort, RULES[rule], equal, patients, first=OTHERS))
    for what, trials, published in (("alpha", null, row.alpha), ("power", better, row.power)):
        values = p_values(trials)
        found = share(table, f"{rule}: {what}", 1 - is_above(values, cut_off(others)), published, SIMULATED)
        errors = []
        for error, count in ((found.error, effort.trials), (found.published_error, SIMULATED)):
            off = math.sqrt(ALPHA * (1 - ALPHA) / count)  # the error of the alpha that a cut-off has
            change = np.mean(is_above(values, cut_off(others, -off)) - is_above(values, cut_off(others, off))) / 2
            errors.append(math.hypot(error, float(change)))
        yield found._replace(error=errors[0], published_error=errors[1])


def is_above(values: Floats, level: float) -> Floats:
    """1 for values above the level, 0 for the others and for those that are not known."""
    return (values > level).astype(np.float64)


def p_values(trials: Trials) -> Floats:
    """Fisher's, of the last arm against the control."""
    return fisher_p(trials.successes[:, -1], trials.patients[:, -1], trials.successes[:, 0], trials.patients[:, 0])


def cut_off(values: Floats, more: float = 0.0) -> float:
    """The p value that a share of 5 % (and so much more) of trials without a better arm reach or fall below."""
    place = math.floor((ALPHA + more) * len(values)) - 1
    return float(np.sort(values)[min(max(place, 0), len(values) - 1)])
