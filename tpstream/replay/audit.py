"""The audit of a log: its events keep the contract of a log, and pay what its scenario and seed give.

Rewards are drawn again and compared with the logged ones where the world is known. Late parts are left out of that:
nothing is credited for them, and their pull is closed.
"""

from collections.abc import Iterator

import numpy as np

from tpstream.engines.draws import Draws, DrawsReader
from tpstream.log.contract import BrokenRule, Checker
from tpstream.log.reader import Log
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.events import PARTIAL, PULL, Event, Events, Kind
from tpstream.model.notes import package_versions
from tpstream.model.numba_support import compiled_loop
from tpstream.model.pull_rows import Ring, check_room
from tpstream.model.world import World


def audited(log: Log, world: World | None) -> Iterator[Events]:
    """The batches of a log; the first event that cannot be trusted is a LogError after the events before it.

    Rewards are drawn again if the world is given.
    """
    checker = Checker(log.header)
    redraw = None if world is None else Redraw(world)
    for batch in log.batches():
        events, broken = batch, checker.first_broken(batch)
        if broken is not None:
            events = events.cut(0, broken.place)
        wrong = None if redraw is None else redraw.first_broken(events)
        if wrong is not None:
            events, broken = events.cut(0, wrong.place), wrong
        yield events
        if broken is not None:
            raise broken.error(_name(log, world))
    missing = checker.at_end(complete=log.complete)
    if missing is not None:
        raise missing.error(_name(log, world))


def _name(log: Log, world: World | None) -> str:
    """The log's name for errors, with what explains numbers: versions of packages, events that are not in the file."""
    here, there = package_versions(), log.header.versions
    others = [f"{name} {there[name]} (here {here[name]})" for name in here if there.get(name, here[name]) != here[name]]
    facts = [f"written with {', '.join(others)}"] if others and world is not None else []
    facts += ["sparse; events are counted with its zeros"] if log.header.sparse else []
    return f"{log.path} ({'; '.join(facts)})" if facts else str(log.path)


class Redraw:
    """Draws the rewards of every pull of a log, in order; the n-th pull of an arm pays the same under every policy."""

    def __init__(self, world: World) -> None:
        self._reader = DrawsReader(Draws(world))
        self._ring = Ring()
        self._rewards = np.zeros((1, world.problem.span))
        default = world.timing.default
        self._default = np.nan if default is None else default
        """What a missing part may be credited with instead; NaN: nothing."""

    def first_broken(self, events: Events) -> BrokenRule | None:
        """The first of the next events that pays something else; they must keep the contract."""
        self._draw(events)
        place = _first_difference(self._rewards, self._default, events.kind, events.pull, events.part, events.value)
        for pull in events.pull[events.kind == Kind.CLOSED].tolist():
            self._ring.release(pull)
        return None if place < 0 else self._describe(next(iter(events.cut(place, place + 1))), int(place))

    def _draw(self, events: Events) -> None:
        """Draw the rewards of the pulls among these events."""
        is_pull = events.kind == Kind.PULL
        for pull, arm in zip(events.pull[is_pull].tolist(), events.arm[is_pull].tolist(), strict=True):
            before = self._ring.reserve(pull)
            if before != self._ring.capacity:
                size = self._rewards.shape[1] * self._rewards.itemsize
                check_room("the rewards of a log", self._ring.capacity, size, "open pulls")
                self._rewards = self._ring.enlarge(self._rewards, before, pull)
            self._rewards[pull % self._ring.capacity] = self._reader.next_pull(arm).rewards

    def _describe(self, event: Event, place: int) -> BrokenRule:
        """What the event says, and what was drawn instead."""
        row = self._rewards[event.pull % self._ring.capacity]
        part = event.kind == "partial"
        drawn = row[event.part - 1] if part else np.add.accumulate(row)[-1]
        what = f"part {event.part} of pull {event.pull}" if part else f"the total shown at pull {event.pull}"
        text = f"{what} is {event.value}, but the scenario and the seed of the header give {drawn}"
        return BrokenRule(place, event.seq, text)


@compiled_loop
def _first_difference(rewards: Floats, default: float, kind: Bytes, pull: Ints, part: Ints, value: Floats) -> int:
    """The place of the first part or shown total that is not the drawn one, or -1."""
    capacity, span = rewards.shape
    for event in range(kind.size):
        row = pull[event] % capacity
        if kind[event] == PARTIAL and value[event] != rewards[row, part[event] - 1] and value[event] != default:
            return event
        if kind[event] == PULL and not np.isnan(value[event]):
            total = 0.0
            for j in range(span):
                total += rewards[row, j]
            if value[event] != total:
                return event
    return -1
