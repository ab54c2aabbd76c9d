"""Which thresholds of a rule of superiority simulated trials would have crossed, from the statistics of their looks."""

from dataclasses import dataclass

import numpy as np

from tpstream.looks.design import Reason, Rule
from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import StudyError
from tpstream.trial.decisions import SimulatedTrials


@dataclass(frozen=True, eq=False)
class Crossings:
    """The statistics of trials at their looks and in the final analysis, larger is stronger evidence."""

    statistics: Floats
    """(trials, analyses, arms); NaN where an arm was not judged."""
    relevant: Bools
    """The arms whose claims count."""
    sign: float
    """-1 for p values, which are small where evidence is strong."""

    @classmethod
    def of_trials(cls, trials: SimulatedTrials, rule: Rule, number: int, measure: str) -> "Crossings":
        """Those of trials whose rule of superiority never applied."""
        measures, of = trials.measures, trials.comparison
        looks = np.array(measures["look_statistic"][:, :, number], dtype=np.float64)
        looks[measures["look_verdict"] == Reason.INFERIORITY] = np.nan  # dropped before it could be superior
        final = np.array(measures["final_statistic"][:, number], dtype=np.float64)
        final[trials.stopped] = np.nan
        sign = -1.0 if rule.method == "fisher" else 1.0
        together = sign * np.concatenate(
            [np.empty_like(looks[:, :0]) if rule.end_only else looks, final[:, np.newaxis]], 1
        )
        relevant = {"type1": of.false, "power": of.true, "superiority": of.claimable}[measure]
        return cls(np.where(of.claimable, together, np.nan), relevant, sign)

    def events(self, threshold: float) -> Bools:
        """In which trials a relevant arm is claimed: it crosses at the first analysis at which any arm does."""
        crossed: Bools = self.statistics > threshold
        reached = crossed.any(axis=2)
        first = reached.argmax(axis=1)
        at_first = np.asarray(crossed[np.arange(len(crossed)), first] & self.relevant)
        found: Bools = np.any(at_first, axis=1) & np.any(reached, axis=1)
        return found

    def threshold(self, rate: float) -> float:
        """The smallest of the statistics above which no more than this share of the trials have a claim."""
        values = np.unique(self.statistics[~np.isnan(self.statistics)])
        if not len(values):
            raise StudyError("the rule was never judged in any trial; look at the design with --tell")
        low, high = 0, len(values) - 1
        while low < high:
            middle = (low + high) // 2
            if self.events(float(values[middle])).mean() <= rate:
                high = middle
            else:
                low = middle + 1
        return float(values[low])
