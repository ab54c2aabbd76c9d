"""What policies with groups of parts may be given: caps of the groups, and a choice of their number.

Caps say how much of a pull's maximum each of its groups can pay. Without caps every group pays at most maximum /
groups. A cap profile says that group k pays at most p_k times the maximum, with shares p_k that sum to 1; narrow
shares make the bounds of the paper's kind narrower.

`groups = "auto"` chooses the number of groups from what was seen, for policies that use it as one number.

If a pull's parts form alpha independent groups of which none pays more than Rbar / alpha, then Var(R) <= Rbar^2 / (4
alpha). So the largest divisor of the span is taken that nothing seen so far contradicts: for which, in every arm, the
upper confidence bound of Var(R) is not above Rbar^2 / (4 alpha), and no group ever paid more than Rbar / alpha. Both
conditions are necessary and not sufficient, so this is a heuristic: groups that depend on each other can satisfy them.
The choice is made again in rounds 2, 4, 8, ..., from the pulls closed by then; before that it is 1.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import GroupParameters, SharedPolicy
from tpstream.policies.closed_pulls import count_value
from tpstream.policies.index import total

TOLERANCE = 1e-9
"""How far, as a share, sums may be off by rounding: the given shares from 1, and what a group pays from its limit."""
QUANTILE = -1.6448536269514722
"""The 5 % quantile of the normal distribution: bounds of variances hold with a confidence of 95 %."""


class BetaBinomial(BaseModel):
    """The shares p_k as the probabilities of a beta-binomial distribution on the groups; a = b = 1: equal shares."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    a: float = Field(gt=0, description="larger than b: later groups pay more")
    b: float = Field(gt=0, description="larger than a: earlier groups pay more")


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


Caps = Annotated[
    Annotated[tuple[Share, ...], Tag("(list)")] | Annotated[BetaBinomial, Tag("(table)")],
    Discriminator(lambda value: "(table)" if isinstance(value, dict | BetaBinomial) else "(list)"),
]


class CapParameters(GroupParameters):
    """Parameters of a policy with groups that may be capped."""

    caps: Caps | None = Field(
        None,
        description="the most that each group pays, as shares of the maximum that sum to 1, or {a, b} of a "
        "beta-binomial distribution; default: equal shares",
    )

    @model_validator(mode="after")
    def _check_caps(self) -> "CapParameters":
        if isinstance(self.caps, tuple):
            if abs(math.fsum(self.caps) - 1.0) > TOLERANCE:
                raise ValueError(f"caps: the shares sum to {math.fsum(self.caps):g}; make them sum to 1")
            if isinstance(self.groups, int) and len(self.caps) != self.groups:
                raise ValueError(f"caps: {len(self.caps)} shares for {self.groups} groups; give one for each group")
        return self

    @property
    def unequal(self) -> bool:
        """Whether caps say how much each group pays at most."""
        return self.caps is not None

    def assumed_groups(self, problem: Problem) -> int:
        """The number of groups in this world, for which there must be as many shares."""
        groups = super().assumed_groups(problem)
        if isinstance(self.caps, tuple) and len(self.caps) != groups:
            raise PolicyError(f"caps: {len(self.caps)} shares for {groups} groups; give one for each group")
        return groups


def cap_shares(caps: tuple[float, ...] | BetaBinomial | None, groups: int) -> Floats:
    """The share p_k of the maximum that each group pays at most."""
    if caps is None:
        return np.full(groups, 1.0 / groups)
    if isinstance(caps, tuple):
        return np.array(caps)
    # Beta-binomial(alpha - 1, a, b): C(alpha - 1, k) B(k + a, alpha - 1 - k + b) / B(a, b).
    last = groups - 1
    shares = np.array(
        [
            math.exp(
                math.lgamma(last + 1)
                - math.lgamma(k + 1)
                - math.lgamma(last - k + 1)
                + log_beta(k + caps.a, last - k + caps.b)
                - log_beta(caps.a, caps.b)
            )
            for k in range(groups)
        ]
    )
    return np.asarray(shares / math.fsum(shares))


def log_beta(a: float, b: float) -> float:
    """The logarithm of the Beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def choice_fields(problem: Problem, *, wanted: bool) -> dict[str, Any]:
    """The fields of a state that chooses its groups, before the first round; nearly empty where it does not."""
    span, arms = problem.span if wanted else 1, problem.arms
    divisors = np.array([number for number in range(1, span + 1) if span % number == 0])
    return {
        "divisors": divisors,
        "shares": np.zeros(len(divisors)),
        "paid": np.zeros((1, span)),
        "complete": np.zeros(arms, dtype=np.int64),
        "complete_sums": np.zeros((arms, 2)),
        "complete_deviations": np.zeros((arms, 2)),
    }


@compiled
def forget_parts(state: Any, slot: int) -> None:
    """A new pull has this slot: none of its parts was paid so far."""
    for part in range(state.paid.shape[1]):
        state.paid[slot, part] = 0.0


@compiled
def keep_part(state: Any, arm: int, slot: int, part: int, value: float) -> None:  # noqa: ARG001
    """Keep a part until its pull is closed."""
    state.paid[slot, part - 1] += value


@compiled
def count_complete(state: Any, arm: int, slot: int, credited: float) -> None:
    """Count a closed pull for the variance of its arm, and keep the largest share of Rbar that a group paid.

    There is one such share for each possible number of groups.
    """
    count_value(state.complete, state.complete_sums, state.complete_deviations, arm, credited)
    span = state.paid.shape[1]
    for part in range(1, span):
        state.paid[slot, part] += state.paid[slot, part - 1]
    for number in range(state.divisors.size):
        width = span // state.divisors[number]
        before = most = 0.0
        for last in range(width - 1, span, width):
            most = max(most, state.paid[slot, last] - before)
            before = state.paid[slot, last]
        state.shares[number] = max(state.shares[number], most / state.maxima[arm])


@compiled
def is_due(round: int) -> bool:
    """Whether the choice is made again: in rounds that are powers of two."""
    return round > 1 and round & (round - 1) == 0


@compiled
def choose_groups(state: Any) -> int:
    """The largest number of groups that nothing seen so far contradicts."""
    widest = 0.0
    for arm in range(state.complete.size):
        widest = max(widest, variance_bound(state, arm))
    chosen = 1
    for number in range(state.divisors.size):
        groups = state.divisors[number]
        if 4.0 * groups * widest <= 1.0 and state.shares[number] * groups <= 1.0 + TOLERANCE:
            chosen = groups
    return int(chosen)


@compiled
def variance_bound(state: Any, arm: int) -> float:
    """The upper confidence bound of Var(R / Rbar): the squared deviations over the 5 % quantile of chi-square.

    The quantile with f = s - 1 degrees of freedom is f (1 - 2/(9f) + z sqrt(2/(9f)))^3 (Wilson and Hilferty 1931).
    """
    freedom = state.complete[arm] - 1
    if freedom < 1:
        return math.inf
    root = 1.0 - 2.0 / (9.0 * freedom) + QUANTILE * math.sqrt(2.0 / (9.0 * freedom))
    if root <= 0.0:
        return math.inf
    scaled = total(state.complete_deviations, arm) / (state.maxima[arm] * state.maxima[arm])
    return float(scaled / (freedom * root * root * root))


def with_chosen_groups(fixed: SharedPolicy, chosen: str, **handlers: Any) -> SharedPolicy:
    """The policy that with `groups = "auto"` chooses its groups, by these handlers instead of those of `fixed`.

    `chosen` is the field of its state with the groups that were chosen last, which every run reports.
    """

    def measures(state: Any) -> Mapping[str, float]:
        return {"groups_chosen": float(getattr(state, chosen)[0])}

    auto = replace(fixed, on_partial=keep_part, per_pull=("paid",), measures=measures, **handlers)
    return replace(fixed, variant=lambda parameters: auto if parameters.groups == "auto" else fixed)
