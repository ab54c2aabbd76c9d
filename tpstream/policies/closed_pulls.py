"""What policies that learn from closed pulls share: their counts, sums and squared deviations, and how they start.

A pull that is closed counts with what it was credited with; a part that was lost or came late is not in that sum.
"""

from typing import Any, Literal

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import IndexParameters
from tpstream.policies.index import add, total


class StartParameters(IndexParameters):
    """Parameters: how ties are broken, and what is pulled in the first rounds, when nothing is known."""

    start: Literal["round-robin", "random"] = Field(
        "round-robin",
        description="first rounds: the arms in turn for a whole span, or each arm once and then ties among the unknown",
    )


def closed_fields(problem: Problem, parameters: StartParameters) -> dict[str, Any]:
    """The fields of a state that counts closed pulls, before the first round."""
    arms = problem.arms
    return {
        "maxima": problem.maxima,
        "random_ties": parameters.ties == "random",
        "start_rounds": problem.span if parameters.start == "round-robin" else arms,
        "indices": np.zeros(arms),
        "closed": np.zeros(arms, dtype=np.int64),
        "sums": np.zeros((arms, 2)),
        "deviations": np.zeros((arms, 2)),
    }


@compiled
def count_value(counts: Ints, sums: Floats, deviations: Floats, place: int, value: float) -> None:
    """Count a value, and add it to the sum and to the sum of squared deviations from the mean.

    The latter grows by (value - old mean)(value - new mean), which is never negative and exactly 0 for equal values.
    """
    before = total(sums, place) / max(counts[place], 1)
    counts[place] += 1
    add(sums, place, value)
    if counts[place] > 1:
        add(deviations, place, (value - before) * (value - total(sums, place) / counts[place]))


@compiled
def share(state: Any, arm: int) -> float:
    """The mean of R / Rbar over the closed pulls of an arm."""
    return float(total(state.sums, arm) / state.closed[arm] / state.maxima[arm])


@compiled
def variance(state: Any, arm: int) -> float:
    """The empirical variance of R / Rbar over the closed pulls of an arm."""
    return float(total(state.deviations, arm) / state.closed[arm] / (state.maxima[arm] * state.maxima[arm]))
