"""Pseudo-regret: what was lost against the best arm, in expectation, at the pulls themselves.

The ledger of one log: what was pulled, delivered and closed up to every checkpoint, added up as events are read.
"""

import math

import numpy as np

from tpstream.log.schema import Columns
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.numba_support import compiled_loop

LINEAR, GEOMETRIC = 101, 60
"""How many checkpoints a curve has, evenly spaced and spaced by ratio, before equal ones are merged."""


def checkpoints(horizon: int) -> Ints:
    """The rounds at which curves are kept: dense enough for a plain and for a logarithmic axis, and the last one."""
    even = np.linspace(1, horizon, LINEAR)
    ratio = np.geomspace(1, horizon, GEOMETRIC)
    return np.unique(np.concatenate([even, ratio]).round().astype(np.int64))


def count_pulls(arms: Ints, number_of_arms: int, rounds: Ints) -> Ints:
    """How often each arm was pulled up to and including each of the rounds; of shape (rounds, arms)."""
    tally = Tally(number_of_arms, rounds)
    tally.add(arms[: rounds[-1]])
    return tally.counts()


def pseudo_regret(counts: Ints, means: Floats) -> Floats:
    """The sum over rounds of mu* - mu_i, from how often each arm was pulled (last axis)."""
    regret: Floats = counts @ (means.max() - means)
    return regret


def regret_by_round(arms: Ints, means: Floats) -> Floats:
    """The cumulative pseudo-regret after every round."""
    return np.cumsum(means.max() - means[arms])


class Tally:
    """Counts the pulls of every arm up to each checkpoint, from the arms of the rounds as they come."""

    def __init__(self, number_of_arms: int, rounds: Ints) -> None:
        self._rounds = rounds
        self._counts = np.zeros((len(rounds), number_of_arms), dtype=np.int64)
        self._done = 0

    def add(self, arms: Ints) -> None:
        """Count the arms of the next rounds."""
        first, last = self._done + 1, self._done + len(arms)
        begin, end = np.searchsorted(self._rounds, [first, last])
        # Every round is counted in the row of the next checkpoint; all rows at once.
        cuts = np.concatenate([[0], self._rounds[begin:end] - self._done, [len(arms)]])
        rows, width = np.repeat(np.arange(end - begin + 1), np.diff(cuts)), self._counts.shape[1]
        counts = np.bincount(rows * width + arms, minlength=(end - begin + 1) * width).reshape(-1, width)
        self._counts[begin : end + 1] += counts[: len(self._counts) - begin]
        self._done = last

    def counts(self) -> Ints:
        """How often each arm was pulled up to and including each checkpoint; of shape (rounds, arms)."""
        return self._counts.cumsum(axis=0)


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
