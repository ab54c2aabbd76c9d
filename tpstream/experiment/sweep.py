"""Sweeps: a comparison for every combination of values of some keys, the same random numbers for all."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from tpstream.experiment.compare import refuse_if_all_failed, run_study
from tpstream.experiment.folder import export
from tpstream.experiment.plan import make_plan
from tpstream.experiment.result import Study
from tpstream.experiment.runs import FailedRun
from tpstream.figures.style import policy_colours
from tpstream.figures.sweep import sweep_figure
from tpstream.model.display import Curve, PolicyTables, Summary, counted, listed, number_text
from tpstream.model.errors import StudyError
from tpstream.run.options import RunKeywords, run_options
from tpstream.scenario.overrides import read_labels
from tpstream.scenario.policy_choice import PolicySpec
from tpstream.scenario.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.view.pages import Page


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(PolicyTables):
    """Results of a sweep, as `sweep` returns them: a study for each cell, tables with a column for each varied path."""

    name: str
    seed: int
    settings: tuple[Mapping[str, Any], ...]
    """The values of each cell, by path; the label of one that has a label."""
    studies: tuple[Study, ...]

    @property
    def paths(self) -> list[str]:
        """What was varied."""
        return list(self.settings[0])

    @property
    def currency(self) -> str | None:
        """How amounts of money are written; None unless rewards are money in all cells."""
        return None if any(study.currency is None for study in self.studies) else self.studies[0].currency

    @property
    def failures(self) -> tuple[FailedRun, ...]:
        """The runs that failed, of all cells."""
        return tuple(failure for study in self.studies for failure in study.failures)

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by name, each with the rows of every cell."""
        tables = [study.tables() for study in self.studies]
        return {
            name: self._join([table[name] for table in tables])
            for name in tables[0]
            if all(name in table for table in tables)
        }

    def table(self) -> pd.DataFrame:
        """`Study.table` of every cell."""
        return self._joined(Study.table)

    def results(self) -> pd.DataFrame:
        """`Study.results` of every cell."""
        return self._joined(Study.results)

    def curves(self, rounds: Sequence[int] | None = None) -> pd.DataFrame:
        """`Study.curves` of every cell."""
        return self._joined(lambda study: study.curves(rounds))

    def money(self, rounds: Sequence[int] | None = None) -> pd.DataFrame:
        """`Study.money` of every cell; StudyError if rewards are not money in a cell."""
        return self._joined(lambda study: study.money(rounds))

    def money_contrasts(self) -> pd.DataFrame:
        """`Study.money_contrasts` of every cell."""
        return self._joined(Study.money_contrasts)

    def contrasts(self) -> pd.DataFrame:
        """`Study.contrasts` of every cell."""
        return self._joined(Study.contrasts)

    def pulls(self) -> pd.DataFrame:
        """`Study.pulls` of every cell."""
        return self._joined(Study.pulls)

    def times(self) -> pd.DataFrame:
        """`Study.times` of every cell; runs that several cells share took their time once."""
        return self._joined(Study.times)

    def failed(self) -> pd.DataFrame:
        """`Study.failed` of every cell."""
        return self._joined(Study.failed)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: "Axes | None" = None,
        log_y: bool = False,
        labels: Mapping[str, str] | None = None,
        log_values: bool | None = None,
    ) -> "Figure":
        """Draw final regret over the first path's values, a panel for each combination of the others.

        Paths of which there is only one value are left out.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.
        ax
            Matplotlib axes to draw on, for a sweep with a single panel; by default a new figure is made.
        log_y
            Whether the axis of regret is logarithmic.
        labels
            Other names for policies, by their labels.
        log_values
            Whether the axis of values is logarithmic; by default where that keeps them further apart.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        shown: dict[str, Any] = {"log_values": log_values, "ax": ax, "log_y": log_y, "labels": labels}
        return sweep_figure(path, self.name, self.table(), self._varied, currency=self.currency, **shown)

    def report(self, path: str | Path | None = None, *, log_values: bool | None = None, log_y: bool = False) -> "Page":
        """Make a report: what was asked, what was found and how sure it is, tables, figures, and how to repeat it.

        Parameters
        ----------
        path
            Where to write it: one HTML file that loads nothing and prints. By default nothing is written.
        log_values, log_y
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
        from tpstream.experiment.report import sweep_report  # noqa: PLC0415 (it needs this module)

        return sweep_report(self, log_values=log_values, log_y=log_y).written(path)

    def _summary(self) -> Summary:
        policies = list(dict.fromkeys(policy for study in self.studies for policy in study.records))
        finals = {policy: np.array([_final(study, policy) for study in self.studies]) for policy in policies}
        shown = column_values([settings[self.paths[0]] for settings in self.settings])
        rows = [
            {path: str(settings[path]) for path in self.paths}
            | {policy: number_text(final[cell]) for policy, final in finals.items()}
            for cell, settings in enumerate(self.settings)
        ]
        curves = {}
        if len(self.paths) == 1 and all(isinstance(value, int | float) for value in shown):
            order, colours = np.argsort(shown), policy_colours(policies)
            values = np.array(shown, dtype=np.float64)[order]
            curves = {policy: Curve(values, final[order], colours[policy]) for policy, final in finals.items()}
        varied = ", ".join(f"{path} = {listed(list(dict.fromkeys(self._values(path))))}" for path in self.paths)
        failed = [f"{counted(len(self.failures), 'run')} failed; see failed()"] if self.failures else []
        return Summary(
            f"Sweep of {self.name}: mean final regret in {counted(len(self.studies), 'cell')}",
            [f"seed {self.seed}", varied],
            rows,
            failed,
            curves,
            (self.paths[0], "final pseudo-regret"),
        )

    @property
    def _varied(self) -> list[str]:
        """The paths of which there are several values; the first path if there is none."""
        return [path for path in self.paths if len(set(self._values(path))) > 1] or self.paths[:1]

    def _values(self, path: str) -> list[str]:
        return [str(settings[path]) for settings in self.settings]

    def _joined(self, table: Callable[[Study], pd.DataFrame]) -> pd.DataFrame:
        return self._join([table(study) for study in self.studies])

    def _join(self, frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """The frames of all cells as one, with a column for each path that was varied."""
        for path in reversed(self.paths):
            values = column_values([settings[path] for settings in self.settings])
            for frame, value in zip(frames, values, strict=True):
                frame.insert(0, path, value)
        # Empty frames, of cells without a finished run, would decide about the types of columns.
        return pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)


def _final(study: Study, policy: str) -> float:
    """The mean final regret; NaN without a finished run."""
    return float(study.regret(policy)[:, -1].mean()) if len(study.records[policy]) else np.nan


def sweep(
    scenario: Scenario | str | Path | Mapping[str, Any],
    sets: Mapping[str, Sequence[Any] | Mapping[str, Any]],
    policies: Sequence[PolicySpec] | None = None,
    *,
    together: bool = False,
    runs: int = 10,
    first: int = 0,
    seed: int | None = None,
    jobs: int = 1,
    rounds: Sequence[int] = (),
    folder: str | Path | None = None,
    executor: Executor | None = None,
    **options: Unpack[RunKeywords],
) -> Sweep:
    """Compare the policies for every combination of values, as in `{"span": [10, 20], "policies.tp-ucb-fr.ties": ...}`.

    A path is that of a key in the scenario file, arms and delays by name or number, or policies.NAME.PARAMETER;
    `arms.count` keeps so many of the first arms, and the value "none" of a delay, or of a key of it, leaves the delay
    out. A mapping instead of a list gives values labels, which tables and figures show: `{"rewards.a": {"early": [3,
    1], "late": [1, 3]}}`. With `together` the first values of all sets make a cell, the second ones another, ...; by
    default all combinations do. Run k has the same random numbers in every cell, and what is the same in several cells
    is done once.

    Parameters
    ----------
    scenario, policies, runs, first, seed, jobs, rounds, folder, executor, **options
        As in `compare`.
    sets
        The values of each path: a list, or a mapping from labels to values.
    together
        Make a cell of the first values of all sets, one of the second values, ..., instead of all combinations.

    Returns
    -------
    Sweep
        A study for each cell, with tables and figures of all of them.

    Raises
    ------
    TpstreamError
        If a path or a value is wrong, the folder holds another study, or every run failed.

    Examples
    --------
    >>> from tpstream import Scenario, sweep
    >>> scenario = Scenario.load("setting-1").with_(horizon=200)
    >>> found = sweep(scenario, {"policies.tp-ucb-fr.groups": [5, 20]}, ["tp-ucb-fr"], runs=2)
    >>> found.table()[["policies.tp-ucb-fr.groups", "policy", "runs"]].values.tolist()
    [[5, 'tp-ucb-fr', 2], [20, 'tp-ucb-fr', 2]]
    """
    scenario = Scenario.load(scenario)
    if not sets:
        raise StudyError("a sweep needs a key to vary; give a set as in span=100,200")
    place = None if folder is None else Path(folder)
    varied = {path: read_labels(path, values) for path, values in sets.items()}
    plan = make_plan(
        scenario, policies, range(first, first + runs), seed, rounds, run_options(**options), varied, together=together
    )
    studies = run_study(plan, jobs=jobs, folder=place, executor=executor)
    refuse_if_all_failed(studies)
    found = Sweep(scenario.name, plan.seed, tuple(cell.shown for cell in plan.cells), tuple(studies))
    if place is not None:
        export(place, found.tables())
    return found


def column_values(values: Sequence[Any]) -> list[Any]:
    """The values of a sweep as a column of one type: numbers as they are, else text as in TOML."""
    truths = [isinstance(value, bool) for value in values]
    if all(truths) or (not any(truths) and all(isinstance(value, int | float) for value in values)):
        return list(values)
    return [value if isinstance(value, str) else json.dumps(value) for value in values]
