"""Runs that are watched: what a live page is told of them while they go on, and how it stops them.

A run is sampled at a cost that is limited (see view/sampling.py): from its events, where it makes any, and in the
paper's world, where the compiled loop makes none, from its pulls and the blocks of draws that they are paid by. The
page is in the process of the command; runs reach it, from any process of this machine, over the loopback address.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from http.client import HTTPConnection, HTTPException
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.analysis.regret import pseudo_regret
from tpstream.engines.draws import Block, Draws, DrawsReader
from tpstream.engines.engine import Bus, Engine
from tpstream.log.schema import Header
from tpstream.model.arrays import Ints
from tpstream.model.events import CLOSED, PARTIAL, PULL, Columns, Events, about_looks
from tpstream.model.world import BLOCK, Problem, World
from tpstream.view.aggregate import NEEDED
from tpstream.view.sampling import LENGTH, Budget, SampledRun

PERIOD = 0.5
"""Seconds between two messages to the page."""
PICTURE_SECONDS = 1.0
"""Seconds between two pictures of the runs, at least."""
PICTURE_SHARE = 0.004
"""Of the time that runs take, what may be spent on pictures; they come less often if they cost more."""
WATCH_SECONDS = 1.0
"""Seconds between the beginnings of two runs that are watched, at least: a study may have hundreds in a second."""
PATIENCE = 5.0
"""Seconds in which the page must answer."""
GATHERED = 20_000
"""Events that are gathered before they are looked at, if they come in small batches."""
ROOM = 4096
"""Events for which there is room at first."""
PER_BATCH = 1e-5
"""Seconds that it costs to hand over a batch of events and to keep it: SimPy makes one in every round."""
AHEAD = 2
"""Batches of rounds for which a sample is planned: the next one may be longer than the last."""
NAME = "live page"
"""What the bus calls the subscriber."""


class WaitingEvents:
    """Small batches of events one after the other in arrays that are used again: keeping each would cost more."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}
        self._rows: dict[str, int] = {}

    @property
    def count(self) -> int:
        """How many events wait."""
        return self._rows.get("kind", 0)

    def add(self, columns: Columns) -> None:
        """Add the next events."""
        for name in NEEDED:
            rows = columns.get(name)
            if rows is None:
                continue
            first = self._rows.get(name, 0)
            last = self._rows[name] = first + len(rows)
            array = self._arrays.get(name)
            if array is None or last > len(array):
                array = self._arrays[name] = self._longer(name, rows, last)
            array[first:last] = rows

    def _longer(self, name: str, rows: NDArray[Any], least: int) -> NDArray[Any]:
        longer = np.empty((max(2 * least, ROOM), *rows.shape[1:]), dtype=rows.dtype)
        before = self._arrays.get(name)
        if before is not None:
            longer[: len(before)] = before
        return longer

    def columns(self) -> Columns:
        """All that wait, as columns; only until more are added."""
        return {name: array[: self._rows[name]] for name, array in self._arrays.items()}

    def clear(self) -> None:
        """Forget them."""
        self._rows = dict.fromkeys(self._rows, 0)


class EventWatcher:
    """Samples a run by its events: it subscribes to the bus while events of sampled pulls are to come.

    In a trial with looks it stays subscribed, so that no look is missed; its events are made in any case.
    """

    borrows = True

    def __init__(self, sampled: SampledRun, bus: Bus, *, looks: bool = False) -> None:
        self._sampled, self._bus, self._looks = sampled, bus, looks
        self._waiting = WaitingEvents()
        self._batches = 0
        self._subscribed = False
        self._begins = self._ends = 0
        """The rounds in which the earliest stretch begins, and ends where nothing is delayed."""
        self._plan(sampled.horizon)

    def hear(self, events: Events) -> None:
        """Take the next events; small batches are gathered."""
        round = int(events.round[-1])
        wanted = self._sampled.waits and (events.borrowed or round >= self._begins)
        if not wanted and not (self._looks and about_looks(events.kind).any()):
            return
        if events.borrowed:  # many at a time
            self._look()
            self._take(events.columns(), 1)
            return
        self._batches += 1
        self._waiting.add(events.columns())
        if self._waiting.count >= GATHERED or round == self._ends:
            self._look()

    def add(self, arms: Ints) -> None:
        """Take the arms of the next rounds, which were counted; then the sample of the next ones is planned."""
        self._look()
        self._sampled.made = self._sampled.round
        self._plan(len(arms) * AHEAD)

    def finish(self) -> None:
        """Take what came after the last round."""
        self._look()

    def _plan(self, pulls: int) -> None:
        """Choose which of the next pulls, about this many, are to be in the sample."""
        sampled = self._sampled
        for stretch in sampled.plan(sampled.round + 1, min(sampled.round + pulls, sampled.horizon)):
            sampled.begin(*stretch)
        self._note_earliest()
        needed = sampled.waits or self._looks
        if needed and not self._subscribed:
            self._bus.subscribe(NAME, self)
        elif self._subscribed and not needed:
            self._bus.unsubscribe(NAME)
        self._subscribed = needed

    def _look(self) -> None:
        """Add the events that were gathered, if they are of sampled pulls."""
        if self._waiting.count:
            self._take(self._waiting.columns(), self._batches)
            self._waiting.clear()
            self._batches = 0

    def _take(self, columns: Columns, batches: int) -> None:
        sampled, before = self._sampled, self._sampled.events
        with sampled.budget.spend(PER_BATCH * batches) as spent:
            sampled.take(columns)
            spent.events = sampled.events - before
        self._note_earliest()

    def _note_earliest(self) -> None:
        one = self._sampled.earliest
        if one is not None:
            self._begins, self._ends = one.first, one.first + one.count - 1 + self._sampled.span


class RecentBlocks(DrawsReader):
    """Hands a policy its draws, and keeps of every arm the last two blocks with their numbers."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws)
        self._last: list[Block | None] = [None] * draws.world.problem.arms
        self._before = list(self._last)

    def next_block(self, arm: int) -> Block:
        """The arm's next block of pulls."""
        block = super().next_block(arm)
        self._before[arm], self._last[arm] = self._last[arm], block
        return block

    def rewards(self, arm: int, number: int) -> Any:
        """What the arm's pull of this number, from 0, pays part by part; it must be one of the last 256."""
        block = self._last[arm] if number // BLOCK == self._number[arm] - 1 else self._before[arm]
        assert block is not None  # noqa: S101 (the pull was made)
        return block.rewards[number % BLOCK]


class PullWatcher:
    """Samples a run of the paper's world by its pulls; part j of the pull of round t is credited in round t + j - 1."""

    def __init__(self, sampled: SampledRun, reader: RecentBlocks) -> None:
        self._sampled, self._reader = sampled, reader
        self._coming: Columns | None = None

    def add(self, arms: Ints) -> None:
        """Take the arms of the next rounds, which were counted."""
        sampled = self._sampled
        sampled.made = sampled.round
        if self._coming is None:
            count = min(LENGTH, len(arms))
            last = sampled.made
            for first, number in sampled.plan(last - count + 1, last)[-1:]:
                with sampled.budget.spend() as spent:
                    sampled.begin(first, number)
                    self._coming = self._events(first, number, arms[-number:])
                    spent.events = self._take_arrived()
        else:
            with sampled.budget.spend() as spent:
                spent.events = self._take_arrived()

    def finish(self) -> None:
        """Take what comes after the last round, if the world is drained."""
        if self._coming is not None and self._sampled.header.scenario.get("drain"):
            self._take_arrived(until=np.inf)

    def _take_arrived(self, until: float | None = None) -> int:
        """Add what happened up to a time, by default that of the last round, and say how many events that were."""
        assert self._coming is not None  # noqa: S101 (else it is not called)
        coming = self._coming
        arrived = int(np.searchsorted(coming["time"], self._sampled.made if until is None else until, side="right"))
        self._sampled.take({name: rows[:arrived] for name, rows in coming.items()})
        left = arrived < len(coming["time"])
        self._coming = {name: rows[arrived:] for name, rows in coming.items()} if left else None
        return arrived

    def _events(self, first: int, count: int, arms: Ints) -> Columns:
        """All events of these pulls, the last ones that were made, in order of time."""
        span = self._sampled.span
        number = self._sampled.totals.copy()
        values = np.empty((count, span))
        for place in range(count - 1, -1, -1):
            number[arms[place]] -= 1
            values[place] = self._reader.rewards(int(arms[place]), int(number[arms[place]]))
        made = np.arange(first, first + count)
        parts = np.arange(1, span + 1)
        kinds = np.concatenate([[PULL], np.full(span, PARTIAL), [CLOSED]])
        times = np.concatenate([[0], parts - 1, [span - 1]]) + made[:, np.newaxis]
        paid = np.concatenate([np.full((count, 1), np.nan), values, values.sum(axis=1, keepdims=True)], axis=1)
        order = np.argsort(times.ravel(), kind="stable")
        columns = {
            "time": times.astype(np.float64),
            "kind": np.broadcast_to(kinds, times.shape),
            "pull": np.broadcast_to(made[:, np.newaxis], times.shape),
            "arm": np.broadcast_to(arms[:, np.newaxis], times.shape),
            "part": np.broadcast_to(np.concatenate([[0], parts, [0]]), times.shape),
            "value": paid,
        }
        return {name: rows.ravel()[order] for name, rows in columns.items()}


class WatchedRun:
    """One policy's run that a page is told of."""

    def __init__(self, label: str, world: World, describe: Callable[[], Header], budget: Budget, sharers: int) -> None:
        problem = world.problem
        self.run = world.run
        self.sampled = SampledRun(problem.span, problem.horizon, problem.arms, describe, budget, sharers)
        self._label, self._means = label, np.array(problem.means)
        self.pictured = 0
        """Events that were in the last picture."""
        self._watcher: EventWatcher | PullWatcher | None = None

    def attach(self, engine: Engine, reader: DrawsReader, *, looks: bool = False) -> None:
        """Choose how the run is sampled; to be called when all others have subscribed to the bus.

        `looks`: whether it is a trial with looks, whose monitor will subscribe yet.
        """
        if engine.makes_events or looks:
            self._watcher = EventWatcher(self.sampled, engine.bus, looks=looks)
        elif isinstance(reader, RecentBlocks):
            self._watcher = PullWatcher(self.sampled, reader)

    def add(self, arms: Ints) -> None:
        """Take the arms that were pulled in the next rounds."""
        self.sampled.count(arms)
        if self._watcher is not None:
            self._watcher.add(arms)

    def finish(self) -> None:
        """Take what came after the last round."""
        if self._watcher is not None:
            self._watcher.finish()

    def news(self) -> dict[str, Any]:
        """How far the run is, and its regret up to there."""
        regret = float(pseudo_regret(self.sampled.totals, self._means))
        return {"policy": self._label, "run": self.run, "round": self.sampled.round, "regret": regret}


class LiveLink:
    """The way to a live page, which also travels to worker processes.

    Parameters
    ----------
    port
        Where the page listens, on the loopback address.
    token
        What the page asks of everyone who talks to it.
    """

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._budget = Budget()
        self._runs: dict[str, WatchedRun] = {}
        self._before: dict[str, WatchedRun] = {}
        """Of every policy the last run but one, if it was sampled: it is shown until the new one is."""
        self._finished: list[Mapping[str, Any]] = []
        self._looked_at = self._stop = self._lost = False
        self._sent = self._pictured = self._began = -np.inf
        self._horizon = 0
        """Of the last run that was watched."""
        self._chosen: tuple[int, Problem, bool] | None = None
        """The last run that was begun, and whether it is watched."""
        self._pause = PICTURE_SECONDS
        self._has_drawn = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Every process has one link to a page."""
        return open_link, (self._port, self._token)

    def watch(self, label: str, world: World, describe: Callable[[], Header]) -> WatchedRun | None:
        """A new run of a policy, which takes the place of its last one; `describe` makes its header.

        None if it need not be watched: runs that are over at once are more than anyone can see. All policies of a run
        are watched, or none of those that were watched before.
        """
        if not self._chooses(world) and label in self._runs:
            return None
        last = self._runs.get(label)
        if last is not None and last.sampled.shown:
            self._before[label] = last
        self._runs[label] = WatchedRun(label, world, describe, self._budget, max(len(self._runs), 1))
        return self._runs[label]

    def _chooses(self, world: World) -> bool:
        """Whether the policies of this world's run are watched, which is decided once."""
        if self._chosen is None or (world.run, world.problem) != self._chosen[:2]:  # comparing problems takes longest
            now, horizon = time.monotonic(), world.problem.horizon
            watched = now - self._began >= WATCH_SECONDS or horizon > self._horizon
            if watched:
                self._began, self._horizon = now, horizon
            self._chosen = (world.run, world.problem, watched)
        return self._chosen[2]

    def finished(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Tell of runs that are done: their policy and their numbers."""
        self._finished.extend(results)

    def stopped(self) -> bool:
        """Whether the page asked to stop; tells it at the same time how far the runs are, if it is time to."""
        if time.monotonic() - self._sent >= PERIOD:
            self.send()
        return self._stop

    def send(self, *, picture: bool = False) -> None:
        """Tell the page how far the runs are, with a picture of each if someone looks and it is time for one."""
        if self._lost:
            return
        message: dict[str, Any] = {
            "runs": [one.news() for one in list(self._runs.values())],
            "finished": self._finished,
        }
        began = time.process_time()
        if self._looked_at and (picture or time.monotonic() - self._pictured >= self._pause):
            message["pictures"] = list(filter(None, map(self._picture, list(self._runs))))
        self._finished = []
        self._exchange(message)
        self._sent = time.monotonic()
        if "pictures" in message:
            self._pictured = self._sent
            if self._has_drawn:  # the first time, modules are loaded
                self._pause = max(PICTURE_SECONDS, (time.process_time() - began) / PICTURE_SHARE)
            self._has_drawn = self._has_drawn or bool(message["pictures"])

    def _picture(self, policy: str) -> dict[str, Any] | None:
        """A picture of the last run of a policy of which something is known; None if it is the same as before."""
        for run in (self._runs[policy], self._before.get(policy)):
            known = 0 if run is None else run.sampled.shown
            if run is not None and known:
                new, run.pictured = known > run.pictured, known
                first = next(iter(self._runs.values()))
                beside = first.sampled if first is not run and first.run == run.run else None
                return {"policy": policy, "run": run.run, "text": run.sampled.text(beside)} if new else None
        return None

    def _exchange(self, message: Mapping[str, Any]) -> None:
        """Send a message; a page that does not answer, since it is on another machine or gone, is not asked again."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request("POST", "/feed", json.dumps(message), {"X-Token": self._token})
            answer = connection.getresponse()
            found = json.loads(answer.read())
            self._looked_at, self._stop = bool(found["looked_at"]), bool(found["stop"])
        except (OSError, HTTPException, ValueError, KeyError):
            self._lost = True
        finally:
            connection.close()


@lru_cache(maxsize=8)
def open_link(port: int, token: str) -> LiveLink:
    """The link of this process to that page."""
    return LiveLink(port, token)
