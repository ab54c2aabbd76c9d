"""What a policy that is an ordinary Python object hears in a trial: the parts as its endpoint counts them."""

from dataclasses import replace
from typing import Any

import numpy as np

from tpstream.model.arrays import Bools, Floats
from tpstream.model.events import CLOSED, LATE, PARTIAL, Events
from tpstream.model.interfaces import Policy, TimedPolicy
from tpstream.model.world import Endpoint


class HeardPolicy:
    """A policy that is told events with the values that the endpoint gives them, as compiled policies are.

    Of part j that paid x it hears scale[j] x + shift[j], and at the closing the sum of what it heard. Where drop-outs
    are excluded, it does not hear of the closing of a pull of which a part that counts did not come.
    """

    def __init__(self, policy: Policy, endpoint: Endpoint) -> None:
        self._policy = policy
        self._endpoint = endpoint
        self._sums: dict[int, float] = {}
        """What was heard of each open pull so far."""
        self._needs = endpoint.scale != 0
        self._came: dict[int, int] = {}
        """How many parts that count came of each open pull."""

    def __getattr__(self, name: str) -> Any:
        """All else that the policy has: `on_look`, `set_open_arms`, `measures`, ..."""
        return getattr(self._policy, name)

    def hear(self, events: Events) -> None:
        """Tell the policy the next events."""
        told = events if self._endpoint.plain else replace(events, value=self._values(events))
        self._policy.hear(told.take(np.flatnonzero(self._counted(events))) if self._endpoint.complete else told)

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

    def _counted(self, events: Events) -> Bools:
        """All events but the closings of pulls of which a part that counts did not come."""
        counted, needed = np.ones(len(events), dtype=np.bool_), int(self._needs.sum())
        for place in np.flatnonzero((events.kind == PARTIAL) | (events.kind == CLOSED)).tolist():
            pull = int(events.pull[place])
            if events.kind[place] == CLOSED:
                counted[place] = self._came.pop(pull, 0) == needed
            elif self._needs[events.part[place] - 1]:
                self._came[pull] = self._came.get(pull, 0) + 1
        return counted
