"""What a study found: tables, figures and a report, made from the numbers of its runs (runs.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tpstream.analysis import intervals
from tpstream.analysis.money import MEASURES, frame, money_contrasts, money_table, stacked
from tpstream.analysis.regret import all_equal
from tpstream.analysis.theory import Bound
from tpstream.experiment.runs import StudyRuns, failures_table
from tpstream.figures.style import figure_text, regret_figure, run_count
from tpstream.model.arrays import Floats, Ints
from tpstream.model.display import PolicyTables, Summary
from tpstream.model.errors import StudyError

if TYPE_CHECKING:
    import pandas as pd  # slow to load: imported where a table is made
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.view.pages import Page


@dataclass(frozen=True, eq=False, repr=False)
class Study(StudyRuns, PolicyTables):
    """Results of a comparison, as `compare` returns them: tables, curves and contrasts.

    Attributes
    ----------
    name, seed
        The scenario's name, with what a sweep set in it, and the seed.
    arms, means
        The names and the true means of the arms.
    rounds
        The checkpoints up to which pulls were counted.
    chosen
        Those of them that results are given at: the last one, unless more were asked for.
    records
        The finished runs of every policy, with their measures.
    logs
        The log files of every policy, if logs were asked for.
    failures
        The runs that failed.
    currency
        How amounts of money are written, empty if no currency is given; None if rewards are not money.
    round_title
        The title of an axis of rounds, with the time that one takes if that is known.
    origin
        A function that tells how the study was made; None for one that was put together by hand.
    """

    def tables(self) -> "dict[str, pd.DataFrame]":
        """All tables by name: what a study's folder gets as files; two are about money, if rewards are money."""
        tables = {
            "table": self.table(),
            "results": self.results(),
            "contrasts": self.contrasts(),
            "curves": self.curves(),
            "pulls": self.pulls(),
            "failures": self.failed(),
            "times": self.times(),
        }
        money = {} if self.currency is None else {"money": self.money(), "money_contrasts": self.money_contrasts()}
        return {**tables, **money}

    def table(self) -> "pd.DataFrame":
        """Final regret and how well the best arm was found, a row for each policy.

        `low` and `high` are Student's 95 % interval, cut at 0 and at the largest possible regret; `bootstrap_low` and
        `bootstrap_high` are the bootstrap's. `best_arm_share` is the share of pulls on the best arm, `best_found` the
        share of runs in which no other arm was pulled as often, with Wilson's interval. A measure that is a single
        number has its mean over the runs and Student's interval. If all arms are equally good (`no_best_arm`), what is
        about the best arm is NaN.
        """
        return frame(self.rows)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of `table` as dictionaries; computed once, since the bootstrap takes long."""
        return [self._row(policy) for policy in self.records]

    def _row(self, policy: str) -> dict[str, Any]:
        records, finals = self.records[policy], self.regret(policy)[:, -1]
        failed = sum(failure.policy == policy for failure in self.failures)
        if not len(records):
            empty = dict.fromkeys(("regret", "low", "high", "bootstrap_low", "bootstrap_high"), np.nan)
            rest = dict.fromkeys(("best_arm_share", "best_found", "best_found_low", "best_found_high"), np.nan)
            return {"policy": policy, "runs": 0, **empty, **rest, "failed": failed, "seconds_per_run": np.nan}
        pulls, interval = self.pulled(policy)[:, -1], self._cut(finals, self.largest_regret)
        judged = 0 if all_equal(self.means) else len(records)
        found = int(self._found_best(pulls).sum())
        low, high = intervals.bootstrap_interval(finals)
        measures: dict[str, float] = {}
        for name in self._number_names(policy):
            measures |= intervals.t_interval(self.measure(policy, name).astype(np.float64)).columns(name)
        found_low, found_high = intervals.wilson_interval(found, judged)
        return {
            "policy": policy,
            "runs": len(records),
            "regret": float(interval.mean),
            "low": float(interval.low),
            "high": float(interval.high),
            "bootstrap_low": low,
            "bootstrap_high": high,
            "best_arm_share": float(pulls[:, self.best].sum() / pulls.sum()) if judged else np.nan,
            "best_found": found / judged if judged else np.nan,
            "best_found_low": found_low,
            "best_found_high": found_high,
            **measures,
            "failed": failed,
            "seconds_per_run": float(records.seconds.mean()),
        }

    def results(self) -> "pd.DataFrame":
        """A row for each policy, run and chosen round: regret, share of the best arm, most pulled arm."""
        frames = []
        places = self._places(self.chosen)
        for policy, records in self.records.items():
            pulls = self.pulled(policy).reshape(-1, len(self.arms))
            columns = {
                "policy": policy,
                "run": np.repeat(records.runs, len(places)),
                "round": np.tile(self.chosen, len(records)),
                "regret": self.regret(policy)[:, places].ravel(),
                "best_arm_share": pulls[:, self.best].sum(axis=1) / pulls.sum(axis=1),
                "most_pulled": np.array(self.arms)[pulls.argmax(axis=1)],
                "best_found": self._found_best(pulls),
                **{name: np.repeat(self.measure(policy, name), len(places)) for name in self._number_names(policy)},
            }
            frames.append(frame(columns))
        return stacked(frames, "results")

    def curves(self, rounds: Sequence[int] | Ints | None = None) -> "pd.DataFrame":
        """Mean regret with its 95 % interval at these checkpoints (default: all); a row for each policy and round."""
        wanted = self.rounds if rounds is None else np.asarray(rounds, dtype=np.int64)
        places, frames = self._places(wanted), []
        for policy, curve in self._intervals().items():
            columns = {"regret": curve.mean[places], "low": curve.low[places], "high": curve.high[places]}
            frames.append(frame({"policy": policy, "round": wanted, **columns}))
        return stacked(frames, "curves")

    def money(self, rounds: Sequence[int] | Ints | None = None) -> "pd.DataFrame":
        """What was earned, expected, outstanding, late and lost at these checkpoints (default: all), with intervals.

        A row for each policy and round; docs/columns.md defines the columns. StudyError if rewards are not money.
        """
        if self.currency is None:
            raise StudyError(f'{self.name}: rewards are not money; say what they are paid in, as in currency = "EUR"')
        wanted = self.rounds if rounds is None else np.asarray(rounds, dtype=np.int64)
        found = {policy: {name: self.measure(policy, name) for name in MEASURES} for policy in self._finished}
        regret = {policy: self.regret(policy) for policy in self._finished}
        return money_table(found, regret, self.means, self.rounds, self._places(wanted))

    def money_contrasts(self, against: str | None = None) -> "pd.DataFrame":
        """Paired differences of what was earned and is expected in the end, of every two policies or `against` one."""
        found = {one: (self.records[one].runs, self.measure(one, "earned")[:, -1]) for one in self._finished}
        finals = {policy: self.regret(policy)[:, -1] for policy in found}
        return money_contrasts(found, finals, self.largest_regret, against)

    def contrast(self, first: str, second: str) -> intervals.Contrast:
        """The difference of two policies' final regrets, paired by run."""
        _, here, there = np.intersect1d(self._of(first).runs, self._of(second).runs, return_indices=True)
        finals = self.regret(first)[here, -1], self.regret(second)[there, -1]
        return intervals.paired(first, second, *finals, most=self.largest_regret)

    def contrasts(self) -> "pd.DataFrame":
        """The contrast of every two policies, a row each."""
        return frame(self._contrasts, list(intervals.Contrast.__dataclass_fields__))

    @cached_property
    def _contrasts(self) -> list[dict[str, object]]:
        return [asdict(self.contrast(first, second)) for first, second in combinations(self.records, 2)]

    def contrasts_with(self, against: str | None) -> list[dict[str, Any]]:
        """The contrast of each other policy with this one; none unless all have two runs, which an interval needs."""
        runs = [len(records) for records in self.records.values()]
        if against is None or len(runs) < 2 or min(runs) < 2:  # noqa: PLR2004 (two policies and two runs)
            return []
        return [asdict(self.contrast(one, against)) for one in self.records if one != against]

    @property
    def yardstick(self) -> str | None:
        """The policy with the smallest regret, without those that are told what cannot be known; None without any."""
        usable = [row for row in self.rows if row["runs"] and not intervals.is_informed(row["policy"])]
        return str(min(usable, key=lambda row: row["regret"])["policy"]) if usable else None

    def value(self, clairvoyant: str = intervals.CLAIRVOYANT, waiting: str = intervals.WAITING) -> "pd.DataFrame":
        """Which fraction of the delay's cost each policy recovers, paired by run, with Fieller's 95 % interval.

        The cost is the regret of the `waiting` policy minus that of the `clairvoyant` one; both must be in the study.
        """
        ends = [self._of(waiting).runs, self._of(clairvoyant).runs]
        found = []
        for policy in self.records:
            runs = reduce(np.intersect1d, ends, self._of(policy).runs)
            own, late, seen = (
                self.regret(one)[np.isin(self._of(one).runs, runs), -1] for one in (policy, waiting, clairvoyant)
            )
            found.append({"policy": policy, **intervals.recovery(own, late, seen, self.largest_regret)})
        return frame(found)

    def pulls(self) -> "pd.DataFrame":
        """How often each policy pulled each arm in the end, with its 95 % interval; a row for each arm."""
        frames = []
        for policy in self._finished:
            pulls = self.pulled(policy)[:, -1].astype(np.float64)
            spread = intervals.t_interval(pulls).within(0, int(self.rounds[-1]))
            columns = {"mean": self.means, "pulls": spread.mean, "low": spread.low, "high": spread.high}
            share = spread.mean / self.rounds[-1]
            frames.append(frame({"policy": policy, "arm": self.arms, **columns, "share": share}))
        return stacked(frames, "pulls")

    def times(self) -> "pd.DataFrame":
        """The seconds that every run took."""
        frames = [
            frame({"policy": policy, "run": records.runs, "seconds": records.seconds})
            for policy, records in self.records.items()
        ]
        return stacked(frames, "times")

    def failed(self) -> "pd.DataFrame":
        """The runs that failed, why, and how to repeat each alone."""
        return failures_table(self.failures)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: "Axes | None" = None,
        log_y: bool = False,
        labels: Mapping[str, str] | None = None,
        log_rounds: bool = False,
        bounds: Sequence[Bound] = (),
    ) -> "Figure":
        """Draw regret over rounds, a line and a band for each policy; if rewards are money, what was earned beside it.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.
        ax
            Matplotlib axes to draw regret on; by default a new figure is made.
        log_y, log_rounds
            Whether the axis of regret, or that of rounds, is logarithmic.
        labels
            Other names for policies, by their labels.
        bounds
            Bounds of the theory, which are drawn too and make the axis of regret logarithmic.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        runs = max(len(records) for records in self.records.values())
        title = "\n".join(filter(None, [f"{figure_text(self.name)}: {run_count(runs)}", self.no_best_arm]))
        curves = self._intervals()
        shown: dict[str, Any] = {"log_rounds": log_rounds, "bounds": bounds, "log_y": log_y, "labels": labels}
        shown["round_title"] = self.round_title
        if self.currency is None or ax is not None:
            return regret_figure(path, title, self.rounds, curves, ax=ax, currency=self.currency, **shown)
        from tpstream.figures.money import money_figure  # noqa: PLC0415 (only where rewards are money)

        earned = {policy: intervals.t_interval(self.measure(policy, "earned")) for policy in curves}
        best = self.rounds * self.means.max()
        return money_figure(path, title, self.rounds, curves, earned, best, self.currency, **shown)

    def report(
        self,
        path: str | Path | None = None,
        *,
        against: str | None = None,
        value: "pd.DataFrame | None" = None,
        log_rounds: bool = False,
        bounds: Sequence[Bound] = (),
    ) -> "Page":
        """Make a report: what was asked, what was found and how sure it is, tables, figures, and how to repeat it.

        Parameters
        ----------
        path
            Where to write it: one HTML file that loads nothing and prints. By default nothing is written.
        against
            The policy that the others are compared with; by default the one with the smallest regret.
        value
            The table of `value`, if the report is to hold it.
        log_rounds, bounds
            As in `plot`, for the report's figure.


        Returns
        -------
        Page
            The page, which a notebook shows.

        Raises
        ------
        PageError
            If the page cannot be written.
        """
        from tpstream.experiment.report import study_report  # noqa: PLC0415 (it needs this module)

        return study_report(self, against=against, value=value, log_rounds=log_rounds, bounds=bounds).written(path)

    def _summary(self) -> Summary:
        from tpstream.experiment.shown import summarise  # noqa: PLC0415 (it needs this module)

        return summarise(self, self._intervals())

    def _intervals(self) -> dict[str, intervals.Interval]:
        """The regret at every checkpoint with its interval, of the policies that have finished runs."""
        return {policy: self._cut(self.regret(policy), self._largest_regrets) for policy in self._finished}

    @staticmethod
    def _cut(regret: Floats, most: Floats | float) -> intervals.Interval:
        """The mean over runs with its interval, cut at what regret can be; all tables and figures take it from here."""
        return intervals.t_interval(regret).within(0.0, most)
