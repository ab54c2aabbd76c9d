"""The conformance kit refuses plug-ins whose state passes from run to run or from arm to arm."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from bad_plugins import Kind

from tpstream.model.interfaces import Rewards, Schedule
from tpstream.testing import check_arrivals, check_delay, check_rewards

SPAN = 12
BETWEEN_BUILDS = "bad: .*: it draws from a generator that is not the given stream, or something is kept from"
BETWEEN_ARMS = "bad: .* of arm . differ if other arms are drawn before it, .*: arms share a state"
SEEN: list[int] = []
"""The state of a module."""
COUNTERS: dict[str, Callable[[Any], int]] = {}


def counter(count: Callable[[Any], int]) -> Callable[[Any], int]:
    """A way to count that outlives a build."""
    COUNTERS[count.__name__] = count
    return count


class Counted:
    """Has a count of its class, and one of its own."""

    whole, regular, mean, maximum = True, False, 1e-9, 1e9
    of_class = 0

    def __init__(self, count: Callable[[Any], int]) -> None:
        self.count, self.inside = count, 0

    def sample(self, stream: np.random.Generator, pulls: int) -> Any:
        """Uniform parts, scaled by the count."""
        return stream.random((pulls, SPAN)) / (10 + self.count(self))

    def apply(self, schedule: Schedule, rewards: Any, arm: int, stream: Any) -> Schedule:  # noqa: ARG002
        """Later by the count."""
        return Schedule(schedule.offsets + self.count(self), schedule.lost)

    def times(self, stream: Any, horizon: int) -> Any:  # noqa: ARG002
        """At distances of the count."""
        return np.arange(1.0, horizon + 1) * self.count(self)


class CountedProcess:
    """Delays every pull by the count."""

    of_class = 0

    def __init__(self, count: Callable[[Any], int]) -> None:
        self.count, self.inside = count, 0

    def run(self, context: Any) -> Iterator[Any]:
        """Deliver all parts after the last one, later by the count."""
        yield context.wait_until(context.arrivals[-1][0] + self.count(self) / 100)
        for _, part in context.arrivals:
            context.deliver(part)


@counter
def of_the_object(model: Any) -> int:
    """`self.inside += 1` in an object that every build returns again."""
    model.inside += 1
    return int(model.inside)


@counter
def of_the_class(model: Any) -> int:
    """A counter on the class."""
    type(model).of_class += 1
    return int(type(model).of_class)


@counter
def of_the_module(model: Any) -> int:  # noqa: ARG001
    """A list of the module."""
    SEEN.append(1)
    return len(SEEN)


def kind_of(make: Callable[..., Any], count: str) -> Kind:
    """A kind that builds a model with this counter; with the counter of the object it always is the same model."""
    kept = make(COUNTERS[count])
    return Kind(lambda *_: kept if count == "of_the_object" else make(COUNTERS[count]))


class Gambling(CountedProcess):
    """Delays every pull by luck."""

    def run(self, context: Any) -> Iterator[Any]:
        """Deliver all parts after the last one, later by what another generator says."""
        yield context.wait_until(context.arrivals[-1][0] + self.count(self))
        for _, part in context.arrivals:
            context.deliver(part)


@pytest.mark.parametrize("draw", [lambda _: random.randrange(1, 9), lambda _: np.random.randint(1, 9)])  # noqa: NPY002, S311
def test_global_randomness_is_named(draw: Callable[[Any], Any]) -> None:
    """A model whose runs differ since it uses a global generator is told so, not that something is kept."""
    for check, make in (
        (check_delay, Gambling),
        (check_delay, Counted),
        (check_arrivals, Counted),
        (check_rewards, lambda count: Rewards([Counted(count), Counted(count)], None)),
    ):
        with pytest.raises(
            AssertionError, match=r"^bad: draws from global randomness, a generator that is not the given"
        ):
            check(Kind(lambda *_, make=make: make(draw)), name="bad")  # type: ignore[operator]


@pytest.mark.parametrize("count", COUNTERS)
def test_state_between_runs(count: str) -> None:
    """State of an object that is not built anew, of a class or of a module is refused, whatever the plug-in is."""
    for check, make in (
        (check_delay, Counted),
        (check_delay, CountedProcess),
        (check_arrivals, Counted),
        (check_rewards, lambda count: Rewards([Counted(count), Counted(count)], None)),
    ):
        with pytest.raises(AssertionError, match=BETWEEN_BUILDS):
            check(kind_of(make, count), name="bad")  # type: ignore[operator]


class Inside(CountedProcess):
    """Counts the pulls that are in an office, and is slower the more there are."""

    def run(self, context: Any) -> Iterator[Any]:
        """All parts after the last one."""
        self.inside += 1
        yield context.wait_until(context.arrivals[-1][0] + self.inside)
        self.inside -= 1
        for _, part in context.arrivals:
            context.deliver(part)


def test_a_count_that_is_back_at_zero_at_the_end() -> None:
    """A process may count what is inside during a run; one that is not built anew is refused.

    If all parts are delivered the count is back at 0, so only runs that end earlier tell.
    """
    check_delay(Kind(lambda *_: Inside(len)), name="good")
    one = Inside(len)
    with pytest.raises(AssertionError, match=BETWEEN_BUILDS):
        check_delay(Kind(lambda *_: one), name="bad")


class Sharing:
    """An arm that draws from a generator that it shares with others."""

    mean, maximum = SPAN / 2, float(SPAN)

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def sample(self, stream: Any, pulls: int) -> Any:  # noqa: ARG002
        """Uniform parts, from the wrong generator."""
        return self.generator.random((pulls, SPAN))


class SharingDelay:
    """Later by the number of blocks of all arms."""

    whole = True

    def __init__(self) -> None:
        self.blocks = 0

    def apply(self, schedule: Schedule, rewards: Any, arm: int, stream: Any) -> Schedule:  # noqa: ARG002
        """Later by the count."""
        self.blocks += 1
        return Schedule(schedule.offsets + self.blocks, schedule.lost)


def test_state_between_arms() -> None:
    """A generator or a count that arms share is refused, since the n-th pull of an arm would depend on the policy."""

    def build(*_: Any) -> Rewards:
        generator = np.random.default_rng(0)
        return Rewards([Sharing(generator), Sharing(generator)], None)

    with pytest.raises(AssertionError, match=BETWEEN_ARMS):
        check_rewards(Kind(build), span=SPAN, name="bad")
    with pytest.raises(AssertionError, match=BETWEEN_ARMS):
        check_delay(Kind(lambda *_: SharingDelay()), span=SPAN, name="bad")


class RememberingDelay:
    """Later by the number of blocks of the same arm."""

    whole = True

    def __init__(self) -> None:
        self.blocks: dict[int, int] = {}

    def apply(self, schedule: Schedule, rewards: Any, arm: int, stream: Any) -> Schedule:  # noqa: ARG002
        """Later by the count."""
        self.blocks[arm] = self.blocks.get(arm, 0) + 1
        return Schedule(schedule.offsets + self.blocks[arm], schedule.lost)


def test_state_between_calls() -> None:
    """A count that each arm has of its own is refused, too: a sampled delay depends on its stream alone."""
    with pytest.raises(AssertionError, match="twice from the same stream gives different results; keep nothing"):
        check_delay(Kind(lambda *_: RememberingDelay()), span=SPAN, name="bad")
