"""What a study found: pulls of every arm over time, for every policy and run, and the tables made from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.analysis.figures import regret_figure
from tpstream.analysis.intervals import Interval, t_interval
from tpstream.analysis.regret import pseudo_regret
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import UnknownNameError


@dataclass(frozen=True)
class Contrast:
    """A policy's final regret minus another's, run by run on the same random numbers, with its 95 % interval."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    saving: float
    """How many times more runs an unpaired comparison would need for an interval as narrow."""


@dataclass(frozen=True, eq=False)
class Study:
    """Results of a comparison; `counts` holds an array (runs, rounds, arms) for each policy."""

    name: str
    seed: int
    arms: tuple[str, ...]
    means: Floats
    rounds: Ints
    counts: Mapping[str, Ints]
    seconds: Mapping[str, Floats]
    logs: Mapping[str, list[Path]]

    def regret(self, policy: str) -> Floats:
        """The pseudo-regret of every run (first axis) at every checkpoint (`rounds`)."""
        if policy not in self.counts:
            raise UnknownNameError("policy of this study", policy, self.counts)
        return pseudo_regret(self.counts[policy], self.means)

    def table(self) -> pd.DataFrame:
        """Final regret with its 95 % interval, share of pulls on the best arm, seconds per run; a row a policy."""
        rows = []
        best = self.means == self.means.max()
        for policy, counts in self.counts.items():
            interval = t_interval(self.regret(policy)[:, -1])
            share = counts[:, -1, best].sum() / counts[:, -1].sum()
            rows.append(
                {
                    "policy": policy,
                    "runs": len(counts),
                    "regret": float(interval.mean),
                    "low": float(interval.low),
                    "high": float(interval.high),
                    "best_arm_share": float(share),
                    "seconds_per_run": float(self.seconds[policy].mean()),
                }
            )
        return pd.DataFrame(rows)

    def curves(self) -> pd.DataFrame:
        """Mean regret with its 95 % interval at every checkpoint; a row for each policy and round."""
        frames = []
        for policy, curve in self._intervals().items():
            columns = {"round": self.rounds, "regret": curve.mean, "low": curve.low, "high": curve.high}
            frames.append(pd.DataFrame(columns).assign(policy=policy))
        return pd.concat(frames, ignore_index=True)[["policy", "round", "regret", "low", "high"]]

    def contrast(self, first: str, second: str) -> Contrast:
        """The difference of two policies' final regrets, paired by run."""
        one, other = self.regret(first)[:, -1], self.regret(second)[:, -1]
        interval = t_interval(one - other)
        with np.errstate(divide="ignore", invalid="ignore"):
            saving = (one.var() + other.var()) / (one - other).var()
        return Contrast(first, second, float(interval.mean), float(interval.low), float(interval.high), float(saving))

    def plot(self, path: str | Path, *, log_rounds: bool = False) -> Path:
        """Draw regret over rounds to a file (PNG, SVG or PDF by its ending)."""
        runs = max(len(counts) for counts in self.counts.values())
        title = f"{self.name}: mean of {runs} run{'s' if runs > 1 else ''}" + (", 95 % interval" if runs > 1 else "")
        regret_figure(Path(path), title, self.rounds, self._intervals(), log_rounds=log_rounds)
        return Path(path)

    def _intervals(self) -> dict[str, Interval]:
        return {policy: t_interval(self.regret(policy)) for policy in self.counts}
