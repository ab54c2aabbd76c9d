"""The memory and the columns of one world that is stepped from outside, held for compiled code."""

from typing import Any

import numpy as np

from tpstream.engines.compiled_engine import note_memory
from tpstream.engines.compiled_general import SLOTS_AT_FIRST
from tpstream.engines.compiled_general_loop import CURSOR, PENDING, ROUND, WRITTEN
from tpstream.engines.compiled_plain_loop import PlainMemory
from tpstream.engines.compiled_real_pulls import FLUSH, ROOM
from tpstream.engines.compiled_real_room import RealRoom
from tpstream.engines.compiled_stepping import TOLD
from tpstream.engines.draws import DrawsReader
from tpstream.engines.held_worlds import HeldWorld, hold
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import EngineError
from tpstream.model.events import COLUMN, EventColumns, empty_columns
from tpstream.model.world import World


class SteppedRoom(RealRoom):
    """Holds a world in one of the `places`, and gives a step what it returns for.

    `rows` is for how many events there is room at a time.
    """

    def __init__(self, world: World, reader: DrawsReader, places: Any, place: int, rows: int) -> None:
        note_memory(world.problem.arms, world.problem.span, world.timing.bytes_per_part)
        self._world = world
        self._reader = reader
        self._places, self._place = places, place
        self._rows = rows
        self._most = 3 * world.problem.span + 2
        self.hides = world.timing.reveal != "all"
        """Whether some events are not told."""
        self._cursor = np.zeros(CURSOR, dtype=np.int64)
        self._cursor[[ROUND, PENDING]] = 1, -1
        self._total = np.zeros(1)
        self._memory: Any = self._make_memory()
        self._plain = self._make_plain()
        if not world.timing.plain:
            self._add_slots(min(world.problem.horizon, SLOTS_AT_FIRST))
        self._columns = self._told = self._make_columns(0, hides=self.hides)
        self.renew()

    def __reduce__(self) -> Any:
        """Refuse to be copied: compiled code knows where the arrays are, and not where those of a copy would be."""
        raise EngineError(
            "a world between two steps cannot be copied; open it again with the same seed and make the same decisions"
        )

    def _make_plain(self) -> PlainMemory:
        """The memory of the paper's world, with the blocks of the other one; empty for all others."""
        problem, memory = self._world.problem, self._memory
        span = problem.span if self._world.timing.plain else 0
        return PlainMemory(
            pool=memory.pool,
            totals=memory.totals,
            sums=np.empty((0, 0, 1)),
            used=memory.used,
            arms=np.zeros(span, dtype=np.int64),
            rewards=np.zeros((0, span)),
            credits=np.zeros(span),
            groups=np.zeros((0, 1)),
            due=np.zeros((0, span)),
            logged=np.zeros((span, span)),
            horizon=problem.horizon,
        )

    @property
    def columns(self) -> EventColumns:
        """Where all events are written."""
        return self._columns

    @property
    def told(self) -> EventColumns:
        """Where the events are that are told."""
        return self._told if self.hides else self._columns

    @property
    def written(self) -> int:
        """How many events are in the columns."""
        return int(self._cursor[WRITTEN])

    @property
    def told_so_far(self) -> int:
        """How many of them are told."""
        return int(self._cursor[TOLD if self.hides else WRITTEN])

    @property
    def times(self) -> Floats:
        """When the decisions are due."""
        times: Floats = self._memory.times
        return times

    @property
    def sites(self) -> Ints | None:
        """At which site each decision is due, where there are any."""
        return self._sites

    @property
    def total(self) -> float:
        """What the last pull pays in total."""
        return float(self._total[0])

    def serve(self, answer: int, first: int = 0, told: int = 0) -> None:
        """Give a step what it returned for; events from `first` on, and the told ones from `told` on, are kept."""
        if answer == FLUSH:
            self.renew(first, told)
        elif answer == ROOM:
            self._make_room()
            self._hold()
        else:
            self._refill(answer)

    def renew(self, first: int = 0, told: int = 0) -> None:
        """Take fresh columns, with the events from `first` on, and the told ones from `told` on, at their start."""
        kept = self.written - first
        rows = max(self._rows, 2 * (kept + self._most))
        if self.hides:
            # All that fits into the other columns may be told, besides what is kept here.
            end = int(self._cursor[TOLD])
            self._told = self._moved(self._told, told, end, end - told + rows, hides=False)
            self._cursor[TOLD] = end - told
        self._columns = self._moved(self._columns, first, self.written, rows, hides=self.hides)
        self._cursor[WRITTEN] = kept
        self._hold()

    def _moved(self, old: EventColumns, first: int, end: int, rows: int, *, hides: bool) -> EventColumns:
        """Fresh columns with these events of others."""
        fresh = self._make_columns(rows, hides=hides)
        for name, column in old._asdict().items():
            if name != "seq" and len(column) and not COLUMN[name].per_pull:
                getattr(fresh, name)[: end - first] = column[first:end]
        return fresh

    def _make_columns(self, rows: int, *, hides: bool) -> EventColumns:
        return empty_columns(rows, 0, self._world.problem.arms, ("shown",) if hides else ())

    def _hold(self) -> None:
        """Let compiled code know where everything is."""
        hold(
            self._places,
            self._place,
            HeldWorld(self._memory, self._plain, self._columns, self._told, self._cursor, self._total),
        )
