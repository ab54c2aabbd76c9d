"""The compiled engine: the same policies, streams and events as SimPy's, as one compiled loop over rounds."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tpstream.engines import plain_loop
from tpstream.engines.bus import Bus
from tpstream.engines.clock import STRETCH
from tpstream.engines.digests import fill_sums
from tpstream.engines.draws import Reader
from tpstream.engines.general_run import GeneralRun
from tpstream.engines.plain_loop import DONE, Plain
from tpstream.model.arrays import Ints
from tpstream.model.held_stream import hold_stream
from tpstream.model.streams import BLOCK, Purpose, open_stream
from tpstream.model.world import World
from tpstream.policies.blame import blame
from tpstream.policies.form import Parameters, SharedPolicy
from tpstream.policies.loader import load_for
from tpstream.policies.runner import check_arm, init_state, make_ear


class CompiledEngine:
    """One run of a world under a policy in the shared form; without sinks the events are not even made."""

    def __init__(
        self,
        world: World,
        policy: SharedPolicy,
        parameters: Parameters,
        reader: Reader,
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
        self._ear: Any = make_ear(policy, problem, parameters)
        self._state: Any = init_state(policy, problem, parameters, label)
        self.bus = Bus()

    def stretches(self) -> Iterator[Ints]:
        """Let time pass; yields the arms of the rounds, a stretch at a time."""
        if self._world.timing.plain and not self.bus.names:
            return self._plain_stretches()
        run = GeneralRun(
            self._world, self._policy, self._state, self._ear, self._stream, self._reader, self.bus, self._label
        )
        return run.stretches(STRETCH, indices=self._indices)

    def _plain_stretches(self) -> Iterator[Ints]:
        loops: Any = load_for(self._policy, plain_loop)
        horizon, plain = self._world.problem.horizon, self._memory()
        state, held = self._with_rows(plain.arms.size), hold_stream(self._stream)
        cursor = np.array([1, -1, 0])
        for first in range(1, horizon + 1, STRETCH):
            cursor[2] = min(first + STRETCH - 1, horizon)
            decisions = np.empty(cursor[2] - first + 1, dtype=np.int64)
            while True:
                try:
                    arm = loops.run_plain(state, held, self._ear, plain, cursor, decisions)
                except Exception as error:
                    raise blame(error, self._label, f"in round {cursor[0]}") from error
                if arm == DONE:
                    break
                check_arm(int(cursor[1]), self._world.problem, int(cursor[0]), self._label)
                self._refill(plain, arm)
            yield decisions

    def _memory(self) -> Plain:
        """Memory for the loop; what the policy does not hear takes no room."""
        arms, span, ear = self._world.problem.arms, self._world.problem.span, self._ear
        groups = ear.gathered.shape[1]
        return Plain(
            pool=np.empty((arms, BLOCK, span) if ear.partial or ear.received else (0, 0, span)),
            totals=np.zeros((arms, BLOCK)),
            sums=np.empty((arms, BLOCK, groups) if ear.group else (0, 0, 1)),
            used=np.full(arms, BLOCK),
            arms=np.zeros(span, dtype=np.int64),
            rewards=np.zeros((span if ear.partial else 0, span)),
            credits=np.zeros(span),
            groups=np.zeros((span if ear.group else 0, groups)),
            due=np.zeros((arms, span) if ear.received else (0, span)),
        )

    def _with_rows(self, slots: int) -> Any:
        """The policy's state with a row for each slot where it wants one."""
        grown = {}
        for name in self._policy.per_pull:
            rows = getattr(self._state, name)
            grown[name] = np.zeros((slots, *rows.shape[1:]), dtype=rows.dtype)
        return self._state._replace(**grown)

    def _refill(self, plain: Plain, arm: int) -> None:
        """Give an arm its next block; a short one, at the end of a record, goes to the end of its place."""
        block, ear = self._reader.next_block(arm), self._ear
        first = BLOCK - len(block)
        plain.used[arm] = first
        plain.totals[arm, first:] = block.totals
        if ear.partial or ear.received:
            plain.pool[arm, first:] = block.rewards
        if ear.group:
            fill_sums(block.rewards, plain.sums[arm, first:])
