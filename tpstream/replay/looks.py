"""Looks in the log of a trial: the policy is told of them as in the run, and they are computed again and compared."""

import math
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import numpy as np

from tpstream.log.contract import BrokenRule
from tpstream.looks.design import Design
from tpstream.looks.monitor import Monitor
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.events import KIND_NAMES, LOOK, PULL, Events, Kind, about_looks
from tpstream.model.interfaces import Policy
from tpstream.model.world import World
from tpstream.policies.runner import tell_look, tell_open_arms
from tpstream.run.looks import CUT, DECISION, TrialRun

COMPARED = ("kind", "pull", "time", "arm", "part", "value")
"""The columns that say what a look found and decided."""
ROUNDING = 1e-9
"""How far numbers of a look may be apart: regressions and distribution functions are rounded otherwise elsewhere."""


class ToldLooks:
    """Tells a policy of the looks in a log when the engine did: at the cut, and when it was decided."""

    def __init__(self, policy: Policy, cleaning: float) -> None:
        self._policy = policy
        self._cleaning = cleaning
        self._open = np.ones(len(policy.indices()), dtype=np.bool_)
        self._due = np.inf
        """When the last look is decided; infinite if it is."""

    def pieces(self, events: Events) -> Iterator[Events]:
        """The events of pulls, cut where the policy is told of a look, which is done between the pieces."""
        rows = np.flatnonzero(about_looks(events.kind))
        if not len(rows) and self._due == np.inf:
            yield events
            return
        groups = np.split(rows, np.flatnonzero(np.diff(events.pull[rows]) | np.diff(events.kind[rows])) + 1)
        first = 0
        for group in groups if len(rows) else []:
            yield from self._until(events, first, int(group[0]))
            self._take(events.take(group))
            first = int(group[-1]) + 1
        yield from self._until(events, first, len(events))

    def finish(self) -> None:
        """Tell of a decision after which nothing happened."""
        if self._due < np.inf:
            self._decide(self._due)

    def _until(self, events: Events, first: int, last: int) -> Iterator[Events]:
        """The events from `first` up to before `last`, among which it may be decided."""
        if self._due < np.inf:
            later = first + int(np.searchsorted(events.time[first:last], self._due, side="right"))
            if first < later:
                yield events.cut(first, later)
            if later < last:
                self._decide(self._due)
            first = later
        if first < last:
            yield events.cut(first, last)

    def _take(self, rows: Events) -> None:
        """Tell of a cut, or of arms that are closed."""
        time = float(rows.time[0])
        if rows.kind[0] == LOOK:
            self.finish()
            tell_look(self._policy, time, CUT)
            self._due = time + self._cleaning
        else:
            self._open[rows.arm] = False
            tell_open_arms(self._policy, self._open)
            self._decide(time)

    def _decide(self, time: float) -> None:
        self._due = np.inf
        tell_look(self._policy, time, DECISION)


class Announced:
    """Stands for the engine of a run whose looks are held again: keeps the events that would be published."""

    drops_arms = True

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self.rows: list[tuple[Any, ...]] = []
        """Of each event the columns to compare."""

    def announce(self, kind: Kind, look: int, arm: Ints, part: Ints, value: Floats) -> None:
        """Keep the events."""
        time = float((self._monitor.cuts if kind == LOOK else self._monitor.decisions)[look - 1])
        columns = (np.asarray(column).tolist() for column in (arm, part, np.asarray(value, dtype=np.float64)))
        self.rows += [(int(kind), look, time, *row) for row in zip(*columns, strict=True)]

    def tell_look(self, stage: int) -> None:
        """Nothing: there is no policy."""

    def set_open_arms(self, open_arms: Bools) -> None:
        """Nothing."""

    def end_recruitment(self) -> None:
        """Nothing: the log has what was decided."""


class LookAudit:
    """Holds the looks of a log's trial again, by the same monitor, and compares what they find and decide."""

    def __init__(self, design: Design, world: World) -> None:
        self._trial = TrialRun(design, world)
        self.equal = 0
        """How many looks were held again; all are equal."""

    @property
    def monitor(self) -> Monitor:
        """The monitor that holds them."""
        return self._trial.monitor

    def checked(self, batches: Iterable[Events], name: str, *, complete: bool) -> Iterator[Events]:
        """The same batches, each of which ends right before a decision; a look that differs is a LogError."""
        waiting: Events | None = None
        for events in batches:
            if waiting is not None:
                yield self._checked(waiting, _end_of(waiting), name)
            waiting = events
        if waiting is not None:
            yield self._checked(waiting, np.inf if complete else None, name)

    def _checked(self, events: Events, until: float | None, name: str) -> Events:
        broken = self.first_broken(events, until)
        if broken is not None:
            raise broken.error(name)
        return events

    def first_broken(self, events: Events, until: float | None) -> BrokenRule | None:
        """The first event about a look that is not as the events before it give; they must keep the contract.

        Everything up to the time `until` is there. None: the log is torn after these events, and the last of them may
        be the first ones of a look.
        """
        self._trial.monitor.hear(events)
        places = np.flatnonzero(about_looks(events.kind)).tolist()
        logged = [tuple(getattr(events, column)[place].item() for column in COMPARED) for place in places]
        found = Announced(self._trial.monitor)
        self._trial.hold(found, float(events.time[-1]) if until is None else until)
        for number, (there, here) in enumerate(zip_longest(logged, found.rows)):
            if not _agree(there, here) and not (until is None and there is None):
                place = places[number] if there is not None else len(events) - 1
                return BrokenRule(place, int(events.seq[place]), _text(there, here))
        self.equal = len(self._trial.monitor.looks)
        return None


def _end_of(events: Events) -> float:
    """The time up to which everything has happened if a decision comes next; it may be of the time of the last one."""
    last = float(events.time[-1])
    return float(np.nextafter(last, -np.inf)) if events.kind[-1] == PULL else last


def _agree(logged: tuple[Any, ...] | None, expected: tuple[Any, ...] | None) -> bool:
    """Whether an event about a look is the one that is computed again; its number up to rounding."""
    if logged is None or expected is None:
        return logged is expected
    there, here = logged[-1], expected[-1]
    near = math.isclose(there, here, rel_tol=ROUNDING, abs_tol=ROUNDING) or (math.isnan(there) and math.isnan(here))
    return near and logged[:-1] == expected[:-1]


def _text(logged: tuple[Any, ...] | None, expected: tuple[Any, ...] | None) -> str:
    """How an event about a look differs from what is computed again."""
    there, here = ("nothing" if row is None else _words(row) for row in (logged, expected))
    return f"the log has {there} where its events and the design give {here}"


def _words(row: tuple[Any, ...]) -> str:
    kind, look, time, arm, part, value = row
    return f"{KIND_NAMES[kind]} {look} at time {time}, arm {arm}, part {part}, value {value}"
