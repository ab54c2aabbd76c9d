"""Thompson sampling with a normal posterior of each arm's mean, as the sum over its groups of parts.

The posterior of an arm is N(sum_k m_k, sum_k v_k / n_k): m_k and n_k are the mean and the number of the completed
groups k, v_k is the variance of one of them. With the prior "half" there is one pseudo-observation of Rbar / (2 alpha)
in every group; with "none" an arm's index is infinite until each of its groups was seen.

The variance v_k is the largest possible one, (Rbar / 2 alpha)^2 ("bound"), or the empirical one with a prior on it:
((Rbar / 2 alpha)^2 + sum of squared deviations from m_k) / n_k. Where arms have no maxima, what stands in the place of
(Rbar / 2 alpha)^2 is the empirical variance of group k over all arms; an arm's index is infinite until there is one.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.best_arm import NARROWEST, fill_best, fill_certain, fill_ties, quadrature_fields
from tpstream.policies.group_means import count_group, group_fields, set_term
from tpstream.policies.index import add, in_turn, in_turn_or_largest, total

Prior = Literal["half", "none"]
Variance = Literal["bound", "empirical"]
PRIOR: Any = Field(
    "half", description="half: one pseudo-observation of half the maximum; none: unknown arms have infinite indices"
)
VARIANCE: Any = Field("bound", description="of a reward: the largest possible one, or the empirical one with a prior")


class NormalPosteriorState(NamedTuple):
    """The mean and the variance of every arm's posterior, as sums over groups, and what they are made of."""

    random_ties: bool
    start_rounds: int
    """The first rounds, in which every arm is pulled once."""
    empirical: bool
    pooled: bool
    """Whether the prior variance is that of all arms together."""
    indices: Floats
    groups: int
    unknown: Ints
    counts: Ints
    """n_k at arm * groups + k, with the pseudo-observation."""
    sums: Floats
    means: Floats
    mean_terms: Floats
    bounds: Floats
    """(Rbar / 2 alpha)^2 of each arm; 0 where variances are pooled."""
    deviations: Floats
    """Sum of squared deviations at arm * groups + k, with the prior variance."""
    variances: Floats
    """Sum over an arm's groups of v_k / n_k."""
    variance_terms: Floats
    pooled_deviations: Floats
    """Sum of squared deviations of group k over all arms, and its degrees of freedom."""
    pooled_freedom: Ints
    decided: Ints
    """The round of the last decision."""
    centres: Floats
    """The mean and the standard deviation of the posteriors at the last decision."""
    scales: Floats
    probabilities: Floats
    open_arms: Bools
    units: Floats
    nodes: Floats
    weights: Floats
    integrals: Floats
    cuts: Floats
    panel: Floats


def init_posterior(
    problem: Problem, groups: int, *, prior: Prior, variance: Variance, random_ties: bool
) -> NormalPosteriorState:
    """The state before the first round."""
    arms = problem.arms
    fields = group_fields(arms, groups)
    pooled = bool(np.isnan(problem.maxima).any())
    halves = np.zeros(arms) if pooled else problem.maxima / (2.0 * groups)
    variances, variance_terms = np.zeros((arms, 2)), np.zeros(arms * groups)
    if prior == "half":
        pseudo = np.repeat(halves, groups)
        fields["unknown"][:] = 0
        fields["counts"][:] = 1
        fields["sums"][:, 0] = fields["mean_terms"][:] = pseudo
        fields["means"][:, 0] = [math.fsum([half] * groups) for half in halves]
        variance_terms[:] = pseudo**2
        variances[:, 0] = [math.fsum([half**2] * groups) for half in halves]
    deviations = np.zeros((arms * groups, 2))
    deviations[:, 0] = np.repeat(halves, groups) ** 2
    return NormalPosteriorState(
        random_ties=random_ties,
        start_rounds=arms,
        empirical=variance == "empirical",
        pooled=pooled,
        indices=np.zeros(arms),
        **fields,
        bounds=halves**2,
        deviations=deviations,
        variances=variances,
        variance_terms=variance_terms,
        pooled_deviations=np.zeros((groups, 2)),
        pooled_freedom=np.zeros(groups, dtype=np.int64),
        decided=np.zeros(1, dtype=np.int64),
        centres=np.zeros(arms),
        scales=np.zeros(arms),
        **quadrature_fields(np.ones(arms)),
    )


@compiled
def observe(state: NormalPosteriorState, arm: int, group: int, amount: float) -> None:
    """Count a completed group of an arm."""
    before = state.mean_terms[arm * state.groups + group]
    place = count_group(state, arm, group, amount)
    count = state.counts[place]
    variance = state.bounds[arm]
    if state.empirical:
        if count > 1:
            deviation = (amount - before) * (amount - state.mean_terms[place])
            add(state.deviations, place, deviation)
            add(state.pooled_deviations, group, deviation)
            state.pooled_freedom[group] += 1
        variance = total(state.deviations, place) / count
    set_term(state.variances, state.variance_terms, arm, place, variance / count)


@compiled
def posterior_variance(state: NormalPosteriorState, arm: int) -> float:
    """Sum over the groups of v_k / n_k; infinite where it is not known."""
    if state.unknown[arm] > 0:
        return math.inf
    variance = total(state.variances, arm)
    if state.pooled:
        for group in range(state.groups):
            if state.pooled_freedom[group] == 0:
                return math.inf
            count = state.counts[arm * state.groups + group]
            variance += total(state.pooled_deviations, group) / state.pooled_freedom[group] / count / count
    return float(variance)


@compiled
def index(state: NormalPosteriorState, arm: int, normal: float) -> float:
    """sum_k m_k + sqrt(sum_k v_k / n_k) times a standard normal draw; infinite while a group was never seen."""
    variance = posterior_variance(state, arm)
    if variance == math.inf:
        return math.inf
    state.centres[arm] = total(state.means, arm)
    state.scales[arm] = math.sqrt(max(variance, 0.0))
    return float(state.centres[arm] + state.scales[arm] * normal)


@compiled
def decide(state: NormalPosteriorState, round: int, stream: np.random.Generator) -> int:
    """Each arm once, then the largest draw from the posteriors of the arms."""
    state.decided[0] = round
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, stream.standard_normal())
    return in_turn_or_largest(state.indices, state.open_arms, round, state.start_rounds, state.random_ties, stream)


@compiled
def show_probabilities(state: NormalPosteriorState) -> None:
    """The probability that each arm's draw is the largest, by quadrature."""
    if state.decided[0] <= state.start_rounds:
        fill_certain(state, in_turn(state.open_arms, state.decided[0]))
    elif fill_ties(state) == 0:
        low = high = state.centres[0]
        widest = state.scales[0]
        for arm in range(state.centres.size):
            low, high = min(low, state.centres[arm]), max(high, state.centres[arm])
            widest = max(widest, state.scales[arm])
        least = NARROWEST * (high - low + widest) + 1e-300
        for arm in range(state.scales.size):
            state.scales[arm] = max(state.scales[arm], least)
        fill_best(state, False, state.centres, state.scales)  # noqa: FBT003
