"""Best-probability: allocation by the probability of being the best arm (response-adaptive randomisation).

A patient is given arm k with a probability proportional to P(k is best)^c, brought within limits. During the burn-in
all arms are equally likely. Dropped arms get nothing, and limits and the control's share hold among the others.

With Beta posteriors, a closed pull that was credited with R counts as R / Rbar successes and 1 - R / Rbar failures, so
a binary outcome is one or the other; with the prior Beta(a, b) the posterior is Beta(a + successes, b + failures).

With normal posteriors and a prior that counts as k patients of mean m, that of an arm with n patients and the sum S is
N((k m + S) / (k + n), v / (k + n)). The variance v of a patient is given, or that of all arms together, which is then
taken as known: squared deviations from the arms' means, divided by the degrees of freedom. Until all posteriors are
known, all arms count as equally good.
"""

import math
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import compiled, compiled_alone
from tpstream.model.world import Problem
from tpstream.policies.allocation import clip, draw_arm, fix_share, lift, match_control, raise_to_power
from tpstream.policies.base import ControlShare, Parameters, Power, Probability, SharedPolicy, Update, Variance
from tpstream.policies.best_arm import fill_best, quadrature_fields
from tpstream.policies.closed_pulls import count_value
from tpstream.policies.index import count_open, total

RISING = "i/(2n)"
"""The power that grows with patient i of n."""
TOLERANCE = 1e-9
"""By how much limits may miss a sum of 1 by rounding."""
AT_LOOKS = 0
"""The number of patients between updates, if probabilities are computed anew at looks only."""
CLOSED, DECIDED, IN_USE = range(3)
"""Places of what happened since the last update, in `news`."""
OWN, MATCH, SQRT, SHARE = range(4)
"""What the control gets: what its own P(best) gives, as much as the best of the others, or a share of its own."""


class BestProbabilityParameters(Parameters):
    """Parameters: how strongly patients follow the probabilities, within which limits, and the posteriors."""

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
    update: Update = Field(
        1, description="after how many patients the probabilities are computed anew, or look: when a look is decided"
    )
    family: Literal["beta", "normal"] = Field("beta", description="the posteriors of the arms' means")
    prior: tuple[float, float] | None = Field(
        None,
        description="beta: a and b, by default 1 and 1; normal: a mean and how many patients it counts as, else 0, 0",
    )
    variance: Variance = Field("pooled", description="normal: of a patient; a number, or that of all arms together")

    @model_validator(mode="after")
    def _check(self) -> "BestProbabilityParameters":
        if self.minimum > self.maximum:
            raise ValueError(f"minimum: {self.minimum} is above the maximum {self.maximum}; lower it")
        if (self.control_share != "none") != (self.control is not None):
            raise ValueError("control_share: give both this and control, or neither")
        if self.family == "beta" and (min(self.own_prior) <= 0 or self.variance != "pooled"):
            raise ValueError('family: "beta" has a prior of two positive numbers, and no variance')
        if not (math.isfinite(self.own_prior[0]) and 0 <= self.own_prior[1] < math.inf):
            raise ValueError(f"prior: {self.own_prior} is not a mean and a number of patients; give two numbers")
        return self

    @property
    def own_prior(self) -> tuple[float, float]:
        """The prior, or the default of the family."""
        return self.prior or ((1.0, 1.0) if self.family == "beta" else (0.0, 0.0))


class BestProbabilityState(NamedTuple):
    """The posteriors, and the probabilities of the next patient."""

    power: float
    """c; -1 for one that grows with the number of the patient."""
    horizon: int
    beta: bool
    burn_in: int
    update: int
    """Patients between updates; 0 if they are made at looks."""
    lifts: bool
    minimum: float
    maximum: float
    control: int
    """The control arm; -1 for none."""
    rule: int
    """What it gets."""
    control_share: float
    indices: Floats
    """P(best)."""
    successes: Floats
    failures: Floats
    prior: Floats
    """Normal posteriors: the prior mean, how many patients it counts as, and the variance of a patient (0: pooled)."""
    patients: Ints
    sums: Floats
    deviations: Floats
    firsts: Floats
    """The posteriors' parameters as of the last update: a and b, or means and standard deviations."""
    seconds: Floats
    known: Bools
    """Whether all of these posteriors are known."""
    news: Bools
    """Whether a pull was closed since then; whether a look was decided; whether probabilities are in use."""
    counted: Bools
    """The arms that were open when the probabilities were computed."""
    shares: Floats
    """The probabilities of allocation since the last update."""
    packed: Floats
    """Those of the open arms, one after the other."""
    held: Bools
    maxima: Floats
    probabilities: Floats
    open_arms: Bools
    units: Floats
    nodes: Floats
    weights: Floats
    integrals: Floats
    cuts: Floats
    panel: Floats


def init(problem: Problem, parameters: BestProbabilityParameters) -> BestProbabilityState:
    """The state before the first round: the priors."""
    arms, prior = problem.arms, parameters.own_prior
    control, rule, share = find_control(problem, parameters)
    free, rest = (arms, 1.0) if rule in (OWN, MATCH) else (arms - 1, 1.0 - share)
    if free * parameters.minimum > rest + TOLERANCE:
        raise PolicyError(f"minimum: {parameters.minimum} for each of {free} arms is more than {rest:g}; lower it")
    if free * parameters.maximum < rest - TOLERANCE:
        raise PolicyError(f"maximum: {parameters.maximum} for each of {free} arms is less than {rest:g}; raise it")
    beta = parameters.family == "beta"
    return BestProbabilityState(
        power=-1.0 if parameters.power == RISING else float(parameters.power),
        horizon=problem.horizon,
        beta=beta,
        burn_in=parameters.burn_in,
        update=AT_LOOKS if parameters.update == "look" else parameters.update,
        lifts=parameters.limit == "lift",
        minimum=parameters.minimum,
        maximum=parameters.maximum,
        control=control,
        rule=rule,
        control_share=share,
        indices=np.full(arms, 1.0 / arms),
        successes=np.full(arms, prior[0]),
        failures=np.full(arms, prior[1]),
        prior=np.array([*prior, 0.0 if parameters.variance == "pooled" else parameters.variance]),
        patients=np.zeros(arms, dtype=np.int64),
        sums=np.zeros((arms, 2)),
        deviations=np.zeros((arms, 2)),
        firsts=np.full(arms, prior[0]),
        seconds=np.full(arms, prior[1]),
        known=np.full(1, beta),
        news=np.zeros(3, dtype=np.bool_),
        counted=np.ones(arms, dtype=np.bool_),
        shares=np.full(arms, 1.0 / arms),
        packed=np.zeros(arms),
        held=np.zeros(arms, dtype=np.bool_),
        maxima=problem.maxima,
        **quadrature_fields(np.ones(arms)),
    )


def find_control(problem: Problem, parameters: BestProbabilityParameters) -> tuple[int, int, float]:
    """The number of the control arm, what it gets, and its share if that is one of its own."""
    if parameters.control is None:
        return -1, OWN, 0.0
    if parameters.control not in problem.names or problem.arms == 1:
        known = ", ".join(problem.names)
        raise PolicyError(f"control: {parameters.control!r} is not one of several arms; use one of {known}")
    arm, others = problem.names.index(parameters.control), problem.arms - 1
    if isinstance(parameters.control_share, str):
        words = {"match": (arm, MATCH, 0.0), "sqrt": (arm, SQRT, root_share(others))}
        return words[parameters.control_share]
    return arm, SHARE, parameters.control_share


@compiled
def root_share(others: int) -> float:
    """The share of a control that gets the root of the number of the others times as much as one of them."""
    return math.sqrt(others) / (math.sqrt(others) + others)


@compiled
def on_closed(state: BestProbabilityState, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Count a pull; a part that was lost counts as zero."""
    if state.beta:
        share = credited / state.maxima[arm]
        state.successes[arm] += share
        state.failures[arm] += 1.0 - share
    else:
        count_value(state.patients, state.sums, state.deviations, arm, credited)
    state.news[CLOSED] = True


@compiled
def on_look(state: BestProbabilityState, stage: int) -> None:
    """Take the posteriors at the data cut; they are used when the look is decided."""
    if state.update == AT_LOOKS and stage == 0:
        take_posteriors(state)
    elif state.update == AT_LOOKS:
        state.news[DECIDED] = True


@compiled
def take_posteriors(state: BestProbabilityState) -> None:
    """Take the posteriors as they are now: Beta(a, b), or N((k m + S) / (k + n), v / (k + n))."""
    freedom, deviations, fewest = 0, 0.0, math.inf
    for arm in range(state.firsts.size):
        freedom += max(state.patients[arm] - 1, 0)
        deviations += total(state.deviations, arm)
        fewest = min(fewest, state.prior[1] + state.patients[arm])
    variance = state.prior[2]
    if variance == 0.0 and freedom > 0:
        variance = deviations / freedom
    state.known[0] = state.beta or (fewest > 0.0 and variance > 0.0)
    for arm in range(state.firsts.size):
        if state.beta:
            state.firsts[arm], state.seconds[arm] = state.successes[arm], state.failures[arm]
        elif state.known[0]:
            size = state.prior[1] + state.patients[arm]
            state.firsts[arm] = (state.prior[0] * state.prior[1] + total(state.sums, arm)) / size
            state.seconds[arm] = math.sqrt(variance / size)


@compiled
def decide(state: BestProbabilityState, round: int, stream: np.random.Generator) -> int:
    """An arm by the present probabilities.

    They are computed anew when the burn-in is over, after each update, and when an arm was dropped.
    """
    dropped = False
    for arm in range(state.counted.size):
        dropped = dropped or state.counted[arm] != state.open_arms[arm]
        state.counted[arm] = state.open_arms[arm]
    since = round - 1 - state.burn_in
    due = since >= 0 and (state.news[DECIDED] if state.update == AT_LOOKS else since % state.update == 0)
    fresh = due and (state.update == AT_LOOKS or state.news[CLOSED])
    if fresh and state.update != AT_LOOKS:
        take_posteriors(state)
    if fresh:
        state.news[CLOSED] = state.news[DECIDED] = False
    if due or dropped:
        state.news[IN_USE] = state.news[IN_USE] or due
        allocate(state, fresh or dropped, round)
    for arm in range(state.shares.size):
        state.probabilities[arm] = state.shares[arm]
    return draw_arm(state.shares, stream)


@compiled_alone
def allocate(state: BestProbabilityState, fresh: bool, round: int) -> None:  # noqa: FBT001
    """Write the probabilities of allocation of the patient of this round, and before, if `fresh`, P(best)."""
    if fresh and state.news[IN_USE] and state.known[0]:
        fill_best(state, state.beta, state.firsts, state.seconds)
        for arm in range(state.indices.size):
            state.indices[arm] = state.probabilities[arm]
    elif fresh:
        arms = count_open(state.open_arms)
        for arm in range(state.indices.size):
            state.indices[arm] = 1.0 / arms if state.open_arms[arm] else 0.0
    arms, control = 0, -1
    for arm in range(state.shares.size):
        if state.open_arms[arm]:
            control = arms if arm == state.control else control
            state.packed[arms] = state.indices[arm]
            arms += 1
    if state.news[IN_USE]:
        limit_shares(state, state.packed[:arms], state.held[:arms], control, round)
    arms = 0
    for arm in range(state.shares.size):
        state.shares[arm] = 0.0
        if state.open_arms[arm]:
            state.shares[arm] = state.packed[arms]
            arms += 1


@compiled
def limit_shares(state: BestProbabilityState, shares: Floats, held: Bools, control: int, round: int) -> None:
    """Soften the shares of the open arms, give the control its share, and keep the limits as far as they can hold."""
    rule = state.rule if control >= 0 and shares.size > 1 else OWN
    if rule == MATCH:
        match_control(shares, control)
    raise_to_power(shares, state.power if state.power >= 0.0 else round / (2.0 * state.horizon))
    fixed, equal = -1, 1.0 / shares.size
    if rule in (SQRT, SHARE):
        others = shares.size - 1
        share = root_share(others) if rule == SQRT else state.control_share
        fixed, equal = control, (1.0 - share) / others
        fix_share(shares, held, fixed, share)
    if state.lifts:
        lift(shares, held, fixed, min(state.minimum, equal), max(state.maximum, equal))
    else:
        clip(shares, held, fixed, min(state.minimum, equal), max(state.maximum, equal))


BETA = SharedPolicy(
    name="best-probability",
    parameters=BestProbabilityParameters,
    init=init,
    decide=decide,
    on_closed=on_closed,
    on_look=on_look,
    lost_as_zero=True,
    needs_maxima=True,
    needs_positive=True,
)
NORMAL = replace(BETA, needs_maxima=False, needs_positive=False)
POLICY = replace(BETA, variant=lambda parameters: BETA if parameters.family == "beta" else NORMAL)
