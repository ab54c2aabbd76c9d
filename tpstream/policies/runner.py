"""A policy in the shared form as an object that hears and decides."""

from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError, TpstreamError, blame
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Policy
from tpstream.model.numba_support import hold_stream
from tpstream.model.pull_rows import Ring
from tpstream.model.world import Problem
from tpstream.policies import handlers
from tpstream.policies.base import Parameters, PolicyForm, SharedPolicy
from tpstream.policies.handlers import Subscriptions
from tpstream.policies.loader import load_for

PULL, CLOSED = np.int8(Kind.PULL), np.int8(Kind.CLOSED)


class Runner:
    """Feeds events to a shared policy's compiled functions, with a slot for every open pull."""

    def __init__(
        self, policy: SharedPolicy, problem: Problem, parameters: Parameters, stream: np.random.Generator
    ) -> None:
        self._policy = policy
        self._per_pull = policy.per_pull
        self._stream = stream
        self._held = hold_stream(stream)
        self._ring = Ring()
        self._loops = load_for(policy, handlers)
        self._subscriptions: Any = make_subscriptions(policy, problem, parameters)
        self.state: Any = init_state(policy, problem, parameters, policy.name)

    def hear(self, events: Events) -> None:
        """Tell the policy every event, in order."""
        if self._per_pull or self._subscriptions.group:
            self._make_room(events)
        self._loops.hear(
            self.state,
            self._subscriptions,
            self._ring.capacity,
            events.time,
            events.kind,
            events.pull,
            events.arm,
            events.part,
            events.value,
        )

    def decide(self, round: int) -> int:
        """The policy's decision."""
        return int(self._loops.decide(self.state, round, self._held))

    def indices(self) -> Floats:
        """The index of every arm at the last decision."""
        return np.array(self.state.indices)

    def follow(self, events: Events) -> tuple[int, int] | None:
        """Decide at every pull of a record and hear it; the place of the first pull of another arm, and the decision.

        The record is a number of whole stretches, each from one decision to the next.
        """
        if self._per_pull or self._subscriptions.group:
            self._make_room(events)
        decided = np.zeros(1, dtype=np.int64)
        place = load_for(self._policy, handlers).follow(
            self.state,
            self._subscriptions,
            self._held,
            self._ring.capacity,
            events.time,
            events.kind,
            events.round,
            events.pull,
            events.arm,
            events.part,
            events.value,
            decided,
        )
        return None if place < 0 else (int(place), int(decided[0]))

    def _make_room(self, events: Events) -> None:
        for pull in events.pull[events.kind == PULL].tolist():
            before = self._ring.reserve(pull)
            if before != self._ring.capacity:
                self.state = self._enlarge(self.state, self._per_pull, before, pull)
                self._subscriptions = self._enlarge(self._subscriptions, ("filled", "gathered"), before, pull)
        for pull in events.pull[events.kind == CLOSED].tolist():
            self._ring.release(pull)

    def _enlarge(self, rows: Any, names: tuple[str, ...], before: int, pull: int) -> Any:
        """A named tuple with these fields laid out for the larger ring."""
        return rows._replace(**{name: self._ring.enlarge(getattr(rows, name), before, pull) for name in names})


def make_subscriptions(policy: SharedPolicy, problem: Problem, parameters: Parameters) -> Subscriptions:
    """What the policy wants to hear, before anything was heard."""
    groups = problem.assumed_groups(getattr(parameters, "groups", None)) if policy.on_group else 1
    return Subscriptions(
        shown=policy.clairvoyant,
        partial=policy.on_partial is not None,
        received=policy.on_received is not None,
        group=policy.on_group is not None,
        closed=policy.on_closed is not None,
        width=problem.span // groups,
        amounts=np.zeros(problem.arms),
        filled=np.zeros((1, groups), dtype=np.int64),
        gathered=np.zeros((1, groups)),
    )


def start_policy(form: PolicyForm, problem: Problem, parameters: Parameters, stream: np.random.Generator) -> Policy:
    """A policy ready for its first round; only one that is entitled to them gets the means."""
    told = problem if form.knows_means else problem.without_means()
    if isinstance(form, SharedPolicy):
        return Runner(form, told, parameters, stream)
    try:
        return form.create(told, parameters, stream)
    except TpstreamError:
        raise
    except Exception as error:
        raise blame(error, form.name, "when it was created") from error


def init_state(policy: SharedPolicy, problem: Problem, parameters: Parameters, label: str) -> Any:
    """The policy's state before the first round."""
    try:
        return policy.init(problem, parameters)
    except TpstreamError:
        raise
    except Exception as error:
        raise blame(error, label, "when it was created") from error


def check_arm(arm: object, problem: Problem, round: int, label: str) -> int:
    """The decided arm, if there is such an arm."""
    if not isinstance(arm, (int, np.integer)):
        raise PolicyError(f"policy {label!r} decided for {arm!r} in round {round}; give an arm's number")
    if not 0 <= arm < problem.arms:
        raise PolicyError(f"policy {label!r} decided for arm {arm} in round {round}; arms are 0 to {problem.arms - 1}")
    return int(arm)
