"""The complete pulls of logs, those of which no part is missing: what every part paid.

All of them count in sums and maxima, some are kept one by one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import CLOSED, PARTIAL, Kind, pull_events
from tpstream.model.limits import divisors
from tpstream.model.numba_support import compiled_loop
from tpstream.model.pull_rows import Ring, check_room

SAMPLE = 200
"""The number of complete pulls of an arm that are kept one by one."""
NEEDED = ("kind", "pull", "arm", "part", "value")
"""The columns of a log that are added up."""


class CompletePulls(NamedTuple):
    """The pulls that were closed with all their parts, added up over the logs of one policy."""

    divisors: Ints
    """The numbers of groups into which the span can be divided."""
    pulls: Ints
    """The number of complete pulls of each arm."""
    largest: Floats
    """The largest sum of a group, for each arm and number of groups."""
    sums: Floats
    """What each part paid, added up over the pulls of each arm, of shape (arms, parts)."""
    squares: Floats
    """The same of the squares."""
    sample: Floats
    """What each part paid in the first complete pulls of each arm, of shape (arms, pulls, parts)."""

    @staticmethod
    def read(logs: Sequence[Log]) -> "CompletePulls":
        """Add up the complete pulls of these logs."""
        arms, span = len(logs[0].header.arms), logs[0].header.span
        found = CompletePulls(
            divisors=np.array(divisors(span)),
            pulls=np.zeros(arms, dtype=np.int64),
            largest=np.zeros((arms, len(divisors(span)))),
            sums=np.zeros((arms, span)),
            squares=np.zeros((arms, span)),
            sample=np.zeros((arms, SAMPLE, span)),
        )
        for log in logs:
            found._add(log)
        return found

    def _add(self, log: Log) -> None:
        log.require_all("a diagnosis")
        log.require_run("a diagnosis compares groups of parts with the arms' maxima, which nobody knows")
        if None in log.header.maxima:
            arm = log.header.arms[log.header.maxima.index(None)]
            raise LogError(f"{log.path}: arm {arm!r} has no maximum, with which a diagnosis compares groups of parts")
        span = self.sums.shape[1]
        ring, parts, received = Ring(), np.zeros((1, span)), np.zeros(1, dtype=np.int64)
        imputed = pulls_with_defaults(log)
        for batch in log.counted((*NEEDED, "shown")):
            columns = pull_events(batch)
            kept = ~np.isin(columns["pull"], imputed) if len(imputed) else slice(None)
            kind, pull, *rest = (columns[name][kept] for name in NEEDED)
            for number in pull[kind == Kind.PULL].tolist():
                before = ring.reserve(number)
                if before != ring.capacity:
                    check_room(log.path, ring.capacity, span * parts.itemsize, f"open pulls of {span:,} parts")
                    parts, received = (ring.enlarge(rows, before, number) for rows in (parts, received))  # type: ignore[assignment]
                received[number % ring.capacity] = 0
            _add_events((kind, pull, *rest), parts, received, self)
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


@compiled_loop
def _add_events(columns: Any, parts: Floats, received: Ints, found: CompletePulls) -> None:
    """Keep the parts of open pulls; add them up when their pull is closed and none is missing."""
    kind, pull, arm, part, value = columns
    capacity, span = parts.shape
    for event in range(kind.size):
        row, i = pull[event] % capacity, arm[event]
        if kind[event] == PARTIAL and part[event] > 0:
            parts[row, part[event] - 1] = value[event]
            received[row] += 1
        elif kind[event] == CLOSED and received[row] == span:
            for j in range(span):
                found.sums[i, j] += parts[row, j]
                found.squares[i, j] += parts[row, j] * parts[row, j]
                if found.pulls[i] < found.sample.shape[1]:
                    found.sample[i, found.pulls[i], j] = parts[row, j]
            for d in range(found.divisors.size):
                width = span // found.divisors[d]
                for group in range(found.divisors[d]):
                    total = 0.0
                    for j in range(group * width, (group + 1) * width):
                        total += parts[row, j]
                    found.largest[i, d] = max(found.largest[i, d], total)
            found.pulls[i] += 1
