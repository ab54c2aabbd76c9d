"""The bus: subscribers hear everything in order, can stop the run, and cannot change it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from worlds import Recorder, build_policy, run_world, table_world

from tpstream.engines.engine import Bus
from tpstream.engines.simpy_engine import SimpyEngine
from tpstream.model.errors import LogError, PolicyError, SubscriberError
from tpstream.model.events import Events
from tpstream.model.world import World


@dataclass
class Teller:
    """Writes its name down whenever it hears something."""

    name: str
    told: list[tuple[str, int]] = field(default_factory=list)

    def hear(self, events: Events) -> None:
        """Write down the name and the first number."""
        self.told.append((self.name, int(events.seq[0])))


@dataclass
class Breaker:
    """Raises once it hears an event of this number."""

    at: int
    error: Exception
    heard: int = -1

    def hear(self, events: Events) -> None:
        """Raise, if it is time."""
        self.heard = int(events.seq[-1])
        if self.heard >= self.at:
            raise self.error

    def hear_nothing(self, _: int) -> int:
        """Raise at once."""
        raise self.error


class Decider:
    """A policy that decides what it was told to."""

    def __init__(self, arm: int) -> None:
        self.arm = arm

    def hear(self, events: Events) -> None:
        """Learn nothing."""

    def decide(self, round: int) -> int:  # noqa: ARG002
        """The arm."""
        return self.arm


def small_world() -> World:
    """Two arms that pay different floats over three rounds."""
    return table_world(np.random.default_rng(1).random((2, 20, 3)), 20)


def test_subscribers_hear_in_the_order_of_subscription() -> None:
    """Every batch goes to the first subscriber, then to the second, before the next batch goes to anyone."""
    told: list[tuple[str, int]] = []
    run_world(small_world(), "uniform", sinks=[("b", Teller("b", told)), ("a", Teller("a", told))])
    batches = [seq for name, seq in told if name == "b"]
    assert told == [(name, seq) for seq in batches for name in ("b", "a")]


def test_policy_hears_before_sinks() -> None:
    """The policy is the first subscriber: a sink that fails cannot keep an event from it."""
    told: list[tuple[str, int]] = []
    world = small_world()
    policy = build_policy(world, "uniform")
    inner, policy.hear = policy.hear, lambda events: (told.append(("policy", int(events.seq[0]))), inner(events))
    run_world(world, "uniform", policy=policy, sinks=[("sink", Teller("sink", told))])
    assert [name for name, _ in told[:2]] == ["policy", "sink"]


def test_all_subscribers_hear_everything() -> None:
    """Two sinks hear the same events."""
    early = Recorder()
    run = run_world(small_world(), "tp-ucb-fr", sinks=[("early", early)])
    assert early.events == run.events


def test_subscriber_that_raises_is_named() -> None:
    """An error in a subscriber ends the run with one that names the subscriber, the error and its text."""
    sinks = [("my-sink", Breaker(10, ValueError("the disk is full")))]
    with pytest.raises(SubscriberError, match=r"'my-sink' raised ValueError.*the disk is full"):
        run_world(small_world(), "tp-ucb-fr", sinks=sinks)


def chain(error: BaseException | None) -> list[BaseException]:
    """An error and its causes."""
    return [] if error is None else [error, *chain(error.__cause__)]


def test_subscriber_error_keeps_its_cause() -> None:
    """The subscriber's own exception is among the causes of the error."""
    cause = KeyError("x")
    with pytest.raises(SubscriberError) as caught:
        run_world(small_world(), "tp-ucb-fr", sinks=[("s", Breaker(0, cause))])
    assert cause in chain(caught.value)


def test_subscriber_that_raises_stops_the_run() -> None:
    """After the error nobody hears anything: neither later subscribers of the batch, nor the next batch."""
    breaker, later = Breaker(10, ValueError()), Recorder()
    with pytest.raises(SubscriberError):
        run_world(small_world(), "tp-ucb-fr", sinks=[("breaker", breaker), ("later", later)])
    assert len(later.events) <= 10 <= breaker.heard < 20


def test_error_on_the_last_batch_is_not_lost() -> None:
    """A subscriber that raises on the very last event stops the run, too."""
    last = len(run_world(small_world(), "uniform").events) - 1
    with pytest.raises(SubscriberError, match="'late'"):
        run_world(small_world(), "uniform", sinks=[("late", Breaker(last, ValueError()))])


def test_policy_that_raises_is_named() -> None:
    """A policy is a subscriber like any other."""
    with pytest.raises(SubscriberError, match="'policy mine' raised ZeroDivisionError"):
        list(SimpyEngine(small_world(), _policy_that_breaks(), "mine").round_batches())


def _policy_that_breaks() -> Decider:
    policy = Decider(0)
    policy.hear = Breaker(3, ZeroDivisionError()).hear  # type: ignore[method-assign]
    return policy


class PickyError(Exception):
    """An exception that cannot be built from its own arguments, as many in the wild."""

    def __init__(self, what: str, value: int) -> None:
        super().__init__(f"{what} is {value}")


@pytest.mark.parametrize("drain", [False, True])
def test_any_exception_of_a_subscriber_is_reported(drain: bool) -> None:  # noqa: FBT001
    """Also an exception with a constructor of its own is named and told."""
    world = replace(small_world(), drain=drain)
    with pytest.raises(SubscriberError, match=r"'s' raised PickyError.*it is 7"):
        run_world(world, "uniform", sinks=[("s", Breaker(3, PickyError("it", 7)))])


def test_any_exception_of_a_decision_is_reported() -> None:
    """An exception that a policy raises when it decides is not lost, whatever its constructor takes."""
    policy, error = Decider(0), PickyError("it", 7)
    policy.decide = Breaker(-1, error).hear_nothing  # type: ignore[method-assign]
    with pytest.raises(Exception, match="it is 7") as caught:
        list(SimpyEngine(small_world(), policy, "mine").round_batches())
    assert error in chain(caught.value)


def test_errors_of_a_log_pass_as_they_are() -> None:
    """The error of a log, which names its file, is not wrapped."""
    with pytest.raises(LogError, match=r"^the log is full$"):
        run_world(small_world(), "uniform", sinks=[("log", Breaker(0, LogError("the log is full")))])


@pytest.mark.parametrize("arm", [-1, 2])
def test_impossible_decision_is_an_error(arm: int) -> None:
    """A policy that decides for an arm that does not exist is named, with the arm and the round."""
    with pytest.raises(PolicyError, match=rf"'mine' decided for arm {arm} in round 1; arms are 0 to 1"):
        list(SimpyEngine(small_world(), Decider(arm), "mine").round_batches())


@pytest.mark.parametrize("name", ["ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew", "uniform"])
def test_a_sink_changes_nothing(name: str) -> None:
    """A run with more sinks has the same decisions and events, also if one of them writes over what it heard."""
    world = small_world()
    plain = run_world(world, name)
    early = Recorder()
    crowded = run_world(world, name, sinks=[("teller", Teller("t")), ("early", early), ("vandal", Vandal())])
    assert (crowded.arms.tolist(), early.events) == (plain.arms.tolist(), plain.events)


class Vandal:
    """Does what a sink must not do."""

    def hear(self, events: Events) -> None:
        """Overwrite what can be overwritten."""
        for column in (events.value, events.arm, events.pull, events.part):
            if column.flags.writeable:
                column[:] = 1


def test_bus_without_subscribers_is_silent() -> None:
    """A bus without subscribers takes events and does nothing."""
    none = np.zeros(0, dtype=np.int64)
    events = Events(none, none.astype(float), none.astype(np.int8), none, none, none, none, none.astype(float))
    assert Bus().publish(events) == []
