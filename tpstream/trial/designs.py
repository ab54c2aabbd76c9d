"""The result of simulating designs with looks: `OperatingCharacteristics`, its tables, figure and report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tpstream.analysis.columns import TABLES
from tpstream.experiment.runs import FailedRun, failures_table
from tpstream.model.display import PolicyTables, Summary, counted
from tpstream.model.errors import UnknownNameError
from tpstream.trial.decisions import CONCLUSIONS, SimulatedTrials
from tpstream.trial.monte_carlo import Estimate
from tpstream.trial.operating import NO_ARM, Characteristic, characteristics, contrasts
from tpstream.view.pages import Page, Reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tpstream.experiment.folder import Origin
    from tpstream.scenario.scenario import Scenario


@dataclass(frozen=True, eq=False)
class DesignDescription:
    """What is to be known of a design besides its trials: its rules in words, and how its trials were made."""

    horizon: int
    rules: Sequence[str]
    time_unit: str | None = None
    origin: "Callable[[], Origin] | None" = None
    scenarios: "Mapping[str, Scenario]" = field(default_factory=dict)
    """The scenario of each truth, so that single trials can be told; empty for one that is read from a folder."""
    policy: str = ""
    """The policy that allocates patients."""


@dataclass(frozen=True, eq=False, repr=False)
class OperatingCharacteristics(PolicyTables, Reported):
    """Operating characteristics of designs with looks, as `trial` returns them for scenarios with a table `[trial]`.

    Parameters
    ----------
    trials : sequence of SimulatedTrials
        The simulated trials, of every design under every truth.
    descriptions : mapping of str to DesignDescription
        What is to be known of each design.
    seed : int
        Where the random numbers come from.
    failures : tuple of FailedRun
        The simulated trials that failed.

    Examples
    --------
    >>> from tpstream import trial
    >>> scenario = {
    ...     "name": "responses", "horizon": 60, "visits": [2, 12], "drain": True, "rewards": {"kind": "binary"},
    ...     "policies": [{"kind": "uniform"}],
    ...     "arms": [{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.6}],
    ...     "trial": {
    ...         "control": "standard", "endpoint": "last",
    ...         "rules": [{"kind": "superiority", "method": "z", "threshold": 1.96}],
    ...     },
    ... }
    >>> found = trial(scenario, runs=20, seed=1)
    >>> found.value("patients").value
    60.0
    """

    trials: Sequence[SimulatedTrials]
    descriptions: Mapping[str, DesignDescription]
    seed: int
    failures: tuple[FailedRun, ...] = ()

    @property
    def designs(self) -> list[str]:
        """The names of the designs."""
        return list(dict.fromkeys(one.design for one in self.trials))

    @property
    def truths(self) -> list[str]:
        """The names of the truths."""
        return list(dict.fromkeys(one.truth for one in self.trials))

    @property
    def time_unit(self) -> str | None:
        """What one unit of time is; None if scenarios do not say."""
        return next(iter(self.descriptions.values())).time_unit

    @cached_property
    def _found(self) -> list[tuple[SimulatedTrials, list[Characteristic]]]:
        return [(one, characteristics(one)) for one in self.trials]

    def table(self) -> pd.DataFrame:
        """Every operating characteristic with its Monte Carlo error, a row each.

        Returns
        -------
        pandas.DataFrame
            `design`, `truth`, `arm` (empty for the trial as a whole), `measure`, `value`, `error` (the Monte Carlo
            standard error), `low` and `high` (its 95 % interval) and `trials`, from how many simulated trials it
            comes. docs/columns.md says what each measure is.
        """
        rows = [
            (trials.design, trials.truth, one.arm, one.measure, *one.estimate)
            for trials, found in self._found
            for one in found
        ]
        return pd.DataFrame(rows, columns=_names("characteristics"))

    def value(
        self, measure: str, *, arm: str = NO_ARM, design: str | None = None, truth: str | None = None
    ) -> Estimate:
        """One operating characteristic: value, error, low, high and trials; all NaN if the truth does not define it.

        Parameters
        ----------
        measure
            Its name, such as "type1", "power" or "patients".
        arm
            The name of an arm; by default that of the trial as a whole.
        design, truth
            Which design and truth; by default the first.

        Raises
        ------
        UnknownNameError
            There is no such design, truth, arm or measure.
        """
        for name, given, known in (("design", design, self.designs), ("truth", truth, self.truths)):
            if given is not None and given not in known:
                raise UnknownNameError(f"{name} of this trial", given, known)
        known = [column.name for column in TABLES["measures"]]
        if measure not in known:
            raise UnknownNameError("operating characteristic", measure, known)
        arms = self.trials[0].comparison.arms
        if arm not in (NO_ARM, *arms):
            raise UnknownNameError("arm of this trial", arm, arms)
        wanted = (design or self.designs[0], truth or self.truths[0])
        found = next((rows for one, rows in self._found if (one.design, one.truth) == wanted), [])
        own = (row.estimate for row in found if (row.arm, row.measure) == (arm, measure))
        return next(own, Estimate(np.nan, np.nan, np.nan, np.nan, 0))

    def contrasts(self) -> pd.DataFrame:
        """Each design minus the first one, trial by trial on the same random numbers; a row for each measure.

        Returns
        -------
        pandas.DataFrame
            `truth`, `first`, `second`, `measure`, `difference`, `error`, `low`, `high` and `trials`. Intervals of
            probabilities are Newcombe's for paired shares, the others Student's.
        """
        place = {(one.design, one.truth): one for one in self.trials}
        yardstick = self.designs[0]
        rows = [
            (truth, design, yardstick, one.measure, *one.estimate)
            for truth in self.truths
            for design in self.designs[1:]
            if (design, truth) in place and (yardstick, truth) in place
            for one in contrasts(place[design, truth], place[yardstick, truth])
        ]
        return pd.DataFrame(rows, columns=_names("design_contrasts"))

    def results(self) -> pd.DataFrame:
        """What each simulated trial came to, a row each; docs/columns.md defines the columns of this table `trials`."""
        parts = [_results(one) for one in self.trials]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_names("trials"))

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by name: what a folder gets as files."""
        more = {"contrasts": self.contrasts()} if len(self.designs) > 1 else {}
        return {"table": self.table(), "results": self.results(), **more, "failures": self.failed()}

    def failed(self) -> pd.DataFrame:
        """The simulated trials that failed, why, and the command that repeats each alone; a row for each."""
        return failures_table(self.failures)

    def tell(self, run: int = 0, *, design: str | None = None, truth: str | None = None) -> list[str]:
        """One of the simulated trials, told event by event in plain words.

        Parameters
        ----------
        run
            The number of the simulated trial.
        design, truth
            Of which design and under which truth; by default the first.

        Raises
        ------
        StudyError
            The result was read from a folder, which does not keep what is needed to run a trial again.
        """
        from tpstream.trial.tell import tell_again  # noqa: PLC0415 (it simulates)

        return tell_again(self, run, design or self.designs[0], truth or self.truths[0])

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw when trials conclude what, how many patients they have, and how these are allocated over time.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.
        """
        from tpstream.trial.design_figure import design_figure  # noqa: PLC0415 (slow to import)

        return design_figure(path, self)

    def _report(self) -> Page:
        """With what regulators ask for: rules, error rates, sizes, bias, coverage, examples, seeds."""
        from tpstream.trial.design_report import design_report  # noqa: PLC0415 (it needs this module)

        return design_report(self)

    def _summary(self) -> Summary:
        from tpstream.trial.design_rows import decision_rows  # noqa: PLC0415 (it needs this module)

        many = max((len(one) for one in self.trials), default=0)
        what = counted(len(self.designs), "design") if len(self.designs) > 1 else self.designs[0]
        title = f"Operating characteristics of {what}: {counted(many, 'simulated trial')} of each"
        failed = [f"{counted(len(self.failures), 'trial')} failed; see failed()"] if self.failures else []
        return Summary(title, (f"seed {self.seed}",), decision_rows(self, intervals=False), failed)


def _names(table: str) -> list[str]:
    return [column.name for column in TABLES[table]]


def _results(trials: SimulatedTrials) -> pd.DataFrame:
    """What each trial came to."""
    arms, amounts = np.array([*trials.comparison.arms, None], dtype=object), trials.amounts()
    words = np.vectorize(CONCLUSIONS.get, otypes=[object])
    return pd.DataFrame(
        {
            "design": trials.design,
            "truth": trials.truth,
            "run": trials.runs,
            "decision": words(trials.decision),
            "selected": arms[trials.selected],
            "final_decision": words(trials.measures["final_conclusion"]),
            "stop_look": trials.measures["stop_look"],
            "decided_at": trials.decided_at,
            "patients": trials.size,
            "overrun": amounts["overrun"],
            "duration": amounts["duration"],
            **{name: amounts.get(name, np.full(len(trials), np.nan)) for name in ("successes", "events", "lost")},
        }
    )
