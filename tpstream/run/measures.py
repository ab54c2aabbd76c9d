"""What a run reports: numbers and arrays by name, gathered batch by batch while the run goes on.

A new measure is added here, in `RunMeasures`. It then travels by its name through the store to `Study.measure`, and one
that is a single number gets its columns in the tables of results.
"""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tpstream.analysis.regret import Tally
from tpstream.model.arrays import Ints
from tpstream.model.world import Problem

Measures = Mapping[str, NDArray[Any]]
"""The measures of one run by name; a single number is an array without dimensions."""


class RunMeasures:
    """Gathers the measures of one run under one policy."""

    def __init__(self, problem: Problem, rounds: Ints) -> None:
        self._pulls = Tally(problem.arms, rounds)

    def add(self, arms: Ints) -> None:
        """Take the arms that were pulled in the next rounds."""
        self._pulls.add(arms)

    def values(self) -> Measures:
        """All measures; `pulls` is how often each arm was pulled up to each checkpoint, of shape (rounds, arms)."""
        return {"pulls": self._pulls.counts()}
