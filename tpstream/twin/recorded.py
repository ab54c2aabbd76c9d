"""What a twin is fitted to: the decisions of a log and their payments, all or as they were known at an earlier time."""

from dataclasses import dataclass, replace
from datetime import date, datetime

import numpy as np

from tpstream.analysis.age_tables import AgeTable, read_ages
from tpstream.analysis.open_values import FEWEST, ArmAges
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import DataError
from tpstream.model.events import Kind
from tpstream.model.units import count_of
from tpstream.twin.losses import Places, read_lost

WHOLE = 1e-6
"""Ages that are not further from whole numbers are whole."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """The decisions of a log, by arm and in their order."""

    name: str
    """What the log is called in a scenario."""
    table: AgeTable
    sequence: Ints
    """The arm of every decision."""
    lost: tuple[Places, ...]
    """Of every arm: the parts that were lost, as decisions and periods of age."""

    @property
    def names(self) -> list[str]:
        """The names of the arms."""
        return self.table.header.arms

    @property
    def unit(self) -> str | None:
        """The unit of time."""
        header = self.table.header
        return header.time_unit or header.scenario.get("time_unit")

    @property
    def start(self) -> date | None:
        """The day that begins at time 0; None if times are numbers."""
        header = self.table.header
        text = header.origin or header.scenario.get("start")
        return None if text is None else datetime.fromisoformat(str(text)).date()

    @property
    def currency(self) -> str | None:
        """What is paid."""
        header = self.table.header
        return header.currency or header.scenario.get("currency")

    @property
    def made(self) -> Floats:
        """When the decisions were made."""
        return np.sort(np.concatenate([arm.made for arm in self.table.arms]))

    @property
    def window(self) -> str:
        """The window in words."""
        return count_of(self.table.periods, self.unit)

    def whole_ages(self) -> bool:
        """Whether every payment came at a whole age, as in logs of dates and of whole rounds."""
        for arm, times in zip(self.table.arms, self.table.times, strict=True):
            ages = (times - arm.made[arm.row])[arm.amount != 0]
            if (np.abs(ages - np.round(ages)) > WHOLE).any():
                return False
        return True

    def pulls(self, arm: int) -> Ints:
        """The numbers of the decisions of an arm, from 1."""
        return np.flatnonzero(self.sequence == arm) + 1

    def known_at(self, time: float) -> "Recorded":
        """The decisions as they were known at an earlier time."""
        pairs = list(zip(self.table.arms, self.table.times, strict=True))
        arms = tuple(arm.cut(times, time, self.table.whole) for arm, times in pairs)
        kept = (times[times <= time] for _, times in pairs)
        table = replace(self.table, arms=arms, times=tuple(kept), until=time)
        return replace(self, table=table, sequence=self.sequence[: sum(arm.count for arm in arms)])

    def made_after(self, time: float) -> "Recorded":
        """The later decisions, as they are known now."""
        found = [_later(arm, times, time) for arm, times in zip(self.table.arms, self.table.times, strict=True)]
        table = replace(self.table, arms=tuple(arm for arm, _ in found), times=tuple(times for _, times in found))
        return replace(
            self, table=table, sequence=self.sequence[len(self.sequence) - sum(a.count for a in table.arms) :]
        )

    def split(self) -> float | None:
        """The time at which the log is cut for a test: the part before it is fitted, the part after it is predicted.

        It is the time of the middle decision, or the first at which enough decisions of every arm were observed for the
        whole window. None if too few would be left after it.
        """
        arms, periods = self.table.arms, self.table.periods
        if min(arm.count for arm in arms) < FEWEST:
            return None
        mature = max(float(arm.made[FEWEST - 1]) for arm in arms) + periods - self.table.whole
        time = max(float(np.median(self.made)), mature)
        left = [np.count_nonzero((arm.made > time) & (arm.observed > 0)) for arm in arms]
        return time if min(left) >= FEWEST else None


def _later(arm: ArmAges, times: Floats, time: float) -> tuple[ArmAges, Floats]:
    """The decisions of an arm that were made after some time, and the times of their payments."""
    first = int(np.searchsorted(arm.made, time, side="right"))
    kept = arm.row >= first
    found = replace(
        arm,
        made=arm.made[first:],
        observed=arm.observed[first:],
        row=arm.row[kept] - first,
        age=arm.age[kept],
        amount=arm.amount[kept],
    )
    return found, times[kept]


def read_recorded(log: Log) -> Recorded:
    """Read a log; raises DataError if no twin can be made of it."""
    table = read_ages(log)
    header = table.header
    if len(header.arms) < 2:  # noqa: PLR2004 (a choice)
        raise DataError(f"{log.path}: has one arm, {header.arms[0]!r}; a world to decide in needs two")
    if not any((arm.amount != 0).any() for arm in table.arms):
        raise DataError(f"{log.path}: no decision paid anything, so that nothing says how decisions pay; add payments")
    name = str(header.scenario.get("name", log.path.stem))
    pulls = log.columns(["kind", "time", "arm"], [Kind.PULL])
    lost = read_lost(log, pulls["time"], pulls["arm"], len(header.arms))
    found = Recorded(f"twin of {name}", table, pulls["arm"], lost)
    check_complete(found, str(log.path))
    return found


def check_complete(recorded: Recorded, where: str) -> None:
    """Raise unless every arm has a decision that was observed for the whole window."""
    for name, arm in zip(recorded.names, recorded.table.arms, strict=True):
        if not arm.count:
            raise DataError(f"{where}: there is no decision for arm {name!r}; leave the arm out")
        if not (arm.observed == arm.periods).any():
            raise DataError(
                f"{where}: no decision of arm {name!r} was observed for the whole window of {recorded.window}, so that "
                f"nothing says how open ones go on; import it with a shorter window, or wait"
            )
