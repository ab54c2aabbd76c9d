"""A sample of a run that goes on: as many of its pulls as can be added up in a small share of the time that it takes.

Pulls are sampled in stretches of consecutive ones. All events of such pulls are added up, and each pull stands for all
since the last stretch. When nothing costs too much, the stretches follow each other and every pull is in the sample.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tpstream.log.schema import Header
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.display import counted
from tpstream.model.events import CLOSED, COLUMN, PULL, Columns, about_looks, about_pulls
from tpstream.view.aggregate import COARSE, LOOK_COLUMNS, NEEDED, Aggregate
from tpstream.view.content import live_text
from tpstream.view.pulls import KeptParts
from tpstream.view.words import first_difference, header_facts, parting

SHARE = 0.008
"""Of the time that runs take, what may be spent on their sample."""
MOST_SAVED = 0.3
"""Seconds of it that may be spent at once."""
LENGTH = 32
"""Pulls of a stretch, if not all pulls can be afforded."""
STRETCHES = 512
"""Most stretches of a run; more cannot be seen."""
ENOUGH = 10
"""Stretches that a run must get to be shown at all, if it is short."""
FEWEST = 4
"""Stretches of which a picture of a long run is made at first: with fewer, its curves are steps."""
SHORT = 1.0
"""Seconds after which a run is not short: then it is sampled with what can be afforded, and before that only if it is
enough for all of it."""
AT_FIRST = 3e-7
"""Seconds that an event costs, as long as that was not measured."""
LEARNING = 0.2
"""How much the last time that was measured counts."""
EARLY = 10_000
"""Rounds of which the arms are kept; a run of more is long."""
LONGEST_TRACE = 1024
"""Most moments at which it is known how often each arm was pulled."""
OVERHEAD = 1e-3
"""Seconds that a stretch costs besides its events."""


@dataclass
class Spent:
    """What time was spent on."""

    events: int = 0
    """How many events were added up."""


class Budget:
    """The time that was spent on samples, against the time that may be spent; runs of one process share it.

    It is the time of the processor: what others do on the machine does not count.
    """

    def __init__(self, share: float = SHARE) -> None:
        self._share = share
        self._saved = 0.0
        self._seen = time.process_time()
        self.per_event = AT_FIRST
        """Seconds that an event costs."""
        self.factor: float | None = None
        """How many times more stretches cost than their own events and OVERHEAD; None until that was measured.

        In small batches, as SimPy makes them, the events of other pulls come along.
        """
        self._planned = self._spent = 0.0

    def available(self) -> float:
        """The seconds that may be spent now."""
        now = time.process_time()
        self._saved = min(self._saved + self._share * (now - self._seen), MOST_SAVED)
        self._seen = now
        return self._saved

    def cost(self, events: int) -> float:
        """The seconds that a stretch with so many events should cost."""
        return (OVERHEAD + events * self.per_event) * (self.factor or 1.0)

    def begin(self, events: int) -> None:
        """Note that a stretch with so many events begins."""
        self._planned += OVERHEAD + events * self.per_event

    def settle(self) -> None:
        """Note that all stretches have ended: what they cost is known."""
        if self._planned:
            found = max(self._spent / self._planned, 1.0)
            self.factor = found if self.factor is None else self.factor + LEARNING * (found - self.factor)
            self._planned = self._spent = 0.0

    @contextmanager
    def spend(self, before: float = 0.0) -> "Iterator[Spent]":
        """Count the time that is spent inside, and seconds spent before, and learn what an event costs."""
        spent, began = Spent(), time.process_time()
        yield spent
        seconds = time.process_time() - began
        self._saved -= seconds + before
        self._spent += seconds + before
        if spent.events >= LENGTH:
            self.per_event += LEARNING * (max(seconds - OVERHEAD, 0.0) / spent.events - self.per_event)


class Stretch:
    """Consecutive pulls that are in the sample: the first, how many, and how many pulls each stands for."""

    def __init__(self, first: int, count: int, row: int, weight: float) -> None:
        self.first, self.count, self.row, self.weight = first, count, row, weight
        self.closed = 0


class SampledRun:
    """What a page shows of one run that goes on; who feeds it asks `plan` which of the next pulls it wants.

    Parameters
    ----------
    span, horizon, arms
        Of the run: the parts of a pull, the number of its pulls, the number of arms.
    describe
        Makes the header of the run; called when something is sampled, since most short runs are not.
    budget
        What may be spent; runs of one process share it.
    sharers
        How many runs go on at the same time.
    """

    def __init__(
        self,
        span: int,
        horizon: int,
        arms: int,
        describe: Callable[[], Header],
        budget: Budget,
        sharers: int = 1,
    ) -> None:
        self.span, self.horizon, self.budget, self._describe = span, horizon, budget, describe
        self.events = 0
        """Events that are in the sample."""
        self.made = 0
        """Pulls of the run that were looked at."""
        self.round = 0
        """The last round of which the arm is known."""
        self.totals: Ints = np.zeros(arms, dtype=np.int64)
        """How often each arm was pulled up to there."""
        self.early: list[Ints] = []
        """The arms of the first rounds: where two policies part, they mostly do so soon."""
        self._trace: list[tuple[int, Ints]] = [(0, self.totals.copy())]
        """The round and the totals at some moments."""
        self._kept = KeptParts()
        self._looks: list[Columns] = []
        """The events about looks that are not in the aggregate yet."""
        self._stretches: list[Stretch] = []
        self._open: list[Stretch] = []
        self._gaps = False
        self._represented = 0
        """The last pull that one in the sample stands for."""
        self._began = time.process_time()
        stretch = budget.cost(LENGTH * span)
        enough = min(ENOUGH, -(-horizon // LENGTH), int(0.9 * MOST_SAVED / (stretch * sharers)))
        affordable = int(budget.available() / (stretch * sharers))
        self._eager = affordable >= max(enough, 1)
        self._spacing = horizon // min(STRETCHES, affordable if self._eager else STRETCHES)
        self._next = 1

    @cached_property
    def header(self) -> Header:
        """What the run is."""
        return self._describe()

    @cached_property
    def aggregate(self) -> Aggregate:
        """The sums over the sample."""
        found = Aggregate(self.header, resolution=COARSE, weighted=True)
        if self._regular:
            found.reach(np.array([1.0]))
        return found

    @property
    def _regular(self) -> bool:
        """Whether the time of a round is its number."""
        return "arrivals" not in self.header.scenario

    def count(self, arms: Ints) -> None:
        """Take the arms that were pulled in the next rounds, all of them."""
        if self.round < EARLY:
            self.early.append(np.array(arms[: EARLY - self.round]))
        self.round += len(arms)
        self.totals += np.bincount(arms, minlength=len(self.totals))
        self._trace.append((self.round, self.totals.copy()))
        if len(self._trace) > LONGEST_TRACE:
            self._trace = [*self._trace[:-1:2], self._trace[-1]]

    @property
    def complete(self) -> bool:
        """Whether every pull so far is in the sample."""
        return not self._gaps and self._represented >= self.made

    @property
    def shown(self) -> int:
        """How many events a picture is made of; 0 as long as they are too few for one."""
        return 0 if self.made > EARLY and len(self._stretches) < FEWEST else self.events

    def plan(self, first: int, last: int) -> list[tuple[int, int]]:
        """Which of these pulls are to be in the sample: stretches, by their first pull and how many."""
        first = max(first, self._represented + 1)
        if last < max(first, self._next) or not (self._eager or time.process_time() - self._began > SHORT):
            return []
        if all(one.closed >= one.count for one in self._open):
            self.budget.settle()
        available = self.budget.available()
        if self.budget.cost((last - first + 1) * self.span) <= available:
            return [(first, last - first + 1)]
        start = max(first, self._next)
        room, count = last - start + 1, min(LENGTH, last - start + 1)
        affordable = int(available / self.budget.cost(count * self.span))
        if self.budget.factor is None:
            affordable = min(affordable, 1)  # to see what it costs
        number = min(affordable, 1 + (room - count) // max(count, self._spacing))
        return [(start + place * (room // number), count) for place in range(number)]

    def begin(self, first: int, count: int) -> None:
        """Add pulls, which come after all others, to the sample."""
        self.budget.begin(count * self.span)
        before = self._stretches[-1] if self._stretches else None
        gap = first - 1 - self._represented
        self._gaps = self._gaps or gap > 0
        self._represented = first + count - 1
        self._next = first + (count if gap == 0 else max(count, self._spacing))
        if before is not None and gap == 0 and before.weight == 1 and before in self._open:
            before.count += count
            return
        row = 0 if before is None else before.row + before.count
        one = Stretch(first, count, row, (gap + count) / count)
        self._stretches.append(one)
        self._open.append(one)

    @property
    def waits(self) -> bool:
        """Whether events of sampled pulls are still to come."""
        return bool(self._open)

    @property
    def earliest(self) -> Stretch | None:
        """The first stretch of which events are still to come."""
        return self._open[0] if self._open else None

    def take(self, columns: Columns) -> None:
        """Add the events of sampled pulls among these, which are the next ones of the run."""
        looks = about_looks(columns["kind"])
        if looks.any():  # the header and the aggregate cost too much for a run of which no pull is sampled
            self._looks.append({name: columns[name][looks] for name in LOOK_COLUMNS})
        if not self._open:
            return
        columns = about_pulls(columns)
        for one in self._open:
            place = columns["pull"] - one.first
            inside = (place >= 0) & (place < one.count)
            if not inside.any():
                continue
            row = place[inside].astype(np.int64) + one.row
            chosen = _choose(columns, inside) | {"pull": row + 1}
            self.aggregate.add(chosen, one.weight)
            self.events += len(row)
            self._kept.add(chosen)
            one.closed += int(np.count_nonzero(chosen["kind"] == CLOSED))
        windowed = self.header.scenario.get("window") is not None  # parts may come after the closing
        latest = self._open[-1:] if windowed else []
        self._open = [one for one in self._open if one.closed < one.count or one in latest]

    def text(self, first: "SampledRun | None" = None) -> str | None:
        """The run as a page's script unpacks it; None if nothing of it is known yet.

        `first` is that run of the same number of which it is told where this one first decides otherwise.
        """
        if not self.events:
            return None
        while self._looks:
            self.aggregate.note_looks(self._looks.pop(0))
        if not self.complete:
            self._put_exact_counts()
        return live_text(
            self.aggregate,
            self._kept.parts(self._numbers()[: self.aggregate.pulls.count]),
            pulls=self.made,
            facts=header_facts(self.header),
            notes=[self._note()],
            sampled=not self.complete,
            divergence=None if first is None else self._parting(first),
        )

    def _parting(self, first: "SampledRun") -> dict[str, Any] | None:
        """Where this run first decides otherwise than another one; None if not among the first decisions."""
        pull = first_difference(*(np.concatenate([*one.early, np.zeros(0, dtype=np.int64)]) for one in (first, self)))
        return None if pull is None else parting(first.header, pull, float(self._times(np.array([pull]))[0]))

    def _put_exact_counts(self) -> None:
        """Replace the numbers of sampled pulls by those of all pulls, which are known: for allocation and regret."""
        rounds, totals = np.array([round for round, _ in self._trace]), np.array([counts for _, counts in self._trace])
        times = self._times(rounds)
        self.aggregate.reach(times)
        axis = self.aggregate.time
        edges = axis.origin + axis.width * np.arange(axis.used + 1)
        found = np.stack([np.interp(edges, times, of_arm) for of_arm in totals.T], axis=1)
        found[0] = 0  # what was before the first edge counts in the first bin
        self.aggregate.counts[: axis.used, :, PULL] = np.diff(found, axis=0)

    def _times(self, rounds: Ints) -> Floats:
        """When these rounds were: in a regular world at their numbers, else as the sampled pulls before and after."""
        if self._regular:
            return rounds.astype(np.float64)
        count = self.aggregate.pulls.count
        return np.interp(rounds, self._numbers()[:count], self.aggregate.pulls.time[:count])

    def _numbers(self) -> Ints:
        """The numbers of the sampled pulls."""
        return np.concatenate([np.arange(one.first, one.first + one.count) for one in self._stretches])

    def _note(self) -> str:
        seen = self.aggregate.pulls.count
        if self.complete:
            return f"All of the {counted(seen, 'decision')} so far are shown."
        return (
            f"Shown are {seen:,} of {counted(self.made, 'decision')}, in stretches of consecutive ones; each stands "
            f"for all since the last stretch, as more would slow the run down. Allocation and regret are those of all."
        )


def _choose(columns: Columns, inside: Bools) -> Columns:
    """The chosen events; columns with a row for each pull only have those of the chosen pulls."""
    pulls = inside[columns["kind"] == PULL]
    return {name: columns[name][pulls if COLUMN[name].per_pull else inside] for name in NEEDED if name in columns}
