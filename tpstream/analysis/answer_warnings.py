"""What makes the answer of a log doubtful.

Arms that got other traffic, started later or pay otherwise than before, and payments that end before the data cut.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from scipy import stats

from tpstream.analysis.age_tables import AgeTable
from tpstream.analysis.open_values import FEWEST, ArmAges, value_within
from tpstream.log.reader import Log
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats
from tpstream.model.display import number_text
from tpstream.model.units import count_of

SIGNIFICANCE = 1e-3
"""The chance of a warning about traffic, a drift or a quiet end without a reason."""
LATER = 0.05
"""The share of the time of all decisions by which an arm may begin after the first one."""
QUIET = 2
"""How many times longer than ever between two payments it may be quiet at the end."""
MOST_AGES = 8
"""Ages up to which newer and older decisions are compared."""
FEWEST_IN_CELL = 5
"""Decisions that are expected in a cell of the table of arms and hours, for the test to hold."""


def find_warnings(table: AgeTable, ages: int) -> tuple[str, ...]:
    """All warnings, in words."""
    quiet = quiet_end(table.header, table.arms, np.concatenate(table.times), table.until)
    return (*quiet, *_traffic(table), *_late_starts(table), *_drifts(table, ages))


def torn_end(log: Log) -> list[str]:
    """A warning if a log has no end, and is not one of decisions that go on."""
    if log.truncated is None or log.header.decider is not None:
        return []
    return [f"the log is not complete ({log.truncated}): what came later is missing"]


def quiet_end(header: Header, arms: Sequence[ArmAges], times: Floats, until: float) -> list[str]:
    """A warning if nothing was paid for long before the data cut: payments may be known only up to an earlier time.

    Days without payments count if they are twice as many as were ever between two payments, in the later half of them,
    and if decisions were still young enough to pay: with the rates of payments by age up to then, none would come with
    a chance of at most `SIGNIFICANCE`.
    """
    times = np.unique(times[times <= until])
    if not header.payments or len(times) < FEWEST:
        return []
    last = float(times[-1])
    quiet, longest = until - last, float(np.diff(times[len(times) // 2 :]).max())
    if quiet <= QUIET * longest or sum(_expected(arm, last, until) for arm in arms) < -np.log(SIGNIFICANCE):
        return []
    ended, most = (number_text(float(f"{length:.3g}")) for length in (quiet, longest))
    unit = header.time_unit or "unit"
    ends = f"the last payment came {ended} {unit}s before the data cut, and payments were at most {most} {unit}s apart"
    return [f"{ends}: if payments are known only up to it, all values are too low; import with that time as --until"]


def _expected(arm: ArmAges, begin: float, end: float) -> float:
    """The number of payments that are expected between two times, by their rate at each age up to the first one."""
    ages = [np.clip(time - arm.made, 0.0, arm.periods) for time in (begin, end)]
    whole = np.floor(ages[0]).astype(np.int64)
    steps = np.bincount(whole, minlength=arm.periods + 1)
    started = np.bincount(whole, weights=ages[0] - whole, minlength=arm.periods + 1)
    passed = (arm.count - np.cumsum(steps) + started)[: arm.periods]  # the time that decisions spent at each age
    payments = np.bincount(arm.age, minlength=arm.periods)[: arm.periods]
    rates = np.divide(payments, passed, out=np.zeros(arm.periods), where=passed > 0)
    upto = np.append(0.0, np.cumsum(rates))
    before, after = (float(np.interp(age, np.arange(arm.periods + 1), upto).sum()) for age in ages)
    return after - before


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
    """Arms whose newer decisions pay otherwise, or at other ages, than the older ones, within the ages of both."""
    found = []
    for name, arm in zip(table.header.arms, table.arms, strict=True):
        half = arm.count // 2
        if half < FEWEST:
            continue
        older, newer = _part(arm, 0, half), _part(arm, half, arm.count)
        common = min(older.usable(), newer.usable(), ages)
        if not common:
            continue
        compared = np.unique(np.ceil(np.linspace(0, common, MOST_AGES + 1)[1:]).astype(np.int64)).tolist()
        score, one, other, age = max(_apart(older, newer, age) for age in compared)
        if score > stats.norm.isf(SIGNIFICANCE / 2 / len(compared)):
            within = count_of(age, table.header.time_unit)
            paid = f"newer decisions of arm {name!r} paid {other:.3g} within {within}, older ones {one:.3g}"
            found.append(f"{paid}: what is corrected by older decisions may be off")
    return found


def _apart(older: ArmAges, newer: ArmAges, age: int) -> tuple[float, float, float, int]:
    """How far what older and newer decisions paid within an age is apart, in standard errors; both values, the age."""
    (one, first), (other, second) = (value_within(arm, age) for arm in (older, newer))
    error = float(np.hypot(first, second))
    return abs(one - other) / error if error else 0.0, one, other, age


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
