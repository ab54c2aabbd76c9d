"""A policy follows a log: it is told the events, and each of its decisions is compared with the logged one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.display import number_text
from tpstream.model.errors import LogError
from tpstream.model.events import Events, Kind, Told
from tpstream.model.interfaces import Policy, TimedPolicy
from tpstream.policies.runner import Runner
from tpstream.replay.looks import ToldLooks


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

    def rows(self) -> list[dict[str, str]]:
        """Both decisions as rows of a table."""
        arms = {"log": self.logged, "replay": self.decided}
        return [
            {"decision": who, "arm": str(arm), "index in the replay": number_text(float(self.indices[arm]))}
            for who, arm in arms.items()
        ]


def follow(
    policy: Policy, batches: Iterable[Events], *, clairvoyant: bool, cleaning: float = 0.0
) -> tuple[int, Divergence | None]:
    """Tell a policy consecutive events as the engine does: before each decision all that happened since the last one.

    The batches end right before a decision; `cleaning` is the time between cuts and decisions of a trial's looks.
    Returns the number of decisions that were compared, and the first one that is not the logged one. A LogError that
    the batches raise is raised unless a decision differs before.
    """
    rounds, shown, looks = 0, Told(), ToldLooks(policy, cleaning)
    for events in chain.from_iterable(map(looks.pieces, batches)):
        # What the policy sees in a run: nothing that is hidden, no indices, and totals only if it is clairvoyant.
        told = shown.of(events)
        value = told.value if clairvoyant else np.where(told.kind == Kind.PULL, np.nan, told.value)
        told = replace(told, value=value)
        found = policy.follow(told) if isinstance(policy, Runner) else _follow(policy, told)
        pulls = np.flatnonzero(events.kind == Kind.PULL)
        if found is None:
            rounds += len(pulls)
            continue
        number, decided = int(np.count_nonzero(told.kind[: found[0]] == Kind.PULL)), found[1]
        place = pulls[number]
        return rounds + number + 1, Divergence(
            round=int(events.round[place]),
            seq=int(events.seq[place]),
            logged=int(events.arm[place]),
            decided=decided,
            logged_indices=None if events.indices is None else events.indices[number],
            indices=policy.indices(),
            state=getattr(policy, "state", None),
        )
    looks.finish()
    return rounds, None


def whole_rounds(batches: Iterable[Events]) -> Iterator[Events]:
    """The same events in batches that end right before a decision; what follows the last decision comes at the end.

    When the batches raise a LogError, the events before it come first.
    """
    waiting: list[Events] = []
    failure = None
    try:
        for events in batches:
            pulls = np.flatnonzero(events.kind == Kind.PULL)
            if len(pulls):
                yield Events.join([*waiting, events.cut(0, int(pulls[-1]))])
                waiting = [events.cut(int(pulls[-1]), len(events))]
            else:
                waiting.append(events)
    except LogError as error:
        failure = error
    if waiting:
        yield Events.join(waiting)
    if failure is not None:
        raise failure


def _follow(policy: Policy, events: Events) -> tuple[int, int] | None:
    """Do what `Runner.follow` does, for a policy that is an ordinary Python object."""
    pulls = np.flatnonzero(events.kind == Kind.PULL).tolist()
    before = pulls[0] if pulls else len(events)
    if before:
        policy.hear(events.cut(0, before))
    for place, following in pairwise([*pulls, len(events)]):
        if isinstance(policy, TimedPolicy):
            policy.set_clock(float(events.time[place]))
        decided = policy.decide(int(events.round[place]))
        if decided != events.arm[place]:
            return place, int(decided)
        policy.hear(events.cut(place, following))
    return None
