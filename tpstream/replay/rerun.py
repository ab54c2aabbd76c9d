"""The patients of a log come again, and its rule assigns them with new random numbers.

Each patient brings the outcomes and the delays of the record along, whatever the arm: so it would be if the arms did
not differ.
"""

from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import PolicyError
from tpstream.model.events import CLOSED, LOOK, PULL, Events, Kind, Told
from tpstream.model.interfaces import TimedPolicy
from tpstream.model.numba_support import hold_stream
from tpstream.model.pull_rows import Ring, with_longer
from tpstream.policies import rerun_loop
from tpstream.policies.base import SharedPolicy, told_problem
from tpstream.policies.functions import check_decision
from tpstream.policies.loader import init_state, load_for, make_subscriptions
from tpstream.policies.runner import PER_SLOT, start_policy, tell_look
from tpstream.scenario.policy_choice import PolicyChoice


def recorded_events(log: Log, *, clairvoyant: bool) -> Events:
    """What the rule was told in the run, with each look as two events of which `part` is the stage."""
    events = log.join()
    told = Told().of(events)
    if not clairvoyant:
        told = replace(told, value=np.where(told.kind == Kind.PULL, np.nan, told.value))
    cuts = np.unique(events.time[events.kind == Kind.LOOK])
    return with_looks(told, cuts, log.header.cleaning)


def with_looks(events: Events, cuts: Floats, cleaning: float) -> Events:
    """The events with looks among them: the data are cut after all events of an instant, decided after the cleaning."""
    if not len(cuts):
        return events
    times = np.stack([cuts, cuts + cleaning], axis=1).ravel()
    stages = np.tile([0, 1], len(cuts))
    places = np.searchsorted(events.time, times, side="right")
    columns = events.columns()
    added: dict[str, Any] = {"time": times, "kind": LOOK, "part": stages, "value": np.nan}
    return Events(**{name: np.insert(rows, places, added.get(name, 0)) for name, rows in columns.items()})


class Rerun:
    """The recorded patients, to be assigned again any number of times.

    Parameters
    ----------
    choice
        The rule and its parameters.
    log
        The log of the trial.
    """

    def __init__(self, choice: PolicyChoice, log: Log) -> None:
        self._choice = choice
        self._problem = log.header.problem()
        self._events = recorded_events(log, clairvoyant=choice.form.clairvoyant)
        self.patients = int(np.count_nonzero(self._events.kind == PULL))
        if isinstance(choice.form, SharedPolicy):
            self._prepare(choice.form)

    def _prepare(self, form: SharedPolicy) -> None:
        """Make the state before the first patient, with rows for as many open patients as there are at a time."""
        problem = told_problem(form, self._problem)
        state = init_state(form, problem, self._choice.parameters, form.name)
        subscriptions = make_subscriptions(form, problem, self._choice.parameters)
        self._capacity = _capacity(self._events)
        self._state = with_longer(_rows(state, form.per_pull, self._capacity), form.queues, self._capacity)
        self._subscriptions = _rows(subscriptions, PER_SLOT, self._capacity)
        self._loops = load_for(form, rerun_loop, state)

    def assign(self, stream: np.random.Generator) -> Ints:
        """The arms of all patients, in their order, with random numbers from this stream."""
        form = self._choice.form
        if not isinstance(form, SharedPolicy):
            return assign_slowly(self._choice, self._problem, self._events, stream)
        arms, events, state = np.zeros(self.patients, dtype=np.int64), self._events, deepcopy(self._state)
        columns = events.time, events.kind, events.round, events.pull, events.part, events.value
        place = self._loops.decide_again(
            state, deepcopy(self._subscriptions), hold_stream(stream), self._capacity, *columns, arms
        )
        if place >= 0:
            number = int(events.pull[place])
            arm = int(arms[number - 1])
            check_decision(arm, form, state, number, form.name)
            raise PolicyError(f"policy {form.name!r}: decided for {arm} in round {number}, which is no arm")
        return arms


def assign_slowly(choice: PolicyChoice, problem: Any, events: Events, stream: np.random.Generator) -> Ints:
    """Do what `Rerun.assign` does, for a rule that is an ordinary Python object: it is told patient by patient."""
    policy = start_policy(choice.form, problem, choice.parameters, stream)
    pulls = np.flatnonzero(events.kind == PULL)
    arms = np.zeros(len(pulls), dtype=np.int64)
    marks = np.unique(np.concatenate([pulls, np.flatnonzero(events.kind == LOOK), [len(events)]]))
    for place, following in pairwise(marks.tolist()):
        rest = place
        if events.kind[place] == LOOK:
            tell_look(policy, float(events.time[place]), int(events.part[place]))
            rest = place + 1
        else:
            if isinstance(policy, TimedPolicy):
                policy.set_clock(float(events.time[place]))
            arms[events.pull[place] - 1] = policy.decide(int(events.round[place]))
        told = events.cut(rest, following)
        policy.hear(replace(told, arm=arms[told.pull - 1]))
    return arms


def _capacity(events: Events) -> int:
    """The number of rows that a ring of the open pulls needs."""
    ring = Ring()
    chosen = (events.kind == PULL) | (events.kind == CLOSED)
    for kind, pull in zip(events.kind[chosen].tolist(), events.pull[chosen].tolist(), strict=True):
        if kind == PULL:
            ring.reserve(pull)
        else:
            ring.release(pull)
    return ring.capacity


def _rows(fields: Any, names: tuple[str, ...], rows: int) -> Any:
    """A named tuple in which these fields have this many rows, all zero."""
    made = {name: np.zeros((rows, *getattr(fields, name).shape[1:]), getattr(fields, name).dtype) for name in names}
    return fields._replace(**made)
