"""Every policy's index once more, literally: from the list of events before a decision, from scratch at each decision.

Slow and obvious on purpose: no sum is kept from one round to the next, and nothing of the package is called but its
parameters and the table of Gittins indices, which has a slow version of its own. Randomised policies draw from a
generator of their own in the order that the contract fixes: what events left for a draw, in the order of the events,
then the draws of the arms, in the order of the arms.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tpstream.model.events import Event
from tpstream.model.world import Problem
from tpstream.policies.gittins_table import gittins_table

INFINITE = math.inf
TIE = 1e-12


@dataclass
class Pull:
    """What is known of one pull: when it was made, its parts so far, those known to be lost, and its closing."""

    arm: int
    time: float
    shown: float | None
    parts: dict[int, float] = field(default_factory=dict)
    ages: dict[int, float] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    credited: float | None = None
    ended: int = -1
    """The number of the event that closed it."""
    finished: list[tuple[int, int]] = field(default_factory=list)
    """For each part, in order of delivery: the event's number and the part."""

    @property
    def open(self) -> bool:
        """Whether it is not closed."""
        return self.credited is None


@dataclass
class Known:
    """All that a policy may know at a decision."""

    problem: Problem
    parameters: Any
    groups: int
    round: int
    time: float
    pulls: list[Pull]
    earlier: "Callable[[int], Known]"
    """What was known at the decision of an earlier round."""

    @property
    def log(self) -> float:
        """ln(t - 1)."""
        return math.log(max(self.round - 1, 1))

    def of(self, arm: int) -> list[Pull]:
        """The pulls of an arm."""
        return [pull for pull in self.pulls if pull.arm == arm]

    def closed(self, arm: int) -> list[float]:
        """What the closed pulls of an arm were credited with."""
        return [pull.credited for pull in self.of(arm) if pull.credited is not None]

    def complete(self, arm: int, group: int) -> list[float]:
        """The sums of a group over the pulls of which all its parts were delivered."""
        inside = self.parts_of(group)
        return [
            math.fsum(pull.parts[j] for j in inside) for pull in self.of(arm) if all(j in pull.parts for j in inside)
        ]

    def parts_of(self, group: int) -> range:
        """The parts of a group."""
        width = self.problem.span // self.groups
        return range(group * width + 1, (group + 1) * width + 1)

    def shares(self) -> list[float]:
        """p_k."""
        caps = getattr(self.parameters, "caps", None)
        if caps is None:
            return [1 / self.groups] * self.groups
        if isinstance(caps, tuple):
            return list(caps)
        last = self.groups - 1
        beta = lambda a, b: math.gamma(a) * math.gamma(b) / math.gamma(a + b)  # noqa: E731
        return [
            math.comb(last, k) * beta(k + caps.a, last - k + caps.b) / beta(caps.a, caps.b) for k in range(self.groups)
        ]


def known_at(problem: Problem, parameters: Any, groups: int, events: Sequence[Event], round: int) -> Known:
    """What is known at the decision of a round, from the events before it."""
    pulls: dict[int, Pull] = {}
    for event in events:
        if event.kind == "pull":
            if event.round == round:
                return Known(
                    problem,
                    parameters,
                    groups,
                    round,
                    event.time,
                    list(pulls.values()),
                    lambda earlier: known_at(problem, parameters, groups, events, earlier),
                )
            pulls[event.pull] = Pull(event.arm, event.time, event.value)
        elif event.kind == "partial":
            assert event.value is not None
            pulls[event.pull].parts[event.part] = event.value
            pulls[event.pull].ages[event.part] = event.time - pulls[event.pull].time
            pulls[event.pull].finished.append((event.seq, event.part))
        elif event.kind == "dropped":
            pulls[event.pull].lost.add(event.part)
        elif event.kind == "closed":
            pulls[event.pull].credited, pulls[event.pull].ended = event.value, event.seq
    raise AssertionError(f"there is no decision of round {round}")


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(values) / len(values)


def deviations(values: Sequence[float]) -> float:
    """The sum of squared deviations from the mean."""
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values)


def chosen_groups(known: Known) -> int:
    """`groups = "auto"`: the largest divisor that nothing contradicts, as seen in the last round 2^k."""
    power = 2 ** int(math.log2(known.round))
    if known.round < 2:
        return 1
    then, span = known.earlier(power), known.problem.span
    chosen = 1
    for groups in [number for number in range(1, span + 1) if span % number == 0]:
        fits = True
        for arm, maximum in enumerate(known.problem.maxima.tolist()):
            values = then.closed(arm)
            freedom = len(values) - 1
            if freedom < 1:
                fits = False
                continue
            root = 1 - 2 / (9 * freedom) - 1.6448536269514722 * math.sqrt(2 / (9 * freedom))
            if root <= 0 or deviations(values) / (freedom * root**3) > maximum**2 / (4 * groups):
                fits = False
            for pull in then.of(arm):
                for k in range(groups):
                    inside = range(k * span // groups + 1, (k + 1) * span // groups + 1)
                    paid = math.fsum(pull.parts.get(j, 0.0) for j in inside)
                    if not pull.open and paid > maximum / groups * (1 + 1e-9):
                        fits = False
        if fits:
            chosen = groups
    return chosen


def delayed_ucb1(known: Known, arm: int) -> float:
    """Mean(R) + Rbar sqrt(2 L / (alpha s))."""
    values = known.closed(arm)
    if not values:
        return INFINITE
    alpha = chosen_groups(known) if known.parameters.groups == "auto" else known.parameters.groups
    return mean(values) + known.problem.maxima[arm] * math.sqrt(2 * known.log / (alpha * len(values)))


def tp_ucb_fr(known: Known, arm: int) -> float:
    """Received/n + Rbar sqrt(2 L sum p_k^2 / n) + phi Rbar sum_k (k p_k) / n."""
    pulls, maximum = known.of(arm), known.problem.maxima[arm]
    n = len(pulls)
    if n == 0:
        return INFINITE
    if known.parameters.groups == "auto":
        known = Known(**{**vars(known), "groups": chosen_groups(known)})
    shares, phi = known.shares(), known.problem.span // known.groups
    received = math.fsum(value for pull in pulls for value in pull.parts.values())
    width = maximum * math.sqrt(2 * known.log * math.fsum(p * p for p in shares) / n)
    return received / n + width + phi * maximum * math.fsum(k * p for k, p in enumerate(shares, start=1)) / n


def tp_ucb_pooled(known: Known, arm: int) -> float:
    """Sum_k m_k + Rbar sqrt(2 L sum_k p_k^2 / n_k); safe: 2 L + (alpha-1)/2 ln(phi+1)."""
    complete = [known.complete(arm, k) for k in range(known.groups)]
    if not all(complete):
        return INFINITE
    phi = known.problem.span // known.groups
    allowed = 2 * known.log + ((known.groups - 1) / 2 * math.log(phi + 1) if known.parameters.safe else 0.0)
    pooled = math.fsum(p * p / len(values) for p, values in zip(known.shares(), complete, strict=True))
    return math.fsum(map(mean, complete)) + known.problem.maxima[arm] * math.sqrt(allowed * pooled)


def tp_ucb_fr_exact(known: Known, arm: int) -> float:
    """(Received + Rbar sum of p_k over groups of open pulls that can still complete)/n + Rbar sqrt(2 L sum p_k^2/n)."""
    pulls, maximum, shares = known.of(arm), known.problem.maxima[arm], known.shares()
    n = len(pulls)
    if n == 0:
        return INFINITE
    missing = [
        shares[k]
        for pull in pulls
        for k in range(known.groups)
        if pull.open and not pull.lost & set(known.parts_of(k)) and not all(j in pull.parts for j in known.parts_of(k))
    ]
    if known.parameters.form == "value":
        received = math.fsum(value for k in range(known.groups) for value in known.complete(arm, k))
    else:
        received = math.fsum(value for pull in pulls for value in pull.parts.values())
    width = maximum * math.sqrt(2 * known.log * math.fsum(p * p for p in shares) / n)
    return (received + maximum * math.fsum(missing)) / n + width


def delayed_ucb_v(known: Known, arm: int) -> float:
    """Rbar (x + sqrt(2 L V / s) + 3 L / s)."""
    values, maximum = [value / known.problem.maxima[arm] for value in known.closed(arm)], known.problem.maxima[arm]
    s = len(values)
    if s == 0:
        return INFINITE
    return maximum * (mean(values) + math.sqrt(2 * known.log * deviations(values) / s / s) + 3 * known.log / s)


def delayed_ucb1_tuned(known: Known, arm: int) -> float:
    """Rbar (x + sqrt(L / s min(1/4, V + sqrt(2 L / s))))."""
    values, maximum = [value / known.problem.maxima[arm] for value in known.closed(arm)], known.problem.maxima[arm]
    s = len(values)
    if s == 0:
        return INFINITE
    variance = min(0.25, deviations(values) / s + math.sqrt(2 * known.log / s))
    return maximum * (mean(values) + math.sqrt(known.log / s * variance))


def delayed_moss(known: Known, arm: int) -> float:
    """Rbar (x + sqrt((1+a)/2 max(0, ln(t / (K s))) / s))."""
    values, maximum = [value / known.problem.maxima[arm] for value in known.closed(arm)], known.problem.maxima[arm]
    s = len(values)
    if s == 0:
        return INFINITE
    log = max(0.0, math.log(known.round / (known.problem.arms * s)))
    return maximum * (mean(values) + math.sqrt((1 + known.parameters.a) / 2 * log / s))


def kl(p: float, q: float) -> float:
    """The relative entropy of Bernoulli distributions."""
    one = p * math.log(p / q) if p > 0 else 0.0
    return one + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def largest_mean(p: float, budget: float) -> float:
    """The largest q with kl(p, q) <= budget, by halving; near p the difference of logarithms is lost in rounding."""
    if budget <= 0:
        return p
    low, high = p, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if middle <= p or kl(p, middle) <= budget else (low, middle)
    return low


def delayed_kl_ucb(known: Known, arm: int) -> float:
    """Rbar times the largest q with s kl(x, q) <= L + extra ln max(L, 1)."""
    values, maximum = [value / known.problem.maxima[arm] for value in known.closed(arm)], known.problem.maxima[arm]
    s = len(values)
    if s == 0:
        return INFINITE
    budget = (known.log + known.parameters.extra * math.log(max(known.log, 1))) / s
    return maximum * largest_mean(min(mean(values), 1.0), budget)


def beta_ucb(known: Known, arm: int) -> float:
    """Rbar ((a + S) / m + sqrt(2 ln t / m)), m = a + b + s."""
    (a, b), maximum = known.parameters.prior, known.problem.maxima[arm]
    values = [value / maximum for value in known.closed(arm)]
    size = a + b + len(values)
    return maximum * ((a + math.fsum(values)) / size + math.sqrt(2 * math.log(known.round) / size))


def gittins(known: Known, arm: int) -> float:
    """Rbar times the index in this state, between whole numbers of successes on a straight line."""
    (a, b), maximum = known.parameters.prior, known.problem.maxima[arm]
    values = [value / maximum for value in known.closed(arm)]
    n, s = len(values), min(math.fsum(values), len(values))
    table, low = gittins_table(known.parameters.discount, (a, b), n), int(s)
    excess = [table[n * (n + 1) // 2 + place] for place in (low, min(low + 1, n))]
    return maximum * ((a + math.fsum(values)) / (a + b + n) + excess[0] + (s - low) * (excess[1] - excess[0]))


def normal_sum(known: Known, arm: int, samples: Callable[[int, int], list[float]], groups: int) -> tuple[float, float]:
    """Mean and variance of the normal posterior of the sum of the groups' means; the variance is infinite at first."""
    half = known.problem.maxima[arm] / (2 * groups)
    prior, variance = known.parameters.prior, getattr(known.parameters, "variance", "empirical")
    centre, spread = 0.0, 0.0
    for k in range(groups):
        values = samples(arm, k)
        bound = half**2
        if math.isnan(bound):
            others = [samples(other, k) for other in range(known.problem.arms)]
            freedom = sum(len(one) - 1 for one in others if one)
            if freedom == 0:
                return 0.0, INFINITE
            bound = math.fsum(deviations(one) for one in others if one) / freedom
        values = [*values, half] if prior == "half" else values
        n = len(values)
        if n == 0:
            return 0.0, INFINITE
        centre += mean(values)
        spread += (bound if variance == "bound" else (bound + deviations(values)) / n) / n
    return centre, spread


def normal_draws(
    known: Known, stream: np.random.Generator, posterior: Callable[[int], tuple[float, float]]
) -> list[float]:
    """A draw from each arm's posterior; infinite where the variance is."""
    draws = []
    for arm in range(known.problem.arms):
        centre, variance = posterior(arm)
        normal = float(stream.standard_normal())
        draws.append(INFINITE if math.isinf(variance) else centre + math.sqrt(variance) * normal)
    return draws


def completion(known: Known, arm: int) -> tuple[float, float, float]:
    """S, Ntilde and n of an arm."""
    span, profile = known.problem.span, known.parameters.profile

    def arrived(age: float) -> float:
        """F(age)."""
        steps = math.ceil(age)
        if steps <= 0:
            return 0.0
        if profile is not None:
            return float(profile[min(steps, len(profile)) - 1])
        steps = min(steps, 4 * span)
        credit = [
            (min(int(pull.ages[part]), 4 * span - 1), value)
            for pull in known.pulls
            if not pull.open
            for part, value in pull.parts.items()
        ]
        whole = math.fsum(value for _, value in credit)
        if whole == 0:
            return min(steps / span, 1.0)
        return math.fsum(value for when, value in credit if when < steps) / whole

    pulls = known.of(arm)
    weight = math.fsum(arrived(known.time - pull.time) if pull.open else 1.0 for pull in pulls)
    received = math.fsum(value for pull in pulls for value in pull.parts.values())
    return received, weight, len(pulls)


def completion_ucb(known: Known, arm: int) -> float:
    """S / Ntilde + Rbar sqrt(2 L n) / Ntilde."""
    received, weight, n = completion(known, arm)
    if weight == 0:
        return INFINITE
    return received / weight + known.problem.maxima[arm] * math.sqrt(2 * known.log * n) / weight


def path_posterior(known: Known, arm: int) -> tuple[float, float]:
    """1'm and 1'C1 of the progressive posterior, by the formulas for m and C."""
    groups, maximum = known.groups, float(known.problem.maxima[arm])
    prior = known.parameters.prior
    if prior is None:
        mu = np.full(groups, maximum / (2 * groups))
        sigma = (maximum / (4 * groups)) ** 2 * (0.5 * np.ones((groups, groups)) + 0.5 * np.eye(groups))
        noise = (maximum / (2 * groups)) ** 2 * np.eye(groups)
    else:
        mu, sigma, noise = np.array(prior.mean), np.array(prior.covariance), np.array(prior.noise)
    hears, pulls = known.parameters.hears, known.of(arm)
    if hears in {"closed", "pull"}:
        mu, sigma, noise = mu.sum(keepdims=True), sigma.sum(keepdims=True), noise.sum(keepdims=True)
        values = known.closed(arm) if hears == "closed" else [pull.shown for pull in pulls]
        seen = [{0: value} for value in values if value is not None]
    else:
        seen = []
        for pull in pulls:
            whole = [k for k in range(groups) if all(j in pull.parts for j in known.parts_of(k))]
            sums = {k: math.fsum(pull.parts[j] for j in known.parts_of(k)) for k in whole}
            seen.append(sums if hears == "parts" else {k: value for k, value in sums.items() if k == 0})
    places = [k for k in range(len(mu)) if any(k in one for one in seen)]
    if not places:
        return float(mu.sum()), float(sigma.sum())
    counts = [sum(k in one for one in seen) for k in places]
    y = np.array([mean([one[k] for one in seen if k in one]) for k in places])
    both = np.array([[sum(i in one and j in one for one in seen) for j in places] for i in places])
    part = noise[np.ix_(places, places)] * both / np.outer(counts, counts)
    inverse = np.linalg.inv(sigma[np.ix_(places, places)] + part)
    m = mu + sigma[:, places] @ inverse @ (y - mu[places])
    c = sigma - sigma[:, places] @ inverse @ sigma[places, :]
    return float(m.sum()), max(float(c.sum()), 0.0)


def estimate(known: Known, arm: int) -> float:
    """The estimate of the greedy policies."""
    if known.parameters.hears == "closed":
        values = known.closed(arm)
        return mean(values) if values else INFINITE
    complete = [known.complete(arm, k) for k in range(known.groups)]
    return math.fsum(map(mean, complete)) if all(complete) else INFINITE


def group_samples(known: Known) -> Callable[[int, int], list[float]]:
    """The completed groups."""
    return known.complete


def closed_samples(known: Known) -> Callable[[int, int], list[float]]:
    """The closed pulls, as a single group."""
    return lambda arm, _: known.closed(arm)


INDEX: dict[str, Callable[[Known, int], float]] = {
    "delayed-ucb1": delayed_ucb1,
    "tp-ucb-fr": tp_ucb_fr,
    "tp-ucb-pooled": tp_ucb_pooled,
    "tp-ucb-fr-exact": tp_ucb_fr_exact,
    "delayed-ucb-v": delayed_ucb_v,
    "delayed-ucb1-tuned": delayed_ucb1_tuned,
    "delayed-moss": delayed_moss,
    "delayed-kl-ucb": delayed_kl_ucb,
    "completion-ucb": completion_ucb,
    "beta-ucb": beta_ucb,
    "gittins": gittins,
}


class Decider:
    """Decides as a policy does, with a generator of its own; asked for every round in turn."""

    def __init__(self, policy: str, stream: np.random.Generator) -> None:
        self.policy = policy
        self.stream = stream
        self.counted: set[tuple[int, int, int]] = set()
        self.successes: dict[tuple[int, int], list[int]] = {}
        self.choice: int | None = None

    def indices(self, known: Known) -> list[float]:
        """The index of every arm."""
        arms = range(known.problem.arms)
        if self.policy in INDEX:
            return [INDEX[self.policy](known, arm) for arm in arms]
        if self.policy in {"epsilon-greedy", "explore-then-commit"}:
            return [estimate(known, arm) for arm in arms]
        if self.policy == "completion-thompson":
            return [self._completion_draw(known, arm) for arm in arms]
        if self.policy == "progressive-thompson":
            return normal_draws(known, self.stream, lambda arm: path_posterior(known, arm))
        closed = self.policy == "delayed-thompson"
        groups = 1 if closed else known.groups
        if getattr(known.parameters, "family", "gauss") == "beta":
            return self._beta_draws(known, groups, closed=closed)
        samples = closed_samples(known) if closed else group_samples(known)
        return normal_draws(known, self.stream, lambda arm: normal_sum(known, arm, samples, groups))

    def _completion_draw(self, known: Known, arm: int) -> float:
        received, weight, n = completion(known, arm)
        normal = float(self.stream.standard_normal())
        if weight == 0:
            return INFINITE
        return received / weight + known.problem.maxima[arm] * math.sqrt(n) / (2 * weight) * normal

    def _beta_draws(self, known: Known, groups: int, *, closed: bool) -> list[float]:
        """Make new observations binary, in the order in which they became complete, then draw."""
        fresh: list[tuple[int, int, int, int, float]] = []
        for number, pull in enumerate(known.pulls):
            for k in range(groups):
                inside = range(1, known.problem.span + 1) if closed else known.parts_of(k)
                if (number, pull.arm, k) in self.counted:
                    continue
                if closed and not pull.open:
                    assert pull.credited is not None
                    fresh.append((pull.ended, pull.arm, k, number, pull.credited))
                elif not closed and all(j in pull.parts for j in inside):
                    when = max(seq for seq, part in pull.finished if part in inside)
                    fresh.append((when, pull.arm, k, number, math.fsum(pull.parts[j] for j in inside)))
        for _, arm, k, number, value in sorted(fresh):
            self.counted.add((number, arm, k))
            success = self.stream.random() < value * groups / known.problem.maxima[arm]
            self.successes.setdefault((arm, k), []).append(int(success))
        draws = []
        for arm in range(known.problem.arms):
            thetas = []
            for k in range(groups):
                one = self.successes.get((arm, k), [])
                thetas.append(self.stream.beta(1 + sum(one), 1 + len(one) - sum(one)))
            draws.append(known.problem.maxima[arm] / groups * math.fsum(thetas))
        return draws

    def decide(self, known: Known, indices: Sequence[float]) -> int:
        """The arm, with ties for the first; after `indices`."""
        arms, round, parameters = known.problem.arms, known.round, known.parameters
        if self.policy == "explore-then-commit":
            if self.choice is None and (round <= parameters.tries * arms or math.inf in indices):
                return (round - 1) % arms
            self.choice = first_largest(indices) if self.choice is None else self.choice
            return self.choice
        if self.policy == "epsilon-greedy":
            decay = math.inf if parameters.decay is None else parameters.decay
            if self.stream.random() < parameters.epsilon * min(1.0, decay / round):
                return int(self.stream.random() * arms)
            return first_largest(indices)
        start = 0 if self.policy in {"progressive-thompson", "beta-ucb", "gittins"} else arms
        if getattr(parameters, "start", None) == "round-robin":
            start = known.problem.span
        return (round - 1) % arms if round <= start else first_largest(indices)


def first_largest(indices: Sequence[float]) -> int:
    """The first arm whose index counts as the largest."""
    best = max(indices)
    enough = best if math.isinf(best) else best - TIE * abs(best)
    return next(arm for arm, value in enumerate(indices) if value >= enough)
