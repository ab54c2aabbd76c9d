"""How much of a pull's maximum each of its groups can pay: caps, which policies with groups may be given.

Without caps every group pays at most maximum / groups. A cap profile says that group k pays at most p_k times the
maximum, with shares p_k that sum to 1; narrow shares make the bounds of the paper's kind narrower.
"""

import math
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.world import Problem
from tpstream.policies.base import GroupParameters

TOLERANCE = 1e-9
"""How far the given shares may be from summing to 1."""


class BetaBinomial(BaseModel):
    """The shares p_k as the probabilities of a beta-binomial distribution on the groups; a = b = 1: equal shares."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    a: float = Field(gt=0)
    b: float = Field(gt=0)


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
