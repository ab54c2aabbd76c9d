"""Operating characteristics of a trial, from the outcomes of its runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tpstream.analysis.columns import TABLES
from tpstream.analysis.intervals import Interval, t_interval
from tpstream.analysis.money import MEASURES, money_contrasts, money_table
from tpstream.analysis.regret import all_equal, best_arms, checkpoints, no_best_arm, pseudo_regret
from tpstream.experiment.runs import FailedRun, failures_table
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.display import PolicyTables, Summary
from tpstream.model.errors import StudyError, UnknownNameError
from tpstream.trial.outcomes import TrialOutcome
from tpstream.view.pages import Page, Reported

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.experiment.folder import Origin

FIXED = "uniform"
"""The policy of fixed randomisation, with which the others are compared."""


@dataclass(frozen=True, eq=False, repr=False)
class Trial(PolicyTables, Reported):
    """The operating characteristics of every policy in one scenario; made by `trial` or `read_trial`.

    Parameters
    ----------
    name : str
        The name of the scenario.
    arms : tuple of str
        The names of the arms.
    means : array of float
        The true mean of each arm.
    horizon : int
        The number of patients.
    outcomes : mapping of str to sequence of TrialOutcome
        The runs of each policy.
    failures : tuple of FailedRun
        The runs that failed.
    time_unit : str or None
        What one unit of time is, e.g. "month"; None if the scenario does not say.
    currency : str or None
        How amounts of money are written, empty if no currency is given; None if rewards are not money.
    origin : function or None
        Tells how the trial was made; None for one that is read from logs.

    Examples
    --------
    >>> from tpstream import Scenario, trial
    >>> found = trial(Scenario.load("lottery-all").with_(horizon=30), ["ucb1"], runs=2, seed=1)
    >>> found.table()[["policy", "runs", "failed"]]
        policy  runs  failed
    0  uniform     2       0
    1     ucb1     2       0
    """

    name: str
    arms: tuple[str, ...]
    means: Floats
    horizon: int
    outcomes: Mapping[str, Sequence[TrialOutcome]]
    failures: tuple[FailedRun, ...] = ()
    time_unit: str | None = None
    currency: str | None = None
    origin: "Callable[[], Origin] | None" = None

    @property
    def best(self) -> Bools:
        """Whether each arm has the largest mean."""
        return best_arms(self.means)

    @property
    def no_best_arm(self) -> str | None:
        """Why no arm is better than all others, in words; None if one is."""
        return no_best_arm(self.arms, self.means)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: that there is no best arm, and in how many runs no arm could be chosen."""
        notes = [] if self.no_best_arm is None else [self.no_best_arm]
        for policy, outcomes in self.outcomes.items():
            undecided = sum(one.chosen is None for one in outcomes)
            if undecided:
                runs = f"{undecided} of {len(outcomes)} runs"
                notes.append(f"{policy}: in {runs} no result was delivered, so no arm was chosen")
        return tuple(notes)

    def table(self) -> pd.DataFrame:
        """The operating characteristics with 95 % intervals over runs, a row for each policy.

        Returns
        -------
        pandas.DataFrame
            `policy`, `runs` and `failed`, the number of runs that failed; and each with columns `_low` and `_high`:

            - `on_best`: the number of patients on a best arm;
            - `best_chosen`: the probability that the final choice is a best arm; a run that chose none counts as wrong;
            - `best_chosen_gain`: `best_chosen` minus that under fixed randomisation, paired by run;
            - `lost`: the benefit that the patients lost in expectation, compared with all on a best arm;
            - `against_fixed`: `lost` minus that under fixed randomisation, paired by run;
            - `last_readout`: the time at which the last part was delivered;
            - `lost_later`: what every patient after the trial loses in expectation by the final choice, in the runs
              that made one.

            The interval of `best_chosen` is Wilson's, that of `best_chosen_gain` Newcombe's, the others are Student's,
            cut at the smallest and largest possible value. NaN for a policy that failed in all runs, in the
            differences where fixed randomisation is missing, and in what is about the best arm if all arms are equally
            good (`no_best_arm`).
        """
        from tpstream.trial.policy_rows import policy_row  # noqa: PLC0415 (needs this module)

        return pd.DataFrame([policy_row(self, policy) for policy in self.outcomes])

    def choices(self) -> pd.DataFrame:
        """How many patients each arm got, and how often it was chosen in the end; a row for each policy and arm.

        Returns
        -------
        pandas.DataFrame
            `policy`, `arm`, its true `mean`, `patients` (Student's interval, cut at 0 and the number of patients) and
            `chosen`, the share of runs that ended with the choice of this arm (Wilson's), each with `_low` and `_high`.
        """
        from tpstream.trial.policy_rows import choice_row  # noqa: PLC0415 (needs this module)

        arms = range(len(self.arms))
        return pd.DataFrame([choice_row(self, policy, arm) for policy in self.outcomes for arm in arms])

    def results(self) -> pd.DataFrame:
        """The outcome of every run, a row for each policy and run.

        Returns
        -------
        pandas.DataFrame
            `policy`, `run`, `on_best` (patients on a best arm; no value if all arms are equally good), `chosen` (the
            arm chosen in the end, by name; None if none was), `lost` and `last_readout`.
        """
        known = not all_equal(self.means)
        rows = [
            {
                "policy": policy,
                "run": one.run,
                "on_best": float(one.patients[self.best].sum()) if known else np.nan,
                "chosen": None if one.chosen is None else self.arms[one.chosen],
                "lost": float(pseudo_regret(one.patients, self.means)),
                "last_readout": one.last_readout,
            }
            for policy, outcomes in self.outcomes.items()
            for one in outcomes
        ]
        return pd.DataFrame(rows, columns=[column.name for column in TABLES["outcomes"]])

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by name: what a trial's folder gets as files."""
        tables = {"table": self.table(), "results": self.results(), "choices": self.choices()}
        money = {} if self.currency is None else {"money": self.money(), "money_contrasts": self.money_contrasts()}
        return {**tables, "failures": self.failed(), **money}

    def failed(self) -> pd.DataFrame:
        """The runs that failed, why, and the command that repeats each alone; a row for each."""
        return failures_table(self.failures)

    @property
    def rounds(self) -> Ints:
        """The checkpoints: the numbers of decisions up to which money is counted."""
        return checkpoints(self.horizon)

    def money(self) -> pd.DataFrame:
        """What was earned, expected, outstanding, late and lost up to every checkpoint; the table of `Study.money`.

        Raises
        ------
        StudyError
            Rewards are not money.
        """
        found = {policy: {name: self._money(policy, name) for name in MEASURES} for policy in self._finished}
        regret = {policy: pseudo_regret(self._money(policy, "pulls"), self.means) for policy in found}
        return money_table(found, regret, self.means, self.rounds, np.arange(len(self.rounds)))

    def money_contrasts(self, against: str | None = None) -> pd.DataFrame:
        """Paired differences of what was earned up to the last decision and is expected; that of `Study`.

        Raises
        ------
        StudyError
            Rewards are not money.
        """
        pairs = sorted({(one.seed, one.run) for outcomes in self.outcomes.values() for one in outcomes})
        number = {pair: place for place, pair in enumerate(pairs)}
        found = {}
        for policy in self._finished:
            runs = np.array([number[one.seed, one.run] for one in self.outcomes[policy]])
            found[policy] = runs, self._money(policy, "earned")[:, -1]
        lost = {policy: self.lost(policy) for policy in found}
        return money_contrasts(found, lost, self.most_lost, against)

    def earned(self, policy: str) -> Interval:
        """What was earned up to every checkpoint (`rounds`), with its 95 % interval over runs.

        Raises
        ------
        StudyError
            Rewards are not money.
        UnknownNameError
            The policy is not in this trial.
        """
        return t_interval(self._money(policy, "earned"))

    def _money(self, policy: str, name: str) -> Any:
        """A measure about money of every run (first axis), up to every checkpoint."""
        if self.currency is None:
            raise StudyError(f'{self.name}: rewards are not money; say what they are paid in, as in currency = "EUR"')
        return np.stack([one.money[name] for one in self.outcomes_of(policy) if one.money is not None])

    @property
    def _finished(self) -> list[str]:
        """The policies that have finished runs."""
        return [policy for policy, outcomes in self.outcomes.items() if outcomes]

    @property
    def most_lost(self) -> float:
        """What is lost if all patients get the worst arm."""
        return self.horizon * float(self.means.max() - self.means.min())

    def lost(self, policy: str) -> Floats:
        """The benefit that the patients of every run lost in expectation.

        Raises
        ------
        UnknownNameError
            The policy is not in this trial.
        """
        return np.array([pseudo_regret(one.patients, self.means) for one in self.outcomes_of(policy)])

    def allocation(self, policy: str) -> Interval:
        """The share of patients on a best arm in each section of the enrolment, with its 95 % interval over runs.

        Raises
        ------
        UnknownNameError
            The policy is not in this trial.
        """
        return t_interval(np.array([one.allocation for one in self.outcomes_of(policy)])).within(0.0, 1.0)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: "Axes | None" = None,
        log_y: bool = False,
        labels: Mapping[str, str] | None = None,
    ) -> "Figure":
        """Draw the share of patients on the best arm over the enrolment, and beside it the benefit lost.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.
        ax
            Matplotlib axes to draw on, which get the share of patients only; by default a new figure is made.
        log_y
            Whether the axis of the share is logarithmic.
        labels
            Other names for policies, by their labels.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        from tpstream.trial.figure import trial_figure  # noqa: PLC0415 (needs this module)

        return trial_figure(path, self, ax=ax, log_y=log_y, labels=labels)

    def _report(self) -> Page:
        from tpstream.trial.report import trial_report  # noqa: PLC0415 (it needs this module)

        return trial_report(self)

    def _summary(self) -> Summary:
        from tpstream.trial.figure import summarise  # noqa: PLC0415 (needs this module)

        return summarise(self)

    def outcomes_of(self, policy: str) -> Sequence[TrialOutcome]:
        """The outcome of every run of a policy.

        Raises
        ------
        UnknownNameError
            The policy is not in this trial.
        """
        if policy not in self.outcomes:
            raise UnknownNameError("policy of this trial", policy, self.outcomes)
        return self.outcomes[policy]
