"""A run of the compiled engine with delays, windows or a log: drives its loop and hands the events to the bus."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tpstream.engines import compiled_general_loop as loop
from tpstream.engines.compiled_engine import CompiledRun
from tpstream.engines.draws import LONGEST_REACH, put_block, too_far
from tpstream.engines.event_buffers import ROWS, EventBuffers
from tpstream.model.arrays import Ints
from tpstream.model.errors import EngineError
from tpstream.model.pull_rows import longer, with_longer
from tpstream.model.world import BLOCK
from tpstream.policies.loader import load_for
from tpstream.policies.runner import PER_SLOT, needs_rows

SLOTS_AT_FIRST = 512
"""Room for so many open pulls, or for all pulls of a shorter run; to enlarge it costs as much as dozens of pulls."""
FARTHEST = 2**40
"""Longer delays, in rounds, are cut to this: no run is that long."""


class GeneralRun(CompiledRun):
    """Calls the loop, and gives it what it returns for: blocks of draws, room for events, more memory."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._per_slot = (*self._policy.per_pull, *self._policy.queues)
        self._run: Any = None
        self._cursor[loop.FREE] = -1
        self._sites: Ints | None = None
        self._memory: Any = self._make_memory()

    def _load(self, *, probabilities: bool) -> Any:
        """The loop with the policy's functions inside."""
        return load_for(self._policy, loop, self._state, probabilities=probabilities).run_general

    def _make_memory(self) -> Any:
        """What the loop remembers, before the first round."""
        problem, timing = self._world.problem, self._world.timing
        return loop.LoopMemory(
            horizon=problem.horizon,
            rows=0,
            drain=self._world.drain,
            window=-1 if timing.window is None else int(timing.window),
            default=np.nan if timing.default is None else timing.default,
            pool=np.empty((problem.arms, BLOCK, problem.span)),
            totals=np.empty((problem.arms, BLOCK)),
            delays=self._make_delays(),
            calendar=np.zeros(0, dtype=np.int64),
            plan=np.zeros(problem.span, dtype=np.int64),
            used=np.full(problem.arms, BLOCK),
            pulls=np.zeros(0, dtype=np.int64),
            arms=np.zeros(0, dtype=np.int64),
            left=np.zeros(0, dtype=np.int64),
            rewards=np.zeros((0, problem.span)),
            credited=np.zeros(0),
            vacant=np.zeros(0, dtype=np.int64),
            node_slot=np.zeros(0, dtype=np.int64),
            node_code=np.zeros(0, dtype=np.int64),
            node_next=np.zeros(0, dtype=np.int64),
            head=np.zeros(1, dtype=np.int64),
            tail=np.zeros(1, dtype=np.int64),
            length=np.zeros(1, dtype=np.int64),
        )

    def round_batches(self, length: int, optional: tuple[str, ...]) -> Iterator[Ints]:
        """Run all rounds, and the rest of the open pulls if the world is drained; yields the arms of each batch."""
        horizon, cursor = self._world.problem.horizon, self._cursor
        self._open(optional)
        for first in range(1, horizon + 1, length):
            cursor[loop.LAST] = min(first + length - 1, horizon)
            decisions = np.empty(cursor[loop.LAST] - first + 1, dtype=np.int64)
            self._advance(decisions)
            yield decisions
        while self._world.drain and cursor[loop.OPEN] > 0:
            cursor[loop.LAST] += length
            self._advance(np.empty(0, dtype=np.int64))
        self._publish()

    def _open(self, optional: tuple[str, ...]) -> None:
        """Load the loop, and make room for events, with these optional columns, and for open pulls."""
        hidden = ("shown",) if self._world.timing.reveal != "all" else ()
        self._buffers = EventBuffers(self._bus, self._world.problem, (*optional, *hidden), self._sites)
        self._run = self._load(probabilities="probabilities" in optional)
        self._memory = self._memory._replace(rows=ROWS if optional else 0)
        self._add_slots(min(self._world.problem.horizon, SLOTS_AT_FIRST))

    def _call(self, decisions: Ints) -> int:
        """Run the loop until it returns for something."""
        given = self._state, self._held, self._subscriptions, self._memory, self._buffers.columns
        return int(self._run(*given, self._cursor, decisions))

    def _refill(self, arm: int) -> None:
        """Give an arm its next block."""
        block, first = put_block(self._reader, arm, self._memory)
        if block.schedule is not None:
            offsets = np.minimum(block.schedule.offsets, FARTHEST)
            self._memory.delays[arm, first:] = np.where(block.schedule.lost, -1 - offsets, offsets)

    def _make_delays(self) -> Ints:
        """Room for the delays of the arms' blocks, or the one row of delays of the paper's world."""
        problem = self._world.problem
        if not self._world.timing.delays:
            return self._world.timing.nominal(problem.span).astype(np.int64).reshape(1, 1, -1)
        # One row means that all pulls have the same delays; so a single arm gets a second, unused row.
        return np.zeros((max(problem.arms, 2), BLOCK, problem.span), dtype=np.int64)

    def _serve(self, answer: int) -> None:
        """Give the loop what it returned for, which may be more memory."""
        if answer == loop.ROOM:
            self._make_room()
        else:
            super()._serve(answer)

    def _make_room(self) -> None:
        """Enlarge whatever is too small for the pull that is to be made."""
        memory, cursor, need = self._memory, self._cursor, 2 * self._world.problem.span + 1
        if cursor[loop.SLOTS] == 0:
            self._add_slots(len(memory.pulls))
        if cursor[loop.NODES] < need:
            self._add_nodes(max(len(memory.node_slot), need))
        reach = self._reach(int(cursor[loop.PENDING]), int(cursor[loop.ROUND]))
        if reach >= len(memory.head):
            self._add_rounds(2 ** int(reach + 1).bit_length())

    def _reach(self, arm: int, round: int) -> int:
        """Rounds to the last delivered part of the arm's next pull; a calendar that is too short is extended."""
        memory = self._memory
        delays = memory.delays[arm, memory.used[arm]] if len(memory.delays) > 1 else memory.delays[0, 0]
        dues = np.where(delays < 0, -1 - delays, delays)
        if not self._world.drain:
            dues = np.minimum(dues, memory.horizon - round)
        last = round + int(dues.max())
        if last - round > LONGEST_REACH:
            raise too_far(last - round)
        if self._world.timing.calendar is None:
            return last - round
        if last >= len(memory.calendar):
            rounds = np.arange(2 * last + 1, dtype=np.float64)
            times = self._world.timing.calendar.reported(rounds)
            if not np.array_equal(times, np.floor(times)):
                raise EngineError("the calendar says that it keeps times whole, and does not; use the SimPy engine")
            self._memory = memory._replace(calendar=np.minimum(times, FARTHEST).astype(np.int64))
        reported = int(self._memory.calendar[round + dues].max())
        if self._world.drain and reported - round > LONGEST_REACH:
            raise too_far(reported - round)
        return (reported if self._world.drain else min(reported, memory.horizon)) - round

    def _add_slots(self, more: int) -> None:
        """Room for more open pulls."""
        memory, cursor = self._memory, self._cursor
        count = len(memory.pulls)
        names = ("pulls", "arms", "left", "rewards", "credited", "vacant")
        self._memory = memory._replace(**{name: longer(getattr(memory, name), more) for name in names})
        self._memory.vacant[cursor[loop.SLOTS] : cursor[loop.SLOTS] + more] = np.arange(count, count + more)
        cursor[loop.SLOTS] += more
        self._state = with_longer(self._state, self._per_slot, count + more)
        if needs_rows(self._subscriptions):
            self._subscriptions = with_longer(self._subscriptions, PER_SLOT, count + more)

    def _add_nodes(self, more: int) -> None:
        """Room for more nodes; the new ones are put before the free ones."""
        memory, cursor = self._memory, self._cursor
        count = len(memory.node_slot)
        names = ("node_slot", "node_code", "node_next")
        self._memory = memory._replace(**{name: longer(getattr(memory, name), more) for name in names})
        self._memory.node_next[count:] = np.arange(count + 1, count + more + 1)
        self._memory.node_next[-1] = cursor[loop.FREE]
        cursor[loop.FREE] = count
        cursor[loop.NODES] += more

    def _add_rounds(self, size: int) -> None:
        """Room for the lists of later rounds; each list keeps its nodes and gets another place."""
        memory, round = self._memory, int(self._cursor[loop.ROUND])
        rounds = np.arange(round, round + len(memory.head))
        rings = {}
        for name in ("head", "tail", "length"):
            old, new = getattr(memory, name), np.zeros(size, dtype=np.int64)
            new[rounds % size] = old[rounds % len(old)]
            rings[name] = new
        self._memory = memory._replace(**rings)
