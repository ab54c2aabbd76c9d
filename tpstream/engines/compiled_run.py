"""What runs of all compiled loops have in common: they call their loop, and give it what it returns for."""

from typing import Any

import numpy as np

from tpstream.engines.compiled_general_loop import CURSOR, DONE, FLUSH, PENDING, ROOM, ROUND, SHOWN, WRITTEN
from tpstream.engines.draws import DrawsReader
from tpstream.engines.engine import Bus
from tpstream.model.arrays import Ints
from tpstream.model.errors import TpstreamError
from tpstream.model.numba_support import hold_stream
from tpstream.model.world import World
from tpstream.policies.base import NO_ARM, SharedPolicy, check_arm
from tpstream.policies.diagnosis import raise_error
from tpstream.policies.functions import check_decision


class CompiledRun:
    """A run under a policy: its world, the state of its policy, its draws, and a cursor that the loop moves."""

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

    def _call(self, decisions: Ints) -> int:
        """Run the loop until it returns for something."""
        raise NotImplementedError

    def _refill(self, arm: int) -> None:
        """Give an arm its next block."""
        raise NotImplementedError

    def _make_room(self) -> None:
        """Enlarge what is too small for the open pulls."""
        raise NotImplementedError

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
        elif answer == ROOM:
            self._make_room()
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
