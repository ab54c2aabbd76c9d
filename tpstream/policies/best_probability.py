"""Best-probability: allocation by the probability of being the best arm, with Beta posteriors (response-adaptive).

A closed pull that was credited with R counts as R / Rbar successes and 1 - R / Rbar failures, so a binary outcome is
one or the other. With the prior Beta(a, b), an arm's posterior is Beta(a + successes, b + failures). A patient is given
arm k with a probability proportional to P(k is best)^c, brought within limits. During the burn-in all arms are equally
likely.
"""

from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Discriminator, Field, PositiveFloat, Tag, model_validator

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.allocation import clip, draw_arm, fix_share, lift, match_control, raise_to_power
from tpstream.policies.base import Parameters, SharedPolicy
from tpstream.policies.best_arm import fill_best, quadrature_fields

RISING = "i/(2n)"
"""The power that grows with patient i of n."""
TOLERANCE = 1e-9
"""By how much limits may miss a sum of 1 by rounding."""

Probability = Annotated[float, Field(ge=0, le=1)]
Power = Annotated[
    Annotated[float, Field(ge=0), Tag("(number)")] | Annotated[Literal["i/(2n)"], Tag("(word)")],
    Discriminator(lambda value: "(word)" if isinstance(value, str) else "(number)"),
]
ControlShare = Annotated[
    Annotated[float, Field(gt=0, lt=1), Tag("(number)")] | Annotated[Literal["none", "match", "sqrt"], Tag("(word)")],
    Discriminator(lambda value: "(word)" if isinstance(value, str) else "(number)"),
]


class BestProbabilityParameters(Parameters):
    """Parameters: how strongly patients follow the probabilities, and within which limits."""

    power: Power = Field(1.0, description="c: 0 for equal allocation, 1 for the probabilities as they are, or i/(2n)")
    burn_in: int = Field(0, ge=0, description="patients at the beginning who are given each arm equally likely")
    minimum: Probability = Field(0.0, description="least probability of an arm")
    maximum: Probability = Field(1.0, description="largest probability of an arm")
    limit: Literal["lift", "clip"] = Field(
        "lift", description="lift: the others stay in proportion and limits hold; clip: cut at the limits, then scaled"
    )
    control: str | None = Field(None, description="the name of the control arm; needed for control_share")
    control_share: ControlShare = Field(
        "none",
        description="of the control: a number, match (as much as the best of the others), sqrt (the root of their "
        "number times as much as equal ones), or none of its own",
    )
    update: int = Field(1, ge=1, description="after how many patients the probabilities are computed anew")
    prior: tuple[PositiveFloat, PositiveFloat] = Field((1.0, 1.0), description="a and b of the prior of each arm")

    @model_validator(mode="after")
    def _check(self) -> "BestProbabilityParameters":
        if self.minimum > self.maximum:
            raise ValueError(f"minimum: {self.minimum} is above the maximum {self.maximum}; lower it")
        if (self.control_share != "none") != (self.control is not None):
            raise ValueError("control_share: give both this and control, or neither")
        return self


class BestProbabilityState(NamedTuple):
    """The posteriors, and the probabilities of the next patient."""

    power: float
    """c; -1 for one that grows with the number of the patient."""
    horizon: int
    burn_in: int
    update: int
    lifts: bool
    minimum: float
    maximum: float
    control: int
    """The arm with a share of its own; -1 for none."""
    control_share: float
    """That share; 0 for as much as the best of the others."""
    indices: Floats
    """P(best)."""
    successes: Floats
    failures: Floats
    news: Ints
    """Whether a pull was closed since P(best) was computed."""
    shares: Floats
    """The probabilities of allocation since the last update."""
    held: Bools
    maxima: Floats
    probabilities: Floats
    units: Floats
    nodes: Floats
    weights: Floats
    integrals: Floats
    cuts: Floats
    panel: Floats


def init(problem: Problem, parameters: BestProbabilityParameters) -> BestProbabilityState:
    """The state before the first round: the priors."""
    arms = problem.arms
    control, share = find_control(problem, parameters)
    free, rest = (arms, 1.0) if share <= 0 else (arms - 1, 1.0 - share)
    if free * parameters.minimum > rest + TOLERANCE:
        raise PolicyError(f"minimum: {parameters.minimum} for each of {free} arms is more than {rest:g}; lower it")
    if free * parameters.maximum < rest - TOLERANCE:
        raise PolicyError(f"maximum: {parameters.maximum} for each of {free} arms is less than {rest:g}; raise it")
    return BestProbabilityState(
        power=-1.0 if parameters.power == RISING else float(parameters.power),
        horizon=problem.horizon,
        burn_in=parameters.burn_in,
        update=parameters.update,
        lifts=parameters.limit == "lift",
        minimum=parameters.minimum,
        maximum=parameters.maximum,
        control=control,
        control_share=share,
        indices=np.full(arms, 1.0 / arms),
        successes=np.full(arms, parameters.prior[0]),
        failures=np.full(arms, parameters.prior[1]),
        news=np.zeros(1, dtype=np.int64),
        shares=np.full(arms, 1.0 / arms),
        held=np.zeros(arms, dtype=np.bool_),
        maxima=problem.maxima,
        **quadrature_fields(np.ones(arms)),
    )


def find_control(problem: Problem, parameters: BestProbabilityParameters) -> tuple[int, float]:
    """The number of the control arm and its share: 0 for as much as the best of the others; -1 and 0 for none."""
    if parameters.control is None:
        return -1, 0.0
    if parameters.control not in problem.names or problem.arms == 1:
        known = ", ".join(problem.names)
        raise PolicyError(f"control: {parameters.control!r} is not one of several arms; use one of {known}")
    others = problem.arms - 1
    shares = {"match": 0.0, "sqrt": others**0.5 / (others**0.5 + others)}
    share = shares.get(str(parameters.control_share), parameters.control_share)
    return problem.names.index(parameters.control), float(share)


@compiled
def on_closed(state: BestProbabilityState, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count a pull; a part that was lost counts as zero."""
    share = credited / state.maxima[arm]
    state.successes[arm] += share
    state.failures[arm] += 1.0 - share
    state.news[0] = 1


@compiled
def decide(state: BestProbabilityState, round: int, stream: np.random.Generator) -> int:
    """An arm by the present probabilities, which are computed anew when the burn-in is over and after each update."""
    since = round - 1 - state.burn_in
    if since >= 0 and since % state.update == 0:
        if state.news[0] == 1:
            fill_best(state, True, state.successes, state.failures)  # noqa: FBT003
            for arm in range(state.indices.size):
                state.indices[arm] = state.probabilities[arm]
            state.news[0] = 0
        allocate(state, round)
    for arm in range(state.shares.size):
        state.probabilities[arm] = state.shares[arm]
    return draw_arm(state.shares, stream)


@compiled
def allocate(state: BestProbabilityState, round: int) -> None:
    """Write the probabilities of allocation of the patient of this round."""
    for arm in range(state.shares.size):
        state.shares[arm] = state.indices[arm]
    fixed = -1
    if state.control >= 0 and state.control_share == 0.0:
        match_control(state.shares, state.control)
    raise_to_power(state.shares, state.power if state.power >= 0.0 else round / (2.0 * state.horizon))
    if state.control_share > 0.0:
        fixed = state.control
        fix_share(state.shares, state.held, fixed, state.control_share)
    if state.lifts:
        lift(state.shares, state.held, fixed, state.minimum, state.maximum)
    else:
        clip(state.shares, state.held, fixed, state.minimum, state.maximum)


POLICY = SharedPolicy(
    name="best-probability",
    parameters=BestProbabilityParameters,
    init=init,
    decide=decide,
    on_closed=on_closed,
    lost_as_zero=True,
    needs_maxima=True,
    needs_positive=True,
)
