"""Regret from logs alone: three curves that are kept apart.

After round t, with mu* the largest mean of an arm and mu_i that of the arm pulled in round i:

- pseudo-regret: the sum over rounds i <= t of mu* - mu_i; what was lost in expectation, counted at the pull;
- shortfall: t mu* minus all that was delivered by the instant of round t; what the account lacks against pulls of the
  best arm that had paid at once, in expectation;
- outstanding: the sum over pulls that are open after round t of mu_i minus what they paid so far; what is
  still due, in expectation.

So shortfall = pseudo-regret + outstanding + luck, where luck is the sum over closed pulls of mu_i minus what they paid.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from tpstream.analysis.intervals import Interval, t_interval
from tpstream.analysis.logs import WorldLogs, gather
from tpstream.analysis.regret import PullCounts, all_equal, best_arms, checkpoints, no_best_arm, pseudo_regret
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import CLOSED, PARTIAL, PULL, Kind
from tpstream.model.numba_support import compiled_loop
from tpstream.model.units import round_title
from tpstream.model.world import Problem

if TYPE_CHECKING:
    from tpstream.analysis.theory import Bound, PolicyGroups

NEEDED = ("time", "kind", "round", "arm", "value")
"""The columns of a log that are read."""


@dataclass(frozen=True, eq=False)
class Account:
    """What the runs of a policy did up to every checkpoint; the first axis is the run, the second the checkpoint."""

    counts: Ints
    """Pulls of every arm (last axis)."""
    delivered: Floats | None = None
    """What the parts that were credited paid; this and all below is None if only the pulls are known."""
    outstanding: Floats | None = None
    """What the open pulls are still expected to pay."""
    open: Ints | None = None
    """The number of open pulls."""
    paid_later: Floats | None = None
    """What the open pulls paid after the last round; NaN for a run whose log does not tell (it was not drained)."""


@dataclass(frozen=True, eq=False)
class LogRegret:
    """The regret of the policies in one world, from logs: three curves with their intervals over runs.

    Get one from `log_regret`, which has an example. If only the pulls are known, the pseudo-regret is the only curve.

    Parameters
    ----------
    name, arms, means, problem
        The world: its name, the arms' names and true means, and what the policies were told of it.
    rounds
        The checkpoints: the rounds at which the curves are known.
    accounts
        What the runs of every policy did up to each checkpoint, by policy.
    notes
        What a reader should know: which logs are torn, where the curves end.
    known
        The policies as the theory of regret bounds knows them.
    round_title
        The title of an axis of rounds, with the time that one takes if that is known.
    """

    name: str
    arms: tuple[str, ...]
    means: Floats
    rounds: Ints
    accounts: Mapping[str, Account]
    notes: tuple[str, ...]
    problem: Problem
    known: "tuple[PolicyGroups, ...]"
    round_title: str = "round"

    @property
    def no_best_arm(self) -> str | None:
        """Why no arm is better than all others, in words; None if one is."""
        return no_best_arm(self.arms, self.means)

    @property
    def bounds(self) -> "list[Bound]":
        """The lower bounds, and the upper ones of the policies that the theory knows."""
        from tpstream.analysis.theory import bounds_of  # noqa: PLC0415 (SciPy's functions, which regret does not need)

        return bounds_of(self.problem, self.known)

    def regret(self, policy: str) -> Floats:
        """The pseudo-regret of every run (first axis) at every checkpoint."""
        return pseudo_regret(self.accounts[policy].counts, self.means)

    def shortfall(self, policy: str) -> Floats | None:
        """What was delivered too little, of every run at every checkpoint."""
        delivered = self.accounts[policy].delivered
        return None if delivered is None else self.rounds * self.means.max() - delivered

    def intervals(self, policy: str) -> dict[str, Interval]:
        """Mean and 95 % interval over runs, by the name of the curve; that of regret is cut at what is possible."""
        found = {
            "pseudo-regret": self.regret(policy),
            "shortfall": self.shortfall(policy),
            "outstanding": self.accounts[policy].outstanding,
        }
        largest = self.rounds * (self.means.max() - self.means.min())
        curves = {name: t_interval(curve) for name, curve in found.items() if curve is not None}
        return curves | {"pseudo-regret": curves["pseudo-regret"].within(0.0, largest)}

    def table(self) -> pd.DataFrame:
        """The curves after the last round, a row for each policy: mean, low, high; open pulls; the best arm's share."""
        return pd.DataFrame([self._row(policy) for policy in self.accounts])

    def _row(self, policy: str) -> dict[str, object]:
        account = self.accounts[policy]
        row: dict[str, object] = {"policy": policy, "runs": len(account.counts), "rounds": int(self.rounds[-1])}
        for name, curve in self.intervals(policy).items():
            row |= Interval(curve.mean[-1], curve.low[-1], curve.high[-1]).columns(name.replace("-", "_"))
        if account.open is not None and account.paid_later is not None:
            row["open_pulls"] = float(account.open[:, -1].mean())
            row["paid_later"] = float(account.paid_later.mean())
        on_best = account.counts[:, -1, best_arms(self.means)].sum()
        row["best_arm_share"] = np.nan if all_equal(self.means) else float(on_best / account.counts[:, -1].sum())
        return row

    def curves(self) -> pd.DataFrame:
        """Every curve with its 95 % interval at every checkpoint; a row for each policy, curve and round."""
        frames = [
            pd.DataFrame({"round": self.rounds, "mean": curve.mean, "low": curve.low, "high": curve.high}).assign(
                policy=policy, curve=name
            )
            for policy in self.accounts
            for name, curve in self.intervals(policy).items()
        ]
        return pd.concat(frames, ignore_index=True)[["policy", "curve", "round", "mean", "low", "high"]]

    def shares(self, policy: str) -> Floats:
        """The share of each arm (last axis) in all pulls so far, over all runs, at every checkpoint."""
        shares: Floats = self.accounts[policy].counts.mean(axis=0) / self.rounds[:, np.newaxis]
        return shares


def log_regret(logs: Iterable[Log | str | Path] | Log | str | Path, *, only_pulls: bool = False) -> LogRegret:
    """Compute the regret of every policy from logs alone.

    All curves end where the shortest log does; the last round of a torn log is not whole and does not count.

    Parameters
    ----------
    logs
        Logs of one world: files, folders, or logs that are open already.
    only_pulls
        Read nothing but the pulls, which is faster and gives the pseudo-regret alone. The same happens if one of the
        logs holds only the pulls.

    Returns
    -------
    LogRegret
        The curves of every policy, with their intervals over runs.

    Raises
    ------
    LogError
        If a log cannot be read, has no whole round or an arm that does not exist, or if the logs are not of one world.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, log_regret, simulate
    >>> scenario = Scenario.load("setting-1").with_(horizon=20)
    >>> with TemporaryDirectory() as folder:
    ...     runs = [simulate(scenario, "uniform", run=run, log=Path(folder) / f"{run}.arrows") for run in range(2)]
    ...     result = log_regret(folder)
    >>> result.table()[["policy", "runs", "rounds"]].to_dict("records")
    [{'policy': 'uniform', 'runs': 2, 'rounds': 20}]
    >>> [float(run.regret[-1]) for run in runs] == result.regret("uniform")[:, -1].tolist()
    True
    """
    found = gather(logs)
    header = found.header
    without_deliveries = [log for logs in found.logs.values() for log in logs if log.header.detail == "pulls"]
    only_pulls = only_pulls or bool(without_deliveries)
    rounds = checkpoints(header.horizon)
    runs = {
        policy: [_read_run(log, rounds, only_pulls=only_pulls) for log in logs] for policy, logs in found.logs.items()
    }
    reach = min(whole for of_policy in runs.values() for _, whole in of_policy)
    return LogRegret(
        name=found.name,
        arms=tuple(header.arms),
        means=np.array(header.means),
        rounds=rounds[:reach],
        accounts={
            policy: _account([sums for sums, _ in of_policy], reach, only_pulls=only_pulls)
            for policy, of_policy in runs.items()
        },
        notes=_notes(found, without_deliveries, int(rounds[reach - 1])),
        problem=header.problem(),
        known=tuple(
            (policy, logs[0].header.kind, logs[0].header.parameters.get("groups"))
            for policy, logs in found.logs.items()
        ),
        round_title=round_title(header.time_unit, regular=bool(header.scenario) and "arrivals" not in header.scenario),
    )


class RunSums(NamedTuple):
    """What one run did up to each checkpoint; the last row is for the end of its log."""

    counts: Ints
    delivered: Floats
    outstanding: Floats
    open: Ints


def _read_run(log: Log, rounds: Ints, *, only_pulls: bool) -> tuple[RunSums, int]:
    """The sums of one run, and the number of checkpoints up to which its log is whole."""
    means, rows = np.array(log.header.means), len(rounds) + 1
    sums = RunSums(
        counts=np.zeros((rows, len(means)), dtype=np.int64),
        delivered=np.zeros(rows),
        outstanding=np.zeros(rows),
        open=np.zeros(rows, dtype=np.int64),
    )
    if only_pulls:
        arms = log.columns(["arm"], [Kind.PULL])["arm"]
        _check_arms(log, arms)
        counter, pulls = PullCounts(len(means), rounds), len(arms)
        counter.add(arms)
        sums.counts[:-1] = counter.counts()
    else:
        moment, row = np.full(1, -math.inf), np.zeros(1, dtype=np.int64)
        for columns in log.reader.batches(NEEDED):
            _check_arms(log, columns["arm"])
            _add(tuple(columns[name] for name in NEEDED), rounds, means, moment, row, sums)
        pulls = int(sums.counts.sum())
        for part in sums:
            np.cumsum(part, axis=0, out=part)
    reach = int(np.searchsorted(rounds, pulls if log.complete else pulls - 1, side="right"))
    if reach == 0:
        raise LogError(f"{log.path}: has no whole round ({log.truncated or 'no decision'}); leave it out")
    return sums, reach


@compiled_loop
def _add(columns: Any, rounds: Ints, means: Floats, moment: Floats, row: Ints, sums: RunSums) -> None:
    """Add each event to the row of the first checkpoint that knows of it.

    `moment[0]` is the time of the last decision, `row[0]` the row of the last event.
    """
    time, kind, round, arm, value = columns
    here = row[0]
    for event in range(kind.size):
        if kind[event] == PULL:
            moment[0] = time[event]
        # What comes after the moment of a decision is known at the next decision only.
        reached = round[event] if time[event] == moment[0] else round[event] + 1
        while here < rounds.size and rounds[here] < reached:
            here += 1
        if kind[event] == PULL:
            sums.counts[here, arm[event]] += 1
            sums.outstanding[here] += means[arm[event]]
            sums.open[here] += 1
        elif kind[event] == PARTIAL:
            sums.delivered[here] += value[event]
            sums.outstanding[here] -= value[event]
        elif kind[event] == CLOSED:
            sums.outstanding[here] -= means[arm[event]] - value[event]
            sums.open[here] -= 1
    row[0] = here


def _check_arms(log: Log, arms: Ints) -> None:
    """Refuse arms that cannot be counted; the other rules of a log are for `replay` to check."""
    last = len(log.header.arms) - 1
    if len(arms) and not 0 <= arms.min() <= arms.max() <= last:
        raise LogError(f"{log.path}: an arm is outside of 0 to {last}; `tpstream replay` says where")


def _account(runs: list[RunSums], reach: int, *, only_pulls: bool) -> Account:
    """The account of a policy from the sums of its runs, up to the checkpoint that all logs reach."""
    stacked = {name: np.stack([getattr(sums, name)[:reach] for sums in runs]) for name in RunSums._fields}
    if only_pulls:
        return Account(stacked["counts"])
    return Account(**stacked, paid_later=np.array([_paid_later(sums, reach) for sums in runs]))


def _paid_later(sums: RunSums, reach: int) -> float:
    """What was delivered after the last checkpoint; NaN unless all pulls were closed by the log's end."""
    known = sums.open[-1] == 0 and reach == len(sums.open) - 1
    return float(sums.delivered[-1] - sums.delivered[reach - 1]) if known else math.nan


def _notes(found: WorldLogs, without_deliveries: list[Log], last: int) -> tuple[str, ...]:
    """Why there is no best arm, why curves are missing, which logs are torn, and where the curves end."""
    horizon = found.header.horizon
    tied = no_best_arm(found.header.arms, np.array(found.header.means))
    notes = [] if tied is None else [tied]
    if without_deliveries:
        notes.append(f"{without_deliveries[0].path}: holds only the pulls, so what was delivered is not known")
    notes += [f"{log.path}: {log.truncated}" for logs in found.logs.values() for log in logs if not log.complete]
    if last < horizon:
        notes.append(f"curves end at round {last} of {horizon}")
    return tuple(notes)
