"""A policy follows a log: it is told the events, and each of its decisions is compared with the logged one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import LogError
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Policy, TimedPolicy
from tpstream.policies.runner import Runner


@dataclass(frozen=True, eq=False)
class Divergence:
    """The first decision that is not the logged one, with the policy's state at that moment."""

    round: int
    seq: int
    """The number of the event in the log."""
    logged: int
    """The arm in the log."""
    decided: int
    """The arm that the policy decides for."""
    logged_indices: Floats | None
    """The index of every arm in the log, if it has them."""
    indices: Floats
    """The index of every arm that the policy computes."""
    state: Any
    """The arrays of a policy in the shared form; None for another one."""


class Follower:
    """Tells a policy a log's events as the engine does: before each decision all that happened since the last one."""

    def __init__(self, policy: Policy, *, clairvoyant: bool) -> None:
        self._policy = policy
        self._clairvoyant = clairvoyant
        self._waiting: list[Events] = []
        self.rounds = 0
        """The number of decisions that were compared."""

    def follow(self, events: Events) -> Divergence | None:
        """Tell the next events up to the last decision among them; what follows it waits for the next one."""
        pulls = np.flatnonzero(events.kind == Kind.PULL)
        if not len(pulls):
            self._waiting.append(events)
            return None
        ready = [*self._waiting, events.cut(0, int(pulls[-1]))]
        self._waiting = [events.cut(int(pulls[-1]), len(events))]
        return self._tell(Events.join(ready))

    def finish(self) -> Divergence | None:
        """Tell the events that still wait, since no more will come."""
        ready, self._waiting = self._waiting, []
        return self._tell(Events.join(ready)) if ready else None

    def _tell(self, events: Events) -> Divergence | None:
        told = self._as_shown(events)
        found = self._policy.follow(told) if isinstance(self._policy, Runner) else _follow(self._policy, told)
        pulls = np.flatnonzero(events.kind == Kind.PULL)
        if found is None:
            self.rounds += len(pulls)
            return None
        place, decided = found
        number = int(np.searchsorted(pulls, place))
        self.rounds += number + 1
        return Divergence(
            round=int(events.round[place]),
            seq=int(events.seq[place]),
            logged=int(events.arm[place]),
            decided=decided,
            logged_indices=None if events.indices is None else events.indices[number],
            indices=self._policy.indices(),
            state=getattr(self._policy, "state", None),
        )

    def _as_shown(self, events: Events) -> Events:
        """The events as the policy sees them in a run: without indices, and with totals only if it is clairvoyant."""
        value = events.value if self._clairvoyant else np.where(events.kind == Kind.PULL, np.nan, events.value)
        return replace(events.take(slice(None)), value=value)


def _follow(policy: Policy, events: Events) -> tuple[int, int] | None:
    """Do what `Runner.follow` does, for a policy that is an ordinary Python object."""
    pulls = np.flatnonzero(events.kind == Kind.PULL).tolist()
    for place, following in pairwise([*pulls, len(events)]):
        if isinstance(policy, TimedPolicy):
            policy.set_clock(float(events.time[place]))
        decided = policy.decide(int(events.round[place]))
        if decided != events.arm[place]:
            return place, int(decided)
        policy.hear(events.cut(place, following))
    return None


def first_divergence(batches: Iterator[Events], follower: Follower) -> Divergence | None:
    """Let a policy follow audited batches; an event that fails the audit is an error unless a decision differs before.

    When the audit raises, the last decision before that event may still wait, so the follower is finished first.
    """
    try:
        for events in batches:
            divergence = follower.follow(events)
            if divergence is not None:
                return divergence
    except LogError:
        divergence = follower.finish()
        if divergence is None:
            raise
        return divergence
    return follower.finish()
