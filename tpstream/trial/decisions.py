"""The simulated trials of one design under one truth, and what each of them came to: a number per trial and measure.

The *decision* of a trial is its conclusion at the stop; a trial that reached its maximum decides by its final analysis,
and so does one that stopped with delayed response, where a stop only ends recruitment. If no rule holds there, the
decision is "maximum": nothing was shown. An arm is *claimed* if that decision says that
it is superior. A claim is false if the arm is not better than the control; in a design without a control, if it is not
better than every other arm.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.experiment.runs import Records
from tpstream.looks.comparison import Comparison
from tpstream.looks.design import Reason
from tpstream.model.arrays import Bools, Floats, Ints

ORDER = (Reason.SUPERIORITY, Reason.EQUIVALENCE, Reason.FUTILITY, Reason.INFERIORITY, Reason.MAXIMUM)
CONCLUSIONS = {int(reason): reason.name.lower() for reason in ORDER}
"""The words for the codes of conclusions, in the order in which results name them."""
NAMES = (
    "conclusion",
    "selected",
    "stop_look",
    "stop_time",
    "stop_delayed",
    "final_conclusion",
    "final_selected",
    "known_conclusion",
    "known_selected",
    "look_verdict",
    "look_known",
    "look_wrong",
    "look_statistic",
    "final_statistic",
    "final_verdict",
    "patients",
    "overrun",
    "duration",
    "outcome_sum",
    "stop_estimate",
    "stop_variance",
    "final_estimate",
    "final_variance",
    "pulls",
)
"""The measures of a run that are needed here; looks/monitor.py says what they are."""
WHOLE = (
    *("look_verdict", "final_verdict", "stop_look", "stop_delayed", "patients"),
    *(f"{when}{what}" for when in ("", "final_", "known_") for what in ("conclusion", "selected")),
)
"""Those that are whole numbers, though runs report them as floats."""


OUTCOMES, RATES = {True: "successes", False: "events"}, {True: "success_rate", False: "event_rate"}
"""What the sum of all endpoints, and their mean, is called: by whether high values are good."""


@dataclass(frozen=True, eq=False)
class SimulatedTrials:
    """The trials of one design under one truth, each measure with a first axis over trials."""

    design: str
    truth: str
    comparison: Comparison
    horizon: int
    """The largest number of patients."""
    runs: Ints
    measures: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def stopped(self) -> Bools:
        """Whether a rule ended the trial before its maximum."""
        return np.asarray(self.measures["conclusion"] != Reason.MAXIMUM)

    @property
    def decided_at_stop(self) -> Bools:
        """Whether the trial was decided when it was stopped, and not when everything was known."""
        return np.asarray(self.stopped & (self.measures["stop_delayed"] == 0))

    @cached_property
    def decision(self) -> Ints:
        """The code of each trial's decision."""
        return np.where(self.decided_at_stop, self.measures["conclusion"], self.measures["final_conclusion"])

    @cached_property
    def selected(self) -> Ints:
        """The arm that each trial selected by its decision; -1 if none."""
        return np.where(self.decided_at_stop, self.measures["selected"], self.measures["final_selected"])

    @cached_property
    def claims(self) -> Bools:
        """Whether each trial claims of each arm that it is superior, of shape (trials, arms)."""
        return self._claimed(self.verdicts, self.decision, self.selected)

    @cached_property
    def final_claims(self) -> Bools:
        """The same with everything known, the overrun included."""
        measures = self.measures
        return self._claimed(measures["final_verdict"], measures["final_conclusion"], measures["final_selected"])

    def _claimed(self, verdicts: Ints, conclusion: Ints, selected: Ints) -> Bools:
        chosen = selected[:, np.newaxis] == np.arange(len(self.comparison.arms))
        superior = (verdicts == Reason.SUPERIORITY) | (chosen & (conclusion == Reason.SUPERIORITY)[:, np.newaxis])
        found: Bools = superior & self.comparison.claimable
        return found

    @property
    def chosen(self) -> Bools:
        """Whether each trial selected each arm, of shape (trials, arms)."""
        return np.asarray(self.selected[:, np.newaxis] == np.arange(len(self.comparison.arms)))

    @cached_property
    def verdicts(self) -> Ints:
        """Why each arm was closed, or what the decision says of it, in each trial; 0 for nothing."""
        looks, final = self.measures["look_verdict"], self.measures["final_verdict"]
        found = np.where(self.decided_at_stop[:, np.newaxis], 0, final)
        last = np.where(self.stopped & ~self.decided_at_stop, self.measures["stop_look"], looks.shape[1] + 1)
        for look in range(looks.shape[1] - 1, -1, -1):
            counts = (looks[:, look] != 0) & (look + 1 < last)[:, np.newaxis]
            found = np.where(counts, looks[:, look], found)
        return found

    @property
    def size(self) -> Floats:
        """The number of patients of each trial."""
        return np.asarray(self.measures["patients"].sum(axis=1), dtype=np.float64)

    @property
    def decided_at(self) -> Floats:
        """When each trial's decision was made: at the stop, or at the last read-out."""
        return np.where(self.decided_at_stop, self.measures["stop_time"], self.measures["duration"])

    def shares(self) -> dict[str, Bools]:
        """Events of each trial, of which the probability is told; only those that are defined under this truth."""
        of, final, true = self.comparison, self.measures["final_conclusion"], self.comparison.true
        found = {word: self.decision == code for code, word in CONCLUSIONS.items()}
        found |= {f"final_{word}": final == code for code, word in CONCLUSIONS.items()}
        if of.false.any():
            found["type1"] = self.claims[:, of.false].any(axis=1)
            found["final_type1"] = self.final_claims[:, of.false].any(axis=1)
        if true.any():
            found["power"] = self.claims[:, true].any(axis=1)
            found["final_power"] = self.final_claims[:, true].any(axis=1)
        if of.differ:
            found["best_selected"] = (self.chosen & of.best).any(axis=1)
        found["none_selected"] = self.selected < 0
        found["stopped"] = self.stopped
        found["wrong_incomplete"] = (self.measures["look_wrong"] > 0).any(axis=1)
        found["wrong_stop"] = self._differs("known")
        went_on = self.measures["stop_look"][:, np.newaxis] != np.arange(1, self.measures["look_known"].shape[1] + 1)
        found["missed_stop"] = (went_on & (self.measures["look_known"] > 0)).any(axis=1)
        return found

    def _differs(self, other: str) -> Bools:
        """Whether the conclusion at the stop, or of a trial without one, is another than this one, which has a name."""
        measures = self.measures
        word, arm = (
            np.where(self.stopped, measures[name], measures[f"final_{name}"]) for name in ("conclusion", "selected")
        )
        return np.asarray((word != measures[f"{other}_conclusion"]) | (arm != measures[f"{other}_selected"]))

    @property
    def reversed(self) -> Bools:
        """Of the trials that were stopped: whether the overrun changed the conclusion."""
        found: Bools = self._differs("final")[self.stopped]
        return found

    def amounts(self) -> dict[str, Floats]:
        """Quantities of each trial, of which the mean is told; only those that are defined under this truth."""
        of, patients = self.comparison, self.measures["patients"]
        found = {
            "patients": self.size,
            "duration": np.asarray(self.measures["duration"], dtype=np.float64),
            "overrun": np.asarray(self.measures["overrun"], dtype=np.float64),
            OUTCOMES[of.higher]: np.asarray(self.measures["outcome_sum"].sum(axis=1), dtype=np.float64),
        }
        with np.errstate(invalid="ignore", divide="ignore"):
            found[RATES[of.higher]] = found[OUTCOMES[of.higher]] / self.size
            if of.differ:
                found["on_best"] = patients[:, of.best].sum(axis=1).astype(np.float64)
                found["share_on_best"] = found["on_best"] / self.size
                found["lost"] = patients @ (of.benefits.max() - of.benefits)
                worst, best = of.benefits.min(), of.benefits.max()
                outcome = np.where(self.selected >= 0, of.benefits[self.selected], np.nan)
                found["idp"] = 100 * (outcome - worst) / (best - worst)
        return found


def stack(
    design: str, truth: str, comparison: Comparison, horizon: int, records: Records, names: Sequence[str] = NAMES
) -> SimulatedTrials:
    """The trials of these records; every record is unpacked once."""
    measures = (records.measures[place] for place in range(len(records)))
    return stack_measures(design, truth, comparison, horizon, records.runs, measures, names)


def stack_measures(
    design: str,
    truth: str,
    comparison: Comparison,
    horizon: int,
    runs: Ints,
    measures: Iterable[Mapping[str, NDArray[Any]]],
    names: Sequence[str] = NAMES,
) -> SimulatedTrials:
    """The trials with these measures of each."""
    found: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for one in measures:
        for name in names:
            found[name].append(one[name])
    stacked = {name: np.stack(values) if values else np.empty(0) for name, values in found.items()}
    stacked |= {name: stacked[name].astype(np.int64) for name in WHOLE}
    return SimulatedTrials(design, truth, comparison, horizon, runs, stacked)
