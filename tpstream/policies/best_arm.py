"""The probability that each arm has the largest of independent random values: what Thompson sampling chooses with.

P(arm i) is the integral of f_i times the product of all other F_j, with densities f and distribution functions F. It is
computed by quadrature: the line is cut where any of the distributions changes, at so many standard deviations from its
mean, and each panel gets Gauss-Legendre nodes. F_j at the nodes is the integral of f_j over the panels so far and of
the polynomial through its values in the present one, so that only densities are needed.

The density of a Beta distribution with a parameter below 1 is infinite at 0 or 1. So where there is one, values are
taken on the scale of log(x / (1 - x)), on which all densities of Beta distributions are smooth; the order of values is
the same there, as long as all arms have one unit.

Arms that a trial has dropped, those not marked in `open_arms`, take no part: their probability is 0.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.numba_support import compiled, compiled_alone

NODES = 14
"""Gauss-Legendre nodes in each panel."""
CUTS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.5, 4.5, 6.0, 8.0, 11.0, 15.0, 21.0, 30.0, 45.0])
"""Standard deviations from the mean of each distribution at which the line is cut, on both sides."""
NARROWEST = 1e-9
"""Distributions narrower than this share of the whole line count as that wide: a certain value has no density."""


@lru_cache(maxsize=1)
def quadrature_rule() -> tuple[Floats, Floats, Floats]:
    """Nodes and weights of a panel, and the integrals up to each node of the polynomials through one node each."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # ell_l = sum_m c_ml P_m passes through 1 at node l and 0 at the others; integrals[l, i] = int_-1^node_i ell_l.
    coefficients = np.linalg.inv(np.polynomial.legendre.legvander(nodes, NODES - 1))
    integrals = np.polynomial.legendre.legval(
        nodes, np.polynomial.legendre.legint(coefficients, lbnd=-1, axis=0), tensor=True
    )
    return nodes, weights, np.ascontiguousarray(integrals)


def quadrature_fields(units: Floats) -> dict[str, Any]:
    """The fields of a state for `fill_best`: the unit of each arm's value, the rule of quadrature, and memory."""
    arms = len(units)
    nodes, weights, integrals = quadrature_rule()
    return {
        "probabilities": np.full(arms, np.nan),
        "open_arms": np.ones(arms, dtype=np.bool_),
        "units": units,
        "nodes": nodes,
        "weights": weights,
        "integrals": integrals,
        "cuts": np.zeros(arms * 2 * CUTS.size),
        "panel": np.zeros((6, arms, NODES)),
    }


@compiled
def log_density_of_logit(value: float, first: float, second: float) -> float:
    """The logarithm of the density of log(x / (1 - x)), up to its constant, for x of Beta(first, second)."""
    return -first * math.log1p(math.exp(-value)) - second * math.log1p(math.exp(value))


@compiled
def log_gamma(x: float) -> float:
    """The logarithm of Gamma(x), by Stirling's series from 15 on; compiled, `math.lgamma` has other last bits."""
    product = 1.0
    while x < 15.0:  # noqa: PLR2004 (there the first term that is left out is below 1e-15)
        product *= x
        x += 1.0
    square = 1.0 / (x * x)
    series = (
        1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)))
    ) / x
    return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi) + series - math.log(product)


@compiled
def log_constant(beta: bool, first: float, second: float) -> float:  # noqa: FBT001
    """What is added to the logarithm."""
    if beta:
        return log_gamma(first + second) - log_gamma(first) - log_gamma(second)
    return -math.log(second * math.sqrt(2.0 * math.pi))


@compiled
def cut_line(state: Any, beta: bool, logit: bool, firsts: Floats, seconds: Floats) -> int:  # noqa: FBT001
    """Write where the line is cut, in order; returns how many cuts there are."""
    count = 0
    for arm in range(firsts.size):
        if not state.open_arms[arm]:
            continue
        mean, deviation = firsts[arm], seconds[arm]
        if beta:
            size = firsts[arm] + seconds[arm]
            mean = firsts[arm] / size
            deviation = math.sqrt(mean * (1.0 - mean) / (size + 1.0))
        if logit:
            mean, deviation = math.log(firsts[arm] / seconds[arm]), math.sqrt(1.0 / firsts[arm] + 1.0 / seconds[arm])
        for place in range(2 * CUTS.size):
            cut = mean + (CUTS[place] if place < CUTS.size else -CUTS[place - CUTS.size]) * deviation
            cut = state.units[arm] * (min(max(cut, 0.0), 1.0) if beta and not logit else cut)
            # Sorted by insertion: there are few, and half of those of an arm come in order.
            hole = count
            while hole > 0 and state.cuts[hole - 1] > cut:
                state.cuts[hole] = state.cuts[hole - 1]
                hole -= 1
            state.cuts[hole] = cut
            count += 1
    return count


@compiled
def fill_logs(state: Any, logit: bool, unit: float, low: float, half: float) -> None:  # noqa: FBT001
    """Write log x and log(1 - x) at the nodes of a panel from `low` on; they are those of all arms with this unit."""
    logs, others = state.panel[4, 0], state.panel[5, 0]
    for node in range(state.nodes.size):
        x = (low + half * (1.0 + state.nodes[node])) / unit
        if logit:
            logs[node], others[node] = -math.log1p(math.exp(-x)), -math.log1p(math.exp(x))
        elif x < 1.0:
            logs[node], others[node] = math.log(x), math.log1p(-x)
        else:
            logs[node], others[node] = 0.0, -math.inf


@compiled
def fill_densities(
    state: Any,
    beta: bool,  # noqa: FBT001
    logit: bool,  # noqa: FBT001
    arm: int,
    low: float,
    half: float,
    first: float,
    second: float,
) -> None:
    """Write the density of an arm at the nodes of a panel; of a Beta distribution, from the logarithms there."""
    densities, constant, unit = state.panel[0, arm], state.panel[3, arm, 1], state.units[arm]
    logs, others, less = state.panel[4, 0], state.panel[5, 0], 0.0 if logit else 1.0
    for node in range(state.nodes.size):
        if not beta:
            away = ((low + half * (1.0 + state.nodes[node])) / unit - first) / second
            densities[node] = math.exp(constant + -0.5 * away * away) / unit
        elif others[node] == -math.inf:
            densities[node] = 0.0
        else:
            log_density = (first - less) * logs[node] + (second - less) * others[node]
            densities[node] = math.exp(constant + log_density) / unit


@compiled
def fill_distributions(state: Any, arm: int, half: float) -> None:
    """Write the distribution function of an arm at the nodes of a panel, and keep its value at the panel's end."""
    densities, distributions, reached = state.panel[0, arm], state.panel[1, arm], state.panel[3, arm]
    size, whole = state.nodes.size, 0.0
    for node in range(size):
        distributions[node] = 0.0
    for other in range(size):
        density = densities[other]
        for node in range(size):  # the inner loop, since sums of several nodes are independent
            distributions[node] += state.integrals[other, node] * density
        whole += state.weights[other] * density
    for node in range(size):
        distributions[node] = reached[0] + half * distributions[node]
    reached[0] += half * whole


@compiled
def fill_panel(
    state: Any,
    beta: bool,  # noqa: FBT001
    logit: bool,  # noqa: FBT001
    low: float,
    half: float,
    firsts: Floats,
    seconds: Floats,
) -> None:
    """Write the densities and distribution functions of all arms at the nodes of a panel from `low` on."""
    unit = 0.0
    for arm in range(firsts.size):
        if state.open_arms[arm]:
            if beta and state.units[arm] != unit:
                unit = state.units[arm]
                fill_logs(state, logit, unit, low, half)
            fill_densities(state, beta, logit, arm, low, half, firsts[arm], seconds[arm])
            fill_distributions(state, arm, half)
        else:  # below all others for sure
            for node in range(state.nodes.size):
                state.panel[0, arm, node], state.panel[1, arm, node] = 0.0, 1.0


@compiled_alone
def fill_best(state: Any, beta: bool, firsts: Floats, seconds: Floats) -> None:  # noqa: FBT001
    """Write the probability that each arm's value is the largest, for Beta or Normal distributions.

    `firsts` and `seconds` are the parameters: a and b, or mean and standard deviation. The values are in the arm's
    unit, that is, they are multiplied by state.units[arm], and all units are the same where a parameter is below 1.
    """
    arms, size = firsts.size, state.nodes.size
    densities, distributions, below, reached = state.panel[0], state.panel[1], state.panel[2], state.panel[3]
    logit = False
    for arm in range(arms):
        state.probabilities[arm] = 0.0
        reached[arm, 0] = 0.0
        reached[arm, 1] = log_constant(beta, firsts[arm], seconds[arm])
        logit = logit or (beta and min(firsts[arm], seconds[arm]) < 1.0)
    cuts = cut_line(state, beta, logit, firsts, seconds)
    for cut in range(cuts - 1):
        low, half = state.cuts[cut], 0.5 * (state.cuts[cut + 1] - state.cuts[cut])
        if half <= 0.0:
            continue
        fill_panel(state, beta, logit, low, half, firsts, seconds)
        for node in range(size):
            product = 1.0
            for arm in range(arms):
                below[arm, node] = product
                product *= distributions[arm, node]
            product = half * state.weights[node]
            for arm in range(arms - 1, -1, -1):
                state.probabilities[arm] += densities[arm, node] * below[arm, node] * product
                product *= distributions[arm, node]
    together = 0.0
    for arm in range(arms):
        state.probabilities[arm] = max(state.probabilities[arm], 0.0)
        together += state.probabilities[arm]
    for arm in range(arms):
        state.probabilities[arm] /= together


@compiled
def fill_ties(state: Any) -> int:
    """Where indices are infinite: write equal probabilities of these arms, or 1 for the first; returns how many."""
    infinite, first = 0, -1
    for arm in range(state.indices.size):
        if state.indices[arm] == math.inf:
            first = arm if infinite == 0 else first
            infinite += 1
    if infinite > 0:
        for arm in range(state.indices.size):
            state.probabilities[arm] = 0.0
            if state.random_ties and state.indices[arm] == math.inf:
                state.probabilities[arm] = 1.0 / infinite
        if not state.random_ties:
            state.probabilities[first] = 1.0
    return infinite


@compiled
def fill_certain(state: Any, arm: int) -> None:
    """Write that this arm is chosen for sure."""
    for other in range(state.probabilities.size):
        state.probabilities[other] = 1.0 if other == arm else 0.0
