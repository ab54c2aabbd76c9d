"""Decisions after a stop, when outcomes of patients who were treated already still arrive (Hampson and Jennison 2013).

A boundary that is crossed at look k only ends recruitment. When the outcomes in the pipeline are known, at the
information I_k + delayed, the null hypothesis is rejected if the statistic Z is at least c_k. This value is chosen such
that, without an effect, it is as likely to turn a stop for efficacy into no rejection as to turn a stop for futility
into a rejection; so alpha is kept.
"""

from dataclasses import dataclass

from scipy.optimize import brentq

from tpstream.looks.boundaries import FAR, Boundaries
from tpstream.looks.recursion import Ongoing, finest_step


@dataclass(frozen=True)
class Decision:
    """What is concluded after a stop at one look: a rejection if Z with the pipeline is at least `critical`."""

    critical: float
    """c_k."""
    reversal: float
    """The probability, without an effect, that a stop for efficacy at this look ends without a rejection."""


def decision_after_stop(boundaries: Boundaries, look: int, delayed: float) -> Decision:
    """The decision after a stop at this look (from 0), before the last, with so much information in the pipeline.

    There must be a stop for futility at the look, and `delayed` must be above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from tpstream.looks.boundaries import spending_boundaries
    >>> looks = np.array([0.5, 1.0])
    >>> boundaries = spending_boundaries(looks, np.array([0.005, 0.025]), np.array([0.02, 0.1]))
    >>> bool(decision_after_stop(boundaries, 0, 0.2).critical < boundaries.efficacy[0])
    True
    """
    information, low, high = boundaries.information, boundaries.futility[look], boundaries.efficacy[look]
    finest = min(delayed, finest_step(information))
    ongoing = Ongoing.start()
    for earlier in range(look):
        region = boundaries.futility[earlier], boundaries.efficacy[earlier]
        ongoing = ongoing.after(information[earlier], *region, finest)
    for_efficacy = ongoing.after(information[look], high, FAR, finest)
    for_futility = ongoing.after(information[look], -FAR, low, finest)
    known = information[look] + delayed

    def imbalance(critical: float) -> float:
        return for_efficacy.below(known, critical) - for_futility.above(known, critical)

    critical = float(brentq(imbalance, -FAR, FAR, xtol=1e-13))
    return Decision(critical, for_efficacy.below(known, critical))
