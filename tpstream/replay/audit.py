"""The audit of a log: its events keep the contract of order, and pay what its scenario and seed give.

Rewards drawn again: what a log says that pulls paid is compared with what its scenario and seed give.

Late parts are left out: nobody is credited with them, and their pull is settled.
"""

import numpy as np

from tpstream.engines.draws import Draws, DrawsReader
from tpstream.log.contract import BrokenRule, Checker
from tpstream.log.schema import Header
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.events import Event, Events, Kind
from tpstream.model.numba_support import compiled_loop
from tpstream.model.pull_rows import Ring
from tpstream.model.world import World

PULL, PARTIAL = 0, 1  # Kind's numbers; Numba wants plain ones


class Redraw:
    """Draws the rewards of every pull of a log, in order; the n-th pull of an arm pays the same under every policy."""

    def __init__(self, world: World) -> None:
        self._reader = DrawsReader(Draws(world))
        self._ring = Ring()
        self._rewards = np.zeros((1, world.problem.span))
        default = world.timing.default
        self._default = np.nan if default is None else default
        """What a missing part may be credited with instead."""

    def first_broken(self, events: Events) -> BrokenRule | None:
        """The first of the next events that pays something else; they must have passed the check of order."""
        self._draw(events)
        place = _first_difference(self._rewards, self._default, events.kind, events.pull, events.part, events.value)
        for pull in events.pull[events.kind == Kind.CLOSED].tolist():
            self._ring.release(pull)
        return None if place < 0 else self._describe(next(iter(events.take(slice(place, place + 1)))), int(place))

    def _draw(self, events: Events) -> None:
        is_pull = events.kind == Kind.PULL
        for pull, arm in zip(events.pull[is_pull].tolist(), events.arm[is_pull].tolist(), strict=True):
            before = self._ring.reserve(pull)
            if before != self._ring.capacity:
                self._rewards = self._ring.enlarge(self._rewards, before, pull)
            self._rewards[pull % self._ring.capacity] = self._reader.next_pull(arm).rewards

    def _describe(self, event: Event, place: int) -> BrokenRule:
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


class Audit:
    """Audits the consecutive batches of one log; values are drawn again where the world is known."""

    def __init__(self, header: Header, world: World | None) -> None:
        self._checker = Checker(header)
        self._redraw = None if world is None else Redraw(world)

    def sound(self, events: Events) -> tuple[Events, BrokenRule | None]:
        """The next events up to the first that cannot be trusted, and what is wrong with that one."""
        broken = self._checker.first_broken(events)
        if broken is not None:
            events = events.cut(0, broken.place)
        wrong = None if self._redraw is None else self._redraw.first_broken(events)
        return (events, broken) if wrong is None else (events.cut(0, wrong.place), wrong)

    def at_end(self, *, complete: bool) -> BrokenRule | None:
        """What is missing at the end of a log that claims to be complete."""
        return self._checker.at_end(complete=complete)
