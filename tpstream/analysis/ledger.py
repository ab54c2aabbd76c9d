"""The ledger of one log: what was pulled, delivered and closed up to every checkpoint, added up as events are read."""

import math

import numpy as np

from tpstream.log.columns import Columns
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.compiled import compiled_loop

PULL, PARTIAL, CLOSED = 0, 1, 2  # Kind's numbers; Numba wants plain ones


class Ledger:
    """Sums at the checkpoints; deliveries count for a round if they come by the end of its instant."""

    COLUMNS = ("time", "kind", "round", "arm", "value")
    """The columns of a log that are needed."""

    def __init__(self, rounds: Ints, means: Floats) -> None:
        stretches = len(rounds) + 1  # the last one is what comes after the last checkpoint
        self._rounds = rounds
        self._means = means
        self._clock = np.full(1, -math.inf)
        """The time of the last decision."""
        self._stretch = np.zeros(1, dtype=np.int64)
        self.counts = np.zeros((stretches, len(means)), dtype=np.int64)
        self.delivered = np.zeros(stretches)
        self.outstanding = np.zeros(stretches)
        self.open = np.zeros(stretches, dtype=np.int64)
        self.reach = 0
        """How many checkpoints the log covers."""

    @property
    def pulls(self) -> int:
        """How many pulls there were, before `finish`."""
        return int(self.counts.sum())

    def add(self, piece: Columns) -> None:
        """Add the next events; their arms must exist."""
        _add(
            self._rounds,
            self._means,
            self._clock,
            self._stretch,
            piece["time"],
            piece["kind"],
            piece["round"],
            piece["arm"],
            piece["value"],
            self.counts,
            self.delivered,
            self.outstanding,
            self.open,
        )

    def finish(self) -> None:
        """From what happened in every stretch to what had happened up to its end."""
        for sums in (self.counts, self.delivered, self.outstanding, self.open):
            np.cumsum(sums, axis=0, out=sums)

    def paid_after(self, reach: int) -> float:
        """What was delivered after the checkpoint of that number; NaN unless all pulls were closed by the log's end."""
        at_end = self.open[-1] == 0 and reach == len(self._rounds)
        return float(self.delivered[-1] - self.delivered[reach - 1]) if at_end else math.nan


@compiled_loop
def _add(
    rounds: Ints,
    means: Floats,
    clock: Floats,
    stretch: Ints,
    time: Floats,
    kind: Bytes,
    round: Ints,
    arm: Ints,
    value: Floats,
    counts: Ints,
    delivered: Floats,
    outstanding: Floats,
    open: Ints,
) -> None:
    """Add events to the stretch between two checkpoints in which they fall."""
    here = stretch[0]
    for event in range(kind.size):
        if kind[event] == PULL:
            clock[0] = time[event]
        # What comes after the instant of a decision is known at the next one only.
        reached = round[event] if time[event] == clock[0] else round[event] + 1
        while here < rounds.size and rounds[here] < reached:
            here += 1
        if kind[event] == PULL:
            counts[here, arm[event]] += 1
            outstanding[here] += means[arm[event]]
            open[here] += 1
        elif kind[event] == PARTIAL:
            delivered[here] += value[event]
            outstanding[here] -= value[event]
        elif kind[event] == CLOSED:
            outstanding[here] -= means[arm[event]] - value[event]
            open[here] -= 1
    stretch[0] = here
