"""Delayed KL-UCB: the largest mean that closed pulls do not contradict, by relative entropy (Garivier, Cappe 2011)."""

import math
from typing import NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.closed_pulls import StartParameters, closed_fields, closed_policy, share
from tpstream.policies.index import in_turn_or_largest

STEPS = 60
"""Newton's method is stopped after this many steps; from the last root it needs two or three."""
NO_SUCCESS = 1e-18
"""A mean below this counts as 0: its own term of kl is less than rounding."""
NEAR = 4e-16
"""It has arrived if a step changes the root by less than this share."""


class KlParameters(StartParameters):
    """Parameters: how it starts, how ties are broken, and how much it explores."""

    extra: float = Field(
        3.0, ge=0, allow_inf_nan=False, description="factor of ln ln t beside ln t; 0: ln t alone, as practice has it"
    )


class DelayedKlUcbState(NamedTuple):
    """The closed pulls of every arm: their number and their sum, and the last bound on the mean."""

    maxima: Floats
    random_ties: bool
    start_rounds: int
    indices: Floats
    open_arms: Bools
    closed: Ints
    sums: Floats
    deviations: Floats
    extra: float
    bounds: Floats
    """The last bound q of each arm, where the search for the next one begins."""


def init(problem: Problem, parameters: KlParameters) -> DelayedKlUcbState:
    """The state before the first round: no pulls."""
    return DelayedKlUcbState(
        **closed_fields(problem, parameters), extra=parameters.extra, bounds=np.full(problem.arms, 0.5)
    )


@compiled
def upper_bound(mean: float, budget: float, guess: float) -> float:
    """The largest q from `mean` to 1 with kl(mean, q) <= budget, where kl is that of Bernoulli distributions.

    kl rises from the mean to 1 and is convex there, so Newton's method reaches the root from any side of it; a step
    that would leave the interval is halved towards its end.
    """
    if mean >= 1.0:
        return 1.0
    if budget <= 0.0:
        return mean
    if mean <= NO_SUCCESS:
        return -math.expm1(-budget)
    q = guess if mean < guess < 1.0 else mean + 0.5 * (1.0 - mean)
    for _ in range(STEPS):
        # kl(p, q) = -p ln(1 + (q-p)/p) - (1-p) ln(1 - (q-p)/(1-p)), which keeps its digits where q is close to p
        more = q - mean
        if more <= 0.0 or q >= 1.0:  # there is no number between the mean and 1, or none between the mean and the root
            break
        excess = -mean * math.log1p(more / mean) - (1.0 - mean) * math.log1p(-more / (1.0 - mean)) - budget
        following = q - excess * q * (1.0 - q) / more
        if following >= 1.0:
            following = 0.5 * (q + 1.0)
        elif following <= mean:
            following = 0.5 * (q + mean)
        change = abs(following - q)
        q = following
        if change <= NEAR * q:
            break
    return q


@compiled
def index(state: DelayedKlUcbState, arm: int, allowed: float) -> float:
    """Rbar times the largest q with s kl(x, q) <= L + 3 ln max(L, 1), L = ln(t-1); x is the mean of R / Rbar."""
    closed = state.closed[arm]
    if closed == 0:
        return math.inf
    state.bounds[arm] = upper_bound(share(state, arm), allowed / closed, state.bounds[arm])
    return float(state.maxima[arm] * state.bounds[arm])


@compiled
def decide(state: DelayedKlUcbState, round: int, stream: np.random.Generator) -> int:
    """The arms in turn during the start, then an arm of the largest index."""
    log = math.log(max(round - 1, 1))
    allowed = log + state.extra * math.log(max(log, 1.0))
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, allowed)
    return in_turn_or_largest(state.indices, state.open_arms, round, state.start_rounds, state.random_ties, stream)


POLICY = closed_policy("delayed-kl-ucb", KlParameters, init, decide)
