"""Whether the arms of a log were assigned as outcomes said: intervals of plain means do not hold then."""

from typing import Literal

import numpy as np

from tpstream.analysis.age_tables import AgeTable
from tpstream.log.reader import Log

MANY_PROBABILITIES = 10
"""An arm whose logged probabilities have more different values looks like that of a learning policy."""
FIXED_POLICIES = ("uniform",)
"""Policies of runs that do not depend on outcomes."""
Assignment = Literal["auto", "fixed", "adaptive"]


def depends_on_outcomes(log: Log, table: AgeTable, assignment: Assignment = "auto") -> str | None:
    """Why the assignment depended on outcomes, or may have; None if it did not, as far as is known."""
    text = "intervals hold only for an assignment that does not depend on outcomes"
    if assignment == "adaptive":
        return f"the assignment depended on outcomes, as was said; {text}"
    if assignment == "fixed":
        return None
    if log.header.imported is None:
        return None if log.header.kind in FIXED_POLICIES else f"{log.header.policy} learns from outcomes; {text}"
    for name, chances in zip(log.header.arms, table.probabilities or (), strict=False):
        values = np.unique(np.round(chances[~np.isnan(chances)], 6))
        if len(values) > MANY_PROBABILITIES:
            found = f"the logged probabilities of arm {name!r} have {len(values):,} different values"
            return f"{found}, as those of a learning policy; {text}; say --assignment fixed if they followed a plan"
    return None
