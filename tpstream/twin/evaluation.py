"""What an evaluation found: estimates for another policy on a log, as a table, a figure and a report."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tpstream.model.display import Displayed, Summary, counted, number_text
from tpstream.model.units import count_of
from tpstream.twin.model_answer import TwinAnswer
from tpstream.view.pages import Page, Reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOGGED = "as logged"
"""The row for what the log's own decisions pay in the end."""
TWIN = "the twin (model-based)"
"""The row for what the policy earns in the twin of the log."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """One estimate of what a decision pays in the end; None for what is withheld."""

    estimator: str
    value: float
    low: float | None
    high: float | None
    error: float | None
    effective: float
    """How many decisions, equally weighted, would say as much: at the last age, which the fewest have reached."""
    naive: float
    """The same estimate as if open decisions would pay nothing more: too low."""
    difference: float | None
    """The value minus that of the log's own decisions; None for these, and where theirs is not known."""
    difference_low: float | None
    difference_high: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Displayed, Reported):
    """What another policy would have earned per decision on a log.

    Get one from `evaluate`, which has an example.

    Parameters
    ----------
    log, policy
        The log's file, and the policy or the allocation.
    allocation
        The probability of each arm, by its name; None for a policy that learns.
    estimates
        One or several estimates, and what the log's own decisions pay.
    estimand
        What is estimated, in a sentence.
    decisions, open
        The decisions of the log, and how many of them are still paying.
    kept
        How many decisions a replay kept, on average; None for a fixed allocation.
    thinning
        The share of the traffic that the policy decides for in a replay, c; None for a fixed allocation.
    ages, unit
        The number of periods of age within which values are given, and their unit.
    currency
        What rewards are paid in, if that is known.
    reason
        Why intervals are withheld; None if they are given.
    notes
        What a reader should know: assumptions, and what cannot be checked.
    twin
        What a decision pays in the twin of the log, which is based on a model; None if it was not asked for.
    """

    log: str
    policy: str
    allocation: Mapping[str, float] | None
    estimates: tuple[Estimate, ...]
    estimand: str
    decisions: int
    open: int
    kept: float | None
    thinning: float | None
    ages: int
    unit: str
    currency: str | None
    reason: str | None
    notes: tuple[str, ...]
    twin: TwinAnswer | None = None

    def frame(self) -> pd.DataFrame:
        """The estimates as a DataFrame, a row for each."""
        return pd.DataFrame([vars(one) for one in self.estimates])

    def rows(self) -> list[dict[str, str]]:
        """The table that commands print."""
        rows = [
            {
                "estimate": one.estimator,
                "per decision": _around(one.value, one.low, one.high),
                f"minus {LOGGED}": _around(one.difference, one.difference_low, one.difference_high),
                "effective decisions": f"{one.effective:,.0f}",
                "open ones taken as finished": number_text(one.naive),
            }
            for one in self.estimates
        ]
        if self.twin is not None and self.twin.value is not None:
            shown = _around(self.twin.value, None, None), _around(self.twin.difference, None, None)
            rows.append(dict(zip(rows[0], (TWIN, *shown, "", ""), strict=True)))
        return rows

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the estimates with their intervals, and beside them those that take open decisions as finished.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        from tpstream.twin.evaluation_page import evaluation_figure  # noqa: PLC0415 (it needs this module)

        return evaluation_figure(path, self)

    def _report(self) -> Page:
        from tpstream.twin.evaluation_page import evaluation_report  # noqa: PLC0415 (it needs this module)

        return evaluation_report(self)

    def _summary(self) -> Summary:
        title = f"Evaluation of {self.policy} on {self.log}"
        facts = [f"{counted(self.decisions, 'decision')}, {self.open:,} of them open"]
        facts += [f"within {count_of(self.ages, self.unit)}"]
        return Summary(title, facts, self.rows(), tuple(filter(None, (self.reason, *self.notes))))


def _around(value: float | None, low: float | None, high: float | None) -> str:
    """A number with its interval in brackets; empty if there is none."""
    if value is None:
        return ""
    return number_text(value) + ("" if low is None or high is None else f" ({number_text(low)} to {number_text(high)})")
