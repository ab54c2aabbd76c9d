"""What makes the answer of a log doubtful: arms that got other traffic, started later, or pay otherwise than before."""

from datetime import datetime, timedelta

import numpy as np
from scipy import stats

from tpstream.analysis.age_tables import AgeTable
from tpstream.analysis.open_values import FEWEST, ArmAges, estimate
from tpstream.model.units import count_of

SIGNIFICANCE = 1e-3
"""The chance of a warning about traffic, or a drift, without a reason."""
LATER = 0.05
"""The share of the time of all decisions by which an arm may begin after the first one."""
FEWEST_IN_CELL = 5
"""Decisions that are expected in a cell of the table of arms and hours, for the test to hold."""


def find_warnings(table: AgeTable, ages: int) -> tuple[str, ...]:
    """All warnings, in words."""
    return (*_traffic(table), *_late_starts(table), *_drifts(table, ages))


def _traffic(table: AgeTable) -> list[str]:
    """Arms whose decisions are spread over weekdays or hours otherwise than those of the others."""
    header = table.header
    if header.origin is None or header.time_unit not in ("hour", "day", "week"):
        return []
    days = {"hour": 1 / 24, "day": 1.0, "week": 7.0}[header.time_unit]
    start = datetime.fromisoformat(header.origin)
    midnight = (start - start.replace(hour=0, minute=0, second=0)) / timedelta(days=1)
    found = []
    clocks = [arm.made * days + midnight for arm in table.arms if arm.count]
    for what, cells, places in (
        ("weekday", 7, [np.floor(clock) % 7 for clock in clocks]),
        ("time of day", 4, [np.floor(clock % 1 * 4) for clock in clocks]),
    ):
        counts = np.array([np.bincount(place.astype(np.int64), minlength=cells) for place in places])
        counts = counts[:, counts.any(axis=0)]
        if min(counts.shape) < 2:  # noqa: PLR2004 (nothing to compare)
            continue
        test = stats.chi2_contingency(counts)
        if test.expected_freq.min() >= FEWEST_IN_CELL and test.pvalue < SIGNIFICANCE:
            found.append(f"the arms' shares of the decisions change with the {what}: their customers may differ")
    return found


def _late_starts(table: AgeTable) -> list[str]:
    """Arms whose first decision is much later than that of the first arm."""
    arms = {name: arm for name, arm in zip(table.header.arms, table.arms, strict=True) if arm.count >= FEWEST}
    starts = {name: float(arm.made[0]) for name, arm in arms.items()}
    first = min(starts.values(), default=0.0)
    whole = max((float(arm.made[-1]) for arm in arms.values()), default=0.0) - first
    return [
        f"arm {name!r} started {count_of(start - first, table.header.time_unit)} later than the first one: "
        f"its decisions are of another time"
        for name, start in starts.items()
        if whole and start - first > LATER * whole
    ]


def _drifts(table: AgeTable, ages: int) -> list[str]:
    """Arms whose newer decisions pay otherwise than the older ones within the ages that both have."""
    found = []
    for name, arm in zip(table.header.arms, table.arms, strict=True):
        half = arm.count // 2
        if half < FEWEST:
            continue
        older, newer = _part(arm, 0, half), _part(arm, half, arm.count)
        common = min(older.usable(), newer.usable(), ages)
        if not common:
            continue
        one, other = estimate(older, common), estimate(newer, common)
        error = float(np.hypot(one.error, other.error))
        if error and abs(one.value - other.value) > stats.norm.isf(SIGNIFICANCE / 2) * error:
            within = count_of(common, table.header.time_unit)
            paid = f"newer decisions of arm {name!r} paid {other.value:.3g} within {within}, older ones {one.value:.3g}"
            found.append(f"{paid}: what is corrected by older decisions may be off")
    return found


def _part(arm: ArmAges, first: int, last: int) -> ArmAges:
    """Some consecutive decisions of an arm."""
    chosen = (arm.row >= first) & (arm.row < last)
    return ArmAges(
        arm.made[first:last],
        arm.observed[first:last],
        arm.row[chosen] - first,
        arm.age[chosen],
        arm.amount[chosen],
        arm.periods,
    )
