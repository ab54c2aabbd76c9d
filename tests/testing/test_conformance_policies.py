"""The conformance kit finds what is wrong with policies and sinks: one for each of its checks, and the message."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from bad_plugins import Kind, fail, luck

from tpstream.model.arrays import Floats
from tpstream.model.events import Events
from tpstream.model.numba_support import compiled
from tpstream.policies.base import Parameters, PythonPolicy, SharedPolicy
from tpstream.testing import check_policy, check_sink


class InTurn:
    """A policy in Python: the arms in turn."""

    def __init__(self, problem: Any) -> None:
        self.arms = problem.arms

    def hear(self, events: Events) -> None:
        """Learn nothing."""

    def decide(self, round: int) -> int:
        """The next arm."""
        return (round - 1) % self.arms

    def indices(self) -> Floats:
        """None."""
        return np.zeros(self.arms)


class Jumps(InTurn):
    """Decides for an arm that is not there."""

    def decide(self, round: int) -> int:
        """Too far."""
        return round - 1


class Fraction(InTurn):
    """Decides for half an arm."""

    def decide(self, round: int) -> Any:
        """Not a whole number."""
        return super().decide(round) / 2


class Gambles(InTurn):
    """Asks the global generator."""

    def decide(self, round: int) -> int:
        """By luck that nobody can repeat."""
        return super().decide(round) * int(luck())


class Scribbles(InTurn):
    """Writes over what it hears."""

    def hear(self, events: Events) -> None:
        """Everything pays one."""
        events.value[:] = 1.0


class Shows(InTurn):
    """Has too many indices."""

    def indices(self) -> Floats:
        """One more than there are arms."""
        return np.zeros(self.arms + 1)


class Unsure(InTurn):
    """Has an index that is not a number, after some rounds."""

    rounds = 0

    def decide(self, round: int) -> int:
        """The next arm."""
        self.rounds = round
        return super().decide(round)

    def indices(self) -> Floats:
        """The last one is NaN from round 5 on."""
        return np.array([0.0] * (self.arms - 1) + [np.nan if self.rounds >= 5 else 0.0])


class Looks(InTurn):
    """Decides by who asks it."""

    def decide(self, round: int) -> int:
        """Another order in a replay."""
        in_replay = any(frame.function == "follow" for frame in inspect.stack(0))
        return (super().decide(round) + in_replay) % self.arms


class Peeks(InTurn):
    """Reads the coming rewards in the engine that asks it."""

    def decide(self, round: int) -> int:
        """The arm that pays most in all its pulls to come."""
        frame = inspect.currentframe()
        while frame is not None and not hasattr(frame.f_locals.get("self"), "world"):
            frame = frame.f_back
        arms = frame.f_locals["self"].world.rewards.arms if frame else []
        if not (arms and hasattr(arms[0], "rows")):
            return super().decide(round)
        return int(sum(float(arm.rows[round:].sum()) for arm in arms) * 1000) % self.arms


class Vandalises(InTurn):
    """Changes the problem."""

    def __init__(self, problem: Any) -> None:
        super().__init__(problem)
        problem.maxima[0] = 0.0


class Breaks(InTurn):
    """Raises when it decides."""

    def decide(self, round: int) -> int:
        """Up to round 7."""
        if round == 7:
            raise KeyError("seven")
        return super().decide(round)


TALLY = np.zeros(1, dtype=np.int64)


class Remembers(InTurn):
    """Counts in an array that all runs share."""

    def decide(self, round: int) -> int:  # noqa: ARG002
        """By the number of decisions in this process."""
        TALLY[0] += 1
        return int(TALLY[0]) // 7 % self.arms


class SlotState(NamedTuple):
    """The last slot."""

    indices: Any
    last: Any


@compiled
def _on_pull(state: SlotState, arm: int, slot: int, total: float) -> None:  # noqa: ARG001
    state.last[0] = slot


@compiled
def _decide(state: SlotState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    return int(state.last[0] % state.indices.size)


BY_SLOT = SharedPolicy(
    "bad",
    Parameters,
    lambda problem, parameters: SlotState(np.zeros(problem.arms), np.zeros(1, dtype=np.int64)),  # noqa: ARG005
    _decide,
    on_pull=_on_pull,
)
BAD_POLICIES: dict[str, tuple[Any, str]] = {
    "decides for no arm": (Jumps, "'bad' decided for arm 3 in round 4; arms are 0 to 2"),
    "decides for half an arm": (Fraction, "decided for 0.0 in round 1; give an arm's number"),
    "global": (Gambles, "draws from global randomness"),
    "writes over events": (Scribbles, "changes the column value of the events"),
    "wrong indices": (Shows, r"indices must be float64 of shape \(3,\)"),
    "an index that is NaN": (Unsure, "in round 5 the index of arm 2 is NaN"),
    "differs in replay": (Looks, "in the paper's world, replay decides for arm"),
    "sees what comes": (Peeks, r"decides differently in round \d+ if only what arrives from round 30 on is another"),
    "changes the problem": (Vandalises, "changes the problem that it is told"),
    "raises": (Breaks, "policy 'bad' raised KeyError in round 7: 'seven'"),
    "remembers other runs": (Remembers, "two runs with the same seed differ: event"),
    "differs in the engines": (BY_SLOT, "the engines differ, SimPy first: event"),
    "is not a policy": (InTurn(type("Problem", (), {"arms": 2})), "is a InTurn without name and parameters"),
    "is a class": (InTurn, "give an instance"),
}


@pytest.mark.parametrize("fault", BAD_POLICIES)
def test_bad_policies(fault: str) -> None:
    """A policy that breaks a promise is told which."""
    policy, message = BAD_POLICIES[fault]
    if isinstance(policy, type) and fault != "is a class":
        policy = PythonPolicy("bad", Parameters, lambda problem, parameters, stream, made=policy: made(problem))  # noqa: ARG005
    with pytest.raises(AssertionError, match=message):
        check_policy(policy)


class Listener:
    """Hears, and does something with it."""

    def __init__(self, hear: Callable[[Events], None], *, borrows: bool = False) -> None:
        self.hear = hear
        self.borrows = borrows


def sink(hear: Callable[[Events], None], *, swallow: bool = False, borrows: bool = False) -> Any:
    """A kind of sink."""

    @contextmanager
    def open_(settings: Any, header: Any) -> Iterator[Any]:  # noqa: ARG001
        try:
            yield Listener(hear, borrows=borrows)
        except Exception:
            if not swallow:
                raise

    kind = Kind(fail)
    kind.open = open_  # type: ignore[attr-defined]
    return kind


def _overwrite(events: Events) -> None:
    events.value[:] = 0.0


KEPT: list[Any] = []
"""What sinks keep that must not."""
BAD_SINKS: dict[str, tuple[Any, str]] = {
    "changes events": (sink(_overwrite), "changes what others hear: event"),
    "hides errors": (sink(lambda events: None, swallow=True), "hides the error that ended a run"),  # noqa: ARG005
    "raises": (sink(fail), "'sink' raised KeyError on events 0 to"),
    "cannot open": (Kind(fail), "is a Kind without open"),
    "keeps borrowed events": (sink(KEPT.append, borrows=True), "keeps the array of seq, which will be overwritten"),
    "keeps a few borrowed values": (
        sink(lambda events: KEPT.append(events.value[3:5]), borrows=True),
        "declares borrows = True and keeps the array of value",
    ),
}


@pytest.mark.parametrize("fault", BAD_SINKS)
def test_bad_sinks(fault: str) -> None:
    """A sink that breaks a promise is told which."""
    kind, message = BAD_SINKS[fault]
    with pytest.raises(AssertionError, match=message):
        check_sink(kind, name="bad")
    KEPT.clear()


def test_sinks_that_may_keep_what_they_hear() -> None:
    """A sink may keep its own copy of the events, and one that borrows may keep what it computed from them."""
    check_sink(sink(KEPT.append), name="good")
    check_sink(sink(lambda events: KEPT.append(events.value.sum()), borrows=True), name="good")
    KEPT.clear()
