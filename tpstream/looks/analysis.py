"""The estimate of each arm's endpoint at a look, from the patients who are counted, and its variance.

The endpoint of patient i is the sum over parts of w_j x_ij. With the cut c of the data and the time t_i of enrolment:

- complete: patients with t_i + due <= c, all of whose parts with a weight are known. One of whom such a part is lost is
  left out, or its lost parts count with their worst value. Nobody is counted before he is due because he happens to be
  known early: that would favour outcomes that are known sooner. The estimate is the mean, its variance s^2 / n.
- available: part j of the n_j patients with t_i + v_j <= c of whom it is known has the mean m_j. The estimate is the
  sum of w_j m_j. Its variance comes from patients, since the parts of one are not independent:
  the sum over i of (sum over j of w_j (x_ij - m_j) / n_j)^2.
- imputed: in each arm the endpoint is predicted by linear regressions, one for each visit: that of the patients whose
  endpoint is known on all visits but the last; that of these predictions on all visits but the last two, of patients
  who have these predictions; and so on. The estimate is the mean of all endpoints, with the prediction from the visits
  known in a row in place of an endpoint that is not known. With q_ij the endpoint of patient i as predicted after
  visit j (the endpoint itself where it is known, and for j = 0 the estimate) and n_j the patients who were regressed on
  j visits, its variance is the sum over i of (sum over j of s_j (q_i,j+1 - q_ij) / n_j)^2, each over the n_j patients.
  Residuals are too small by what k_j = j coefficients took up (none where only a mean was fitted), which matters as
  far as others are predicted by them: s_j^2 = 1 + f_j k_j / (n_j - k_j - 1), with f_j the share, of the patients whose
  first j visits are known, of whom the next prediction is not.

Variances are multiplied with m / (m - 1), m the least number of patients of whom a part is known, so that `complete`
has the usual one; but not where the endpoint lies between 0 and 1, so that it is p (1 - p) / n for a binary one. With
everything known all three are equal.
"""

import math
from typing import NamedTuple

import numpy as np

from tpstream.looks.design import Design
from tpstream.looks.patients import Patients
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import cached

FEWEST = 2
"""A regression needs so many patients for each of its coefficients; with fewer it has only a mean."""


class Moments(NamedTuple):
    """The estimates of all arms."""

    counted: Floats
    """Patients who are counted; where parts count one by one, those of whom at least one counts."""
    estimate: Floats
    """NaN where nobody is counted."""
    variance: Floats
    """Of the estimate; NaN where it is not known."""


def estimate_arms(design: Design, patients: Patients, entered_by: float, known_by: float) -> Moments:
    """The estimates from patients enrolled by one time, with what is known of them by another.

    If these differ, all of their parts count, whether they were due or not.
    """
    due_by = entered_by if known_by == entered_by else np.inf
    observed = observe(design, patients, entered_by, known_by, due_by)
    if design.looks.analysis == "imputed":
        return _imputed(design, patients, observed, entered_by)
    if design.looks.analysis == "complete":
        _keep_complete(patients.entered, observed.seen, design.weights, design.due, due_by)
    return _by_parts(design, patients, observed)


def outcome_sums(design: Design, patients: Patients) -> Floats:
    """The sum of the endpoints of each arm's patients, of what is known of them in the end."""
    here = patients.arm >= 0
    known = np.where(np.isfinite(patients.known[here]), patients.values[here], 0.0)
    return np.bincount(patients.arm[here], known @ design.weights, design.arms).astype(np.float64)


class Observed(NamedTuple):
    """What is counted of each patient, (patients, span): the value of each part, and whether it counts."""

    values: Floats
    seen: Bools


def observe(design: Design, patients: Patients, entered_by: float, known_by: float, due_by: float) -> Observed:
    """The parts of patients who entered by a time that are known, and due, by these times."""
    values, seen = np.empty_like(patients.values), np.zeros(patients.values.shape, dtype=np.bool_)
    failure = design.dropouts == "failure"
    worst = design.worst if failure else design.weights
    _observe(patients, design.visits, worst, failure, entered_by, known_by, due_by, values, seen)
    return Observed(values, seen)


@cached
def _observe(
    patients: Patients,
    visits: Floats,
    worst: Floats,
    failure: bool,  # noqa: FBT001
    entered_by: float,
    known_by: float,
    due_by: float,
    values: Floats,
    seen: Bools,
) -> None:
    for row in range(len(seen)):
        entered = patients.entered[row]
        if entered > entered_by:
            continue
        for part in range(len(visits)):
            if entered + visits[part] > due_by:
                continue
            if patients.known[row, part] <= known_by:
                values[row, part] = patients.values[row, part]
                seen[row, part] = True
            elif failure and patients.lost[row, part] <= known_by:
                values[row, part] = worst[part]
                seen[row, part] = True


@cached
def _keep_complete(entered: Floats, seen: Bools, weights: Floats, due: float, due_by: float) -> None:
    """Leave only patients whose endpoint is due and all of whose parts with a weight are seen."""
    for row in range(len(seen)):
        complete = entered[row] + due <= due_by
        for part in range(len(weights)):
            complete = complete and (weights[part] == 0.0 or seen[row, part])
        if not complete:
            seen[row] = False


@cached
def _by_part(arm: Ints, values: Floats, seen: Bools, weights: Floats, arms: int) -> tuple[Floats, Floats, Floats]:
    """Of the parts that are seen: the patients of each arm and part, their means, and each patient's error."""
    numbers, means, errors = np.zeros((arms, len(weights))), np.zeros((arms, len(weights))), np.zeros(len(arm))
    for row in range(len(arm)):
        for part in range(len(weights)):
            if seen[row, part]:
                numbers[arm[row], part] += 1.0
                means[arm[row], part] += values[row, part]
    for one in range(arms):
        for part in range(len(weights)):
            means[one, part] = means[one, part] / numbers[one, part] if numbers[one, part] > 0.0 else np.nan
    for row in range(len(arm)):
        for part in range(len(weights)):
            if seen[row, part] and weights[part] != 0.0:
                own = arm[row], part
                errors[row] += weights[part] * (values[row, part] - means[own]) / numbers[own]
    return numbers, means, errors


def _by_parts(design: Design, patients: Patients, observed: Observed) -> Moments:
    """The estimates from the parts that are seen."""
    chosen = design.weighted
    numbers, means, errors = _by_part(patients.arm, *observed, design.weights, design.arms)
    counts = observed.seen[:, chosen].any(axis=1)
    arm = patients.arm[counts]
    counted = np.bincount(arm, minlength=design.arms).astype(np.float64)
    squares = np.bincount(arm, errors[counts] ** 2, design.arms).astype(np.float64)
    variance = squares * _usual(numbers[:, chosen].min(axis=1), counts=design.counts)
    return Moments(counted, means[:, chosen] @ design.weights[chosen], variance)


def _usual(numbers: Floats, *, counts: bool) -> Floats:
    """The factor of variances of means of so many patients; NaN where they do not tell a variance."""
    factors = np.full(len(numbers), np.nan)
    enough = numbers > (0 if counts else 1)
    factors[enough] = 1.0 if counts else numbers[enough] / (numbers[enough] - 1)
    return factors


def _imputed(design: Design, patients: Patients, observed: Observed, entered_by: float) -> Moments:
    """The estimates with predictions in place of missing parts."""
    found = np.full((3, design.arms), np.nan)
    for arm in range(design.arms):
        # Whoever came later would change the last bit: products of matrices are rounded by their size.
        rows = (patients.arm == arm) & (patients.entered <= entered_by)
        found[:, arm] = _imputed_arm(design, observed.values[rows], observed.seen[rows])
    return Moments(*found)


def _imputed_arm(design: Design, values: Floats, seen: Bools) -> tuple[float, float, float]:
    """The patients of one arm who are counted, the estimate and its variance."""
    visits = np.cumprod(seen, axis=1).sum(axis=1)  # so many visits in a row are known
    whole = seen[:, design.weighted].all(axis=1)
    counted = float(np.count_nonzero(whole | (visits > 0)))
    if not whole.any():
        return counted, np.nan, np.nan
    parts = np.where(seen, values, 0.0)
    predicted, reached, errors = parts @ design.weights, whole, np.zeros(len(seen))
    for visit in range(seen.shape[1] - 1, -1, -1):
        known = visits >= visit
        fit = reached & known
        number = int(np.count_nonzero(fit))
        if not number:
            continue
        used = visit if number >= FEWEST * (visit + 1) else 0
        history = np.column_stack([np.ones(len(seen)), parts[:, :used]])
        before = history @ np.linalg.lstsq(history[fit], predicted[fit], rcond=None)[0]
        missing = 1 - number / np.count_nonzero(known)
        scale = math.sqrt(1 + missing * used / (number - used - 1)) / number
        errors[fit] += (predicted[fit] - before[fit]) * scale
        predicted, reached = np.where(known, before, predicted), reached | known
    usual = _usual(np.array([np.count_nonzero(whole)]), counts=design.counts)
    return counted, float(before[0]), float((errors**2).sum() * usual[0])
