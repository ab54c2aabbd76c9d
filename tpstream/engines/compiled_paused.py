"""A run of the compiled engine that pauses: the loop for real-valued times in segments, each up to a pause.

A segment knows only the decisions that are due up to its pause, that instant included, and ends right after it. So the
loop stops where everything up to the pause has happened, and nothing after it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from tpstream.engines.compiled_general_loop import LAST, ROUND, WRITTEN
from tpstream.engines.compiled_real import RealRun
from tpstream.model.arrays import Floats, Ints
from tpstream.policies import handlers
from tpstream.policies.diagnosis import raise_error
from tpstream.policies.loader import load_for


class PausedRun(RealRun):
    """Calls the loop segment by segment; between them the policy can be told of looks, and recruitment can end."""

    def __init__(self, pauses: Floats, *given: Any) -> None:
        super().__init__(*given)
        self._times: Floats = self._memory.times
        self._pauses: list[float] = pauses.tolist()
        self.passed = 0
        """How many pauses are behind."""

    def round_batches(self, length: int, optional: tuple[str, ...]) -> Iterator[Ints]:
        """Run all rounds and the rest of the open pulls; yields the arms of each batch, which ends at every pause."""
        self._open(optional)
        for pause in self._pauses:
            yield from self._segment(length, pause)
        yield from self._segment(length, np.inf)

    def _segment(self, length: int, pause: float) -> Iterator[Ints]:
        """Run what happens up to and including the pause; yields one batch at least, the last one at the pause."""
        cursor = self._cursor
        rounds = int(np.searchsorted(self._times, pause, side="right"))
        self._memory = self._memory._replace(times=self._times[:rounds], end=float(np.nextafter(pause, np.inf)))
        while True:
            done = int(cursor[ROUND]) - 1
            cursor[LAST] = min(done + length, rounds)
            decisions = np.empty(cursor[LAST] - done, dtype=np.int64)
            self._advance(decisions)
            at_end = cursor[LAST] == rounds
            if at_end:
                self.passed += int(pause < np.inf)
                if cursor[WRITTEN]:
                    self._publish()
            yield decisions
            if at_end:
                return

    def tell_look(self, stage: int) -> None:
        """Tell the policy of a look at the time of the pause."""
        if self._policy.on_look is None:
            return
        try:
            load_for(self._policy, handlers, self._state).tell_look(self._state, self._pauses[self.passed - 1], stage)
        except NumbaError as error:
            raise_error(self._policy, self._state, self._label, int(self._cursor[ROUND]) - 1, error)

    def announce(self, **facts: Any) -> None:
        """Publish events about a look, at the time of the pause."""
        round, time = int(self._cursor[ROUND]) - 1, self._pauses[self.passed - 1]
        self._buffers.announce(self._world.problem.arms, round=round, time=time, **facts)

    def end_recruitment(self) -> None:
        """Let no more decisions be made."""
        self._times = self._times[: int(self._cursor[ROUND]) - 1]
