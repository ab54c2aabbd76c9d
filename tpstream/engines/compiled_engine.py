"""The compiled engine: the same policies, streams and events as SimPy's, as one compiled loop over rounds."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tpstream.engines import compiled_plain_loop
from tpstream.engines.compiled_general import GeneralRun
from tpstream.engines.compiled_plain_loop import DONE, PlainMemory
from tpstream.engines.draws import DrawsReader, fill_sums
from tpstream.engines.engine import Bus
from tpstream.model.arrays import Ints
from tpstream.model.errors import blame
from tpstream.model.numba_support import hold_stream
from tpstream.model.random_streams import BLOCK, Purpose, open_stream
from tpstream.model.world import World
from tpstream.policies.base import Parameters, SharedPolicy
from tpstream.policies.loader import load_for
from tpstream.policies.runner import check_arm, init_state, make_subscriptions
from tpstream.timing.pipeline import ROUNDS_PER_BATCH


class CompiledEngine:
    """One run of a world under a policy in the shared form; without sinks the events are not even made."""

    def __init__(
        self,
        world: World,
        policy: SharedPolicy,
        parameters: Parameters,
        reader: DrawsReader,
        label: str,
        *,
        indices: bool = False,
    ) -> None:
        problem = world.problem if policy.knows_means else world.problem.without_means()
        self._world = world
        self._policy = policy
        self._label = label
        self._reader = reader
        self._indices = indices
        self._stream = open_stream(world.seed, world.run, Purpose.POLICY)
        self._subscriptions: Any = make_subscriptions(policy, problem, parameters)
        self._state: Any = init_state(policy, problem, parameters, label)
        self.bus = Bus()

    def round_batches(self) -> Iterator[Ints]:
        """Let time pass; yields the arms of the rounds, a stretch at a time."""
        if self._world.timing.plain and not self.bus.names:
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
        return run.round_batches(ROUNDS_PER_BATCH, indices=self._indices)

    def _plain_batches(self) -> Iterator[Ints]:
        loops: Any = load_for(self._policy, compiled_plain_loop)
        horizon, plain = self._world.problem.horizon, self._memory()
        state, held = self._with_rows(plain.arms.size), hold_stream(self._stream)
        cursor = np.array([1, -1, 0])
        for first in range(1, horizon + 1, ROUNDS_PER_BATCH):
            cursor[2] = min(first + ROUNDS_PER_BATCH - 1, horizon)
            decisions = np.empty(cursor[2] - first + 1, dtype=np.int64)
            while True:
                try:
                    arm = loops.run_plain(state, held, self._subscriptions, plain, cursor, decisions)
                except Exception as error:
                    raise blame(error, self._label, f"in round {cursor[0]}") from error
                if arm == DONE:
                    break
                check_arm(int(cursor[1]), self._world.problem, int(cursor[0]), self._label)
                self._refill(plain, arm)
            yield decisions

    def _memory(self) -> PlainMemory:
        """Memory for the loop; what the policy does not hear takes no room."""
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

    def _with_rows(self, slots: int) -> Any:
        """The policy's state with a row for each slot where it wants one."""
        grown = {}
        for name in self._policy.per_pull:
            rows = getattr(self._state, name)
            grown[name] = np.zeros((slots, *rows.shape[1:]), dtype=rows.dtype)
        return self._state._replace(**grown)

    def _refill(self, plain: PlainMemory, arm: int) -> None:
        """Give an arm its next block; a short one, at the end of a record, goes to the end of its place."""
        block, subscriptions = self._reader.next_block(arm), self._subscriptions
        first = BLOCK - len(block)
        plain.used[arm] = first
        plain.totals[arm, first:] = block.totals
        if subscriptions.partial or subscriptions.received:
            plain.pool[arm, first:] = block.rewards
        if subscriptions.group:
            fill_sums(block.rewards, plain.sums[arm, first:])
