"""The runs of a study: the measures of every run, and the numbers that follow from each of them alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tpstream.analysis.money import frame
from tpstream.analysis.regret import best_arms, no_best_arm, pseudo_regret
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import StudyError, UnknownNameError
from tpstream.run.options import Measures

if TYPE_CHECKING:
    import pandas as pd

    from tpstream.experiment.folder import Origin
    from tpstream.experiment.store import PackedMeasures


@dataclass(frozen=True)
class FailedRun:
    """One policy in one run: why it failed, and what repeats it alone."""

    scenario: str
    policy: str
    run: int
    seed: int
    reason: str
    repeat: str

    def __str__(self) -> str:
        return f"{self.scenario}: {self.policy} failed in run {self.run} with seed {self.seed}: {self.reason}"


def failures_table(failures: Sequence[FailedRun]) -> "pd.DataFrame":
    """The runs that failed, why, and how to repeat each alone; a row for each."""
    return frame([asdict(one) for one in failures], list(FailedRun.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Records:
    """The runs of one policy in one world: numbers, measures and seconds of the finished ones, and failures."""

    runs: Ints
    measures: "Sequence[Measures] | PackedMeasures"
    seconds: Floats
    failures: Mapping[int, str] = field(default_factory=dict)
    """Why runs failed, by number."""

    def measure(self, name: str) -> NDArray[Any]:
        """One measure of every run, stacked along a new first axis."""
        found = [self.measures[place][name] for place in range(len(self))]
        return np.stack(found) if found else np.empty(0)

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True, eq=False, repr=False)
class StudyRuns:
    """The finished runs of every policy in one world; `Study` says what its attributes are."""

    name: str
    seed: int
    arms: tuple[str, ...]
    means: Floats
    rounds: Ints
    chosen: Ints
    records: Mapping[str, Records]
    logs: Mapping[str, list[Path]]
    failures: tuple[FailedRun, ...] = ()
    currency: str | None = None
    round_title: str = "round"
    origin: "Callable[[], Origin] | None" = None
    _cache: dict[str, tuple[Floats, Ints]] = field(default_factory=dict, repr=False)

    def measure(self, policy: str, name: str) -> NDArray[Any]:
        """One measure of every run of a policy, along the first axis; "pulls" has the shape (runs, rounds, arms)."""
        return self._of(policy).measure(name)

    @property
    def counts(self) -> dict[str, Ints]:
        """Pulls of each arm up to each checkpoint, an array (runs, rounds, arms) by policy."""
        return {policy: records.measure("pulls") for policy, records in self.records.items()}

    @property
    def best(self) -> Bools:
        """Which arms have the largest mean."""
        return best_arms(self.means)

    @property
    def no_best_arm(self) -> str | None:
        """Why no arm is better than all others, in words; None if one is."""
        return no_best_arm(self.arms, self.means)

    @property
    def largest_regret(self) -> float:
        """The regret of a run that pulls the worst arm in every round: no interval of regret goes beyond it."""
        return float(self._largest_regrets[-1])

    @property
    def _largest_regrets(self) -> Floats:
        """The regrets of such a run at every checkpoint."""
        largest: Floats = self.rounds * (self.means.max() - self.means.min())
        return largest

    @property
    def _finished(self) -> list[str]:
        """The policies that have finished runs."""
        return [policy for policy, records in self.records.items() if len(records)]

    def regret(self, policy: str) -> Floats:
        """The pseudo-regret of every run (first axis) at every checkpoint (`rounds`)."""
        return self._regret_and_pulls(policy)[0]

    def pulled(self, policy: str) -> Ints:
        """Pulls of each arm up to the chosen rounds, of shape (runs, chosen, arms)."""
        return self._regret_and_pulls(policy)[1]

    def _regret_and_pulls(self, policy: str) -> tuple[Floats, Ints]:
        """Regret and pulls of every run, computed once and run by run: all counts together may be large."""
        if policy not in self._cache:
            records, places = self._of(policy), self._places(self.chosen)
            regret = np.empty((len(records), len(self.rounds)))
            pulls = np.empty((len(records), len(places), len(self.arms)), dtype=np.int64)
            for place in range(len(records)):
                counts = records.measures[place]["pulls"]
                regret[place], pulls[place] = pseudo_regret(counts, self.means), counts[places]
            self._cache[policy] = regret, pulls
        return self._cache[policy]

    def _number_names(self, policy: str) -> list[str]:
        """The names of the measures that are single numbers."""
        measures = self.records[policy].measures
        return [name for name, value in measures[0].items() if np.ndim(value) == 0] if len(measures) else []

    def _found_best(self, pulls: Ints) -> Bools:
        """Whether the most pulled arm (last axis) is a best one; a tie with another one is none."""
        most = pulls.max(axis=-1, keepdims=True)
        found: Bools = ~((pulls == most) & ~self.best).any(axis=-1)
        return found

    def _of(self, policy: str) -> Records:
        if policy not in self.records:
            raise UnknownNameError("policy of this study", policy, self.records)
        return self.records[policy]

    def _places(self, rounds: Ints) -> Ints:
        """Where these rounds are among the checkpoints."""
        unknown = [int(round) for round in rounds if round not in self.rounds]
        if unknown:
            raise StudyError(f"pulls were not counted up to round {unknown[0]}; ask for it with `rounds` or --rounds")
        return np.searchsorted(self.rounds, rounds)
