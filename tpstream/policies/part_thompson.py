"""Part Thompson: a mean for each part from whatever was delivered of it, summed; draws from the posterior of the sum.

A part that is lost leaves the mean of this part as it is (available cases). So drop-out that differs between arms does
not mislead the policy, as long as it does not depend on the outcome.
"""

from dataclasses import replace
from typing import Any

from pydantic import Field

from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import GroupParameters, SharedPolicy
from tpstream.policies.normal_posterior import (
    PRIOR,
    NormalPosteriorState,
    Prior,
    decide,
    init_posterior,
    observe,
    show_probabilities,
)


class PartThompsonParameters(GroupParameters):
    """Parameters: whether parts are learned one by one or in groups, and what is believed before."""

    groups: int | None = Field(None, ge=1, description="parts are learned in this many groups; default: one by one")
    prior: Prior = PRIOR

    def assumed_groups(self, problem: Problem) -> int:
        """The number of groups in this world; as many as parts by default."""
        return problem.assumed_groups(problem.span if self.groups is None else self.groups)


def init(problem: Problem, parameters: PartThompsonParameters) -> NormalPosteriorState:
    """The state before the first round."""
    return init_posterior(
        problem,
        parameters.assumed_groups(problem),
        prior=parameters.prior,
        variance="empirical",
        random_ties=parameters.ties == "random",
    )


@compiled
def on_group(state: NormalPosteriorState, arm: int, slot: int, group: int, amount: float) -> None:  # noqa: ARG001
    """Count a part, or a group of parts, that was delivered."""
    observe(state, arm, group, amount)


BOUNDED = SharedPolicy(
    name="part-thompson",
    parameters=PartThompsonParameters,
    init=init,
    decide=decide,
    on_group=on_group,
    show_probabilities=show_probabilities,
    needs_maxima=True,
)
UNBOUNDED = replace(BOUNDED, needs_maxima=False)


def variant(parameters: Any) -> SharedPolicy:
    """Only the prior needs maxima."""
    return BOUNDED if parameters.prior == "half" else UNBOUNDED


POLICY = replace(BOUNDED, variant=variant)
