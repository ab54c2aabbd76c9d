"""The decisions of a log and what they paid, by arm and age: what the estimates of open decisions are made from."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tpstream.analysis.open_values import FEWEST, ROUNDING, ArmAges
from tpstream.log.reader import Log
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import PARTIAL, PULL, concatenate, pull_events

NEEDED = ("time", "kind", "pull", "part", "arm", "value")
"""The columns of a log that are read."""


@dataclass(frozen=True, eq=False)
class AgeTable:
    """The decisions and payments of a log."""

    header: Header
    arms: tuple[ArmAges, ...]
    times: tuple[Floats, ...]
    """Of every arm: when each payment came."""
    until: float
    """The time up to which payments are known."""
    whole: float
    """1 where what happens in a period is known at its beginning, as in whole rounds; 0 where at its end."""
    probabilities: tuple[Floats, ...] | None
    """Of every arm: the logged probabilities of its decisions; None if none are logged."""

    @property
    def periods(self) -> int:
        """The number of periods of age."""
        return self.arms[0].periods

    def is_mature(self, arm: int, time: float) -> bool:
        """Whether enough decisions of an arm had been observed for the whole window at an earlier time."""
        made = self.arms[arm].made
        seen = np.floor(time - made[made <= time] + ROUNDING) + self.whole
        return int(np.count_nonzero(seen >= self.periods)) >= FEWEST


@dataclass(frozen=True, eq=False)
class Decisions:
    """All decisions of a log, in their order, and what they paid."""

    path: Path
    header: Header
    ages: ArmAges
    arm: Ints
    """The arm of every decision."""
    times: Floats
    """When each payment came."""
    until: float
    whole: float
    probability: Floats | None
    """The logged probability of every decision; None if none are logged."""
    probabilities: Floats | None
    """The same for all arms, a row for each decision."""

    def by_arm(self) -> AgeTable:
        """The decisions of each arm."""
        arms = range(len(self.header.arms))
        found = [_of_arm(self.ages, self.times, self.arm == number) for number in arms]
        chances = self.probability
        return AgeTable(
            self.header,
            tuple(own for own, _ in found),
            tuple(times for _, times in found),
            self.until,
            self.whole,
            None if chances is None else tuple(chances[self.arm == number] for number in arms),
        )


def read_ages(log: Log) -> AgeTable:
    """Read a log of payments, or of a run whose parts arrive within a known time, arm by arm."""
    return read_decisions(log, "an answer").by_arm()


def read_decisions(log: Log, purpose: str) -> Decisions:
    """Read all decisions of such a log; `purpose` is what for, in errors."""
    log.require_all(purpose)
    header = log.header
    optional = ("probability", "probabilities")
    names = (*NEEDED, "shown", *optional)
    columns = pull_events(concatenate(list(log.counted(names, as_written=True)), names))
    if not len(columns["kind"]):
        raise LogError(f"{log.path}: holds no decision; there is nothing to answer")
    is_pull, is_paid = columns["kind"] == PULL, columns["kind"] == PARTIAL
    made, arm = columns["time"][is_pull], columns["arm"][is_pull]
    time, row = columns["time"][is_paid], columns["pull"][is_paid] - 1
    until, whole = _until(log, columns["time"])
    age = columns["part"][is_paid] - 1 if header.payments else np.floor(time - made[row] + ROUNDING).astype(np.int64)
    if (age < 0).any():
        raise LogError(f"{log.path}: something was paid before its decision; `tpstream check` says where")
    periods = header.span if header.payments else _periods(log, age)
    age = np.minimum(age, periods - 1)  # a part that is due at the end of the window still counts
    window = float(periods if header.window is None else header.window)
    observed = np.clip(np.floor(until - made + ROUNDING) + whole, 0, periods).astype(np.int64)
    observed[until - made + ROUNDING >= window] = periods
    probability, probabilities = map(columns.get, optional)
    if probability is not None and np.isnan(probability).all():
        probability = None
    return Decisions(
        log.path,
        header,
        ArmAges(made, observed, row, age, columns["value"][is_paid], periods),
        arm,
        time,
        until,
        whole,
        probability,
        probabilities,
    )


def _of_arm(every: ArmAges, times: Floats, own: Ints) -> tuple[ArmAges, Floats]:
    """The decisions of one arm, and the times of their payments."""
    number = np.cumsum(own) - 1
    chosen = own[every.row]
    arm = replace(
        every,
        made=every.made[own],
        observed=every.observed[own],
        row=number[every.row[chosen]],
        age=every.age[chosen],
        amount=every.amount[chosen],
    )
    return arm, times[chosen]


def _until(log: Log, times: Floats) -> tuple[float, float]:
    """The time up to which payments are known, and whether what happens at a time is known at it.

    A torn log is known up to its last time, which is not whole.
    """
    header, last = log.header, float(times[-1])
    if header.payments:
        return last if header.until is None or not log.complete else header.until, 0.0
    whole = float((times == np.floor(times)).all())
    return (last if log.complete else last - 1), whole


def _periods(log: Log, age: Ints) -> int:
    """How many periods of age a pull of a run can pay in."""
    scenario = log.header.scenario
    window = scenario.get("window")
    if window is not None:
        return int(np.ceil(float(window)))
    if scenario.get("delays"):
        raise LogError(
            f"{log.path}: its scenario has delays and no window, so that nobody knows how long a pull pays; "
            f"run it with a window"
        )
    return max(log.header.span, int(age.max(initial=0)) + 1)
