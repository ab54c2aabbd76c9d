"""What a policy that is an ordinary Python object hears in a trial: the parts as its endpoint counts them."""

from dataclasses import replace
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.events import CLOSED, LATE, PARTIAL, Events
from tpstream.model.interfaces import Policy, TimedPolicy
from tpstream.model.world import Endpoint


class HeardPolicy:
    """A policy that is told events with the values that the endpoint gives them, as compiled policies are.

    Of part j that paid x it hears scale[j] x + shift[j], and at the closing the sum of what it heard.
    """

    def __init__(self, policy: Policy, endpoint: Endpoint) -> None:
        self._policy = policy
        self._endpoint = endpoint
        self._sums: dict[int, float] = {}
        """What was heard of each open pull so far."""

    def __getattr__(self, name: str) -> Any:
        """All else that the policy has: `on_look`, `set_open_arms`, `measures`, ..."""
        return getattr(self._policy, name)

    def hear(self, events: Events) -> None:
        """Tell the policy the next events."""
        self._policy.hear(replace(events, value=self._values(events)))

    def decide(self, round: int) -> int:
        """The policy's decision."""
        return self._policy.decide(round)

    def indices(self) -> Floats:
        """The index of every arm at the last decision."""
        return self._policy.indices()

    def set_clock(self, time: float) -> None:
        """Tell the policy the time of the decision that it is asked for next, if it takes it."""
        if isinstance(self._policy, TimedPolicy):
            self._policy.set_clock(time)

    def _values(self, events: Events) -> Floats:
        """The values of the events as the endpoint counts them."""
        found, paid = events.value.copy(), (events.kind == PARTIAL) | (events.kind == LATE)
        part = events.part[paid] - 1
        found[paid] = self._endpoint.scale[part] * found[paid] + self._endpoint.shift[part]
        for place in np.flatnonzero((events.kind == PARTIAL) | (events.kind == CLOSED)).tolist():
            pull = int(events.pull[place])
            if events.kind[place] == PARTIAL:
                self._sums[pull] = self._sums.get(pull, 0.0) + float(found[place])
            else:
                found[place] = self._sums.pop(pull, 0.0)
        return found
