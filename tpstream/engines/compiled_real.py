"""A run of the compiled engine at real-valued times: drives its loop, and gives it memory and blocks of draws."""

from typing import Any

from tpstream.engines import compiled_real_loop as loop
from tpstream.engines.compiled_general import GeneralRun
from tpstream.engines.compiled_real_room import RealRoom
from tpstream.model.pull_rows import with_longer
from tpstream.policies.loader import load_for
from tpstream.policies.runner import PER_SLOT, needs_rows


class RealRun(RealRoom, GeneralRun):
    """Calls the loop, and gives it what it returns for: blocks of draws, room for events, more memory."""

    def _load(self, *, probabilities: bool) -> Any:
        """The loop with the policy's functions inside."""
        return load_for(self._policy, loop, self._state, probabilities=probabilities).run_real

    def _add_slots(self, more: int) -> None:
        """Room for more open pulls, in the memory and in the policy's state."""
        super()._add_slots(more)
        rows = len(self._memory.pulls)
        self._state = with_longer(self._state, self._per_slot, rows)
        if needs_rows(self._subscriptions):
            self._subscriptions = with_longer(self._subscriptions, PER_SLOT, rows)
