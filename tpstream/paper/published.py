"""A published number of a trial design beside ours, and when the two agree."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tpstream.experiment.compare import Expecting
from tpstream.model.arrays import Floats
from tpstream.model.names import file_names
from tpstream.run.options import Progress
from tpstream.trial.monte_carlo import deviation_of

NEAR = 4.0
"""Combined Monte Carlo errors within which numbers agree."""
SEED = 20150401
TRIALS = 10_000


class Number(NamedTuple):
    """A published number and ours."""

    table: str
    what: str
    ours: float
    error: float
    """The Monte Carlo error of ours, one standard error; 0 if it is computed."""
    published: float
    published_error: float = 0.0
    rounding: float = 0.0
    """How far the published number may be from the one that was found there."""
    known: bool = False
    """Whether it is known to disagree; the report says why."""

    @property
    def errors(self) -> float:
        """The difference in combined errors, after the rounding is taken off; 0 within the rounding."""
        beyond = max(abs(self.ours - self.published) - self.rounding, 0.0)
        combined = math.hypot(self.error, self.published_error)
        if beyond == 0:
            return 0.0
        return math.copysign(beyond / combined if combined > 0 else math.inf, self.ours - self.published)

    @property
    def agrees(self) -> bool:
        """Whether both are near enough."""
        return abs(self.errors) <= NEAR


@dataclass(frozen=True)
class Effort:
    """How much is simulated, and where."""

    trials: int
    seed: int = SEED
    jobs: int = 1
    progress: Progress | None = None
    folder: Path | None = None
    """Where finished trials are kept, a folder for each design."""

    def expecting(self, patients: float) -> "Effort":
        """The same, after the progress was told how many patients a trial of each design takes in all."""
        if not isinstance(self.progress, Expecting):
            return self
        self.progress.expect(round(self.trials * patients))
        return replace(self, progress=partial(self.progress))  # each design would expect patients of its own

    def place(self, design: str) -> Path | None:
        """The folder of the trials of this design; None if they are not kept."""
        return None if self.folder is None else self.folder / file_names([design])[design]


class Table(NamedTuple):
    """A table of published numbers."""

    compare: Callable[[Effort], Sequence[Number]]
    patients: float = 0.0
    """Patients that one more trial of each of its designs takes."""


def share(table: str, what: str, ours: Floats, published: float, trials: int, rounding: float = 0.0005) -> Number:
    """A probability: ours from one truth value for each trial, theirs from so many trials.

    Our error is that of (k + 2) / (n + 4), after Agresti and Coull: none of few trials is no proof that there are none.
    """
    near = (float(np.sum(ours)) + 2) / (len(ours) + 4)
    return Number(
        table,
        what,
        float(np.mean(ours)),
        math.sqrt(near * (1 - near) / len(ours)),
        published,
        math.sqrt(published * (1 - published) / trials),
        rounding,
    )


def mean(
    table: str, what: str, ours: Floats, published: float, deviation: float, trials: int, rounding: float
) -> Number:
    """A mean over trials: ours from one number for each trial, theirs with this deviation between so many trials."""
    error = float(np.std(ours, ddof=1)) / math.sqrt(len(ours))
    return Number(table, what, float(np.mean(ours)), error, published, deviation / math.sqrt(trials), rounding)


def deviation(table: str, what: str, ours: Floats, published: float, trials: int, rounding: float) -> Number:
    """A standard deviation between trials: ours from one number for each trial, theirs from so many trials."""
    found = deviation_of(ours)
    return Number(
        table, what, found.value, found.error, published, found.error * math.sqrt(len(ours) / trials), rounding
    )
