"""Events where feedback is hidden: those of which a policy is told, and those that count.

A column `shown` then says which events a policy is told. One that it is not told stands at its true time. A shown event
of kind partial that pays nothing, or less, repeats one that was withheld, when its pull is closed. So whatever adds up
or counts parts has to leave these out.
"""

import numpy as np

from tpstream.model.arrays import Bools
from tpstream.model.events import COLUMN, PARTIAL, Columns, Events


def without_repeats(columns: Columns) -> Columns:
    """The columns without the events that repeat a withheld part; `kind` and `value` must be among them.

    Columns without `shown` are returned as they are: where everything is shown, nothing is repeated.
    """
    if "shown" not in columns:
        return columns
    once: Bools = ~(columns["shown"] & (columns["kind"] == PARTIAL) & ~(columns["value"] > 0))
    return {name: rows if COLUMN[name].per_pull else rows[once] for name, rows in columns.items()}


class Told:
    """What a policy is told of the events of a run: those that it is shown, and nothing of the others.

    They are numbered anew, so that no gap in `seq` tells of a hidden event, and have no optional columns. It is the
    same in a run and in a replay.
    """

    def __init__(self) -> None:
        self._count = 0

    def of(self, events: Events) -> Events:
        """What it is told of the next events."""
        columns = {name: rows for name, rows in events.columns().items() if not COLUMN[name].optional}
        if events.shown is not None:
            columns = {name: rows[events.shown] for name, rows in columns.items()}
            columns["seq"] = np.arange(self._count, self._count + len(columns["seq"]))
            self._count += len(columns["seq"])
        return Events(**columns)
