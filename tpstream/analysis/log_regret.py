"""Regret from logs alone: three curves that are kept apart.

After round t, with mu* the largest mean of an arm and mu_i that of the arm pulled in round i:

- pseudo-regret: the sum over rounds i <= t of mu* - mu_i; what was lost in expectation, counted at the pull;
- shortfall: t mu* minus all that was delivered by the instant of round t; what the account lacks against pulls of the
  best arm that had paid at once, in expectation;
- outstanding: the sum over pulls that are open after round t of mu_i minus what they paid so far; what is
  still due, in expectation.

So shortfall = pseudo-regret + outstanding + luck, where luck is the sum over closed pulls of mu_i minus what they paid.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tpstream.analysis.intervals import Interval, t_interval
from tpstream.analysis.logs import WorldLogs, gather
from tpstream.analysis.regret import Ledger, checkpoints, count_pulls, pseudo_regret
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import Kind
from tpstream.model.world import Problem

if TYPE_CHECKING:
    from tpstream.analysis.theory import Bound, PolicyGroups


@dataclass(frozen=True, eq=False)
class Account:
    """What the runs of a policy did up to every checkpoint; the first axis is the run, the second the checkpoint."""

    counts: Ints
    """Pulls of every arm (last axis)."""
    delivered: Floats | None = None
    outstanding: Floats | None = None
    open: Ints | None = None
    """Open pulls."""
    paid_later: Floats | None = None
    """What the open pulls paid after the last round; NaN for a run whose log does not tell (it was not drained)."""


@dataclass(frozen=True, eq=False)
class LogRegret:
    """The curves of every policy at the checkpoints (`rounds`); without deliveries if only pulls were read."""

    name: str
    arms: tuple[str, ...]
    means: Floats
    rounds: Ints
    accounts: Mapping[str, Account]
    notes: tuple[str, ...]
    problem: Problem
    known: "tuple[PolicyGroups, ...]"
    """The policies as the theory sees them."""

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
        """Mean and 95 % interval over runs, by the name of the curve."""
        found = {
            "pseudo-regret": self.regret(policy),
            "shortfall": self.shortfall(policy),
            "outstanding": self.accounts[policy].outstanding,
        }
        return {name: t_interval(curve) for name, curve in found.items() if curve is not None}

    def table(self) -> pd.DataFrame:
        """The curves after the last round, a row for each policy: mean, low, high; open pulls; the best arm's share."""
        return pd.DataFrame([self._row(policy) for policy in self.accounts])

    def _row(self, policy: str) -> dict[str, object]:
        account = self.accounts[policy]
        row: dict[str, object] = {"policy": policy, "runs": len(account.counts), "rounds": int(self.rounds[-1])}
        for name, curve in self.intervals(policy).items():
            key = name.replace("-", "_")
            ends = {"": curve.mean, "_low": curve.low, "_high": curve.high}
            row |= {f"{key}{suffix}": float(values[-1]) for suffix, values in ends.items()}
        if account.open is not None and account.paid_later is not None:
            row["open_pulls"] = float(account.open[:, -1].mean())
            row["paid_later"] = float(account.paid_later.mean())
        best = self.means == self.means.max()
        row["best_arm_share"] = float(account.counts[:, -1, best].sum() / account.counts[:, -1].sum())
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
    """Regret of logs (files, folders, or open ones) of one world; with `only_pulls` nothing but pulls is read.

    If one of them holds only the pulls, no more is told of the others.
    All curves end where the shortest log does; the last round of a torn log is not whole and does not count.
    """
    gathered = gather(logs)
    header = gathered.header
    bare = [log for of_policy in gathered.logs.values() for log in of_policy if log.header.detail == "pulls"]
    only_pulls = only_pulls or bool(bare)
    means, rounds = np.array(header.means), checkpoints(header.horizon)
    reach = len(rounds)
    ledgers: dict[str, list[Ledger]] = {}
    for policy, of_policy in gathered.logs.items():
        ledgers[policy] = [_pulls(log, rounds) if only_pulls else _everything(log, rounds, means) for log in of_policy]
        reach = min(reach, *(ledger.reach for ledger in ledgers[policy]))
    accounts = {policy: _account(of_policy, reach, whole=not only_pulls) for policy, of_policy in ledgers.items()}
    by_policy = gathered.logs.items()
    notes = _notes(gathered, bare, int(rounds[reach - 1]))
    known = tuple((policy, logs[0].header.kind, logs[0].header.parameters.get("groups")) for policy, logs in by_policy)
    problem = header.problem()
    return LogRegret(gathered.name, tuple(header.arms), means, rounds[:reach], accounts, notes, problem, known)


def _pulls(log: Log, rounds: Ints) -> Ledger:
    """What the pulls alone tell."""
    arms = log.columns(["arm"], [Kind.PULL])["arm"]
    _check_arms(log, arms)
    whole = len(arms) if log.complete else len(arms) - 1
    reach = _reach(log, rounds, whole)
    ledger = Ledger(rounds, np.array(log.header.means))
    ledger.reach = reach
    ledger.counts[:reach] = count_pulls(arms, len(log.header.arms), rounds[:reach])
    return ledger


def _everything(log: Log, rounds: Ints, means: Floats) -> Ledger:
    ledger = Ledger(rounds, means)
    for piece in log.reader.pieces(Ledger.COLUMNS):
        _check_arms(log, piece["arm"])
        ledger.add(piece)
    ledger.reach = _reach(log, rounds, ledger.pulls if log.complete else ledger.pulls - 1)
    ledger.finish()
    return ledger


def _check_arms(log: Log, arms: Ints) -> None:
    """Refuse what cannot be counted; the rest of the contract is for `replay` to check."""
    last = len(log.header.arms) - 1
    if len(arms) and not 0 <= arms.min() <= arms.max() <= last:
        raise LogError(f"{log.path}: an arm is outside of 0 to {last}; `tpstream replay` says where")


def _reach(log: Log, rounds: Ints, whole: int) -> int:
    """How many checkpoints a log with so many whole rounds covers."""
    reach = int(np.searchsorted(rounds, whole, side="right"))
    if reach == 0:
        raise LogError(f"{log.path}: has no whole round ({log.truncated or 'no decision'}); leave it out")
    return reach


def _account(ledgers: list[Ledger], reach: int, *, whole: bool) -> Account:
    counts = np.stack([ledger.counts[:reach] for ledger in ledgers])
    if not whole:
        return Account(counts)
    return Account(
        counts=counts,
        delivered=np.stack([ledger.delivered[:reach] for ledger in ledgers]),
        outstanding=np.stack([ledger.outstanding[:reach] for ledger in ledgers]),
        open=np.stack([ledger.open[:reach] for ledger in ledgers]),
        paid_later=np.array([ledger.paid_after(reach) for ledger in ledgers]),
    )


def _notes(gathered: WorldLogs, bare: list[Log], last: int) -> tuple[str, ...]:
    torn = [f"{log.path}: {log.truncated}" for logs in gathered.logs.values() for log in logs if not log.complete]
    short = [f"curves end at round {last} of {gathered.header.horizon}"] if last < gathered.header.horizon else []
    blind = [f"{bare[0].path}: holds only the pulls, so what was delivered is not known"] if bare else []
    return (*blind, *torn, *short)
