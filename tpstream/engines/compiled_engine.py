"""The compiled engine: the same policies, streams and events as SimPy's, in a compiled loop over rounds.

There are three loops. That of the paper's world is driven here; compiled_general.py drives the one of other worlds of
whole rounds, which also serves the paper's world where a log has columns for decisions (indices); compiled_real.py
drives the one of real-valued times.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tpstream.engines import compiled_plain_loop
from tpstream.engines.compiled_general_loop import CURSOR, DONE, FLUSH, PENDING, ROUND, SHOWN, WRITTEN
from tpstream.engines.compiled_plain_loop import LAST, PlainMemory
from tpstream.engines.draws import DrawsReader, at_whole_rounds, fill_sums, put_block
from tpstream.engines.engine import Bus
from tpstream.engines.event_buffers import EventBuffers
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import EngineError, TpstreamError
from tpstream.model.events import Kind
from tpstream.model.notes import logger
from tpstream.model.numba_support import hold_stream
from tpstream.model.world import BLOCK, Purpose, World, open_stream
from tpstream.policies.base import NO_ARM, Parameters, SharedPolicy, check_arm, told_problem
from tpstream.policies.diagnosis import raise_error
from tpstream.policies.functions import check_decision
from tpstream.policies.loader import init_state, load_for, make_subscriptions
from tpstream.timing.pipeline import ROUNDS_PER_BATCH

LARGE = 2**30
"""From this many bytes on, a note says how much memory the blocks of draws take."""


@lru_cache(maxsize=64)
def note_memory(arms: int, span: int, bytes_per_part: int) -> None:
    """Say, before it is taken, how much memory the blocks of draws take; refuse what no machine has."""
    needed = arms * BLOCK * span * bytes_per_part
    said = f"{arms:,} arms x {BLOCK} pulls x span {span:,} x {bytes_per_part} bytes"
    if needed >= LARGE:
        logger().warning(
            "the blocks of rewards and delays take much memory",
            gigabytes=round(needed / 1e9, 1),
            sum=said,
            remedy="fewer arms or a shorter span; each worker process takes as much",
        )
    try:
        np.empty(needed // 8)
    except MemoryError:
        raise EngineError(
            f"the blocks of rewards and delays take {needed / 1e9:,.1f} GB ({said}), which this machine does not have; "
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
        pauses: Floats | None = None,
    ) -> None:
        problem = told_problem(policy, world.problem)
        self._world = world
        self._policy = policy
        self._label = label
        self._reader = reader
        self._optional = optional
        self._pauses = pauses
        self._paused: Any = None
        self._stream = open_stream(world.seed, world.run, Purpose.POLICY)
        self._subscriptions: Any = make_subscriptions(policy, problem, parameters)
        self._state: Any = init_state(policy, problem, parameters, label)
        self.bus = Bus()

    @property
    def makes_events(self) -> bool:
        """Whether the bus gets events even if nobody else subscribes: in the paper's world it does not."""
        return bool(self.bus.names) or not self._world.timing.plain or self._pauses is not None

    @property
    def passed(self) -> int:
        """How many pauses are behind."""
        return 0 if self._paused is None else self._paused.passed

    @property
    def drops_arms(self) -> bool:
        """Whether the policy leaves out arms that are not open."""
        return hasattr(self._state, "open_arms")

    def tell_look(self, stage: int) -> None:
        """Tell the policy that the data are cut now (stage 0), or that it is decided on them (stage 1)."""
        self._paused.tell_look(stage)

    def set_open_arms(self, open_arms: Bools) -> None:
        """Tell the policy which arms are open from now on, if it can leave out the others."""
        if self.drops_arms:
            self._state.open_arms[:] = open_arms

    def announce(self, kind: Kind, look: int, arm: Ints, part: Ints, value: Floats) -> None:
        """Publish events about a look, at the time of the pause."""
        self._paused.announce(kind=kind, look=look, arm=arm, part=part, value=value)

    def end_recruitment(self) -> None:
        """Let no more decisions be made; what is still to come of the pulls comes."""
        self._paused.end_recruitment()

    def round_batches(self) -> Iterator[Ints]:
        """Run all rounds; yields the arms of each batch of rounds."""
        plain, subscriptions = self._world.timing.plain, self._subscriptions
        if not plain or self.bus.names or subscriptions.partial or subscriptions.received:
            note_memory(self._world.problem.arms, self._world.problem.span, self._world.timing.bytes_per_part)
        run = self._kind_of_run()(
            self._world,
            self._policy,
            self._state,
            self._subscriptions,
            self._stream,
            self._reader,
            self.bus,
            self._label,
        )
        self._paused = None if self._pauses is None else run
        batches: Iterator[Ints] = run.round_batches(ROUNDS_PER_BATCH, self._optional)
        return batches

    def _kind_of_run(self) -> Any:
        """The class of the run with the simplest loop that serves this world; the others are not even loaded."""
        if self._pauses is not None:
            from tpstream.engines.compiled_paused import PausedRun  # noqa: PLC0415 (see above)

            return partial(PausedRun, self._pauses)
        ordinary = self._world.problem.endpoint is None
        if self._world.timing.plain and ordinary and not (self.bus.names and self._optional):
            return PlainRun
        if at_whole_rounds(self._world.timing) and ordinary:
            from tpstream.engines.compiled_general import GeneralRun  # noqa: PLC0415 (see above)

            return GeneralRun
        from tpstream.engines.compiled_real import RealRun  # noqa: PLC0415 (see above)

        return RealRun

    def policy_measures(self) -> Mapping[str, float]:
        """Numbers by name that the policy reports after the last round."""
        return {} if self._policy.measures is None else self._policy.measures(self._state)


class CompiledRun(ABC):
    """What runs of all compiled loops have in common: they call their loop, and give it what it returns for."""

    _buffers: Any = None
    """Where the loop writes events; None: it makes none."""

    def __init__(
        self,
        world: World,
        policy: SharedPolicy,
        state: Any,
        subscriptions: Any,
        stream: np.random.Generator,
        reader: DrawsReader,
        bus: Bus,
        label: str,
    ) -> None:
        self._world = world
        self._policy = policy
        self._state = state
        self._subscriptions = subscriptions
        self._stream = stream
        self._held = hold_stream(stream)
        self._reader = reader
        self._bus = bus
        self._label = label
        self._cursor = np.zeros(CURSOR, dtype=np.int64)
        self._cursor[[ROUND, PENDING]] = 1, -1

    @abstractmethod
    def _call(self, decisions: Ints) -> int:
        """Run the loop until it returns for something."""

    @abstractmethod
    def _refill(self, arm: int) -> None:
        """Give an arm its next block."""

    def _advance(self, decisions: Ints) -> None:
        """Run the loop to the end of the batch; before an error is raised, the events so far go to the bus."""
        cursor = self._cursor
        try:
            while (answer := self._call(decisions)) != DONE:
                self._serve(answer)
        except Exception as error:
            if cursor[WRITTEN]:
                self._publish()
            if isinstance(error, TpstreamError):
                raise
            raise_error(self._policy, self._state, self._label, int(cursor[ROUND]), error)

    def _serve(self, answer: int) -> None:
        """Give the loop what it returned for."""
        if answer == FLUSH:
            self._publish()
        else:
            arm, round = int(self._cursor[PENDING]), int(self._cursor[ROUND])
            if arm == NO_ARM:
                check_decision(arm, self._policy, self._state, round, self._label)
            self._refill(check_arm(arm, self._world.problem, round, self._label))

    def _publish(self) -> None:
        """Hand the events to the bus, and empty the arrays."""
        events, rows = int(self._cursor[WRITTEN]), int(self._cursor[SHOWN])
        self._cursor[[WRITTEN, SHOWN]] = 0
        self._buffers.publish(events, rows)


class PlainRun(CompiledRun):
    """A run of the paper's world: calls its loop, and gives it what it returns for."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._loops = load_for(self._policy, compiled_plain_loop, self._state)
        self._state = self._with_slots(self._state)
        self._buffers = EventBuffers(self._bus, self._world.problem) if self._bus.names else None
        self._memory = self._make_memory()

    def round_batches(self, length: int, optional: tuple[str, ...]) -> Iterator[Ints]:  # noqa: ARG002 (there are none)
        """Run all rounds, and for a log the rest of the open pulls if the world is drained; yields the arms."""
        problem, cursor = self._world.problem, self._cursor
        for first in range(1, problem.horizon + 1, length):
            cursor[LAST] = min(first + length - 1, problem.horizon)
            decisions = np.empty(cursor[LAST] - first + 1, dtype=np.int64)
            self._advance(decisions)
            yield decisions
        if self._buffers is not None:
            if self._world.drain:
                cursor[LAST] = problem.horizon + problem.span - 1
                self._advance(np.empty(0, dtype=np.int64))
            self._publish()

    def _call(self, decisions: Ints) -> int:
        """Run the loop, with or without a log, until it returns for something."""
        given = self._state, self._held, self._subscriptions, self._memory
        if self._buffers is None:
            return int(self._loops.run_plain(*given, self._cursor, decisions))
        return int(self._loops.run_logged(*given, self._buffers.columns, self._cursor, decisions))

    def _make_memory(self) -> PlainMemory:
        """Memory for the loop; arrays for handlers that the policy lacks, or for a log that is not there, are empty."""
        problem, subscriptions = self._world.problem, self._subscriptions
        arms, span, groups = problem.arms, problem.span, subscriptions.gathered.shape[1]
        return PlainMemory(
            pool=np.empty((arms, BLOCK, span) if self._needs_parts else (0, 0, span)),
            totals=np.zeros((arms, BLOCK)),
            sums=np.empty((arms, BLOCK, groups) if subscriptions.group else (0, 0, 1)),
            used=np.full(arms, BLOCK),
            arms=np.zeros(span, dtype=np.int64),
            rewards=np.zeros((span if subscriptions.partial else 0, span)),
            credits=np.zeros(span),
            groups=np.zeros((span if subscriptions.group else 0, groups)),
            due=np.zeros((arms, span) if subscriptions.received else (0, span)),
            logged=np.zeros((0 if self._buffers is None else span, span)),
            horizon=problem.horizon,
        )

    @property
    def _needs_parts(self) -> bool:
        """Whether single parts are needed, and not only sums."""
        return bool(self._subscriptions.partial or self._subscriptions.received or self._buffers is not None)

    def _with_slots(self, state: Any) -> Any:
        """The policy's state with a row for each slot in every field that has rows for pulls."""
        fields = {name: getattr(state, name) for name in (*self._policy.per_pull, *self._policy.queues)}
        slots = self._world.problem.span
        return state._replace(
            **{name: np.zeros((slots, *rows.shape[1:]), dtype=rows.dtype) for name, rows in fields.items()}
        )

    def _refill(self, arm: int) -> None:
        """Give an arm its next block."""
        block, first = put_block(self._reader, arm, self._memory)
        if self._subscriptions.group:
            fill_sums(block.rewards, self._memory.sums[arm, first:])
