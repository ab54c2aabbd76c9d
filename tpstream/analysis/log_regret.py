"""Regret from logs alone: three curves that are kept apart.

After round t, with mu* the largest mean of an arm and mu_i that of the arm pulled in round i:

- pseudo-regret: the sum over rounds i <= t of mu* - mu_i; what was lost in expectation, counted at the pull;
- shortfall: the number of pulls so far times mu* minus what was earned; how much less was credited than if every pull
  had been of the best arm and had paid its mean at once;
- outstanding: the sum over pulls that are open after round t of mu_i minus what they were credited with so far; what is
  still to come, in expectation.

So shortfall = pseudo-regret + outstanding + luck, where luck is the sum over closed pulls of mu_i minus what they paid.
In a trial that was stopped nothing is pulled any more: after the stop its curves stay where they ended.
What was earned and what is outstanding is found as in analysis/money.py, also where rewards are not money.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tpstream.analysis.intervals import Interval, t_interval
from tpstream.analysis.logs import WorldLogs, gather, logged_currency
from tpstream.analysis.money import MEASURES, Account as EventAccount, Curves, money_table
from tpstream.analysis.regret import PullCounts, all_equal, best_arms, checkpoints, no_best_arm, pseudo_regret
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.display import PolicyTables, Summary, counted, number_text
from tpstream.model.errors import LogError
from tpstream.model.events import Kind, about_pulls, concatenate
from tpstream.model.units import round_title
from tpstream.model.world import Problem

if TYPE_CHECKING:
    from tpstream.analysis.theory import Bound, PolicyGroups

NEEDED = ("time", "kind", "round", "pull", "arm", "value", "shown")
"""The columns of a log that are read."""


@dataclass(frozen=True, eq=False)
class Account:
    """What the runs of a policy did up to every checkpoint; the first axis is the run, the second the checkpoint."""

    counts: Ints
    """Pulls of every arm (last axis)."""
    earned: Floats | None = None
    """The sum of the parts that were credited; this and all below is None if only the pulls are known."""
    outstanding: Floats | None = None
    """What the open pulls are still expected to pay."""
    late: Floats | None = None
    """The sum of the parts that came after their pull was closed."""
    lost_parts: Ints | None = None
    """The number of parts that are known never to arrive."""
    open: Ints | None = None
    """The number of open pulls."""
    paid_later: Floats | None = None
    """What the open pulls paid after the last round; NaN for a run whose log does not tell (it was not drained)."""


@dataclass(frozen=True, eq=False, repr=False)
class LogRegret(PolicyTables):
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
    currency
        How amounts of money are written, empty if the currency is not known; None if rewards are not money.
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
    currency: str | None = None
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
        """How much less was earned than the best arm pays on average, of every run at every checkpoint."""
        account = self.accounts[policy]
        return None if account.earned is None else account.counts.sum(axis=2) * self.means.max() - account.earned

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

    def money(self) -> pd.DataFrame:
        """What was earned, expected, outstanding, late and lost at every checkpoint; empty if only pulls are known.

        The table is that of `Study.money`, also where rewards are not money.
        """
        known = [policy for policy, account in self.accounts.items() if account.earned is not None]
        found = {policy: {name: getattr(self.accounts[policy], name) for name in MEASURES} for policy in known}
        regret = {policy: self.regret(policy) for policy in known}
        return money_table(found, regret, self.means, self.rounds, np.arange(len(self.rounds)))

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

    def _summary(self) -> Summary:
        rows = [
            {"policy": str(row["policy"]), "runs": f"{row['runs']:,}"}
            | {name: number_text(row[name]) for name in ("pseudo_regret", "shortfall", "outstanding") if name in row}
            for row in self.table().to_dict("records")
        ]
        title = f"Regret from logs of {self.name}: {counted(int(self.rounds[-1]), 'round')}"
        return Summary(title, (), rows, self.notes)

    def shares(self, policy: str) -> Floats:
        """The share of each arm (last axis) in all pulls so far, over all runs, at every checkpoint."""
        pulls = self.accounts[policy].counts.sum(axis=0)
        shares: Floats = pulls / pulls.sum(axis=1, keepdims=True)
        return shares


def log_regret(logs: Iterable[Log | str | Path] | Log | str | Path, *, only_pulls: bool = False) -> LogRegret:
    """Compute the regret of every policy from logs alone.

    All curves end where the shortest log does; the last round of a torn log is not whole and does not count. The curves
    of a trial that a look stopped go on to the horizon, and stay where they ended.

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
    for log in (log for logs in found.logs.values() for log in logs):
        log.require_simulated("regret needs the arms' true means, which nobody knows")
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
        means=header.known_means(),
        rounds=rounds[:reach],
        accounts={
            policy: _account([curves for curves, _ in of_policy], reach, only_pulls=only_pulls)
            for policy, of_policy in runs.items()
        },
        notes=_notes(found, without_deliveries, int(rounds[reach - 1])),
        problem=header.problem(),
        known=tuple(
            (policy, logs[0].header.kind, logs[0].header.assumed_groups()) for policy, logs in found.logs.items()
        ),
        currency=logged_currency(header),
        round_title=round_title(header.time_unit, regular=header.time_unit is not None and _is_regular(found)),
    )


def _is_regular(found: WorldLogs) -> bool:
    """Whether one decision was made in each unit of time, as the times of the pulls in the first log show."""
    first = next(iter(found.logs.values()))[0]
    return bool((np.diff(first.columns(["time"], [Kind.PULL])["time"]) == 1).all())


def _read_run(log: Log, rounds: Ints, *, only_pulls: bool) -> tuple[Curves, int]:
    """What happened in one run, and the number of checkpoints up to which its log is whole."""
    means = log.header.known_means()
    account = EventAccount(means, rounds, log.header.horizon)
    if only_pulls:
        columns = concatenate(list(log.counted(["kind", "arm"])), ["kind", "arm"])
        arms = columns["arm"][columns["kind"] == Kind.PULL]
        counter, pulls = PullCounts(len(means), rounds), len(arms)
        counter.add(arms)
        curves = account.curves()
        curves.counts[:-1] = counter.counts()
    else:
        for columns in map(about_pulls, log.counted(NEEDED)):
            account.add(columns)
        curves = account.curves()
        pulls = int(curves.counts.sum())
        np.cumsum(curves.counts, axis=0, out=curves.counts)
    reach = int(np.searchsorted(rounds, pulls if log.complete else pulls - 1, side="right"))
    if log.complete and was_stopped(log):
        reach = len(rounds)
    if reach == 0:
        raise LogError(f"{log.path}: has no whole round ({log.truncated or 'no decision'}); leave it out")
    return curves, reach


def was_stopped(log: Log) -> bool:
    """Whether a look of a trial ended it: the log says of every arm that it was closed."""
    if not log.header.scenario.get("trial"):
        return False
    return len(np.unique(log.columns(["arm"], [Kind.STOPPED])["arm"])) == len(log.header.arms)


def _account(runs: list[Curves], reach: int, *, only_pulls: bool) -> Account:
    """The account of a policy from those of its runs, up to the checkpoint that all logs reach."""
    stacked = {name: np.stack([getattr(curves, name)[:reach] for curves in runs]) for name in Curves._fields}
    if only_pulls:
        return Account(stacked["counts"])
    return Account(**stacked, paid_later=np.array([_paid_later(curves, reach) for curves in runs]))


def _paid_later(curves: Curves, reach: int) -> float:
    """What was credited after the last checkpoint; NaN unless all pulls were closed by the log's end."""
    known = curves.open[-1] == 0 and reach == len(curves.open) - 1
    return float(curves.earned[-1] - curves.earned[reach - 1]) if known else math.nan


def _notes(found: WorldLogs, without_deliveries: list[Log], last: int) -> tuple[str, ...]:
    """Why there is no best arm, why curves are missing, which logs are torn, and where the curves end."""
    horizon = found.header.horizon
    tied = no_best_arm(found.header.arms, found.header.known_means())
    notes = [] if tied is None else [tied]
    if without_deliveries:
        notes.append(f"{without_deliveries[0].path}: holds only the pulls, so what was delivered is not known")
    notes += [f"{log.path}: {log.truncated}" for logs in found.logs.values() for log in logs if not log.complete]
    if last < horizon:
        notes.append(f"curves end at round {last} of {horizon}")
    stopped = sum(was_stopped(log) for logs in found.logs.values() for log in logs if log.complete)
    if stopped:
        runs = sum(len(logs) for logs in found.logs.values())
        notes.append(f"{stopped} of {counted(runs, 'trial')} stopped at a look; their curves stay where they ended")
    return tuple(notes)
