"""The answer of a log: which arm is best, by how much, since when that is clear, and how much is still outstanding.

The value of an arm and what is outstanding are estimated as analysis/open_values.py says, the day since which the lead
is clear as analysis/leads.py and analysis/boundaries.py say. What cannot be trusted is withheld, with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tpstream.analysis.adaptive import credited_estimates
from tpstream.analysis.age_tables import AgeTable, read_ages
from tpstream.analysis.answer_arms import ArmAnswer, arm_answer
from tpstream.analysis.answer_warnings import find_warnings, torn_end
from tpstream.analysis.assignment import Assignment, depends_on_outcomes
from tpstream.analysis.leads import best_of_correlated, best_probabilities, clear_since, lead_courses
from tpstream.analysis.log_dates import as_date, as_time
from tpstream.analysis.open_values import FEWEST
from tpstream.log.reader import Log, read_log
from tpstream.model.display import Displayed, Summary, number_text
from tpstream.model.errors import DataError, did_you_mean
from tpstream.model.units import count_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Displayed):
    """What a log says about its arms.

    Get one from `answer`, which has an example.

    Parameters
    ----------
    log
        The log's file.
    arms
        What is known about every arm.
    ages
        The number of periods of age within which values are given; less than the window if too few decisions are older.
    leader
        The arm with the largest value; None if no value can be given.
    clear_since
        The day (a date, or a number where times are) since which the lead of this arm over all others has been clear.
    clear_reason
        Why it is not clear, or cannot be said.
    needed
        How many more decisions would make the lead clear, if the difference stays what it is.
    plan_until
        The last day of the plan of looks (a date, or a number where times are): as named, else the end of the data.
    alpha
        The chance, by this plan, that a lead is called clear on some day although there is none.
    against
        The arm with which the others are compared, if one was named.
    warnings
        What a reader should know about the data.
    notes
        What a reader should know about the comparison and the plan of looks.
    table
        The decisions and payments that the answer was made from.
    """

    log: str
    arms: tuple[ArmAnswer, ...]
    ages: int
    leader: str | None
    clear_since: str | float | None
    clear_reason: str | None
    needed: int | None
    plan_until: str | float
    alpha: float
    against: str | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    table: AgeTable

    @property
    def unit(self) -> str:
        """The unit of time, for texts."""
        return self.table.header.time_unit or "unit"

    def frame(self) -> pd.DataFrame:
        """The arms as a DataFrame, a row for each."""
        return pd.DataFrame([one.columns() for one in self.arms])

    def differences(self, against: str | None = None) -> pd.DataFrame:
        """The value of every arm minus that of another one, with 95 % intervals.

        By default the other one is the arm that was named, else the leader.
        """
        against = against or self.against or self.leader
        first = next((one for one in self.arms if one.arm == against), None)
        rows = []
        for one in self.arms:
            if first is None or one is first:
                continue
            difference, low, high = one.minus(first)
            if difference is not None:
                rows.append({"arm": one.arm, "against": against, "difference": difference, "low": low, "high": high})
        return pd.DataFrame(rows, columns=["arm", "against", "difference", "low", "high"])

    def comparisons(self) -> tuple[pd.DataFrame, ...]:
        """The differences to the leader, and to the arm that was named, if it is another one."""
        named = () if self.against in (None, self.leader) else (self.differences(self.against),)
        return (self.differences(self.leader), *named)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw what is paid by age, values with their intervals over time, and what is outstanding.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        from tpstream.figures.answer import answer_figure  # noqa: PLC0415 (an import upwards; see docs/design.md)

        return answer_figure(path, self)

    def _summary(self) -> Summary:
        rows = [
            {"arm": one.arm, "decisions": f"{one.decisions:,}", "paid per decision": number_text(one.naive)}
            | {"in the end": "not known" if one.value is None else number_text(one.value)}
            for one in self.arms
        ]
        clear = f"clear since {self.clear_since}" if self.clear_since is not None else self.clear_reason or ""
        title = f"Answer of {self.log}: {self.leader or 'no arm'} leads"
        facts = [f"within {count_of(self.ages, self.unit)}", clear]
        return Summary(title, facts, rows, (*self.notes, *self.warnings))


def answer(
    log: Log | str | Path,
    *,
    against: str | None = None,
    plan_until: str | float | None = None,
    alpha: float = 0.05,
    assignment: Assignment = "auto",
) -> Answer:
    """Ask a log which arm pays most in the end, by how much, since when that is clear, and what is outstanding.

    Parameters
    ----------
    log
        A log, imported or of a run: a file, or a log that is open already.
    against
        An arm with which all others are compared; by default the leader.
    plan_until
        The last day on which somebody would look, fixed beforehand: a date, or a number where times are. By default the
        end of the data, which is right for a log that is looked at once.
    alpha
        The chance that a lead is called clear on some day of the plan although there is none.
    assignment
        "fixed": how arms were assigned did not depend on outcomes; "adaptive": it did; "auto": as the log shows.

    Returns
    -------
    Answer
        Values, intervals, what is outstanding, and the reasons for what is withheld.

    Raises
    ------
    LogError
        If the log cannot be read, or it is not known how long its pulls pay.
    DataError
        If there is no arm of this name, or the plan ends before the data.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import answer, import_log
    >>> random = np.random.default_rng(1)
    >>> made, arm = np.arange(2000) // 20, random.choice(["low", "high"], 2000)
    >>> offers = pd.DataFrame({"id": np.arange(2000), "day": made, "arm": arm})
    >>> days, amounts = made + random.integers(0, 30, 2000), 1.0 + (arm == "high")
    >>> paid = pd.DataFrame({"id": offers["id"], "day": days, "amount": amounts})[days <= 100]
    >>> with TemporaryDirectory() as folder:
    ...     found = answer(import_log(offers, paid, out=Path(folder) / "a.arrows", window=30, until=100))
    >>> found.leader, [round(one.estimate.value, 1) for one in found.arms], found.clear_since is not None
    ('high', [2.0, 1.0], True)
    """
    log = log if isinstance(log, Log) else read_log(log)
    table = read_ages(log)
    names = table.header.arms
    if against is not None and against not in names:
        raise DataError(
            f"{log.path}: there is no arm {against!r}{did_you_mean(against, names)}; it has {', '.join(names)}"
        )
    usable = [arm.usable() for arm in table.arms]
    ages = min((number for number in usable if number), default=0)
    adaptive = depends_on_outcomes(log, table, assignment)
    found = [arm_answer(name, arm, ages, adaptive) for name, arm in zip(names, table.arms, strict=True)]
    if adaptive is not None and ages == table.periods:
        found = _with_weights(found, log)
    found = _with_best(found)
    values = {place: one.value for place, one in enumerate(found) if one.value is not None}
    leader = max(values, key=values.__getitem__) if values else None
    known = [found[place] for place in values]
    since, last_bound, reason = None, 0.0, adaptive or _not_comparable(table, ages, known)
    end = _plan_end(log, table, plan_until)
    if reason is None and leader is not None:
        courses = lead_courses(table, list(values), leader, end, alpha)
        since, last_bound = clear_since(courses)
        reason = "the lead is not clear yet" if since is None else None
    origin, unit = table.header.origin, table.header.time_unit
    return Answer(
        log=str(log.path),
        arms=tuple(found),
        ages=ages,
        leader=None if leader is None else names[leader],
        clear_since=None if since is None else as_date(origin, unit, since),
        clear_reason=reason,
        needed=_needed(found, leader, last_bound) if last_bound and since is None else None,
        plan_until=as_date(origin, unit, end),
        alpha=alpha,
        against=against,
        warnings=(*torn_end(log), *find_warnings(table, ages)),
        notes=(*_left_out(found), *_without_plan(found, plan_until)),
        table=table,
    )


def _with_weights(found: list[ArmAnswer], log: Log) -> list[ArmAnswer]:
    """The arms with adaptively weighted values, if the log has the probabilities for all of them."""
    made = credited_estimates(log)
    if any(estimate.value is None for estimate, _ in made):
        return found
    return [
        replace(one, weighted=estimate, influence=influence)
        for one, (estimate, influence) in zip(found, made, strict=True)
    ]


def _with_best(found: list[ArmAnswer]) -> list[ArmAnswer]:
    """The arms with the probability of each to be the best, if intervals can be given for all that have a value."""
    known = [(one.value, one.error, one.influence) for one in found if one.value is not None]
    if not known:
        return found
    withheld = next((one.arm for one in found if one.value is not None and one.error is None), None)
    if withheld is not None:
        reason = f"probability of being best: the interval of {withheld!r} is withheld"
        return [one if one.error is None else replace(one, best_reason=reason) for one in found]
    values = np.array([value for value, _, _ in known])
    shared = [influence.patients for _, _, influence in known if influence is not None]
    if len(shared) == len(known):
        chances = best_of_correlated(values, np.stack(shared))
    else:
        chances = best_probabilities(values, np.maximum(np.array([error for _, error, _ in known], dtype=float), 1e-12))
    left = iter(chances.tolist())
    return [one if one.value is None else replace(one, best_probability=next(left)) for one in found]


def _not_comparable(table: AgeTable, ages: int, known: Sequence[ArmAnswer]) -> str | None:
    """Why it cannot be said whether a lead is clear; None if it can. Arms with a value are `known`."""
    if len(known) < 2:  # noqa: PLR2004 (a comparison needs two)
        return "there are no two arms to compare"
    if ages < table.periods:
        window = count_of(table.periods, table.header.time_unit)
        return f"fewer than {FEWEST} decisions of an arm have been observed for the whole window of {window}"
    withheld = next((one for one in known if one.reason is not None), None)
    return None if withheld is None else f"the interval of {withheld.arm!r} is withheld: {withheld.reason}"


def _needed(found: Sequence[ArmAnswer], leader: int | None, bound: float) -> int | None:
    """How many more decisions would bring the lead over all others to the boundary, if it stays what it is."""
    lead = None if leader is None else found[leader].estimate
    most = 1.0
    for one in found:
        if lead is None or one.estimate is None or not lead.value > one.estimate.value:
            continue
        error = float(np.hypot(lead.error, one.estimate.error))
        most = max(most, (bound * error / (lead.value - one.estimate.value)) ** 2)
    return int(np.ceil(sum(one.decisions for one in found) * (most - 1))) or None


def _left_out(found: Sequence[ArmAnswer]) -> tuple[str, ...]:
    """A note about arms that are not compared with the others, since they have no value yet."""
    young = [one.arm for one in found if one.value is None]
    if not young or len(young) == len(found):
        return ()
    return (f"not compared with the others, since too few decisions are old enough: {', '.join(young)}",)


def _without_plan(found: Sequence[ArmAnswer], plan_until: str | float | None) -> tuple[str, ...]:
    """A note if decisions are open, so that somebody may look again, and no plan of looks was named."""
    if plan_until is not None or not any(one.open for one in found):
        return ()
    again = "decisions are open, and no plan was named: if you will look again, say now until when (--plan-until)"
    return (f"{again}; plans that end with the data at every look call leads by chance more often than alpha",)


def _plan_end(log: Log, table: AgeTable, plan_until: str | float | None) -> float:
    """The time of the last look of the plan."""
    if plan_until is None:
        return table.until
    end = as_time(table.header.origin, table.header.time_unit, plan_until)
    if end < table.until - 1:
        raise DataError(f"plan-until: {plan_until} is before the end of the data in {log.path}; a plan ends later")
    return max(end, table.until)
