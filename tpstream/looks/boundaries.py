"""Group-sequential boundaries by spending of the errors: where a standardised statistic stops a trial at each look.

At look k the trial stops for efficacy if Z_k >= u_k and for futility if Z_k < l_k, with

    P_0(go on at all looks before, Z_k >= u_k) = what alpha spends between looks k - 1 and k,
    P_d(go on at all looks before, Z_k < l_k) = what beta spends in the same way,

where the drift d of the alternative is such that both meet at the last look, l_K = u_K: with this effect the power is
1 - beta. If futility is binding, a trial stops at l_k also where P_0 is computed; if not, it may go on, and alpha is
kept all the same.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from tpstream.looks.recursion import Ongoing, finest_step
from tpstream.model.arrays import Floats

FAR = 38.0
"""A standardised statistic is never as large as this."""
DRIFTS = (1e-3, 12.0)
"""Between these the drift of the alternative is looked for."""


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Where a trial stops at each look: for efficacy from `efficacy` on, for futility below `futility`."""

    information: Floats
    """The fraction of the information at each look; the last one is 1."""
    efficacy: Floats
    """u_k; infinite where nothing is spent."""
    futility: Floats
    """l_k; -inf where there is no stop for futility. The last one is the last of `efficacy`."""
    drift: float
    """d; NaN without stops for futility."""


def efficacy_boundaries(information: Floats, alpha_spent: Floats) -> Boundaries:
    """Boundaries without stops for futility, from what is spent of alpha up to each look."""
    nowhere = np.full(len(information) - 1, -math.inf)
    efficacy = _efficacy(information, alpha_spent, nowhere)
    return Boundaries(information, efficacy, np.append(nowhere, efficacy[-1]), math.nan)


def spending_boundaries(
    information: Floats, alpha_spent: Floats, beta_spent: Floats, *, binding: bool = True
) -> Boundaries:
    """Boundaries for efficacy and futility, from what is spent of alpha and of beta up to each look.

    Examples
    --------
    >>> looks = np.array([0.5, 1.0])
    >>> found = spending_boundaries(looks, np.array([0.005, 0.025]), np.array([0.02, 0.1]))
    >>> bool(found.futility[0] < found.efficacy[0]), bool(found.futility[1] == found.efficacy[1])
    (True, True)
    """
    fixed = None if binding else efficacy_boundaries(information, alpha_spent).efficacy

    def missing(drift: float) -> float:
        """The error of the second kind at the last look, less what is left of beta for it."""
        efficacy, _, left = _both(information, alpha_spent, beta_spent, drift, fixed)
        return left.below(1.0, efficacy[-1]) - float(np.diff(beta_spent, prepend=0.0)[-1])

    drift = float(brentq(missing, *DRIFTS, xtol=1e-13, rtol=1e-13))
    efficacy, futility, _ = _both(information, alpha_spent, beta_spent, drift, fixed)
    return Boundaries(information, efficacy, np.append(futility, efficacy[-1]), drift)


def _efficacy(information: Floats, alpha_spent: Floats, futility: Floats) -> Floats:
    """u_k where trials stop below l_k of the looks before."""
    finest = finest_step(information)
    ongoing, found = Ongoing.start(), []
    for look, (level, share) in enumerate(zip(information, np.diff(alpha_spent, prepend=0.0), strict=True)):
        found.append(_value(ongoing.above, level, share, math.inf))
        if look < len(futility):
            ongoing = ongoing.after(level, futility[look], found[-1], finest)
    return np.array(found)


def _both(
    information: Floats, alpha_spent: Floats, beta_spent: Floats, drift: float, fixed: Floats | None
) -> tuple[Floats, Floats, Ongoing]:
    """u_k, l_k of the looks before the last one, and the trials that reach it under this drift.

    `fixed` has the u_k if they do not depend on the l_k.
    """
    finest = finest_step(information)
    null, alternative = Ongoing.start(), Ongoing.start(drift)
    upper, lower = [], []
    alphas, betas = (np.diff(given, prepend=0.0) for given in (alpha_spent, beta_spent))
    for look, level in enumerate(information):
        upper.append(_value(null.above, level, alphas[look], math.inf) if fixed is None else fixed[look])
        if look == len(information) - 1:
            break
        lower.append(min(_value(alternative.below, level, betas[look], -math.inf), upper[-1]))
        if fixed is None:
            null = null.after(level, lower[-1], upper[-1], finest)
        alternative = alternative.after(level, lower[-1], upper[-1], finest)
    return np.array(upper), np.array(lower), alternative


def _value(tail: Callable[[float, float], float], information: float, share: float, never: float) -> float:
    """The value beyond which Z lies with this probability, `tail` being that for any value; `never` for 0."""
    if share <= 0:
        return never
    everything = -math.copysign(FAR, never)
    if tail(information, everything) <= share:
        return everything
    return float(brentq(lambda value: tail(information, value) - share, -FAR, FAR, xtol=1e-13))
