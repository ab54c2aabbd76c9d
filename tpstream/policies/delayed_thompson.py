"""Delayed Thompson: draws each arm's mean from its posterior given the closed pulls, and pulls the largest draw.

A closed pull counts with what it was credited with, so a part that is lost counts as zero.
"""

from dataclasses import replace

from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies import beta_posterior, normal_posterior
from tpstream.policies.base import SharedPolicy
from tpstream.policies.best_arm import fill_best, fill_certain
from tpstream.policies.beta_posterior import BetaPosteriorState
from tpstream.policies.index import in_turn
from tpstream.policies.normal_posterior import NormalPosteriorState
from tpstream.policies.posterior_choice import PosteriorParameters, choose_posterior


def init_beta(problem: Problem, parameters: PosteriorParameters) -> BetaPosteriorState:
    """The state before the first round, for Beta posteriors; a pull is a single group."""
    return beta_posterior.init_posterior(problem, 1, random_ties=parameters.ties == "random")


def init_normal(problem: Problem, parameters: PosteriorParameters) -> NormalPosteriorState:
    """The state before the first round, for a normal posterior; a pull is a single group."""
    return normal_posterior.init_posterior(
        problem, 1, prior=parameters.prior, variance=parameters.variance, random_ties=parameters.ties == "random"
    )


@compiled
def on_closed_beta(state: BetaPosteriorState, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Queue a pull for its draw."""
    beta_posterior.observe(state, arm, 0, credited)


@compiled
def on_closed_normal(state: NormalPosteriorState, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count a pull."""
    normal_posterior.observe(state, arm, 0, credited)


@compiled
def show_beta(state: BetaPosteriorState) -> None:
    """The probability that each arm's draw is the largest, by quadrature."""
    if state.decided[0] <= state.indices.size:
        fill_certain(state, in_turn(state.open_arms, state.decided[0]))
    else:
        fill_best(state, True, state.successes[:, 0], state.failures[:, 0])  # noqa: FBT003


BETA = SharedPolicy(
    name="delayed-thompson",
    parameters=PosteriorParameters,
    init=init_beta,
    decide=beta_posterior.decide,
    on_closed=on_closed_beta,
    show_probabilities=show_beta,
    queues=beta_posterior.QUEUES,
    lost_as_zero=True,
    needs_maxima=True,
    needs_positive=True,
)
NORMAL = SharedPolicy(
    name="delayed-thompson",
    parameters=PosteriorParameters,
    init=init_normal,
    decide=normal_posterior.decide,
    on_closed=on_closed_normal,
    show_probabilities=normal_posterior.show_probabilities,
    lost_as_zero=True,
    needs_maxima=True,
    needs_positive=True,
)
POLICY = replace(BETA, variant=choose_posterior(BETA, NORMAL))
