"""The complete pulls of logs, those of which no part is missing: what every part paid.

All of them count in sums and maxima, some are kept one by one.
"""

import numpy as np

from tpstream.log.reader import Log
from tpstream.log.schema import Header
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import CLOSED, PARTIAL, Columns, Kind
from tpstream.model.numba_support import compiled_loop
from tpstream.model.pull_rows import Ring

SAMPLE = 200
"""The number of complete pulls of an arm that are kept one by one."""
NEEDED = ("kind", "pull", "arm", "part", "value")
"""The columns of a log that are read."""


def divisors(span: int) -> Ints:
    """The numbers of groups into which a span can be divided."""
    return np.array([groups for groups in range(1, span + 1) if span % groups == 0])


class CompletePulls:
    """Adds up the pulls that were closed with all their parts, from the logs of one world."""

    def __init__(self, header: Header) -> None:
        arms, span = len(header.arms), header.span
        self.divisors = divisors(span)
        """The numbers of groups into which the span can be divided."""
        self.pulls = np.zeros(arms, dtype=np.int64)
        """The number of complete pulls of each arm."""
        self.largest = np.zeros((arms, len(self.divisors)))
        """The largest sum of a group, for each arm and number of groups."""
        self.sums = np.zeros((arms, span))
        """What each part paid, added up over the pulls of each arm."""
        self.squares = np.zeros((arms, span))
        """The same of the squares."""
        self.sample = np.zeros((arms, SAMPLE, span))
        """What each part paid in the first complete pulls of each arm."""

    def read(self, log: Log) -> None:
        """Add the complete pulls of a log."""
        log.require_all("a diagnosis")
        arms, span = self.sums.shape
        ring, parts, received = Ring(), np.zeros((1, span)), np.zeros(1, dtype=np.int64)
        imputed = pulls_with_defaults(log)
        for columns in log.reader.batches(NEEDED):
            _check_ranges(log, columns, arms, span)
            kept = slice(None) if not len(imputed) else ~np.isin(columns["pull"], imputed)
            kind, pull, arm, part, value = (columns[name][kept] for name in NEEDED)
            for number in pull[kind == Kind.PULL].tolist():
                before = ring.reserve(number)
                if before != ring.capacity:
                    parts, received = (ring.enlarge(rows, before, number) for rows in (parts, received))  # type: ignore[assignment]
                received[number % ring.capacity] = 0
            sums = self.divisors, self.pulls, self.largest, self.sums, self.squares, self.sample
            _add_pulls(kind, pull, arm, part, value, parts, received, *sums)
            for number in pull[kind == Kind.CLOSED].tolist():
                ring.release(number)

    def groups_of(self, arm: int, groups: int) -> Floats:
        """The sums of the groups of the kept pulls of an arm, of shape (pulls, groups)."""
        kept = self.sample[arm, : min(int(self.pulls[arm]), SAMPLE)]
        sums: Floats = kept.reshape(len(kept), groups, kept.shape[1] // groups).sum(axis=2)
        return sums


def pulls_with_defaults(log: Log) -> Ints:
    """The pulls that were credited with the default for parts that did not come, or came too late."""
    if log.header.scenario.get("default_reward") is None:
        return np.zeros(0, dtype=np.int64)
    return np.unique(log.columns(["pull"], [Kind.LATE, Kind.DROPPED])["pull"])


def _check_ranges(log: Log, columns: Columns, arms: int, span: int) -> None:
    """Refuse numbers that cannot be; the other rules of a log are for `replay` to check."""
    for name, least, most in (("arm", 0, arms - 1), ("part", 0, span), ("pull", 1, None)):
        column = columns[name]
        if len(column) and (column.min() < least or (most is not None and column.max() > most)):
            raise LogError(f"{log.path}: column {name} goes beyond {least} to {most}; `tpstream replay` says where")


@compiled_loop
def _add_pulls(
    kind: Bytes,
    pull: Ints,
    arm: Ints,
    part: Ints,
    value: Floats,
    parts: Floats,
    received: Ints,
    divisors: Ints,
    pulls: Ints,
    largest: Floats,
    sums: Floats,
    squares: Floats,
    sample: Floats,
) -> None:
    """Keep the parts of open pulls; add them up when their pull is closed and none is missing."""
    capacity, span = parts.shape
    for event in range(kind.size):
        row, i = pull[event] % capacity, arm[event]
        if kind[event] == PARTIAL and part[event] > 0:
            parts[row, part[event] - 1] = value[event]
            received[row] += 1
        elif kind[event] == CLOSED and received[row] == span:
            for j in range(span):
                sums[i, j] += parts[row, j]
                squares[i, j] += parts[row, j] * parts[row, j]
                if pulls[i] < sample.shape[1]:
                    sample[i, pulls[i], j] = parts[row, j]
            for d in range(divisors.size):
                width = span // divisors[d]
                for group in range(divisors[d]):
                    total = 0.0
                    for j in range(group * width, (group + 1) * width):
                        total += parts[row, j]
                    largest[i, d] = max(largest[i, d], total)
            pulls[i] += 1
