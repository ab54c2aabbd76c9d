"""The events of a log of decisions that were made for real, told to its policy again: it must decide as it did.

The policy is told what it was told then, piece by piece: before each decision all that was there, and no more. So its
state is in the end what it was when the last event was written.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from tpstream.log.changes import decode_change
from tpstream.log.schema import Header
from tpstream.model.events import CHANGED, PULL, Events
from tpstream.policies.runner import Runner
from tpstream.replay.replay import Divergence
from tpstream.replay.steering import Steering, Teller, applied

History = Callable[[int], Iterable[Events]]
"""Reads the events of a log before the one of this number, as they are written."""


class Retelling:
    """Tells a policy the events of a log, and compares its decisions with the logged ones.

    Parameters
    ----------
    steering, teller
        The policy, and what it is told, in the state before the next event.
    header, source
        The header of the log, and its name for errors.
    history
        Reads the log anew, for a policy that begins in the middle of it.
    """

    def __init__(self, steering: Steering, teller: Teller, header: Header, source: object, history: History) -> None:
        self.steering, self.teller = steering, teller
        self._header, self._source, self._history = header, source, history
        self.pending: list[Events] = []
        """The events since the last decision, that one first; the policy was not told of them yet."""
        self.decided = False
        """Whether the policy took that decision already, before anything was told here."""
        self.rounds = 0
        """Decisions that were compared."""

    def take(self, events: Events) -> Divergence | None:
        """Tell the next events, up to the last decision among them; the first decision that is not the logged one."""
        marks = np.flatnonzero(events.kind == CHANGED).tolist()
        first = 0
        for mark in [*marks, None]:
            found = self._take(events.cut(first, len(events) if mark is None else mark))
            if found is None and mark is not None:
                found = self._change(events.cut(mark, mark + 1))
                first = mark + 1
            if found is not None:
                return found
        return None

    def _take(self, events: Events) -> Divergence | None:
        """The same without changes."""
        pulls = np.flatnonzero(events.kind == PULL)
        if not len(pulls):
            self.pending.append(events)
            return None
        last = int(pulls[-1])
        found = self._tell(Events.join([*self.pending, events.cut(0, last)]), float(events.time[last]))
        self.pending = [events.cut(last, len(events))]
        return found

    def _tell(self, events: Events, until: float, *, leaving: bool = False) -> Divergence | None:
        """Tell these events, and what is over before the time `until`, at which a decision or a change comes.

        `leaving`: a change comes after which decisions are not this policy's.
        """
        told, steering = self.teller.tell(events, until), self.steering
        policy = steering.policy
        if self.decided and len(told):
            following = [*np.flatnonzero(told.kind[1:] == PULL).tolist(), len(told) - 1][0] + 1
            steering.hear(told.cut(0, following), leaving=leaving and following == len(told))
            told, self.decided = told.cut(following, len(told)), False
        if not len(told):
            return None
        if steering.plain and isinstance(policy, Runner) and not leaving:
            found = policy.follow(told)
            if found is not None:
                return self._divergence(events, told, *found)
            self.rounds += int(np.count_nonzero(told.kind == PULL))
            return None
        for place, arm in steering.follow(told, leaving=leaving):
            self.rounds += 1
            if arm != told.arm[place]:
                self.rounds -= 1
                return self._divergence(events, told, place, arm)
        return None

    def _divergence(self, events: Events, told: Events, place: int, arm: int) -> Divergence:
        """The decision at this place of what was told."""
        number = int(told.pull[place])
        row = int(np.flatnonzero((events.kind == PULL) & (events.pull == number))[0])
        before = int(np.count_nonzero(events.kind[:row] == PULL))
        self.rounds += 1
        return Divergence(
            round=int(events.round[row]),
            seq=int(events.seq[row]),
            logged=int(events.arm[row]),
            decided=arm,
            logged_indices=None if events.indices is None else events.indices[before],
            indices=np.asarray(self.steering.policy.indices()),
            state=getattr(self.steering.policy, "state", None),
        )

    def _change(self, events: Events) -> Divergence | None:
        """Let decisions be made as the change says, once the policy is told all before it."""
        seq, time = int(events.seq[0]), float(events.time[0])
        change = decode_change(f"{self._source}: event {seq}", None if events.key is None else events.key[0])
        found = self._settle(time, leaving=change.leaves)
        if found is not None:
            return found
        if applied(change, self.steering, self._header):
            tell_history(self.steering, self._header, self._history(seq), time)
        return None

    def _settle(self, time: float, *, leaving: bool) -> Divergence | None:
        """Tell all that is pending, for a change at this time."""
        events, self.pending = Events.join(self.pending), []
        return self._tell(events, time, leaving=leaving)

    def finish(self) -> Divergence | None:
        """Let the policy take the last decision; what came since is not told before the next one."""
        for events in self.pending:
            if len(events) and events.kind[0] == PULL and not self.decided:
                found = self.steering.decide(int(events.round[0]), float(events.time[0]), probabilities=False)
                if found.arm != events.arm[0]:
                    return self._divergence(events, events, 0, found.arm)
                self.rounds += 1
        return None


def tell_history(steering: Steering, header: Header, history: Iterable[Events], until: float) -> None:
    """Tell a policy that begins anew all events before this time; it is asked at every decision, and not followed."""
    teller = Teller(header)
    for events, time in _pieces(history, until):
        told = teller.tell(events, time)
        for _ in steering.follow(told, steered=False) if len(told) else ():
            pass


def _pieces(history: Iterable[Events], until: float) -> Iterator[tuple[Events, float]]:
    """The events in pieces that end right before a decision, each with the time of that decision."""
    waiting: list[Events] = []
    for events in history:
        pulls = np.flatnonzero(events.kind == PULL)
        if len(pulls):
            last = int(pulls[-1])
            yield Events.join([*waiting, events.cut(0, last)]), float(events.time[last])
            waiting = [events.cut(last, len(events))]
        else:
            waiting.append(events)
    yield Events.join(waiting), until
