"""What indices on closed pulls share: the classical ones, and those on successes and failures with a Beta prior.

A pull that is closed counts with what it was credited with; a part that was lost or came late is not in that sum. The
classical indices have counts, sums and squared deviations of these, and a start of their own. With a Beta prior, a
closed pull that was credited with R counts as R / Rbar successes and 1 - R / Rbar failures.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import IndexParameters, SharedPolicy
from tpstream.policies.index import add, total


class StartParameters(IndexParameters):
    """Parameters: how ties are broken, and what is pulled in the first rounds, when nothing is known."""

    start: Literal["round-robin", "random"] = Field(
        "round-robin",
        description="first rounds: the arms in turn for a whole span, or each arm once and then ties among the unknown",
    )


class ClosedState(NamedTuple):
    """The closed pulls of every arm: their number, their sum and their squared deviations from the mean."""

    maxima: Floats
    random_ties: bool
    start_rounds: int
    indices: Floats
    open_arms: Bools
    closed: Ints
    sums: Floats
    deviations: Floats


def init(problem: Problem, parameters: StartParameters) -> ClosedState:
    """The state before the first round: no pulls."""
    return ClosedState(**closed_fields(problem, parameters))


def closed_fields(problem: Problem, parameters: StartParameters) -> dict[str, Any]:
    """The fields of a state that counts closed pulls, before the first round."""
    arms = problem.arms
    return {
        "maxima": problem.maxima,
        "random_ties": parameters.ties == "random",
        "start_rounds": problem.span if parameters.start == "round-robin" else arms,
        "indices": np.zeros(arms),
        "open_arms": np.ones(arms, dtype=np.bool_),
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
def on_closed(state: Any, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count the pull and its cumulative reward; a part that was lost counts as zero."""
    count_value(state.closed, state.sums, state.deviations, arm, credited)


PRIOR: Any = Field((1.0, 1.0), description="a and b of the prior of each arm")
"""The parameter of an index with a Beta prior."""


def success_fields(problem: Problem, parameters: Any) -> dict[str, Any]:
    """The fields of a state that counts the successes of closed pulls, before the first round."""
    return {
        "maxima": problem.maxima,
        "random_ties": parameters.ties == "random",
        "indices": np.zeros(problem.arms),
        "open_arms": np.ones(problem.arms, dtype=np.bool_),
        "prior": np.array(parameters.prior),
        "closed": np.zeros(problem.arms, dtype=np.int64),
        "sums": np.zeros((problem.arms, 2)),
    }


@compiled
def count_successes(state: Any, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count a pull and its successes; a part that was lost counts as zero."""
    state.closed[arm] += 1
    add(state.sums, arm, credited / state.maxima[arm])


@compiled
def share(state: Any, arm: int) -> float:
    """The mean of R / Rbar over the closed pulls of an arm."""
    return float(total(state.sums, arm) / state.closed[arm] / state.maxima[arm])


@compiled
def variance(state: Any, arm: int) -> float:
    """The empirical variance of R / Rbar over the closed pulls of an arm."""
    return float(total(state.deviations, arm) / state.closed[arm] / (state.maxima[arm] * state.maxima[arm]))


def closed_policy(
    name: str,
    parameters: type[IndexParameters],
    init: Callable[..., Any],
    decide: Callable[..., int],
    on_closed: Callable[[Any, int, int, float], None] = on_closed,
) -> SharedPolicy:
    """A policy that hears of closed pulls only, counts what they lost as zero, and is bounded by the arms' maxima."""
    return SharedPolicy(
        name=name,
        parameters=parameters,
        init=init,
        decide=decide,
        on_closed=on_closed,
        lost_as_zero=True,
        needs_maxima=True,
        needs_positive=True,
    )
