"""Payments by a few parameters: the probability that a decision pays at all, how much it pays, and when.

A decision pays with probability p, once. The probability that it has paid by age t is p F(t), with F Weibull or
lognormal. Of a decision that paid first in period a the likelihood is p (F(a + 1) - F(a)); of one that has not paid in
the C whole periods for which it was observed, 1 - p F(C). So open decisions count for what is known of them. Amounts
are lognormal: the mean and the deviation of the logarithms of what decisions paid in the whole window.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import optimize, special

from tpstream.analysis.open_values import ArmAges
from tpstream.model.arrays import Floats
from tpstream.model.errors import DataError

Family = Literal["weibull", "lognormal"]
FEWEST_PAYING = 20
"""Decisions of an arm that must have paid in the whole window."""
SMALLEST = 1e-300
"""Probabilities below are taken for this, since they have no logarithm."""


@dataclass(frozen=True)
class Delay:
    """When decisions pay: the probability that one pays at all, and the distribution of its age then."""

    probability: float
    first: float
    """The scale of a Weibull distribution, the median of a lognormal one."""
    second: float
    """The shape of a Weibull distribution, the sigma of a lognormal one."""
    likelihood: float


@dataclass(frozen=True)
class Payments:
    """The parameters of one arm."""

    delay: Delay
    median: float
    sigma: float
    largest: float
    paying: int
    """Decisions from which the amounts come."""


def weibull(age: Floats, scale: float, shape: float) -> Floats:
    """P(delay <= age)."""
    found: Floats = -np.expm1(-((age / scale) ** shape))
    return found


def lognormal(age: Floats, median: float, sigma: float) -> Floats:
    """P(delay <= age)."""
    with np.errstate(divide="ignore"):
        found: Floats = special.ndtr(np.log(age / median) / sigma)
    return found


FAMILIES: dict[Family, Callable[[Floats, float, float], Floats]] = {"weibull": weibull, "lognormal": lognormal}


def fit_payments(names: list[str], arms: list[ArmAges]) -> tuple[Family, list[Payments]]:
    """The family that fits all arms best, and the parameters of each arm."""
    amounts = [_amounts(name, arm) for name, arm in zip(names, arms, strict=True)]
    delays = {family: [fit_delay(arm, family) for arm in arms] for family in FAMILIES}
    best = max(FAMILIES, key=lambda family: sum(one.likelihood for one in delays[family]))
    found = []
    for delay, totals in zip(delays[best], amounts, strict=True):
        logs = np.log(totals)
        found.append(Payments(delay, float(np.exp(logs.mean())), float(logs.std()), float(totals.max()), len(totals)))
    return best, found


def _amounts(name: str, arm: ArmAges) -> Floats:
    """What the decisions that were observed for the whole window and paid anything paid in total."""
    if (arm.amount < 0).any():
        raise DataError(
            f"arm {name!r} has negative payments, which no lognormal amount is; use the method resampled, which keeps "
            f"refunds"
        )
    totals = np.bincount(arm.row, weights=arm.amount, minlength=arm.count)
    paying: Floats = totals[(totals > 0) & (arm.observed == arm.periods)]
    if len(paying) < FEWEST_PAYING:
        raise DataError(
            f"only {len(paying)} decisions of arm {name!r} paid in a whole window, and parameters need "
            f"{FEWEST_PAYING}; use the method resampled"
        )
    return paying


def first_payments(arm: ArmAges) -> tuple[Floats, Floats]:
    """How many decisions paid first in each period, and how many had not paid in so many whole periods (0, 1, ...)."""
    first = np.full(arm.count, arm.periods)
    paid = arm.amount != 0
    np.minimum.at(first, arm.row[paid], arm.age[paid])
    known = first < arm.observed
    came = np.bincount(first[known], minlength=arm.periods).astype(np.float64)
    waiting = np.bincount(arm.observed[~known], minlength=arm.periods + 1).astype(np.float64)
    return came, waiting


def fit_delay(arm: ArmAges, family: Family) -> Delay:
    """Probability and delay of largest likelihood."""
    came, waiting = first_payments(arm)
    ages = np.arange(arm.periods + 1, dtype=np.float64)
    by_age = FAMILIES[family]

    def loss(parameters: Floats) -> float:
        return -log_likelihood(came, waiting, special.expit(parameters[0]), by_age(ages, *np.exp(parameters[1:])))

    share = came.sum() / (came.sum() + waiting.sum())
    mean = float(came @ (ages[:-1] + 0.5) / max(came.sum(), 1.0))
    starts = [[special.logit(min(factor * share, 0.99)), np.log(mean * factor), 0.0] for factor in (1.05, 1.5)]
    options = {"xatol": 1e-7, "fatol": 1e-7, "maxiter": 4000, "maxfev": 8000}
    found = min(
        (optimize.minimize(loss, start, method="Nelder-Mead", options=options) for start in starts),
        key=lambda one: float(one.fun),
    )
    first, second = np.exp(found.x[1:]).tolist()
    return Delay(float(special.expit(found.x[0])), first, second, -float(found.fun))


def log_likelihood(came: Floats, waiting: Floats, probability: float, by_age: Floats) -> float:
    """The logarithm of the likelihood; `by_age` is F at the ages 0, 1, ..., periods."""
    paid = np.maximum(probability * np.diff(by_age), SMALLEST)
    unpaid = np.maximum(1 - probability * by_age, SMALLEST)
    return float(came @ np.log(paid) + waiting @ np.log(unpaid))
