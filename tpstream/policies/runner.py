"""A policy in the shared form as an object that hears and decides."""

from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError
from tpstream.model.events import Events, Kind
from tpstream.model.problem import Problem
from tpstream.model.protocols import Policy
from tpstream.model.ring import Ring
from tpstream.policies.form import Parameters, PolicyForm, SharedPolicy
from tpstream.policies.loader import load_loops

PULL, CLOSED = np.int8(Kind.PULL), np.int8(Kind.CLOSED)


class Runner:
    """Feeds events to a shared policy's compiled functions, with a slot for every open pull."""

    def __init__(
        self, policy: SharedPolicy, problem: Problem, parameters: Parameters, stream: np.random.Generator
    ) -> None:
        self._per_pull = policy.per_pull
        self._stream = stream
        self._ring = Ring()
        self._loops = load_loops(policy)
        self.state: Any = policy.init(problem, parameters)

    def hear(self, events: Events) -> None:
        """Tell the policy every event, in order."""
        if self._per_pull:
            self._make_room(events)
        self._loops.hear(
            self.state, self._ring.capacity, events.kind, events.pull, events.arm, events.part, events.value
        )

    def decide(self, round: int) -> int:
        """The policy's decision."""
        return int(self._loops.decide(self.state, round, self._stream))

    def indices(self) -> Floats:
        """The index of every arm at the last decision."""
        return np.array(self.state.indices)

    def _make_room(self, events: Events) -> None:
        for pull in events.pull[events.kind == PULL].tolist():
            before = self._ring.reserve(pull)
            if before != self._ring.capacity:
                grown = {name: self._ring.enlarge(getattr(self.state, name), before, pull) for name in self._per_pull}
                self.state = self.state._replace(**grown)
        for pull in events.pull[events.kind == CLOSED].tolist():
            self._ring.release(pull)


def start_policy(form: PolicyForm, problem: Problem, parameters: Parameters, stream: np.random.Generator) -> Policy:
    """A policy ready for its first round; only one that is entitled to them gets the means."""
    told = problem if form.knows_means else problem.without_means()
    if isinstance(form, SharedPolicy):
        return Runner(form, told, parameters, stream)
    return form.create(told, parameters, stream)


def check_arm(arm: int, problem: Problem, round: int, label: str) -> int:
    """The decided arm, if there is such an arm."""
    if not 0 <= arm < problem.arms:
        raise PolicyError(f"policy {label!r} decided for arm {arm} in round {round}; arms are 0 to {problem.arms - 1}")
    return arm
