"""The lead of one arm over the others, look by look, and since when it has been clear.

Looks are at whole units of time, from the first at which enough decisions of all arms have been observed for the whole
window: before, only the beginning of what is paid could be compared, and an arm that pays later would seem worse. Data
without times are looked at once, at their end: the order of their rows need not be that of the decisions.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from tpstream.analysis.age_tables import AgeTable
from tpstream.analysis.boundaries import boundaries
from tpstream.analysis.open_values import value_errors
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats

MOST_LOOKS = 200
"""Days on which it is asked whether the lead is clear; in a longer plan, every second or third day, and so on."""
BLOCK = 50_000
"""Decisions whose errors are multiplied at a time."""


class Course(NamedTuple):
    """The lead of one arm over another at every look."""

    times: Floats
    differences: Floats
    errors: Floats
    bounds: Floats
    """The boundaries of the differences divided by their errors."""


def lead_courses(table: AgeTable, known: Sequence[int], first: int, end: float, alpha: float) -> Mapping[int, Course]:
    """The lead of the first arm over every other one, at every look at which all have decisions that are old enough.

    Of so many arms, one is called clear of all others by chance with at most the error that was asked for.
    """
    start = min(float(table.arms[arm].made[0]) for arm in known)
    step = max(1, int(np.ceil((end - start) / MOST_LOOKS)))
    looks = np.arange(np.floor(start) + step, np.floor(table.until + 1e-9) + 0.5, step)
    looks = np.array([time for time in looks if all(table.is_mature(arm, time) for arm in known)])
    if not has_times(table.header):
        looks = looks[-1:]
    if not len(looks):
        return {}
    share = np.clip((looks - start) / (end - start), 0.0, 1.0)
    values, errors = _course(table, known, looks)
    found = {}
    for arm in known:
        if arm == first:
            continue
        covariance = errors[first] + errors[arm]
        bounds = boundaries(covariance, 2 * alpha / len(known) * share)
        found[arm] = Course(looks, values[first] - values[arm], np.sqrt(np.diagonal(covariance)), bounds)
    return found


def has_times(header: Header) -> bool:
    """Whether decisions have times: those of imported tables without a column of times are numbered by their rows."""
    columns = (header.imported or {}).get("map")
    return columns is None or any("time" in columns.get(table, {}) for table in ("decisions", "payments"))


def _course(table: AgeTable, known: Sequence[int], looks: Floats) -> tuple[dict[int, Floats], dict[int, Floats]]:
    """The values of the arms at all looks, and the covariance of their errors, each from what was known at the time."""
    values = {arm: np.empty(len(looks)) for arm in known}
    covariances = {}
    for arm in known:
        errors = np.zeros((len(looks), table.arms[arm].count), dtype=np.float32)
        for place, time in enumerate(looks):
            then = table.arms[arm].cut(table.times[arm], float(time), table.whole)
            values[arm][place], errors[place, : then.count] = value_errors(then, table.periods)
        # In double precision, so that the matrix has no negative eigenvalues.
        blocks = (errors[:, first : first + BLOCK].astype(np.float64) for first in range(0, errors.shape[1], BLOCK))
        covariances[arm] = sum((block @ block.T for block in blocks), np.zeros((len(looks), len(looks))))
    return values, covariances


def clear_since(courses: Mapping[int, Course]) -> tuple[float | None, float]:
    """The time since which the lead over all others has been clear, or None; and the highest of the last boundaries."""
    since: float | None = -np.inf if courses else None
    last = 0.0
    for course in courses.values():
        crossing = clear_from(course.differences, course.errors, course.bounds)
        since = None if since is None or crossing is None else max(since, float(course.times[crossing]))
        finite = course.bounds[np.isfinite(course.bounds)]
        last = max(last, float(finite[-1]) if len(finite) else 0.0)
    return since, last


def clear_from(differences: Floats, errors: Floats, bounds: Floats) -> int | None:
    """The first look at which the boundary was crossed upwards and after which the sign has not changed."""
    negative = np.flatnonzero(differences <= 0)
    begin = int(negative[-1]) + 1 if len(negative) else 0
    crossed = np.flatnonzero(differences[begin:] > bounds[begin:] * errors[begin:])
    return begin + int(crossed[0]) if len(crossed) else None


def best_probabilities(values: Floats, errors: Floats) -> Floats:
    """The probability of each of some independent normal variables to be the largest, by quadrature."""
    steps = np.linspace(-8.0, 8.0, 4001)
    found = np.empty(len(values))
    for number, (value, error) in enumerate(zip(values, errors, strict=True)):
        points = value + error * steps
        below = np.prod(
            [stats.norm.cdf((points - values[k]) / errors[k]) for k in range(len(values)) if k != number], axis=0
        )
        found[number] = np.trapezoid(stats.norm.pdf(steps) * below, steps)
    chances: Floats = found / found.sum()
    return chances


def best_of_correlated(values: Floats, errors: Floats) -> Floats:
    """The same for estimates from the same decisions: `errors` is what each decision adds, a row for each estimate."""
    covariance = errors @ errors.T
    found = np.ones(len(values))
    for number in range(len(values)):
        lead = np.delete(np.eye(len(values)), number, axis=0)
        lead[:, number] -= 1.0  # the others minus this one
        if len(lead):
            spread = lead @ covariance @ lead.T
            spread += np.eye(len(lead)) * 1e-12 * max(float(np.trace(spread)), 1e-300)
            others = stats.multivariate_normal(lead @ values, spread, allow_singular=True, seed=0)
            found[number] = others.cdf(np.zeros(len(lead)))
    chances: Floats = found / found.sum()
    return chances
