"""Many worlds whose decisions are made outside, stepped at once by one call of compiled code."""

from collections.abc import Iterable

import numpy as np

from tpstream.engines import compiled_stepping
from tpstream.engines.compiled_real_pulls import DONE
from tpstream.engines.compiled_stepped_room import SteppedRoom
from tpstream.engines.compiled_stepping import SKIP, Arrivals
from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.engine import choose, timing_obstacle
from tpstream.engines.held_worlds import make_places
from tpstream.model.arrays import Bools, Ints
from tpstream.model.world import Problem, Timing, World
from tpstream.policies.loader import load_without_policy

SHOWN = 5
"""How many of the fields of Arrivals have room for single arrivals; the others are sums."""


class SteppedWorlds:
    """So many worlds of one problem; each has to be opened before it is stepped.

    After a step there is room for that many `arrivals` of each world; those beyond are counted and added up.
    """

    def __init__(self, worlds: int, problem: Problem, timing: Timing, arrivals: int) -> None:
        choose("compiled", lambda: timing_obstacle(timing, stepped=True))
        self._arms = problem.arms
        self._horizon = problem.horizon
        self._rows = 4 * problem.span + 16
        self._places = make_places(worlds)
        self._rooms: list[SteppedRoom | None] = [None] * worlds
        self._answer = np.zeros(1, dtype=np.int64)
        self._step = load_without_policy(compiled_stepping).step_worlds
        self.seen = Arrivals(
            pull=np.zeros((worlds, arrivals), dtype=np.int64),
            arm=np.zeros((worlds, arrivals), dtype=np.int64),
            part=np.zeros((worlds, arrivals), dtype=np.int64),
            value=np.zeros((worlds, arrivals)),
            age=np.zeros((worlds, arrivals)),
            arrived=np.zeros(worlds, dtype=np.int64),
            counts=np.zeros((worlds, self._arms), dtype=np.int64),
            sums=np.zeros((worlds, self._arms)),
            time=np.zeros(worlds),
            received=np.zeros(worlds),
            total=np.zeros(worlds),
            done=np.ones(worlds, dtype=np.bool_),
        )
        """What is seen of the worlds now; the arrays of each step are new ones, and stay as they are."""

    def open(self, rows: Ints, worlds: Iterable[World]) -> None:
        """Put new worlds in the places of these rows; nothing is seen of them but the time of their first decisions."""
        self.seen = Arrivals._make([column.copy() for column in self.seen])
        for column in self.seen:
            column[rows] = 0
        for row, world in zip(rows.tolist(), worlds, strict=True):
            room = SteppedRoom(world, DrawsReader(Draws(world)), self._places, row, self._rows)
            self._rooms[row] = room
            self.seen.time[row] = room.times[0]

    def step(self, arms: Ints, which: Bools) -> Arrivals:
        """Pull an arm in every world of which `which` is true; what is seen of the others stays."""
        pulled, before = arms.copy(), self.seen
        if which.all():
            fresh = [np.zeros_like(column) for column in before[:SHOWN]]
        else:
            pulled[~which] = SKIP
            fresh = [np.where(which[:, np.newaxis], np.zeros((), column.dtype), column) for column in before[:SHOWN]]
        self.seen = Arrivals._make([*fresh, *(column.copy() for column in before[SHOWN:])])
        first = 0
        while (first := int(self._step(self._places, first, pulled, self.seen, self._answer))) != DONE:
            room = self._rooms[first]
            assert room is not None  # noqa: S101 (for mypy: every world that is pulled is open)
            room.serve(int(self._answer[0]))
            pulled[first] = -1
        return self.seen
