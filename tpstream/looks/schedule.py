"""When a trial is looked at: cuts of the data, decisions, and pauses of recruiting, from the times of arrival.

A look cuts the data at a time that is known beforehand: a time as it is; for `randomised`, when the n-th patient
comes; for `known`, when the endpoint of the n-th patient is due, by the visits and without spread or delays; for
`information`, as for `known` with n = f * horizon, rounded up. The cut includes its instant. Its decision is in force
after the cleaning of the data, for patients who come later than that. A look that would come before the decision of the
look before waits for it. One at a time when the last endpoint is overdue is not held: the final analysis follows.
"""

import math
from typing import NamedTuple

import numpy as np

from tpstream.looks.design import Design
from tpstream.model.arrays import Bools, Floats

ROUNDING = 1e-9
"""A fraction of the horizon counts as whole if it misses that by so little."""


class LookTimes(NamedTuple):
    """When the looks of one run are; infinite for one that is not held, or whose n-th patient is not among these."""

    cuts: Floats
    decisions: Floats
    enrolled: Bools
    """Whether each patient who comes is enrolled: not while recruiting pauses, and at most as many as the horizon."""


def look_times(design: Design, times: Floats) -> LookTimes:
    """The looks of a run in which patients come at these times, in order.

    If recruiting pauses, some who come are not enrolled: give so many times that the horizon is reached.

    Examples
    --------
    >>> from tpstream.looks.design import Looks
    >>> looks = Looks("randomised", (2.0, 4.0), cleaning=1.5, recruiting=False)
    >>> design = Design(("a", "b"), 5, np.array([3.0]), np.ones(1), looks=looks)
    >>> found = look_times(design, np.arange(1.0, 8.0))
    >>> found.cuts.tolist(), found.decisions.tolist(), found.enrolled.tolist()
    ([2.0, 5.0], [3.5, 6.5], [True, True, False, True, True, False, True])
    """
    looks, enrolled = design.looks, np.ones(len(times), dtype=np.bool_)
    cuts, decisions = np.full(len(looks), np.inf), np.full(len(looks), np.inf)
    decided = -math.inf
    for look, value in enumerate(looks.values):
        cuts[look] = decided = max(_cut(design, value, times[enrolled]), decided)
        decisions[look] = decided = decided + looks.cleaning
        if not looks.recruiting:
            enrolled &= (times <= cuts[look]) | (times > decided)
    enrolled &= np.cumsum(enrolled) <= design.horizon
    if looks.at == "time" and np.count_nonzero(enrolled) == design.horizon:
        after = cuts > times[enrolled][-1] + design.visits[-1]
        cuts[after] = decisions[after] = np.inf
    return LookTimes(cuts, decisions, enrolled)


def _cut(design: Design, value: float, times: Floats) -> float:
    """When a look cuts the data if patients are enrolled at these times."""
    at = design.looks.at
    if at == "time":
        return value
    count = math.ceil(value * design.horizon - ROUNDING) if at == "information" else int(value)
    if count > len(times):
        return math.inf
    return float(times[count - 1]) + (0.0 if at == "randomised" else design.due)
