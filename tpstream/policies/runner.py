"""A policy in the shared form as an object that hears events and decides, for the SimPy engine and replay."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import PolicyError, user_code
from tpstream.model.events import CLOSED, PULL, Events
from tpstream.model.interfaces import Policy, TimedPolicy
from tpstream.model.numba_support import hold_stream
from tpstream.model.pull_rows import Ring, with_longer
from tpstream.model.world import Problem
from tpstream.policies import handlers
from tpstream.policies.base import Parameters, PolicyForm, SharedPolicy, told_problem
from tpstream.policies.diagnosis import raise_error
from tpstream.policies.functions import check_decision
from tpstream.policies.heard import HeardPolicy
from tpstream.policies.loader import init_state, load_for, make_subscriptions

PER_SLOT = ("filled", "gathered", "owners", "heard", "came")
"""Fields of Subscriptions that have a row for each slot."""
NO_DECISIONS = np.zeros(0, dtype=np.int64)


class Runner:
    """Hands events to a shared policy's compiled functions and gives every open pull a slot."""

    def __init__(
        self, policy: SharedPolicy, problem: Problem, parameters: Parameters, stream: np.random.Generator
    ) -> None:
        self._policy = policy
        self._per_pull = policy.per_pull
        self._queues = policy.queues
        self._stream = stream
        self._held = self._hold(stream)
        self._ring = Ring()
        self._subscriptions: Any = make_subscriptions(policy, problem, parameters)
        self._needs_slots = bool(policy.per_pull or policy.queues) or needs_rows(self._subscriptions)
        self.state: Any = init_state(policy, problem, parameters, policy.name)
        self._clock: Floats | None = getattr(self.state, "clock", None)
        self._loops = self._load(policy)

    def _load(self, policy: SharedPolicy) -> Any:
        """The functions that tell the policy events and ask for decisions."""
        return load_for(policy, handlers, self.state, probabilities=True)

    def _hold(self, stream: np.random.Generator) -> Any:
        """The stream as these functions take it."""
        return hold_stream(stream)

    def hear(self, events: Events) -> None:
        """Tell the policy every event, in order."""
        self._notify(events, NO_DECISIONS)

    def set_clock(self, time: float) -> None:
        """Tell the policy the time of the decision that it is asked for next."""
        if self._clock is not None:
            self._clock[0] = time

    def decide(self, round: int) -> int:
        """The policy's decision."""
        try:
            arm = self._loops.decide(self.state, round, self._held)
        except NumbaError as error:
            raise_error(self._policy, self.state, self._policy.name, round, error)
        check_decision(arm, self._policy, self.state, round, self._policy.name)
        return int(arm)

    def tell_look(self, time: float, stage: int) -> None:
        """Tell the policy of a look."""
        if self._policy.on_look is not None:
            try:
                self._loops.tell_look(self.state, time, stage)
            except NumbaError as error:
                raise_error(self._policy, self.state, self._policy.name, 0, error)

    @property
    def drops_arms(self) -> bool:
        """Whether the policy leaves out arms that are dropped."""
        return hasattr(self.state, "open_arms")

    def set_open_arms(self, open_arms: Bools) -> None:
        """Tell the policy which arms are open from now on, if it can leave out the others."""
        if self.drops_arms:
            self.state.open_arms[:] = open_arms

    def indices(self) -> Floats:
        """The index of every arm at the last decision."""
        return np.array(self.state.indices)

    def probabilities(self) -> Floats:
        """The probability of every arm at the last decision; NaN where it is not known."""
        probabilities = np.empty(len(self.state.indices))
        try:
            self._loops.fill_probabilities(self.state, probabilities)
        except NumbaError as error:
            raise_error(self._policy, self.state, self._policy.name, 0, error)
        return probabilities

    @property
    def subscriptions(self) -> Any:
        """What is remembered to call the policy's handlers."""
        return self._subscriptions

    @property
    def ring(self) -> Ring:
        """Which rows the open pulls have."""
        return self._ring

    def restore(self, state: Mapping[str, Any], subscriptions: Mapping[str, Any], ring: Ring) -> None:
        """Put the policy where it was when these fields of `state` and `subscriptions` were kept."""
        self.state = _with_fields(self.state, state)
        self._subscriptions = _with_fields(self._subscriptions, subscriptions)
        self._ring = ring
        self._clock = getattr(self.state, "clock", None)

    def measures(self) -> Mapping[str, float]:
        """Numbers by name that the policy reports."""
        return {} if self._policy.measures is None else self._policy.measures(self.state)

    def follow(self, events: Events) -> tuple[int, int] | None:
        """Tell recorded events and let the policy decide at every pull.

        The last event must come right before the next pull, or before a look. Returns the place of the
        first pull of another arm than the policy's, and the policy's arm; None if there is no such pull.
        """
        decided = np.zeros(1, dtype=np.int64)
        place = self._notify(events, decided)
        return None if place < 0 else (place, int(decided[0]))

    def _notify(self, events: Events, decided: Ints) -> int:
        if self._needs_slots:
            self._reserve_slots(events)
        return self._call(events, decided)

    def _call(self, events: Events, decided: Ints) -> int:
        try:
            place: int = self._loops.notify_events(
                self.state, self._subscriptions, self._held, self._ring.capacity, *told_columns(events), decided
            )
        except NumbaError as error:
            raise_error(self._policy, self.state, self._policy.name, int(events.round[-1]), error)
        return place

    def _reserve_slots(self, events: Events) -> None:
        """Give the pulls of these events slots, and free those of the pulls that are closed."""
        for pull in events.pull[events.kind == PULL].tolist():
            before = self._ring.reserve(pull)
            if before != self._ring.capacity:
                self.state = self._enlarge(self.state, self._per_pull, before, pull)
                self.state = with_longer(self.state, self._queues, self._ring.capacity)
                self._subscriptions = self._enlarge(self._subscriptions, PER_SLOT, before, pull)
        for pull in events.pull[events.kind == CLOSED].tolist():
            self._ring.release(pull)

    def _enlarge(self, rows: Any, names: tuple[str, ...], before: int, pull: int) -> Any:
        """A named tuple with these fields laid out for the larger ring."""
        return rows._replace(**{name: self._ring.enlarge(getattr(rows, name), before, pull) for name in names})


def _with_fields(fields: Any, kept: Mapping[str, Any]) -> Any:
    """A named tuple whose fields have these values; ValueError if they are of another policy.

    Arrays that cannot be written, such as tables, stay as they are.
    """
    if set(kept) != set(fields._fields):
        raise ValueError(f"it has the fields {', '.join(sorted(kept))}, not {', '.join(sorted(fields._fields))}")
    values = {}
    for name, now in fields._asdict().items():
        if not isinstance(now, np.ndarray):
            values[name] = type(now)(kept[name])
        elif now.flags.writeable:
            if kept[name].dtype != now.dtype or kept[name].ndim != now.ndim:
                raise ValueError(f"{name} is of another type")
            values[name] = np.ascontiguousarray(kept[name])
    return fields._replace(**values)


def needs_rows(subscriptions: Any) -> bool:
    """Whether something is remembered for each open pull to call the handlers of a policy."""
    return bool(subscriptions.group or subscriptions.lost or subscriptions.scale.size or subscriptions.needs.size)


def told_columns(events: Events) -> tuple[Any, ...]:
    """The columns of which a policy is told; those that cannot be written to are copied.

    For compiled code these would be arrays of another type, for which the policy's handlers would be compiled again.
    """
    told = events.time, events.kind, events.round, events.pull, events.arm, events.part, events.value
    return told if events.time.flags.writeable else tuple(column.copy() for column in told)


def start_policy(
    form: PolicyForm, problem: Problem, parameters: Parameters, stream: np.random.Generator, *, debug: bool = False
) -> Policy:
    """A policy ready for its first round; it is told the arms' means only if its form says that it knows them.

    `debug`: its functions run uncompiled, with every index checked.
    """
    told = told_problem(form, problem)
    if isinstance(form, SharedPolicy):
        from tpstream.policies.checked import CheckedRunner  # noqa: PLC0415 (it builds on Runner)

        return (CheckedRunner if debug else Runner)(form, told, parameters, stream)
    with user_code(PolicyError, f"policy {form.name!r}", "when it was created"):
        policy = form.create(told, parameters, stream)
    return policy if told.endpoint is None else HeardPolicy(policy, told.endpoint)


def tell_look(policy: Policy, time: float, stage: int) -> None:
    """Tell a policy of a look at this time: at stage 0 the data are cut, at stage 1 it is decided.

    One that has no handler for it is not told.
    """
    if isinstance(policy, Runner):
        policy.tell_look(time, stage)
    elif hasattr(policy, "on_look"):
        if isinstance(policy, TimedPolicy):
            policy.set_clock(time)
        policy.on_look(stage)


def tell_open_arms(policy: Policy, open_arms: Bools) -> None:
    """Tell a policy which arms are open from now on, if it can leave out the others."""
    if hasattr(policy, "set_open_arms"):
        policy.set_open_arms(open_arms)


def drops_arms(policy: Policy) -> bool:
    """Whether a policy leaves out arms that are dropped."""
    return policy.drops_arms if isinstance(policy, Runner) else hasattr(policy, "set_open_arms")
