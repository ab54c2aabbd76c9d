"""A policy as users write them that records every call, to prove that all engines make the same calls."""

from typing import NamedTuple

import numpy as np

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import GroupParameters, Parameters, SharedPolicy

PULL, PARTIAL, RECEIVED, GROUP, LOST, CLOSED, DECIDE, LOOK = range(8)
MOST_LOOKS = 32


class WritingState(NamedTuple):
    """The calls so far, in order."""

    indices: Floats
    clock: Floats
    written: Ints
    """How many calls are recorded, and how many of them were pulls."""
    calls: Floats
    """Rows of (what was called, arm, pull, part or group, value, what the pull paid so far, time)."""
    numbers: Ints
    """For each slot: the pull's number."""
    paid: Floats
    """For each slot: what it paid so far, and in how many parts."""
    open_arms: Bools


def init(problem: Problem, parameters: Parameters) -> WritingState:
    """The state before the first call."""
    if isinstance(parameters, GroupParameters):
        problem.assumed_groups(parameters.groups)
    most = problem.horizon * (3 * problem.span + 3 + problem.arms) + problem.arms * problem.span + MOST_LOOKS
    return WritingState(
        indices=np.zeros(problem.arms),
        clock=np.zeros(1),
        written=np.zeros(2, dtype=np.int64),
        calls=np.zeros((most, 7)),
        numbers=np.zeros(1, dtype=np.int64),
        paid=np.zeros((1, 2)),
        open_arms=np.ones(problem.arms, dtype=np.bool_),
    )


@compiled
def write(state: WritingState, what: int, arm: int, pull: int, place: int, value: float, paid: float) -> None:
    """Record a call; the arm's index depends on all calls so far and their times."""
    row = state.written[0]
    state.calls[row, 0] = what
    state.calls[row, 1] = arm
    state.calls[row, 2] = pull
    state.calls[row, 3] = place
    state.calls[row, 4] = value
    state.calls[row, 5] = paid
    state.calls[row, 6] = state.clock[0]
    state.written[0] = row + 1
    state.indices[arm] = (state.indices[arm] * 0.75 + row % 7 + what + state.clock[0] % 3.0) % 16.0


@compiled
def on_pull(state: WritingState, arm: int, slot: int, shown: float) -> None:
    """A pull begins; its slot is cleared."""
    state.written[1] += 1
    state.numbers[slot] = state.written[1]
    state.paid[slot, 0] = 0.0
    state.paid[slot, 1] = 0.0
    write(state, PULL, arm, state.numbers[slot], 0, shown, 0.0)


@compiled
def on_partial(state: WritingState, arm: int, slot: int, part: int, value: float) -> None:
    """A part, written with all that its pull paid so far."""
    state.paid[slot, 0] += value
    state.paid[slot, 1] += 1.0
    write(state, PARTIAL, arm, state.numbers[slot], part, value, state.paid[slot, 0])


@compiled
def on_received(state: WritingState, arm: int, amount: float) -> None:
    """What an arm was paid at an instant."""
    write(state, RECEIVED, arm, 0, 0, amount, 0.0)


@compiled
def on_group(state: WritingState, arm: int, slot: int, group: int, amount: float) -> None:
    """A group is complete."""
    write(state, GROUP, arm, state.numbers[slot], group, amount, state.paid[slot, 0])


@compiled
def on_lost(state: WritingState, arm: int, slot: int, part: int) -> None:
    """A part is lost; a pull that is closed has no slot."""
    if slot >= 0:
        write(state, LOST, arm, state.numbers[slot], part, 0.0, state.paid[slot, 0])
    else:
        write(state, LOST, arm, 0, part, 0.0, 0.0)


@compiled
def on_closed(state: WritingState, arm: int, slot: int, credited: float) -> None:
    """A pull is closed, written with the number of its parts."""
    write(state, CLOSED, arm, state.numbers[slot], int(state.paid[slot, 1]), credited, state.paid[slot, 0])


@compiled
def on_look(state: WritingState, stage: int) -> None:
    """A look, written with the number of open arms."""
    still_open = 0
    for arm in range(state.open_arms.size):
        still_open += state.open_arms[arm]
    write(state, LOOK, 0, 0, stage, float(still_open), 0.0)


@compiled
def decide(state: WritingState, round: int, stream: np.random.Generator) -> int:
    """By the largest index of an open arm or, in one of three rounds, at random; for any arm if none is open."""
    arm = int(stream.random() * state.indices.size) if round % 3 == 0 else 0
    for other in range(state.indices.size):
        better = round % 3 > 0 and state.indices[other] > state.indices[arm]
        if state.open_arms[other] and (better or not state.open_arms[arm]):
            arm = other
    write(state, DECIDE, arm, round, 0, 0.0, 0.0)
    return arm


PER_PULL = ("numbers", "paid")
HANDLERS = {
    "on_pull": on_pull,
    "on_partial": on_partial,
    "on_received": on_received,
    "on_group": on_group,
    "on_lost": on_lost,
    "on_closed": on_closed,
    "on_look": on_look,
}


def policy_with(*handlers: str, clairvoyant: bool = False) -> SharedPolicy:
    """The policy with these handlers only."""
    return SharedPolicy(
        name="-".join(["writing", *handlers]),
        parameters=GroupParameters if "on_group" in handlers else Parameters,
        init=init,
        decide=decide,
        per_pull=PER_PULL,
        clairvoyant=clairvoyant,
        **{name: HANDLERS[name] for name in handlers},
    )
