"""Which pulls a page holds: summaries of up to 100,000, and the parts of a stated sample with the extreme ones."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import CLOSED, PULL, Columns, concatenate, pull_events
from tpstream.view.aggregate import CHUNK, NEEDED, PullRows

MOST_SUMMARIES = 100_000
MOST_WITH_PARTS = 2_000
MOST_KEPT = 20_000
"""Events that a page of a run that goes on holds for the lives of single pulls."""
EXTREMES = 20
"""Of every kind of extreme pulls, this many are in the sample."""
SAMPLE_SEED = 0
"""The sample is the same whenever a page is made from the same log."""


@dataclass(frozen=True, eq=False)
class PullParts:
    """The parts of some pulls, and what was known when those were decided."""

    pulls: Ints
    """The numbers of the pulls, in order."""
    rows: Ints
    """Their rows among all pulls that are known."""
    starts: Ints
    """Where the events of each pull begin in the arrays below; one more at the end."""
    kind: Ints
    part: Ints
    time: Floats
    value: Floats
    open: Ints | None
    """How many pulls were open when each was decided; None if that is not known."""
    indices: Floats | None
    """The policy's index of every arm at the decision, a row for each pull."""


def read_batches(log: Log, names: Sequence[str] = NEEDED) -> Iterator[Columns]:
    """The columns of a log in batches that are not small: a run on SimPy writes a batch for every decision or so."""
    waiting: list[Columns] = []
    for columns in log.reader.batches(names):
        waiting.append(columns)
        if sum(len(batch["kind"]) for batch in waiting) >= CHUNK:
            yield concatenate(waiting, names)
            waiting = []
    if waiting:
        yield concatenate(waiting, names)


def summarised(pulls: PullRows, share: int) -> Ints:
    """The rows of pulls whose summaries a page holds: all, or every n-th from the first on."""
    step = -(-pulls.count // max(MOST_SUMMARIES // share, 1)) if pulls.count else 1
    return np.arange(0, pulls.count, step)


def choose(pulls: PullRows, share: int, asked: Iterable[int]) -> Ints:
    """The numbers of the pulls whose parts a page holds, in order.

    These are the extreme ones (paid most or least, paid longest, with most late parts), those that were asked for, the
    first and the last, and a random sample. `share` is the number of logs that share the page.
    """
    count, most = pulls.count, MOST_WITH_PARTS // share
    asked = sorted(set(asked))
    wrong = [pull for pull in asked if not 1 <= pull <= count]
    if wrong:
        raise LogError(f"there is no pull {wrong[0]}; the log has pulls 1 to {count:,}")
    if count <= most:
        return np.arange(1, count + 1)
    chosen = {1, count, *asked}
    for measure in (pulls.paid[:count], -pulls.paid[:count], pulls.last[:count], pulls.late[:count]):
        if measure.min() < measure.max():
            chosen |= set((np.argpartition(-measure, EXTREMES)[:EXTREMES] + 1).tolist())
    order = np.random.default_rng(SAMPLE_SEED).permutation(count) + 1
    rest = [pull for pull in order[: most + len(chosen)].tolist() if pull not in chosen]
    return np.array(sorted([*chosen, *rest[: max(most - len(chosen), 0)]]))


def read_parts(log: Log, pulls: Ints, count: int) -> PullParts:
    """Read the events of these pulls; `count` is the number of all pulls in the log."""
    names = ("time", "kind", "pull", "part", "value", "shown", "indices")
    wanted = np.zeros(count + 1, dtype=np.bool_)
    wanted[pulls] = True
    found: list[Columns] = []
    opened, indices, now_open = [], [], 0
    for batch in read_batches(log, names):
        columns = pull_events(batch)
        kind = columns["kind"]
        is_pull, own = kind == PULL, wanted[columns["pull"]]
        others, now_open = count_open(kind, now_open)
        opened.append(others[own[is_pull]])
        if "indices" in columns:
            indices.append(columns["indices"][own[is_pull]])
        found.append({name: columns[name][own & ~is_pull] for name in names[:5]})
    events = concatenate(found, names[:5])
    order = np.argsort(events["pull"], kind="stable")
    return PullParts(
        pulls=pulls,
        rows=pulls - 1,
        starts=np.searchsorted(events["pull"][order], np.append(pulls, count + 1)),
        **{name: events[name][order] for name in ("kind", "part", "time", "value")},
        open=np.concatenate(opened) if opened else np.zeros(0, dtype=np.int64),
        indices=np.concatenate(indices) if indices else None,
    )


def count_open(kind: Ints, before: int) -> tuple[Ints, int]:
    """How many other pulls were open when each of these was made, and how many are open after all these events."""
    is_pull = kind == PULL
    still_open = before + np.cumsum(is_pull.astype(np.int64) - (kind == CLOSED))
    return still_open[is_pull] - 1, int(still_open[-1]) if len(kind) else before


class KeptParts:
    """Keeps the events of some pulls as they pass, since a run that goes on cannot be read a second time.

    These are the pulls of every n-th row; n doubles whenever there are too many events.
    """

    EVENTS = ("row", "kind", "part", "time", "value")
    DECISIONS = ("row", "indices", "open")

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._step = 1
        self._events: list[Columns] = []
        self._decisions: list[Columns] = []
        self._count = 0

    def add(self, columns: Columns, opened: Ints | None = None) -> None:
        """Take the next events, with pulls numbered by row, and how many others were open at each pull."""
        columns = pull_events(columns)
        is_pull, row = columns["kind"] == PULL, columns["pull"] - 1
        events = {"row": row, **columns}
        self._keep(self._events, {name: events[name][~is_pull] for name in self.EVENTS})
        decisions = {"row": row[is_pull], "indices": columns.get("indices"), "open": opened}
        self._keep(self._decisions, {name: rows for name, rows in decisions.items() if rows is not None})
        while self._count > self._most and self._step < 2**40:
            self._step *= 2
            self._count = 0
            for batches in (self._events, self._decisions):
                before, batches[:] = list(batches), []
                for one in before:
                    self._keep(batches, one)

    def _keep(self, batches: list[Columns], batch: Columns) -> None:
        """Add every n-th row of a batch to the others."""
        kept = batch["row"] % self._step == 0
        batches.append({name: rows[kept] for name, rows in batch.items()})
        self._count += len(batches[-1]["row"])

    def parts(self, numbers: Ints) -> PullParts:
        """What is kept; `numbers` are the numbers of the pulls by row."""
        rows = np.arange(0, len(numbers), self._step)
        events, decisions = self._joined(self._events, self.EVENTS), self._joined(self._decisions, self.DECISIONS)
        order = np.argsort(events["row"], kind="stable")
        starts = np.searchsorted(events["row"][order], np.append(rows, len(numbers)))
        columns = {name: events[name][order] for name in ("kind", "part", "time", "value")}
        opened, indices = decisions.get("open"), decisions.get("indices")
        return PullParts(pulls=numbers[rows], rows=rows, starts=starts, **columns, open=opened, indices=indices)

    def _joined(self, batches: list[Columns], names: Sequence[str]) -> Columns:
        """All batches as one, which takes their place; without those columns that some batch does not have."""
        if not batches:
            return {}
        there = [name for name in names if all(name in one for one in batches)]
        batches[:] = [{name: np.concatenate([one[name] for one in batches]) for name in there}]
        return batches[0]
