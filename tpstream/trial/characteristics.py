"""Operating characteristics: what a trial's patients got, and what was known at its end, from logs alone.

The final choice is made after the last read-out: for every arm, the mean of what was delivered of each part is taken
over the patients of whom it was, and these means are added up; the arm with the largest sum is chosen. Drop-outs that
have nothing to do with the outcome do not bend this, not even if they differ between arms. A part of which nothing at
all was delivered counts as the average of the arm's others, an arm without any is never chosen, and of equal arms the
first is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.analysis.intervals import Interval, t_interval, wilson_interval
from tpstream.analysis.logs import gather
from tpstream.analysis.regret import pseudo_regret
from tpstream.experiment.result import FailedRun
from tpstream.log.reader import Log
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import Columns, Kind

FIXED = "uniform"
"""The policy that randomises whatever happens: what the others are held against."""
BINS = 20
"""Stretches of equally many patients in which allocation is shown."""


@dataclass(frozen=True, eq=False)
class TrialOutcome:
    """One trial: who got what, which arm was chosen in the end, and when the last read-out came."""

    seed: int
    run: int
    patients: Ints
    """On each arm."""
    allocation: Floats
    """The share of patients on a best arm, in stretches of the enrolment."""
    chosen: int
    last_readout: float


@dataclass(frozen=True, eq=False)
class Trial:
    """The operating characteristics of every policy in one world."""

    name: str
    arms: tuple[str, ...]
    means: Floats
    horizon: int
    outcomes: Mapping[str, Sequence[TrialOutcome]]
    failures: tuple[FailedRun, ...] = ()

    @property
    def best(self) -> Bools:
        """Which arms have the largest mean."""
        found: Bools = self.means == self.means.max()
        return found

    def table(self) -> pd.DataFrame:
        """A row for each policy, with 95 % intervals over runs (Student's; Wilson's for the probability).

        `on_best` is the number of patients on a best arm, `best_chosen` the probability that the final choice is one,
        `lost` the benefit that the patients lost in expectation against all on a best arm, `against_fixed` the same
        minus that under fixed randomisation, paired by run, `last_readout` the time at which the last part was
        delivered, `lost_later` what every patient after the trial loses by the final choice, and `failed` the number of
        runs that failed. Of a policy that failed in all of them nothing else is known.
        """
        return pd.DataFrame([self._row(policy) for policy in self.outcomes])

    def failed(self) -> pd.DataFrame:
        """The runs that failed, why, and how to repeat each alone."""
        return pd.DataFrame([asdict(one) for one in self.failures], columns=list(FailedRun.__dataclass_fields__))

    def lost(self, policy: str) -> Floats:
        """The benefit that the patients of every run lost in expectation."""
        return np.array([pseudo_regret(one.patients, self.means) for one in self._of(policy)])

    def allocation(self, policy: str) -> Interval:
        """The share of patients on a best arm over the enrolment."""
        return t_interval(np.array([one.allocation for one in self._of(policy)]))

    def _row(self, policy: str) -> dict[str, object]:
        outcomes = self._of(policy)
        chosen = np.array([one.chosen for one in outcomes], dtype=np.int64)
        right = int(self.best[chosen].sum())
        low, high = wilson_interval(right, len(outcomes))
        return {
            "policy": policy,
            "runs": len(outcomes),
            **_columns("on_best", np.array([one.patients[self.best].sum() for one in outcomes], dtype=np.float64)),
            "best_chosen": right / len(outcomes) if outcomes else np.nan,
            "best_chosen_low": low,
            "best_chosen_high": high,
            **_columns("lost", self.lost(policy)),
            **_columns("against_fixed", self._against_fixed(policy)),
            **_columns("last_readout", np.array([one.last_readout for one in outcomes])),
            **_columns("lost_later", self.means.max() - self.means[chosen]),
            "failed": sum(failure.policy == policy for failure in self.failures),
        }

    def _against_fixed(self, policy: str) -> Floats:
        """The benefit lost minus that under fixed randomisation, in the runs that both have."""
        if FIXED not in self.outcomes:
            return np.empty(0)
        keys = [[(one.seed, one.run) for one in self.outcomes[of]] for of in (policy, FIXED)]
        here, there = (
            dict(zip(key, self.lost(of), strict=True)) for key, of in zip(keys, (policy, FIXED), strict=True)
        )
        return np.array([here[run] - there[run] for run in here if run in there])

    def _of(self, policy: str) -> Sequence[TrialOutcome]:
        if policy not in self.outcomes:
            raise UnknownNameError("policy of this trial", policy, self.outcomes)
        return self.outcomes[policy]


def read_trial(logs: Iterable[Log | str | Path] | Log | str | Path) -> Trial:
    """The operating characteristics of the runs in these logs: files, folders, or logs that are open already."""
    gathered = gather(logs)
    header = gathered.header
    means = np.array(header.means)
    return Trial(
        name=gathered.name,
        arms=tuple(header.arms),
        means=means,
        horizon=header.horizon,
        outcomes={policy: [read_outcome(log) for log in of] for policy, of in gathered.logs.items()},
    )


def read_outcome(log: Log) -> TrialOutcome:
    """What the log of one trial says; it must go on to the last read-out."""
    log.require_all("a trial's account")
    header = log.header
    if not log.complete or not header.scenario.get("drain"):
        reason = log.truncated or "it ends with the last decision"
        raise LogError(f"{log.path}: the trial is not over ({reason}); run it to its end, with drain = true")
    means = np.array(header.means)
    pulls = log.columns(["arm"], [Kind.PULL])["arm"]
    on_best = (means == means.max())[pulls]
    parts = _came(log)
    return TrialOutcome(
        seed=header.seed,
        run=header.run,
        patients=np.bincount(pulls, minlength=len(means)),
        allocation=np.array([piece.mean() for piece in np.array_split(on_best, min(BINS, len(on_best)))]),
        chosen=choose(estimate(parts["arm"], parts["part"], parts["value"], len(means), header.span)),
        last_readout=float(parts["time"].max()) if len(parts["time"]) else np.nan,
    )


def _came(log: Log) -> Columns:
    """The parts that were delivered; not those that count as the default since they were dropped or too late."""
    parts = log.columns(["time", "pull", "arm", "part", "value"], [Kind.PARTIAL])
    if log.header.scenario.get("default_reward") is None:
        return parts
    missing = log.columns(["pull", "part"], [Kind.LATE, Kind.DROPPED])
    here, gone = (columns["pull"] * (log.header.span + 1) + columns["part"] for columns in (parts, missing))
    came = ~np.isin(here, gone)
    return {name: column[came] for name, column in parts.items()}


def estimate(arm: Ints, part: Ints, value: Floats, arms: int, span: int) -> Floats:
    """Each arm's sum over parts of the mean of what was delivered of them; NaN where nothing was."""
    cell, size = arm * span + part - 1, arms * span
    counts = np.bincount(cell, minlength=size).reshape(arms, span)
    sums = np.bincount(cell, weights=value, minlength=size).reshape(arms, span)
    known = counts > 0
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=known)
    parts = known.sum(axis=1)
    estimates = np.full(arms, np.nan)
    np.divide(span * means.sum(axis=1), parts, out=estimates, where=parts > 0)
    return estimates


def choose(estimates: Floats) -> int:
    """The arm with the largest estimate."""
    return int(np.argmax(np.where(np.isnan(estimates), -np.inf, estimates)))


def _columns(name: str, values: Floats) -> dict[str, float]:
    """The mean over runs and its interval; NaN if there are none."""
    interval = t_interval(values if len(values) else np.full(1, np.nan))
    return {name: float(interval.mean), f"{name}_low": float(interval.low), f"{name}_high": float(interval.high)}
