"""The statistic of each rule of a design: posterior probabilities, z values and p values of all arms at a look.

All are in the direction of benefit: if low values of the endpoint are good, they are those of its negative, or of the
failures. A statistic is NaN for an arm that it does not compare, and where it is not defined yet.
"""

import math
from dataclasses import dataclass

import numpy as np

from tpstream.looks.analysis import Moments, estimate_arms, observe
from tpstream.looks.design import Design, Rule
from tpstream.looks.patients import Patients
from tpstream.looks.posteriors import (
    all_equivalent_probability,
    best_probabilities,
    better_probabilities,
    equivalent_probabilities,
)
from tpstream.looks.proportions import fisher_p, over_root, z_of_means, z_of_proportions
from tpstream.looks.survival import WHOLE, log_rank_z, restricted_mean
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import cached


@dataclass(frozen=True, eq=False)
class FollowUp:
    """How long each patient was followed, and whether he died at the end of that time."""

    arm: Ints
    times: Floats
    died: Bools


@dataclass(frozen=True, eq=False)
class LookData:
    """What the rules of a design look at."""

    moments: Moments
    follow_up: FollowUp | None
    """Only of survival."""


def look_data(design: Design, patients: Patients, entered_by: float, known_by: float) -> LookData:
    """What is counted at a look; see `estimate_arms`."""
    moments = estimate_arms(design, patients, entered_by, known_by)
    if not any(rule.method in ("logrank", "rmst") for rule in design.rules):
        return LookData(moments, None)
    due_by = entered_by if known_by == entered_by else np.inf
    values, seen = observe(design, patients, entered_by, known_by, due_by)
    times, died = _follow(values, seen, np.diff(design.visits, prepend=0.0))
    followed = times > 0
    return LookData(moments, FollowUp(patients.arm[followed], times[followed], died[followed]))


@cached
def _follow(values: Floats, seen: Bools, lengths: Floats) -> tuple[Floats, Bools]:
    """How long patients lived through the intervals seen in a row, and whether they died then."""
    times, died = np.zeros(len(seen)), np.zeros(len(seen), dtype=np.bool_)
    for row in range(len(seen)):
        for part in range(len(lengths)):
            if not seen[row, part]:
                break
            times[row] += values[row, part]
            if values[row, part] < WHOLE * lengths[part]:
                died[row] = True
                times[row] = max(times[row], np.finfo(np.float64).tiny)
                break
    return times, died


def rule_statistic(design: Design, rule: Rule, data: LookData, is_open: Bools) -> Floats:
    """The statistic of a rule for each arm; NaN for closed arms, and for the control in comparisons with it."""
    found = np.full(design.arms, np.nan)
    if rule.against == "control":
        others = [arm for arm in range(design.arms) if is_open[arm] and arm != design.control]
        if others:
            found[others] = _against_control(design, rule, data, np.array([design.control, *others]))
        return found
    arms = np.flatnonzero(is_open)
    first, second = _posteriors(design, rule, data.moments, arms)
    if np.isnan(second).any():
        return found
    if rule.against == "best":
        found[arms] = best_probabilities(rule.model, first, second)
    else:
        found[arms] = all_equivalent_probability(rule.model, first, second, rule.margin)
    return found


def _against_control(design: Design, rule: Rule, data: LookData, arms: Ints) -> Floats:
    """The statistics of arms, the first of which is the control, without that of the control."""
    if rule.method == "posterior":
        first, second = _posteriors(design, rule, data.moments, arms)
        probabilities = equivalent_probabilities if rule.kind == "equivalence" else better_probabilities
        return probabilities(rule.model, first, second, 0, rule.margin)[1:]
    if rule.method == "fisher":
        return _fisher(design, rule, data.moments, arms)
    if rule.method == "logrank":
        return _log_rank(design, data, arms)
    moments = data.moments if rule.method == "z" else _restricted_means(design, data)
    return _z(design, rule, moments, arms)


def _posteriors(design: Design, rule: Rule, moments: Moments, arms: Ints) -> tuple[Floats, Floats]:
    """The parameters of the posteriors of these arms, those of benefit."""
    counted, estimate, variance = (one[arms] for one in moments)
    if rule.model == "beta":
        assert rule.prior is not None  # noqa: S101 (a Beta posterior has one)
        successes = np.where(counted > 0, counted * estimate, 0.0)
        first, second = rule.prior[0] + successes, rule.prior[1] + counted - successes
        return (second, first) if design.lower else (first, second)
    sign = -1.0 if design.lower else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(variance > 0, 1 / variance, np.nan)
        if rule.prior is not None:
            mean, deviation = rule.prior
            own = np.where(counted > 0, precision, 0.0)
            precision = own + deviation**-2
            estimate = (np.where(counted > 0, own * estimate, 0.0) + mean * deviation**-2) / precision
        return sign * estimate, 1 / np.sqrt(precision)


def _z(design: Design, rule: Rule, moments: Moments, arms: Ints) -> Floats:
    """Differences over their standard errors; of equivalence, the smaller of the two one-sided ones."""
    sign = -1.0 if design.lower else 1.0
    counted, estimate, variance = (one[arms] for one in moments)
    if rule.pooled:
        if design.counts:
            successes = counted * estimate
            pairs = successes[1:], counted[1:], successes[0], counted[0]
            return sign * z_of_proportions(*pairs, pooled=True)
        sample = variance * counted
        one, other = (estimate[1:], sample[1:], counted[1:]), (estimate[0], sample[0], counted[0])
        return sign * z_of_means(*one, *other, pooled=True)
    difference, of_difference = sign * (estimate[1:] - estimate[0]), variance[1:] + variance[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        if rule.kind == "equivalence":
            return np.minimum(
                over_root(difference + rule.margin, of_difference), over_root(rule.margin - difference, of_difference)
            )
        return over_root(difference - rule.margin, of_difference)


def _fisher(design: Design, rule: Rule, moments: Moments, arms: Ints) -> Floats:
    """The p values: of the arm being better, or, of inferiority, of the control being better."""
    counted, estimate, _ = (one[arms] for one in moments)
    successes = np.where(counted > 0, counted * estimate, 0.0).round()
    if design.lower:
        successes = counted - successes
    one, other = (
        (successes[1:], counted[1:]),
        (np.full(len(arms) - 1, successes[0]), np.full(len(arms) - 1, counted[0])),
    )
    return fisher_p(*other, *one) if rule.kind == "inferiority" else fisher_p(*one, *other)


def _log_rank(design: Design, data: LookData, arms: Ints) -> Floats:
    follow = data.follow_up
    assert follow is not None  # noqa: S101 (it is there for this rule)
    found = np.empty(len(arms) - 1)
    for place, arm in enumerate(arms[1:]):
        rows = (follow.arm == arm) | (follow.arm == arms[0])
        found[place] = log_rank_z(follow.times[rows], follow.died[rows], follow.arm[rows] == arm)
    return -found if design.lower else found


def _restricted_means(design: Design, data: LookData) -> Moments:
    """The restricted means of all arms up to the last visit that counts."""
    follow = data.follow_up
    assert follow is not None  # noqa: S101 (it is there for this rule)
    found = np.full((3, design.arms), np.nan)
    for arm in range(design.arms):
        rows = follow.arm == arm
        found[0, arm] = np.count_nonzero(rows)
        if found[0, arm]:
            found[1:, arm] = restricted_mean(follow.times[rows], follow.died[rows], design.due)
    return Moments(*found)


def information(design: Design, rule: Rule, data: LookData) -> Floats:
    """How much is known about each comparison with the control, in units that do not matter; NaN for the control.

    It grows as 1 / (1 / n + 1 / n of the control), with deaths (logrank), or as 1 / variance of the difference (rmst,
    and z where patients count who are not complete).
    """
    control = design.control
    if rule.method == "logrank":
        assert data.follow_up is not None  # noqa: S101 (it is there for this rule)
        deaths = np.bincount(data.follow_up.arm[data.follow_up.died], minlength=design.arms)
        found = deaths + deaths[control]
    else:
        with np.errstate(divide="ignore"):
            if rule.method == "rmst":
                each = _restricted_means(design, data).variance
            elif design.looks.analysis == "complete":
                each = 1 / data.moments.counted
            else:
                each = data.moments.variance
            found = 1 / (each + each[control])
    known: Floats = found.astype(np.float64)
    known[control] = math.nan
    return known
