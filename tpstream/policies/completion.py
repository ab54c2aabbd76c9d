"""What the completion policies share: pulls weighted by the share of their reward that should have arrived by now.

A closed pull weighs 1, an open one F(age), the expected share of its reward that arrives within that age (Vernade et
al. 2017, for conversions). F is given, or learned: the share of the closed pulls' credit that had arrived by that age,
all arms together; until a pull with credit is closed, it grows evenly over the span. Ages are counted in whole units
of time, and what arrives later than the oldest age counts as arriving at that age.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from pydantic import Field, model_validator

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import IndexParameters, SharedPolicy
from tpstream.policies.index import add

LONGEST = 4
"""A learned profile ends at this many times the span."""
FINENESS = 2**40
"""F is a whole number of shares of 1 / FINENESS, so that the sum over open pulls does not depend on their order."""


class CompletionParameters(IndexParameters):
    """Parameters: how ties are broken, and when rewards should have arrived."""

    profile: tuple[float, ...] | None = Field(
        None,
        min_length=1,
        description="the expected share of a reward that has arrived after 1, 2, ... units of time; default: learned",
    )

    @model_validator(mode="after")
    def _check_profile(self) -> "CompletionParameters":
        shares = (0.0, *(self.profile or (1.0,)))
        if shares[-1] != 1.0 or any(not one <= other for one, other in pairwise(shares)):
            raise ValueError("profile: the shares must never fall and end with 1; correct them")
        return self


class CompletionState(NamedTuple):
    """What every arm's pulls paid, the open pulls, and the profile F."""

    maxima: Floats
    random_ties: bool
    start_rounds: int
    clock: Floats
    indices: Floats
    open_arms: Bools
    pulls: Ints
    closed: Ints
    received: Floats
    due: Ints
    """The sum of F(age) over the open pulls of each arm at the last decision, times FINENESS."""
    expected: Floats
    """Ntilde of each arm at the last decision: closed pulls + sum of F(age) over open ones."""
    learns: bool
    profile: Ints
    """F at ages 1, 2, ..., times FINENESS; the last one holds for all older pulls."""
    credit: Floats
    """What closed pulls were credited with at ages from 0 to 1, from 1 to 2, ..."""
    whole: Floats
    """The sum of `credit`."""
    oldest: Ints
    """The last place of `credit` that is not empty."""
    started: Floats
    """For each open pull: when it was made, its arm + 1 (0: it is closed), and its parts with their ages."""
    owners: Ints
    paid: Floats
    ages: Ints


def init(problem: Problem, parameters: CompletionParameters) -> CompletionState:
    """The state before the first round: no pulls."""
    arms, span = problem.arms, problem.span
    learns = parameters.profile is None
    even = np.minimum(np.arange(1, LONGEST * span + 1) / span, 1.0)
    profile = even if parameters.profile is None else np.array(parameters.profile)
    return CompletionState(
        maxima=problem.maxima,
        random_ties=parameters.ties == "random",
        start_rounds=arms,
        clock=np.zeros(1),
        indices=np.zeros(arms),
        open_arms=np.ones(arms, dtype=np.bool_),
        pulls=np.zeros(arms, dtype=np.int64),
        closed=np.zeros(arms, dtype=np.int64),
        received=np.zeros((arms, 2)),
        due=np.zeros(arms, dtype=np.int64),
        expected=np.zeros(arms),
        learns=learns,
        profile=np.round(profile * FINENESS).astype(np.int64),
        credit=np.zeros(len(profile)),
        whole=np.zeros(1),
        oldest=np.zeros(1, dtype=np.int64),
        started=np.zeros(1),
        owners=np.zeros(1, dtype=np.int64),
        paid=np.zeros((1, span)),
        ages=np.zeros((1, span), dtype=np.int64),
    )


@compiled
def on_pull(state: CompletionState, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """Count the pull, and when it was made."""
    state.pulls[arm] += 1
    state.started[slot] = state.clock[0]
    state.owners[slot] = arm + 1
    for part in range(state.paid.shape[1]):
        state.paid[slot, part] = 0.0


@compiled
def on_received(state: CompletionState, arm: int, amount: float) -> None:
    """Add what was received."""
    add(state.received, arm, amount)


@compiled
def on_partial(state: CompletionState, arm: int, slot: int, part: int, value: float) -> None:  # noqa: ARG001
    """Keep what was paid, and at which age, until the pull is closed."""
    state.paid[slot, part - 1] = value
    state.ages[slot, part - 1] = min(int(state.clock[0] - state.started[slot]), state.credit.size - 1)


@compiled
def on_closed(state: CompletionState, arm: int, slot: int, credited: float) -> None:
    """Count the pull with a weight of 1, so that what was lost counts as zero, and learn from it."""
    state.closed[arm] += 1
    state.owners[slot] = 0
    if not state.learns:
        return
    state.whole[0] += credited
    oldest = state.oldest[0]
    for part in range(state.paid.shape[1]):
        if state.paid[slot, part] > 0.0:
            age = state.ages[slot, part]
            state.credit[age] += state.paid[slot, part]
            oldest = max(oldest, age)
    state.oldest[0] = oldest
    if state.whole[0] > 0.0:
        arrived, scale = 0.0, FINENESS / state.whole[0]
        for age in range(oldest):
            arrived += state.credit[age]
            state.profile[age] = math.floor(min(arrived * scale, FINENESS) + 0.5)
        for age in range(oldest, state.profile.size):
            state.profile[age] = FINENESS


@compiled
def expect(state: CompletionState) -> None:
    """Weigh the pulls of every arm: Ntilde = closed pulls + sum over open pulls of F(age)."""
    for arm in range(state.indices.size):
        state.due[arm] = 0
    for slot in range(state.owners.size):
        if state.owners[slot] > 0:
            age = math.ceil(state.clock[0] - state.started[slot])
            if age > 0:
                state.due[state.owners[slot] - 1] += state.profile[min(age, state.profile.size) - 1]
    for arm in range(state.indices.size):
        state.expected[arm] = state.closed[arm] + state.due[arm] / FINENESS


def completion_policy(name: str, decide: Callable[..., int]) -> SharedPolicy:
    """A policy that weighs open pulls by the profile; what closed ones lost counts as zero."""
    return SharedPolicy(
        name=name,
        parameters=CompletionParameters,
        init=init,
        decide=decide,
        on_pull=on_pull,
        on_partial=on_partial,
        on_received=on_received,
        on_closed=on_closed,
        per_pull=("started", "owners", "paid", "ages"),
        lost_as_zero=True,
        needs_maxima=True,
        needs_positive=True,
    )
