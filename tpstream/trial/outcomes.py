"""The outcome of one run of a trial, computed from its events alone: while it runs, or later from its log.

A trial is a run in which pulls are patients and parts are read-outs. Its final choice is made after the last read-out:
for every arm, the mean of each part is taken over the patients of whom it was delivered, and these means are added up;
the arm with the largest sum is chosen. So drop-out that is independent of the outcome does not bias the choice, even if
it differs between arms. A part of which nothing was delivered counts as the average of the arm's other parts, an arm of
which nothing was delivered is never chosen, and of equal arms the first one is. If nothing was delivered at all, no arm
is chosen.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tpstream.analysis.logs import logged_currency
from tpstream.analysis.money import MEASURES, Account
from tpstream.analysis.regret import best_arms, checkpoints
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import Columns, Events, Kind, concatenate, pull_events
from tpstream.model.world import World
from tpstream.run.options import Measures

BINS = 20
"""The number of sections of the enrolment, with equally many patients, for which allocation is shown."""
NEEDED = ("time", "kind", "pull", "arm", "part", "value")
"""The columns of events that an outcome is computed from."""
NO_ARM = -1
"""What is stored for the chosen arm if none was chosen."""


@dataclass(frozen=True, eq=False)
class TrialOutcome:
    """One run of a trial."""

    seed: int
    run: int
    patients: Ints
    """The number of patients on each arm."""
    allocation: Floats
    """The share of patients on a best arm, in each section of the enrolment."""
    chosen: int | None
    """The arm chosen after the last read-out; None if nothing was delivered."""
    last_readout: float
    """The time at which the last part was delivered; NaN if none was."""
    money: Measures | None = None
    """The measures of analysis/money.py and `pulls`, up to each checkpoint; None if rewards are not money."""

    @classmethod
    def from_measures(cls, seed: int, run: int, measures: Measures) -> Self:
        """The outcome of which `OutcomeMeasures` reported these measures, besides those that every run reports."""
        chosen = int(measures["chosen"])
        money = {name: measures[name] for name in ("pulls", *MEASURES)} if MEASURES[0] in measures else None
        return cls(
            seed=seed,
            run=run,
            patients=measures["patients"],
            allocation=measures["allocation"],
            chosen=None if chosen == NO_ARM else chosen,
            last_readout=float(measures["last_readout"]),
            money=money,
        )


class OutcomeMeasures:
    """Hears the events of one run and reports its outcome as measures, so that a study's store keeps it.

    Parameters
    ----------
    means
        The true means of the arms.
    span
        The number of parts of a pull.
    default
        What a part that is missing counts as when its pull is closed; None if it counts as nothing.
    """

    name: ClassVar[str] = "trial"

    def __init__(self, means: Floats, span: int, default: float | None) -> None:
        self._means = means
        self._span = span
        self._kinds = [Kind.PULL, Kind.PARTIAL, *([] if default is None else [Kind.LATE, Kind.DROPPED])]
        self._heard: list[Columns] = []

    @classmethod
    def of_world(cls, world: World) -> Self:
        """Those of one run in this world."""
        assert world.problem.means is not None  # noqa: S101 (a world knows them; what policies are told may not)
        return cls(world.problem.means, world.problem.span, world.timing.default)

    def hear(self, events: Events) -> None:
        """Take the next events; what the outcome does not depend on is forgotten."""
        columns = pull_events(events.columns())
        rows = np.isin(columns["kind"], self._kinds)
        self._heard.append({name: columns[name][rows] for name in NEEDED})

    def values(self) -> Measures:
        """The measures: `patients` of each arm, `allocation`, `chosen` (-1: none) and `last_readout` (NaN: none)."""
        events = concatenate(self._heard, NEEDED)
        pulls = events["arm"][events["kind"] == Kind.PULL]
        on_best = best_arms(self._means)[pulls]
        parts = self._delivered(events)
        arms = len(self._means)
        chosen = choose_arm(estimate_means(parts["arm"], parts["part"], parts["value"], arms, self._span))
        sections = np.array_split(on_best, max(1, min(BINS, len(on_best))))
        return {
            "patients": np.bincount(pulls, minlength=arms),
            "allocation": np.array([section.mean() for section in sections if len(section)]),
            "chosen": np.array(NO_ARM if chosen is None else chosen),
            "last_readout": np.array(parts["time"].max() if len(parts["time"]) else np.nan),
        }

    def _delivered(self, events: Columns) -> Columns:
        """The parts that were delivered, without those credited with the default reward for being dropped or late."""
        kinds, keys = events["kind"], events["pull"] * (self._span + 1) + events["part"]
        missing = keys[(kinds == Kind.LATE) | (kinds == Kind.DROPPED)]
        delivered = (kinds == Kind.PARTIAL) & ~np.isin(keys, missing)
        return {name: column[delivered] for name, column in events.items()}


def refuse_unfinished(log: Log) -> None:
    """Raise unless the log holds all events of a run up to the last read-out."""
    log.require_all("a trial's account")
    log.require_run("the account of a trial needs its scenario")
    if not log.complete or not log.header.scenario.get("drain"):
        reason = log.truncated or "it ends with the last decision"
        raise LogError(f"{log.path}: the trial is not over ({reason}); run it to its end, with drain = true")


def read_outcome(log: Log) -> TrialOutcome:
    """The outcome of one run from its log, which must go on to the last read-out."""
    refuse_unfinished(log)
    header = log.header
    means = np.array(header.means)
    measures = OutcomeMeasures(means, header.span, header.scenario.get("default_reward"))
    account = None
    if logged_currency(header) is not None:
        account = Account(means, checkpoints(header.horizon), header.horizon)
    for events in log.batches():
        measures.hear(events)
        if account is not None:
            account.hear(events)
    money = {} if account is None else {**account.values(), "pulls": account.curves().counts[:-1].cumsum(axis=0)}
    found = TrialOutcome.from_measures(header.seed, header.run, {**measures.values(), **money})
    if not found.patients.sum():
        raise LogError(f"{log.path}: holds no decision, so there is no patient; leave it out")
    return found


def estimate_means(arm: Ints, part: Ints, value: Floats, arms: int, span: int) -> Floats:
    """Each arm's mean reward: the sum over parts of the mean of what was delivered; NaN if nothing was."""
    cell, size = arm * span + part - 1, arms * span
    counts = np.bincount(cell, minlength=size).reshape(arms, span)
    sums = np.bincount(cell, weights=value, minlength=size).reshape(arms, span)
    with np.errstate(invalid="ignore"):  # 0 / 0, where nothing was delivered, is NaN
        estimates: Floats = span * np.nansum(sums / counts, axis=1) / (counts > 0).sum(axis=1)
    return estimates


def choose_arm(estimates: Floats) -> int | None:
    """The first arm with the largest estimate, never one without an estimate (NaN); None if no arm has one."""
    return None if np.isnan(estimates).all() else int(np.nanargmax(estimates))
