"""The monitor of one run of a trial: hears its events, analyses the data at each look, and tells how the trial ended.

The engine's run asks it at each cut whether arms are closed or the trial stops, until the looks are over or the trial
was stopped; when everything is known it asks for the final analysis, and then for the measures of the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.looks.analysis import Moments, outcome_sums
from tpstream.looks.critical_values import critical_values
from tpstream.looks.design import Design, Reason
from tpstream.looks.patients import add_events, no_patients
from tpstream.looks.proportions import over_root
from tpstream.looks.rules import Stop, Verdict, judge
from tpstream.looks.statistics import LookData, look_data
from tpstream.model.arrays import Bools, Floats
from tpstream.model.events import Events

MEASURES: Mapping[str, str] = {
    "look_cut": "of each look: when the data were cut; NaN for a look that was not held",
    "look_enrolled": "of each look: patients enrolled by then",
    "look_counted": "of each look and arm: patients counted",
    "look_estimate": "of each look and arm: the estimate of the endpoint",
    "look_statistic": "of each look, rule and arm: the statistic",
    "look_verdict": "of each look and arm: what a rule found, a reason; 0 for nothing",
    "look_known": "of each look: why it would have stopped the trial, had all endpoints of its patients been known; "
    "0 if it would not, NaN if it was not held",
    "look_wrong": "of each look: 1 if it would have decided something else then, about the trial or an arm; else 0",
    "arm_reason": "of each arm: why it was closed; 0 if it never was",
    "arm_look": "of each arm: at which look, from 1; 0 if it never was",
    "conclusion": "why the trial stopped; 5 if it went on to its maximum",
    "selected": "the arm that was superior at the stop; -1 for none",
    "stop_look": "at which look the trial stopped, from 1; 0 if it did not",
    "stop_time": "when that was decided; if it did not stop, when the last patient was enrolled",
    "stop_delayed": "1 if the trial stopped, and with delayed response, so that it decides by its final conclusion; "
    "else 0",
    "final_conclusion": "what the rules say when everything is known; 5 for nothing",
    "final_selected": "the arm that is superior then; -1 for none",
    "final_verdict": "of each arm: what was found of it up to then, a reason; 0 for nothing",
    "final_statistic": "of each rule and arm: the statistic then",
    "final_critical": "of each rule and arm: the critical value then; NaN for a rule that was not applied",
    "known_conclusion": "what the look of the stop would have said, had all endpoints of its patients been known",
    "known_selected": "the arm that would have been superior; -1 for none",
    "patients": "of each arm: patients enrolled",
    "overrun": "patients enrolled and not counted at the stop; 0 if the trial did not stop",
    "duration": "the time of the last read-out",
    "final_counted": "of each arm: patients counted when everything is known",
    "final_estimate": "of each arm: the estimate of the endpoint then",
    "final_variance": "of each arm: its variance",
    "stop_estimate": "of each arm: the estimate at the stop, or the final one",
    "stop_variance": "of each arm: its variance",
    "outcome_sum": "of each arm: the sum of all patients' endpoints, without parts that were lost",
    "final_z": "of each arm: the difference from the control over its standard error, large if good; NaN without one",
}
"""The measures of a run, with a line about each. Reasons are those of `Reason`; a look or arm has a row for each."""
EVER = float(np.finfo(np.float64).max)
"""By this time everything is known that will ever be."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """What one analysis found."""

    data: LookData
    verdict: Verdict
    enrolled: int
    """Patients enrolled by the cut."""
    is_open: Bools
    """The arms that were open before."""

    @property
    def moments(self) -> Moments:
        """Counted patients, estimates and their variances."""
        return self.data.moments


class Monitor:
    """Watches one run; `cuts` and `decisions` are the times of its looks, from `look_times`.

    Examples
    --------
    >>> from tpstream import Scenario, simulate
    >>> scenario = Scenario(
    ...     name="responses",
    ...     horizon=60,
    ...     span=1,
    ...     drain=True,
    ...     rewards={"kind": "binary"},
    ...     arms=[{"name": "standard", "probability": 0.1}, {"name": "new", "probability": 0.9}],
    ...     trial={
    ...         "control": "standard",
    ...         "looks": {"values": [30]},
    ...         "rules": [{"kind": "superiority", "threshold": 0.99}],
    ...     },
    ... )
    >>> monitor = Monitor(scenario.design(), np.array([30.0]), np.array([30.0]))
    >>> run = simulate(scenario.with_(trial=None), "uniform", sinks=[monitor])
    >>> monitor.analyse(0).verdict.selected
    1
    """

    def __init__(self, design: Design, cuts: Floats, decisions: Floats) -> None:
        self.design, self.cuts, self.decisions = design, cuts, decisions
        self.critical = critical_values(design)
        self.patients = no_patients(design)
        self.is_open: Bools = np.ones(design.arms, dtype=np.bool_)
        """The arms that are not closed."""
        self.looks: list[Analysis] = []
        """The looks that were held."""
        self._arm_reason, self._arm_look = (np.zeros(design.arms, dtype=np.int64) for _ in range(2))
        self._stop: Stop | None = None

    @property
    def stopped(self) -> bool:
        """Whether a look stopped the trial."""
        return self._stop is not None

    def hear(self, events: Events) -> None:
        """Take the next events of the run; what a look counts does not depend on what is heard after its cut."""
        add_events(self.patients, events)

    def analyse(self, look: int) -> Analysis:
        """Hold a look, counted from 0, when all events up to its cut were heard; looks are held in order."""
        cut = float(self.cuts[look])
        data = look_data(self.design, self.patients, cut, cut)
        verdict = judge(self.design, self.critical, data, self.is_open, look)
        analysis = Analysis(data, verdict, int(np.count_nonzero(self.patients.entered <= cut)), self.is_open)
        self.looks.append(analysis)
        closed = verdict.closed > 0
        self._arm_reason[closed] = verdict.closed[closed]
        self._arm_look[closed] = look + 1
        if verdict.stop:
            self._stop = Stop(verdict, data, look)
        self.is_open = self.is_open & ~closed
        return analysis

    def final(self) -> Analysis:
        """The final analysis, when everything is known: of a trial that stopped, by the rules of its last look."""
        data = look_data(self.design, self.patients, EVER, EVER)
        is_open, number = self.is_open, self.critical.analyses - 1
        if self._stop is not None:
            is_open, number = self.looks[-1].is_open, self._stop.analysis
        verdict = judge(self.design, self.critical, data, is_open, number, end=True, stop=self._stop)
        return Analysis(data, verdict, int(np.count_nonzero(self.patients.arm >= 0)), is_open)

    def values(self) -> dict[str, NDArray[Any]]:
        """The measures of the run, by the names of `MEASURES`, when everything is known."""
        final, stop = self.final(), self._stop
        known_looks = [self._known(look) for look in range(len(self.looks))]
        known = final.verdict if stop is None else known_looks[-1]
        at_stop = final.moments if stop is None else stop.data.moments
        entered = self.patients.entered[self.patients.arm >= 0]
        patients = np.bincount(self.patients.arm[self.patients.arm >= 0], minlength=self.design.arms)
        held, last = len(self.looks), 0.0 if not len(entered) else float(entered[-1])
        verdicts = np.where(final.is_open, final.verdict.verdict, self._arm_reason)
        found: dict[str, Any] = self._of_looks(known_looks) | {
            "arm_reason": self._arm_reason,
            "arm_look": self._arm_look,
            "conclusion": Reason.MAXIMUM if stop is None else stop.verdict.conclusion,
            "selected": -1 if stop is None else stop.verdict.selected,
            "stop_look": 0 if stop is None else held,
            "stop_time": last if stop is None else self.decisions[stop.analysis],
            "stop_delayed": stop is not None and self.design.delayed_response,
            "final_conclusion": final.verdict.conclusion or Reason.MAXIMUM,
            "final_selected": final.verdict.selected,
            "final_verdict": verdicts,
            "final_statistic": final.verdict.statistic,
            "final_critical": final.verdict.critical,
            "known_conclusion": known.conclusion or Reason.MAXIMUM,
            "known_selected": known.selected,
            "patients": patients,
            "overrun": 0.0 if stop is None else patients.sum() - stop.data.moments.counted.sum(),
            "duration": self.patients.last[0],
            "final_counted": final.moments.counted,
            "final_estimate": final.moments.estimate,
            "final_variance": final.moments.variance,
            "stop_estimate": at_stop.estimate,
            "stop_variance": at_stop.variance,
            "outcome_sum": outcome_sums(self.design, self.patients),
            "final_z": self._final_z(final.moments),
        }
        return {name: np.asarray(found[name], dtype=np.float64) for name in MEASURES}

    def _known(self, look: int) -> Verdict:
        """What a look would have said, had all endpoints of its patients been known."""
        data = look_data(self.design, self.patients, float(self.cuts[look]), EVER)
        return judge(self.design, self.critical, data, self.looks[look].is_open, look)

    def _of_looks(self, known: Sequence[Verdict]) -> dict[str, Any]:
        """The measures of looks; NaN, or 0 for numbers and verdicts, for those that were not held.

        `known` is what those that were held would have said with complete data.
        """
        design, looks, held = self.design, len(self.design.looks), len(self.looks)
        rows = np.full((looks, 2 + len(design.rules), design.arms), np.nan)
        cuts, enrolled, verdicts = np.full(looks, np.nan), np.zeros(looks), np.zeros((looks, design.arms))
        why, wrong = np.full(looks, np.nan), np.zeros(looks)
        cuts[:held] = self.cuts[:held]
        why[:held] = [one.conclusion for one in known]
        wrong[:held] = [one.decided != look.verdict.decided for one, look in zip(known, self.looks, strict=True)]
        for place, one in enumerate(self.looks):
            rows[place] = np.vstack([one.moments.counted, one.moments.estimate, one.verdict.statistic])
            enrolled[place], verdicts[place] = one.enrolled, one.verdict.verdict
        return {
            "look_cut": cuts,
            "look_enrolled": enrolled,
            "look_counted": rows[:, 0],
            "look_estimate": rows[:, 1],
            "look_statistic": rows[:, 2:],
            "look_verdict": verdicts,
            "look_known": why,
            "look_wrong": wrong,
        }

    def _final_z(self, moments: Moments) -> Floats:
        """Differences from the control over their standard errors."""
        control = self.design.control
        if control < 0:
            return np.full(self.design.arms, np.nan)
        difference = moments.estimate - moments.estimate[control]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = over_root(
                -difference if self.design.lower else difference, moments.variance + moments.variance[control]
            )
        found[control] = np.nan
        return found
