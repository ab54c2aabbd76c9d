"""Group Thompson: draws each arm's mean from the posteriors of its groups of parts, and pulls the largest draw.

A group counts when all its parts were delivered; one of which a part is lost never counts. Groups of one pull that
depend on each other make the posterior narrower than it should be.
"""

from dataclasses import replace

from pydantic import Field

from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies import beta_posterior, normal_posterior
from tpstream.policies.base import GroupParameters, SharedPolicy
from tpstream.policies.beta_posterior import BetaPosteriorState
from tpstream.policies.normal_posterior import NormalPosteriorState
from tpstream.policies.posterior_choice import FAMILY, Family, PosteriorParameters, choose_posterior


class GroupThompsonParameters(PosteriorParameters, GroupParameters):
    """Parameters: the groups, and the posterior of one of them."""

    family: Family = Field("gauss", description=FAMILY)


def init_normal(problem: Problem, parameters: GroupThompsonParameters) -> NormalPosteriorState:
    """The state before the first round, for a normal posterior."""
    return normal_posterior.init_posterior(
        problem,
        parameters.assumed_groups(problem),
        prior=parameters.prior,
        variance=parameters.variance,
        random_ties=parameters.ties == "random",
    )


def init_beta(problem: Problem, parameters: GroupThompsonParameters) -> BetaPosteriorState:
    """The state before the first round, for Beta posteriors."""
    return beta_posterior.init_posterior(
        problem, parameters.assumed_groups(problem), random_ties=parameters.ties == "random"
    )


@compiled
def on_group_normal(state: NormalPosteriorState, arm: int, slot: int, group: int, amount: float) -> None:  # noqa: ARG001
    """Count a Z_k."""
    normal_posterior.observe(state, arm, group, amount)


@compiled
def on_group_beta(state: BetaPosteriorState, arm: int, slot: int, group: int, amount: float) -> None:  # noqa: ARG001
    """Queue a Z_k for its draw."""
    beta_posterior.observe(state, arm, group, amount)


NORMAL = SharedPolicy(
    name="group-thompson",
    parameters=GroupThompsonParameters,
    init=init_normal,
    decide=normal_posterior.decide,
    on_group=on_group_normal,
    show_probabilities=normal_posterior.show_probabilities,
    needs_maxima=True,
    needs_positive=True,
)
BETA = SharedPolicy(
    name="group-thompson",
    parameters=GroupThompsonParameters,
    init=init_beta,
    decide=beta_posterior.decide,
    on_group=on_group_beta,
    queues=beta_posterior.QUEUES,
    needs_maxima=True,
    needs_positive=True,
)
POLICY = replace(NORMAL, variant=choose_posterior(BETA, NORMAL))
