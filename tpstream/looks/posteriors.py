"""Posterior probabilities of comparisons between arms: exact for Beta and normal posteriors, for many trials at once.

`first` and `second` are the parameters of the posteriors, arrays of shape (..., arms): a and b of Beta distributions,
or means and standard deviations of normal ones. Integrals over an arm's posterior are taken by a Gauss-Legendre rule on
panels around its centre, for Beta distributions on the scale of log(x / (1 - x)), on which all their densities are
smooth and have a single peak.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaln, expit, log_expit, ndtr

from tpstream.looks.design import Family
from tpstream.model.arrays import Bools, Floats
from tpstream.model.numba_support import cached, compiled_alone
from tpstream.policies.best_arm import fill_best, log_constant, log_density_of_logit, quadrature_fields

NODES = 10
"""Gauss-Legendre nodes in each panel."""
CUTS = np.array([0.0, 0.8, 1.6, 2.5, 3.5, 5.0, 7.5])
"""Where the panels of an integral end, on both sides of its centre: in standard deviations of a bell curve there."""
TAILS = np.array([0.0, 0.0, 0.0, 0.3, 1.5, 7.0, 28.0])
"""What is added to `CUTS` for the tail of a Beta distribution: in lengths over which it falls by the factor e."""
MOST_STEPS = 10_000
"""Steps of a continued fraction; so many are needed for none of the parameters that trials have."""
PRECISION = 1e-14
"""A step that changes a continued fraction by less than this share is the last."""
_RULE = np.polynomial.legendre.leggauss(NODES)


class Quadrature(NamedTuple):
    """What `fill_best` needs of a state."""

    probabilities: Floats
    open_arms: Bools
    units: Floats
    nodes: Floats
    weights: Floats
    integrals: Floats
    cuts: Floats
    panel: Floats


def best_probabilities(family: Family, first: Floats, second: Floats) -> Floats:
    """The probability that each arm has the largest value, of shape (..., arms).

    Examples
    --------
    >>> best_probabilities("beta", np.array([30.0, 41.0, 35.0]), np.array([30.0, 20.0, 27.0])).round(4)
    array([0.018 , 0.8789, 0.1031])
    """
    first, second = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    arms = first.shape[-1]
    found = np.empty((first.size // arms, arms))
    work = Quadrature(**quadrature_fields(np.ones(arms)))
    one, other = (np.ascontiguousarray(parameter).reshape(-1, arms) for parameter in (first, second))
    _fill_all(work, family == "beta", one, other, found)
    return found.reshape(first.shape)


@cached
def _fill_all(work: Quadrature, beta: bool, first: Floats, second: Floats, found: Floats) -> None:  # noqa: FBT001
    """Write the probabilities of each row, as the policies compute them."""
    for row in range(len(found)):
        fill_best(work, beta, first[row], second[row])
        found[row] = work.probabilities


def better_probabilities(family: Family, first: Floats, second: Floats, control: int, margin: float = 0.0) -> Floats:
    """The probability that each arm's value exceeds the control's by more than the margin; NaN for the control.

    Examples
    --------
    >>> better_probabilities("normal", np.array([0.0, 1.0]), np.array([0.6, 0.8]), control=0).round(4)
    array([   nan, 0.8413])
    """
    others = [arm for arm in range(first.shape[-1]) if arm != control]
    found = np.full(first.shape, np.nan)
    if family == "normal":
        ahead = first[..., others] - first[..., [control]] - margin
        found[..., others] = ndtr(ahead / np.hypot(second[..., others], second[..., [control]]))
        return found
    one, other = (np.ascontiguousarray(given, dtype=np.float64) for given in (first, second))
    shape = -1, first.shape[-1]
    _better_beta(one.reshape(shape), other.reshape(shape), found.reshape(shape), control, margin, CUTS, TAILS, *_RULE)
    return found


@cached
def _better_beta(
    first: Floats,
    second: Floats,
    found: Floats,
    control: int,
    margin: float,
    steps: Floats,
    tails: Floats,
    nodes: Floats,
    weights: Floats,
) -> None:
    """Write the probabilities of each row to `found`, by the same rule as `_values_of`."""
    arms, panels = first.shape[1], 2 * (len(steps) - 1)
    edges, constants = np.empty(panels + 3), np.empty(arms)
    for row in range(len(found)):
        for arm in range(arms):
            constants[arm] = log_constant(True, first[row, arm], second[row, arm])  # noqa: FBT003
            found[row, arm] = np.nan if arm == control else 1.0
        a, b = first[row, control], second[row, control]
        centre, deviation = math.log(a / b), math.sqrt(1.0 / a + 1.0 / b)
        for step in range(len(steps)):
            edges[len(steps) - 1 - step] = centre - deviation * steps[step] - tails[step] / a
            edges[len(steps) - 1 + step] = centre + deviation * steps[step] + tails[step] / b
        low, high = edges[0], edges[panels]
        edge = math.log(abs(margin) / (1.0 - abs(margin))) if 0.0 < abs(margin) < 1.0 else centre
        edges[panels + 1], edges[panels + 2] = min(max(edge, low), high), min(max(-edge, low), high)
        edges.sort()
        for panel in range(panels + 2):
            half = 0.5 * (edges[panel + 1] - edges[panel])
            for node in range(len(nodes)):
                place = edges[panel] + half * (1.0 + nodes[node])
                mass = half * weights[node] * math.exp(constants[control] + log_density_of_logit(place, a, b))
                x, to_one = 1.0 / (1.0 + math.exp(-place)), 1.0 / (1.0 + math.exp(place))
                for arm in range(arms):
                    if arm != control:
                        own = first[row, arm], second[row, arm]
                        found[row, arm] -= mass * beta_below(x + margin, to_one - margin, *own, constants[arm])


@compiled_alone
def beta_below(x: float, to_one: float, a: float, b: float, constant: float) -> float:
    """The distribution function of Beta(a, b) at x = 1 - to_one, by a continued fraction.

    `constant` is the logarithm of Gamma(a + b) / (Gamma(a) Gamma(b)).
    """
    if x <= 0.0 or to_one <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.exp(constant + a * math.log(x) + b * math.log(to_one))
    if x * (a + b + 2.0) < a + 1.0:
        return front * float(beta_fraction(x, a, b)) / a
    return 1.0 - front * float(beta_fraction(to_one, b, a)) / b


@compiled_alone
def beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete Beta function (DLMF 8.17.22), by Lentz's method."""
    above, below = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    found, step = below, 0.0
    for m in range(1, MOST_STEPS):
        for odd in range(2):
            if odd == 0:
                step = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
            else:
                step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
            above, below = 1.0 + step / above, 1.0 / (1.0 + step * below)
            found *= above * below
        if abs(above * below - 1.0) < PRECISION:
            break
    return found


def equivalent_probabilities(family: Family, first: Floats, second: Floats, control: int, margin: float) -> Floats:
    """The probability that each arm's value differs from the control's by less than the margin; NaN for the control."""
    below = better_probabilities(family, first, second, control, margin)
    return better_probabilities(family, first, second, control, -margin) - below


def all_equivalent_probability(family: Family, first: Floats, second: Floats, margin: float) -> Floats:
    """The probability that the largest and the smallest value of all arms differ by less than the margin.

    It is the sum over arms i of the probability that i has the smallest value x and all others lie in (x, x + margin).

    Examples
    --------
    >>> float(all_equivalent_probability("normal", np.zeros(2), np.array([0.6, 0.8]), 1.0).round(4))
    0.6827
    """
    arms = first.shape[-1]
    total = np.zeros(first.shape[:-1])
    for arm in range(arms):
        values, masses = _values_of(family, first[..., [arm]], second[..., [arm]], margin)
        others = [other for other in range(arms) if other != arm]
        a, b = first[..., others], second[..., others]
        inside = _distribution(family, values, margin, a, b) - _distribution(family, values, 0.0, a, b)
        total += (masses[..., 0, :] * inside.prod(axis=-2)).sum(axis=-1)
    return total


class Values(NamedTuple):
    """Values that stand for a posterior, (..., nodes), and how far each is below 1, exact also very close to it."""

    values: Floats
    to_one: Floats


def _values_of(family: Family, first: Floats, second: Floats, margin: float) -> tuple[Values, Floats]:
    """Values that stand for each posterior, and the probability that each stands for, (..., nodes).

    Panels also end where a value plus or minus the margin is at the edge of what is possible.
    """
    deviations, centres = second, first
    tails, edges = (np.zeros_like(first), np.zeros_like(first)), list[float]()
    if family == "beta":
        deviations, tails, centres = np.sqrt(1 / first + 1 / second), (1 / first, 1 / second), np.log(first / second)
        edges = [math.log(edge / (1 - edge)) for edge in (abs(margin), 1 - abs(margin)) if 0 < edge < 1]
    low, high = (deviations[..., np.newaxis] * CUTS + tail[..., np.newaxis] * TAILS for tail in tails)
    cuts = np.concatenate([-low[..., :0:-1], high], axis=-1) + centres[..., np.newaxis]
    further = np.broadcast_to(np.array(edges), (*centres.shape, len(edges)))
    cuts = np.sort(np.concatenate([cuts, np.clip(further, cuts[..., :1], cuts[..., -1:])], axis=-1), axis=-1)
    half = np.diff(cuts, axis=-1)[..., np.newaxis] / 2
    places = (cuts[..., :-1, np.newaxis] + half * (1 + _RULE[0])).reshape(*centres.shape, -1)
    widths = (half * _RULE[1]).reshape(places.shape)
    a, b = first[..., np.newaxis], second[..., np.newaxis]
    if family == "normal":
        densities = np.exp(-0.5 * ((places - a) / b) ** 2) / (b * math.sqrt(2 * math.pi))
        return Values(places, 1 - places), widths * densities
    densities = np.exp(a * log_expit(places) + b * log_expit(-places) - betaln(a, b))
    return Values(expit(places), expit(-places)), widths * densities


def _distribution(family: Family, given: Values, margin: float, first: Floats, second: Floats) -> Floats:
    """The distribution functions of the posteriors (..., arms) at these values (..., 1, nodes) plus the margin."""
    a, b = first[..., np.newaxis], second[..., np.newaxis]
    found: Floats
    if family == "normal":
        found = ndtr((given.values + margin - a) / b)
        return found
    values, to_one = np.clip(given.values + margin, 0.0, 1.0), np.clip(given.to_one - margin, 0.0, 1.0)
    low = values < to_one  # from the nearer end, since small numbers are the exact ones
    share = betainc(np.where(low, a, b), np.where(low, b, a), np.where(low, values, to_one))
    found = np.where(low, share, 1 - share)
    return found
