"""Whether the arms of a log were assigned as outcomes said: intervals of plain means do not hold then."""

from typing import Literal

import numpy as np

from tpstream.analysis.age_tables import AgeTable
from tpstream.log.reader import Log

FIXED_POLICIES = ("uniform", "permuted-blocks")
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
    if said_assignment(log) == "random":
        return None
    for name, chances in zip(log.header.arms, table.probabilities or (), strict=False):
        values = np.unique(np.round(chances[~np.isnan(chances)], 6))
        if len(values) > 1:
            found = f"the logged probabilities of arm {name!r} change ({len(values):,} different values)"
        elif len(values) and values[0] == 1 and len(log.header.arms) > 1:
            found = f"arm {name!r} was always chosen with probability 1"
        else:
            continue
        remedy = 'if they followed a plan, say --assignment fixed, or assignment = "random" in the map of the import'
        return f"{found}, as by a learning policy; {text}; {remedy}"
    return None


def said_assignment(log: Log) -> str | None:
    """How the arms of an imported log came about, if its map says that: "random" or "chosen"."""
    options = ((log.header.imported or {}).get("map") or {}).get("options") or {}
    found: str | None = options.get("assignment")
    return found
