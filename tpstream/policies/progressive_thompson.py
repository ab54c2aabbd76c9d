"""Progressive Thompson: Thompson sampling with a normal prior over an arm's whole path, updated by every part.

"Impatient bandits" (McDonald et al. 2023): parts that are delivered early tell of later ones through the prior. A part,
or a group of parts, that is lost is not seen, and the posterior is that of what was seen. In a trial, parts are heard
as they were paid, and draws are of the endpoint: with the weights w of the parts, from N(w'm, w'Cw).

`hears` restricts it to the baselines of that paper: "first" hears the first group only (a proxy), "closed" only what
closed pulls paid (a lost part counts as zero), "pull" is shown the whole reward at the pull, as no real policy can be.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Discriminator, Field, Tag

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import GroupParameters, SharedPolicy
from tpstream.policies.best_arm import NARROWEST, fill_best, quadrature_fields
from tpstream.policies.index import add, close_indices, largest, total
from tpstream.policies.path_prior import PathPrior, default_prior, load_prior

SINGULAR = 1e-12
"""A coordinate whose remaining variance is less than this share tells nothing that others did not tell."""


GivenPrior = Annotated[
    Annotated[PathPrior, Tag("(table)")] | Annotated[str, Tag("(file)")],
    Discriminator(lambda value: "(file)" if isinstance(value, str) else "(table)"),
]


class ProgressiveParameters(GroupParameters):
    """Parameters: the coordinates of the path, the prior, and what is heard."""

    groups: int | None = Field(
        None, ge=1, description="coordinates of the path; default: the environment's groups, else one for each part"
    )
    prior: GivenPrior | None = Field(
        None, description="mean, covariance and noise of the path, or a JSON file with them; default: a guess"
    )
    hears: Literal["parts", "first", "closed", "pull"] = Field(
        "parts", description="every part, the first group only, closed pulls only, or the whole reward at the pull"
    )

    def assumed_groups(self, problem: Problem) -> int:
        """The number of coordinates in this world; a prior says how many it has."""
        given = self.groups
        if given is None:
            given = problem.groups or problem.span
            if not self._even_in(problem, given):
                given = problem.span
        groups = problem.assumed_groups(given)
        if not self._even_in(problem, groups):
            raise PolicyError(
                f"groups = {groups} join parts with different weights in the endpoint of this trial; "
                f"set groups = {problem.span}"
            )
        if isinstance(self.prior, PathPrior) and len(self.prior.mean) != groups:
            size = len(self.prior.mean)
            raise PolicyError(f"prior: has {size} coordinates for {groups} groups; set groups = {size}")
        return groups

    def _even_in(self, problem: Problem, groups: int) -> bool:
        """Whether the parts of each group have the same weight, where the weights of a trial's endpoint matter."""
        if problem.endpoint is None or not self.weighs or problem.span % groups:
            return True
        weights = problem.endpoint.scale.reshape(groups, -1)
        return bool((weights == weights[:, :1]).all())

    @property
    def weighs(self) -> bool:
        """Whether the coordinates are parts as they were paid, which a trial's endpoint weighs.

        With the default prior, one that hears only closed pulls takes the endpoint for the reward.
        """
        return self.hears != "closed" or self.prior is not None

    def weights(self, problem: Problem, groups: int) -> tuple[Floats, float]:
        """What each coordinate counts in what is to be large, and what is added to their sum."""
        if problem.endpoint is None or not self.weighs:
            return np.ones(groups), 0.0
        return problem.endpoint.scale.reshape(groups, -1)[:, 0], float(problem.endpoint.shift.sum())

    def resolved(self, folder: Path) -> "ProgressiveParameters":
        """The same with the prior of the file that is named, if one is."""
        if not isinstance(self.prior, str):
            return self
        return self.model_copy(update={"prior": load_prior(folder / self.prior)})


class ProgressiveState(NamedTuple):
    """The prior, and for every arm what was seen of each coordinate and the posterior of its sum."""

    mean: Floats
    """mu, in the arm's unit."""
    covariance: Floats
    noise: Floats
    reach: Floats
    """Sigma w: the covariance of each coordinate with what is to be large; w = 1 but for a trial's endpoint."""
    whole_mean: float
    """w'mu."""
    whole_variance: float
    """w'Sigma w."""
    offset: float
    """What is added to it: where low values are good, what the largest ones sum to."""
    random_ties: bool
    indices: Floats
    counts: Ints
    """c_j at arm * coordinates + j."""
    sums: Floats
    together: Ints
    """n_ij, the pulls in which both coordinates were seen, at [arm, i, j]."""
    seen: Ints
    """Which coordinates of an open pull were seen, (slot, j)."""
    changed: Ints
    """Whether something of the arm was seen since its posterior was computed."""
    places: Ints
    """Memory for the coordinates of an arm that were seen, the matrix G, and two vectors."""
    matrix: Floats
    vectors: Floats
    centres: Floats
    scales: Floats
    probabilities: Floats
    open_arms: Bools
    units: Floats
    nodes: Floats
    weights: Floats
    integrals: Floats
    cuts: Floats
    panel: Floats


def init(problem: Problem, parameters: ProgressiveParameters) -> ProgressiveState:
    """The state before the first round: the prior."""
    arms, groups = problem.arms, parameters.assumed_groups(problem)
    if isinstance(parameters.prior, str):
        return init(problem, parameters.resolved(Path()))
    prior = default_prior(groups) if parameters.prior is None else parameters.prior
    mean, covariance, noise = np.array(prior.mean), np.array(prior.covariance), np.array(prior.noise)
    weights, offset = parameters.weights(problem, groups)
    if parameters.hears in ("closed", "pull"):  # a single coordinate: the cumulative reward, or the endpoint
        mean, covariance, noise = (
            (weights * mean).sum(keepdims=True),
            *(_whole(one, weights) for one in (covariance, noise)),
        )
        weights = np.ones(1)
    size = len(mean)
    return ProgressiveState(
        mean=mean,
        covariance=covariance,
        noise=noise,
        reach=(covariance * weights).sum(axis=1),
        whole_mean=float((weights * mean).sum()),
        whole_variance=float(_whole(covariance, weights).sum()),
        offset=offset,
        random_ties=parameters.ties == "random",
        indices=np.zeros(arms),
        counts=np.zeros(arms * size, dtype=np.int64),
        sums=np.zeros((arms * size, 2)),
        together=np.zeros((arms, size, size), dtype=np.int64),
        seen=np.zeros((1, size), dtype=np.int64),
        changed=np.ones(arms, dtype=np.int64),
        places=np.zeros(size, dtype=np.int64),
        matrix=np.zeros((size, size)),
        vectors=np.zeros((2, size)),
        centres=np.zeros(arms),
        scales=np.zeros(arms),
        **quadrature_fields(problem.maxima if parameters.prior is None else np.ones(arms)),
    )


def _whole(matrix: Floats, weights: Floats) -> Floats:
    """The variance w'Mw of a weighted sum of coordinates, as a matrix of one row."""
    whole: Floats = (matrix * weights * weights[:, np.newaxis]).sum(keepdims=True)
    return whole


@compiled
def observe(state: ProgressiveState, arm: int, place: int, amount: float) -> None:
    """Count a coordinate of a pull of this arm."""
    state.counts[arm * state.mean.size + place] += 1
    add(state.sums, arm * state.mean.size + place, amount / state.units[arm])
    state.together[arm, place, place] += 1
    state.changed[arm] = 1


@compiled
def on_pull(state: ProgressiveState, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """Nothing of the pull was seen so far."""
    for place in range(state.mean.size):
        state.seen[slot, place] = 0


@compiled
def on_group(state: ProgressiveState, arm: int, slot: int, group: int, amount: float) -> None:
    """Count a coordinate, and with which others of the same pull it was seen."""
    for place in range(state.mean.size):
        if state.seen[slot, place] == 1:
            state.together[arm, group, place] += 1
            state.together[arm, place, group] += 1
    state.seen[slot, group] = 1
    observe(state, arm, group, amount)


@compiled
def first_on_group(state: ProgressiveState, arm: int, slot: int, group: int, amount: float) -> None:  # noqa: ARG001
    """Count the first coordinate only."""
    if group == 0:
        observe(state, arm, 0, amount)


@compiled
def on_closed(state: ProgressiveState, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count a closed pull."""
    observe(state, arm, 0, credited - state.offset)


@compiled
def shown_on_pull(state: ProgressiveState, arm: int, slot: int, shown: float) -> None:  # noqa: ARG001
    """Count the reward that is shown at the pull."""
    observe(state, arm, 0, shown)


@compiled
def update(state: ProgressiveState, arm: int) -> None:
    """The posterior of the weighted sum: mean w'mu + r'G^-1 (y - mu), variance w'Sigma w - r'G^-1 r, r = Sigma w.

    G = Sigma + N over the coordinates that were seen, N_ij = V_ij n_ij / (c_i c_j). With G = LL', u = L^-1 r and
    v = L^-1 (y - mu), these are w'mu + u'v and w'Sigma w - u'u.
    """
    size, known = state.mean.size, 0
    for place in range(size):
        if state.counts[arm * size + place] > 0:
            state.places[known] = place
            known += 1
    lower, weights, surprises = state.matrix, state.vectors[0], state.vectors[1]
    centre, variance = state.whole_mean, state.whole_variance
    for row in range(known):
        place = state.places[row]
        count = state.counts[arm * size + place]
        weight = state.reach[place]
        surprise = total(state.sums, arm * size + place) / count - state.mean[place]
        full = state.covariance[place, place] + state.noise[place, place] / count
        rest = full
        for column in range(row):
            other = state.places[column]
            both = state.together[arm, place, other] / (count * state.counts[arm * size + other])
            entry = state.covariance[place, other] + state.noise[place, other] * both
            for before in range(column):
                entry -= lower[row, before] * lower[column, before]
            lower[row, column] = entry / lower[column, column]
            rest -= lower[row, column] * lower[row, column]
            weight -= lower[row, column] * weights[column]
            surprise -= lower[row, column] * surprises[column]
        if rest <= SINGULAR * full:
            lower[row, row], weights[row], surprises[row] = math.inf, 0.0, 0.0
        else:
            lower[row, row] = math.sqrt(rest)
            weights[row], surprises[row] = weight / lower[row, row], surprise / lower[row, row]
        centre += weights[row] * surprises[row]
        variance -= weights[row] * weights[row]
    state.centres[arm] = centre
    state.scales[arm] = math.sqrt(max(variance, 0.0))


@compiled
def index(state: ProgressiveState, arm: int, normal: float) -> float:
    """A draw from the posterior of the arm's mean cumulative reward, N(1'm, 1'C1), or of its endpoint."""
    if state.changed[arm] == 1:
        update(state, arm)
        state.changed[arm] = 0
    return float(state.units[arm] * (state.centres[arm] + state.scales[arm] * normal) + state.offset)


@compiled
def decide(state: ProgressiveState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """Draw from the posterior of every arm, and choose the largest draw."""
    for arm in range(state.indices.size):
        state.indices[arm] = index(state, arm, stream.standard_normal())
    close_indices(state.indices, state.open_arms)
    return largest(state.indices, state.random_ties, stream)


@compiled
def show_probabilities(state: ProgressiveState) -> None:
    """The probability that each arm's draw is the largest, by quadrature."""
    for arm in range(state.scales.size):
        least = NARROWEST * (math.sqrt(state.whole_variance) + abs(state.whole_mean)) + 1e-300
        state.scales[arm] = max(state.scales[arm], least)
    fill_best(state, False, state.centres, state.scales)  # noqa: FBT003


PARTS = SharedPolicy(
    name="progressive-thompson",
    parameters=ProgressiveParameters,
    init=init,
    decide=decide,
    on_pull=on_pull,
    on_group=on_group,
    show_probabilities=show_probabilities,
    per_pull=("seen",),
    needs_maxima=True,
    weighs=True,
)
FIRST = replace(PARTS, on_pull=None, on_group=first_on_group)
CLOSED = replace(PARTS, on_pull=None, on_group=None, on_closed=on_closed, lost_as_zero=True, weighs=False)
PULL = replace(PARTS, on_pull=shown_on_pull, on_group=None, clairvoyant=True, weighs=False)
VARIANTS = {"parts": PARTS, "first": FIRST, "closed": CLOSED, "pull": PULL}
OWN_PRIOR = {name: replace(form, needs_maxima=False) for name, form in VARIANTS.items()}
"""Only the default prior is about the arms' maxima."""


def variant(parameters: Any) -> SharedPolicy:
    """What is heard, and whether maxima are needed."""
    return (VARIANTS if parameters.prior is None else OWN_PRIOR)[parameters.hears]


POLICY = replace(PARTS, variant=variant)
