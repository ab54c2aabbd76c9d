"""A policy that learns decides on the decisions of a log, and hears of those on which it agrees with the log.

Decision i was made with probability q_i. The policy is asked which arm it would take; if that is the logged one, the
decision is kept with probability c / q_i, c the smallest probability in the log. So a decision of the log is kept with
probability c pi / q_i, if pi is the probability with which the policy takes its arm, and an arm that the policy takes
is kept with probability q_i c / q_i = c, whatever the arm. What is kept is therefore the policy at work on a share c of
the traffic: it has the log's times, hears at these times what its own decisions pay, and nothing of the others.

A policy whose decision is not kept is as if it had not been asked; only its random numbers are used up.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tpstream.analysis.age_tables import Decisions
from tpstream.log.reader import Log
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import PolicyError
from tpstream.model.events import CLOSED, PARTIAL, PULL, Events, Kind, Told
from tpstream.model.interfaces import Policy, TimedPolicy
from tpstream.model.numba_support import hold_stream
from tpstream.model.pull_rows import Ring, with_longer
from tpstream.model.world import Problem
from tpstream.policies import thinned_loop
from tpstream.policies.base import SharedPolicy, told_problem
from tpstream.policies.functions import check_decision
from tpstream.policies.loader import init_state, load_for, make_subscriptions
from tpstream.policies.runner import PER_SLOT, start_policy
from tpstream.policies.thinned_loop import DONE, KEPT, OLDEST, Thinning
from tpstream.scenario.policy_choice import PolicyChoice

NOT_ASKED = -2
"""The decision of a policy that was not asked."""
ALIGNED = 64
"""Bytes of which the place of an array in the memory of a state is a multiple."""


@dataclass(frozen=True, eq=False)
class Kept:
    """What a policy decided."""

    numbers: Ints
    """Of each logged decision: its number among those that are kept, from 1; 0 if it is not."""
    decided: Ints
    """The policy's arm; NOT_ASKED where it was not asked."""

    @property
    def rows(self) -> Bools:
        """Which of the logged decisions are kept."""
        rows: Bools = self.numbers > 0
        return rows


def told_events(log: Log, decisions: Decisions) -> Events:
    """The events that a policy can be told: those of a run as they are, of a log of payments part by part.

    What a part of a log of payments paid in all is known when its period is over, and told then.
    """
    if not log.header.payments:
        events = Told().of(log.join())
        return replace(events, value=np.where(events.kind == Kind.PULL, np.nan, events.value))
    ages = decisions.ages
    count, window = ages.count, float(log.header.span if log.header.window is None else log.header.window)
    pull = np.repeat(np.arange(count), ages.observed)
    starts = np.cumsum(ages.observed) - ages.observed
    part = np.arange(len(pull)) - starts[pull] + 1
    value = np.zeros(len(pull))
    whole = ages.age < ages.observed[ages.row]
    np.add.at(value, starts[ages.row[whole]] + ages.age[whole], ages.amount[whole])
    closed = np.flatnonzero(ages.observed == ages.periods)
    credited = np.bincount(pull, weights=value, minlength=count)[closed]
    numbers = np.concatenate([np.arange(count), pull, closed])
    kinds = np.repeat(np.array([PULL, PARTIAL, CLOSED], dtype=np.int8), [count, len(pull), len(closed)])
    made = ages.made[numbers]
    parts = np.concatenate([np.zeros(count, np.int64), part, np.zeros(len(closed), np.int64)])
    times = np.where(kinds == PULL, made, made + np.where(kinds == CLOSED, window, np.minimum(parts, window)))
    values = np.concatenate([np.full(count, np.nan), value, credited])
    order = np.lexsort((np.where(kinds == CLOSED, ages.periods + 1, parts), numbers, kinds != PULL, times))
    kind = kinds[order]
    return Events(
        seq=np.arange(len(order)),
        time=times[order],
        kind=kind,
        round=np.cumsum(kind == PULL),
        pull=numbers[order] + 1,
        arm=decisions.arm[numbers[order]],
        part=parts[order],
        value=values[order],
    )


class Rejection:
    """A policy to be asked about the decisions of a log, any number of times.

    Parameters
    ----------
    choice
        The policy and its parameters.
    problem
        What it is told; its horizon is how many decisions are kept at most.
    events
        The events of the log, as `told_events` gives them.
    """

    def __init__(self, choice: PolicyChoice, problem: Problem, events: Events) -> None:
        self._choice, self._problem, self._events = choice, problem, events
        self._count = int(np.count_nonzero(events.kind == PULL))
        self._capacity = 1
        if isinstance(choice.form, SharedPolicy):
            told = told_problem(choice.form, problem)
            self._state = init_state(choice.form, told, choice.parameters, choice.form.name)
            self._subscriptions = make_subscriptions(choice.form, told, choice.parameters)
            self._loops = load_for(choice.form, thinned_loop, self._state)

    def keep(self, wanted: Bools, stream: np.random.Generator) -> Kept:
        """Ask the policy, with random numbers from this stream; `wanted` decisions are kept if it agrees."""
        form = self._choice.form
        if not isinstance(form, SharedPolicy):
            policy = start_policy(form, self._problem, self._choice.parameters, stream)
            return keep_slowly(policy, stream, self._events, wanted, self._problem.horizon)
        state, memory = packed(with_rows(deepcopy(self._state), form.per_pull, form.queues, self._capacity))
        subscriptions = with_rows(deepcopy(self._subscriptions), PER_SLOT, (), self._capacity)
        decided, numbers = np.full(self._count, NOT_ASKED), np.zeros(self._count, dtype=np.int64)
        released = np.zeros(self._count + 2, dtype=np.bool_)
        place = np.array([0, 1, self._problem.horizon])
        ring, held, first, events = Ring(self._capacity), hold_stream(stream), 0, self._events
        columns = events.time, events.kind, events.pull, events.arm, events.part, events.value
        while True:
            thinning = Thinning(wanted, decided, numbers, released, place, memory, np.empty_like(memory))
            first = self._loops.decide_thinned(state, subscriptions, held, ring.capacity, thinning, first, *columns)
            if first == DONE:
                return Kept(numbers, decided)
            row, number = int(events.pull[first]) - 1, int(place[KEPT]) + 1
            if decided[row] != NOT_ASKED:
                check_decision(int(decided[row]), form, state, number, form.name)
                raise PolicyError(f"policy {form.name!r}: decided for {decided[row]}, which is no arm")
            ring.oldest = int(place[OLDEST])
            before = ring.reserve(number)
            self._capacity = ring.capacity
            state = _enlarged(state, form.per_pull, ring, before, number)
            state, memory = packed(with_longer(state, form.queues, ring.capacity))
            subscriptions = _enlarged(subscriptions, PER_SLOT, ring, before, number)


def keep_slowly(policy: Policy, stream: np.random.Generator, events: Events, wanted: Bools, most: int) -> Kept:
    """Do what `Rejection.keep` does, for a policy that is an ordinary Python object: a copy of it is asked."""
    pulls = np.flatnonzero(events.kind == PULL)
    decided, numbers = np.full(len(pulls), NOT_ASKED), np.zeros(len(pulls), dtype=np.int64)
    kept = told = 0
    for place, following in pairwise([*pulls.tolist(), len(events)]):
        row = int(events.pull[place]) - 1
        if wanted[row]:
            if kept == most:
                break
            before = deepcopy(policy, {id(stream): stream})
            if isinstance(policy, TimedPolicy):
                policy.set_clock(float(events.time[place]))
            decided[row] = policy.decide(kept + 1)
            if decided[row] == events.arm[place]:
                kept += 1
                numbers[row] = kept
            else:
                policy = before
        rest = events.cut(place, following)
        own = rest.take(np.flatnonzero(numbers[rest.pull - 1]))
        if len(own):
            seq, round = np.arange(told, told + len(own)), np.full(len(own), kept)
            policy.hear(replace(own, seq=seq, round=round, pull=numbers[own.pull - 1]))
            told += len(own)
    return Kept(numbers, decided)


def wanted_rows(chance: Floats, smallest: float, stream: np.random.Generator) -> Bools:
    """Which decisions are kept if the policy agrees: each with probability c / q_i."""
    rows: Bools = stream.random(len(chance)) * chance < smallest * (1 + 1e-12)
    return rows


def packed(state: Any) -> tuple[Any, Any]:
    """The state with its arrays side by side in one memory, so that all of it can be kept and put back at once.

    Arrays that cannot be written, such as tables, stay where they are.
    """
    arrays = {
        name: value
        for name, value in zip(state._fields, state, strict=True)
        if isinstance(value, np.ndarray) and value.flags.writeable
    }
    places = list(_places(arrays))
    memory = np.zeros(places[-1] // 8, dtype=np.int64)
    moved = {}
    for (name, value), start in zip(arrays.items(), places, strict=False):
        own = memory.view(np.uint8)[start : start + value.nbytes]
        moved[name] = own.view(value.dtype).reshape(value.shape)
        moved[name][...] = value
    return state._replace(**moved), memory


def _places(arrays: dict[str, Any]) -> Iterator[int]:
    """Where each array begins, and where the last one ends."""
    place = 0
    for value in arrays.values():
        yield place
        place += -(-value.nbytes // ALIGNED) * ALIGNED
    yield place


def with_rows(fields: Any, names: tuple[str, ...], queues: tuple[str, ...], rows: int) -> Any:
    """A named tuple before the first round in which these fields have this many rows, all zero."""
    made = {name: np.zeros((rows, *getattr(fields, name).shape[1:]), getattr(fields, name).dtype) for name in names}
    return with_longer(fields._replace(**made), queues, rows)


def _enlarged(fields: Any, names: tuple[str, ...], ring: Ring, before: int, pull: int) -> Any:
    """A named tuple with these fields laid out for the larger ring."""
    return fields._replace(**{name: ring.enlarge(getattr(fields, name), before, pull) for name in names})
