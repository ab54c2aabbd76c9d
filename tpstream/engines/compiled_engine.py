"""The compiled engine: the same policies, streams and events as SimPy's, in a compiled loop over rounds.

The paper's world without a log has a loop of its own, which is driven here; compiled_general.py drives the other one.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from tpstream.engines import compiled_plain_loop
from tpstream.engines.compiled_general import GeneralRun
from tpstream.engines.compiled_plain_loop import DONE, PlainMemory
from tpstream.engines.draws import DrawsReader, fill_sums
from tpstream.engines.engine import Bus
from tpstream.model.arrays import Ints
from tpstream.model.errors import EngineError
from tpstream.model.notes import logger
from tpstream.model.numba_support import hold_stream
from tpstream.model.world import BLOCK, Purpose, World, open_stream
from tpstream.policies.base import Parameters, SharedPolicy
from tpstream.policies.diagnosis import raise_error
from tpstream.policies.functions import check_arm, check_decision
from tpstream.policies.loader import load_for
from tpstream.policies.runner import init_state, make_subscriptions
from tpstream.timing.pipeline import ROUNDS_PER_BATCH

LARGE = 2**30
"""From this many bytes on, a note says how much memory the blocks of rewards take."""


@lru_cache(maxsize=64)
def note_memory(arms: int, span: int) -> None:
    """Say, before it is taken, how much memory the blocks of rewards take; refuse what no machine has."""
    needed = arms * BLOCK * span * np.dtype(np.float64).itemsize
    said = f"{arms:,} arms x {BLOCK} pulls x span {span:,} x 8 bytes"
    if needed >= LARGE:
        logger().warning(
            "the blocks of rewards take much memory",
            gigabytes=round(needed / 1e9, 1),
            sum=said,
            remedy="fewer arms or a shorter span; each worker process takes as much",
        )
    try:
        np.empty(needed // 8)
    except MemoryError:
        raise EngineError(
            f"the blocks of rewards take {needed / 1e9:,.1f} GB ({said}), which this machine does not have; "
            f"use fewer arms or a shorter span"
        ) from None


class CompiledEngine:
    """One run of a world under a policy in the shared form; without subscribers no events are made."""

    def __init__(
        self,
        world: World,
        policy: SharedPolicy,
        parameters: Parameters,
        reader: DrawsReader,
        label: str,
        *,
        optional: tuple[str, ...] = (),
    ) -> None:
        problem = world.problem if policy.knows_means else world.problem.without_means()
        self._world = world
        self._policy = policy
        self._label = label
        self._reader = reader
        self._optional = optional
        self._stream = open_stream(world.seed, world.run, Purpose.POLICY)
        self._subscriptions: Any = make_subscriptions(policy, problem, parameters)
        self._state: Any = init_state(policy, problem, parameters, label)
        self.bus = Bus()

    def round_batches(self) -> Iterator[Ints]:
        """Run all rounds; yields the arms of each batch of rounds."""
        plain, subscriptions = self._world.timing.plain and not self.bus.names, self._subscriptions
        if not plain or subscriptions.partial or subscriptions.received:
            note_memory(self._world.problem.arms, self._world.problem.span)
        if plain:
            return self._plain_batches()
        run = GeneralRun(
            self._world,
            self._policy,
            self._state,
            self._subscriptions,
            self._stream,
            self._reader,
            self.bus,
            self._label,
        )
        return run.round_batches(ROUNDS_PER_BATCH, self._optional)

    def _plain_batches(self) -> Iterator[Ints]:
        run = load_for(self._policy, compiled_plain_loop, self._state).run_plain
        horizon, memory = self._world.problem.horizon, self._make_memory()
        state, held = self._state_with_slots(self._world.problem.span), hold_stream(self._stream)
        cursor = np.array([1, -1, 0])
        for first in range(1, horizon + 1, ROUNDS_PER_BATCH):
            cursor[2] = min(first + ROUNDS_PER_BATCH - 1, horizon)
            decisions = np.empty(cursor[2] - first + 1, dtype=np.int64)
            while True:
                try:
                    arm = run(state, held, self._subscriptions, memory, cursor, decisions)
                except Exception as error:  # noqa: BLE001 (it is raised again)
                    raise_error(self._policy, state, self._label, int(cursor[0]), error)
                if arm == DONE:
                    break
                check_decision(int(cursor[1]), self._policy, state, int(cursor[0]), self._label)
                check_arm(int(cursor[1]), self._world.problem, int(cursor[0]), self._label)
                self._refill(memory, arm)
            yield decisions

    def _make_memory(self) -> PlainMemory:
        """Memory for the loop; arrays for handlers that the policy lacks are empty."""
        arms, span, subscriptions = self._world.problem.arms, self._world.problem.span, self._subscriptions
        groups = subscriptions.gathered.shape[1]
        return PlainMemory(
            pool=np.empty((arms, BLOCK, span) if subscriptions.partial or subscriptions.received else (0, 0, span)),
            totals=np.zeros((arms, BLOCK)),
            sums=np.empty((arms, BLOCK, groups) if subscriptions.group else (0, 0, 1)),
            used=np.full(arms, BLOCK),
            arms=np.zeros(span, dtype=np.int64),
            rewards=np.zeros((span if subscriptions.partial else 0, span)),
            credits=np.zeros(span),
            groups=np.zeros((span if subscriptions.group else 0, groups)),
            due=np.zeros((arms, span) if subscriptions.received else (0, span)),
        )

    def _state_with_slots(self, slots: int) -> Any:
        """The policy's state with that many rows in every field with a row for each slot."""
        fields = {name: getattr(self._state, name) for name in self._policy.per_pull}
        return self._state._replace(
            **{name: np.zeros((slots, *rows.shape[1:]), dtype=rows.dtype) for name, rows in fields.items()}
        )

    def _refill(self, memory: PlainMemory, arm: int) -> None:
        """Give an arm its next block; a short one, at the end of a record, is put at the end of the room for it."""
        block, subscriptions = self._reader.next_block(arm), self._subscriptions
        first = BLOCK - len(block)
        memory.used[arm] = first
        memory.totals[arm, first:] = block.totals
        if subscriptions.partial or subscriptions.received:
            memory.pool[arm, first:] = block.rewards
        if subscriptions.group:
            fill_sums(block.rewards, memory.sums[arm, first:])
