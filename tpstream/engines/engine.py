"""The choice of an engine, and what engines have in common: the bus, which hands events to subscribers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from functools import lru_cache
from multiprocessing import parent_process
from typing import Any, Literal, Protocol, get_args

import numpy as np

from tpstream.engines.draws import Draws, DrawsReader, at_whole_rounds
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import (
    USER_RAISES,
    EngineError,
    LogError,
    PolicyError,
    SubscriberError,
    did_you_mean,
    user_error,
)
from tpstream.model.events import COLUMN, Events, Kind
from tpstream.model.interfaces import Borrower, Subscriber
from tpstream.model.notes import logger
from tpstream.model.world import Purpose, Timing, World, open_stream
from tpstream.policies.base import Parameters, PolicyForm, SharedPolicy
from tpstream.policies.runner import start_policy

Loans = list[tuple[str, Future[None]]]
"""Who borrows events, by name, and what is done when they are given back."""


class Bus:
    """Hands every batch of events to every subscriber, in the order in which they subscribed."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[str, Subscriber | Borrower]] = []

    def subscribe(self, name: str, subscriber: Subscriber | Borrower) -> None:
        """Hand all further events to this subscriber too; errors call it by the name."""
        self._subscribers.append((name, subscriber))

    def unsubscribe(self, name: str) -> None:
        """Hand no further events to the subscriber of this name."""
        self._subscribers = [one for one in self._subscribers if one[0] != name]

    @property
    def names(self) -> list[str]:
        """The names of the subscribers."""
        return [name for name, _ in self._subscribers]

    def publish(self, events: Events) -> Loans:
        """Hand events to all subscribers; one that raises stops the run.

        Borrowed events, which are views of buffers, go to subscribers that declare `borrows = True`; the others share a
        copy. Returns what has to be waited for before the buffers are used again.
        """
        loans, copied = [], None if events.borrowed else events
        for name, subscriber in self._subscribers:
            try:
                if getattr(subscriber, "borrows", False):
                    loan = subscriber.hear(events)
                    if loan is not None:
                        loans.append((name, loan))
                else:
                    copied = events.copy() if copied is None else copied
                    subscriber.hear(copied)
            except (LogError, PolicyError):
                raise  # it names its file, or the policy
            except USER_RAISES as error:
                raise _named(error, name, events) from error
        return loans

    @staticmethod
    def settle(loans: Loans, events: Events) -> None:
        """Wait until these events are given back; what a subscriber raised meanwhile stops the run."""
        for name, loan in loans:
            try:
                loan.result()
            except (LogError, PolicyError):
                raise  # it names its file, or the policy
            except USER_RAISES as error:
                raise _named(error, name, events) from error


def _named(error: BaseException, subscriber: str, events: Events) -> BaseException:
    """What a subscriber raised, with its name."""
    when = f"on events {events.seq[0]} to {events.seq[-1]} (round {events.round[-1]})"
    return user_error(SubscriberError, f"subscriber {subscriber!r}", when, error)


EngineName = Literal["auto", "compiled", "simpy"]


class LookEngine(Protocol):
    """What is asked of a run that pauses, at the end of a batch that ends with a pause."""

    @property
    def drops_arms(self) -> bool:
        """Whether the policy leaves out arms that are not open."""

    def tell_look(self, stage: int) -> None:
        """Tell the policy that the data are cut now (stage 0), or that it is decided on them (stage 1)."""

    def set_open_arms(self, open_arms: Bools) -> None:
        """Tell the policy which arms are open from now on."""

    def announce(self, kind: Kind, look: int, arm: Ints, part: Ints, value: Floats) -> None:
        """Publish events about a look, at the time of the pause."""

    def end_recruitment(self) -> None:
        """Let no more decisions be made; what is still to come of the pulls comes."""


class Engine(LookEngine, Protocol):
    """One run of a world under a policy; subscribe sinks to its bus, then take its batches of rounds."""

    bus: Bus

    @property
    def passed(self) -> int:
        """How many pauses are behind: all events up to and including the time of the last of them are published."""

    @property
    def makes_events(self) -> bool:
        """Whether the bus gets events even if nobody else subscribes."""

    def round_batches(self) -> Iterator[Ints]:
        """Run all rounds; yields the arms of each batch of rounds."""

    def policy_measures(self) -> Mapping[str, float]:
        """Numbers by name that the policy reports after the last round."""


def announced(
    columns: Iterable[str],
    arms: int,
    *,
    seq: int,
    round: int,
    time: float,
    kind: Kind,
    look: int,
    arm: Ints,
    part: Ints,
    value: Floats,
) -> Events:
    """Events about a look, with these optional columns: no policy is shown them, and there are no pulls among them."""
    rows = len(arm)
    optional: dict[str, Any] = {name: COLUMN[name].empty(0, arms) for name in columns}
    if "shown" in optional:
        optional["shown"] = np.zeros(rows, dtype=np.bool_)
    return Events(
        seq=np.arange(seq, seq + rows),
        time=np.full(rows, time),
        kind=np.full(rows, kind, dtype=np.int8),
        round=np.full(rows, round),
        pull=np.full(rows, look),
        arm=np.asarray(arm, dtype=np.int64),
        part=np.asarray(part, dtype=np.int64),
        value=np.asarray(value, dtype=np.float64),
        **optional,
    )


def obstacle(form: PolicyForm, timing: Timing, *, paused: bool = False) -> str | None:
    """Why the compiled engine cannot serve, or None if it can; `paused`: the run has pauses."""
    if not isinstance(form, SharedPolicy):
        return f"policy {form.name!r} is an ordinary Python object, not in the shared form"
    return timing_obstacle(timing, paused=paused)


def timing_obstacle(timing: Timing, *, paused: bool = False, stepped: bool = False) -> str | None:
    """What in a world's timing the compiled engine cannot serve, or None; `stepped`: decisions are made outside."""
    if timing.process is not None:
        return f"{timing.process_name} is a process on SimPy's timeline"
    if at_whole_rounds(timing) and not paused and not stepped:
        return None
    calendars = [(stage.delay, stage.name) for stage in timing.later if stage.form == "reported"]
    if timing.calendar is not None:
        calendars += zip(timing.calendar.delays, timing.calendar.names, strict=True)
    for calendar, name in calendars:
        if not hasattr(calendar, "table"):
            when = "where feedback is hidden" if timing.reveal != "all" else "for times that are not whole rounds"
            when = "in a trial with looks" if paused else "step by step" if stepped else when
            return f"{name} is written in Python, which compiled code cannot call {when}"
    return None


def select(name: str, form: PolicyForm, timing: Timing, *, paused: bool = False) -> Literal["compiled", "simpy"]:
    """The engine for this policy and timing; raises EngineError if one asked for by name cannot serve."""
    return choose(name, lambda: obstacle(form, timing, paused=paused))


def choose(name: str, find_obstacle: Callable[[], str | None]) -> Literal["compiled", "simpy"]:
    """The engine that is meant: the compiled one where nothing speaks against it, unless SimPy is asked for."""
    if name not in get_args(EngineName):
        known = get_args(EngineName)
        raise EngineError(f"unknown engine {name!r}{did_you_mean(name, known)}; use one of {', '.join(known)}")
    if name == "simpy":
        return "simpy"
    reason = find_obstacle()
    if reason is None:
        return "compiled"
    if name == "compiled":
        raise EngineError(f'the compiled engine cannot serve: {reason}; use engine "simpy" or "auto"')
    _note_choice(reason)
    return "simpy"


@lru_cache(maxsize=1024)
def _note_choice(reason: str) -> None:
    """Note once why the slower engine serves; worker processes leave that to the process that started them."""
    if parent_process() is None:
        logger().info("the SimPy engine serves, which is slower", reason=reason)


def open_engine(
    name: str,
    world: World,
    form: PolicyForm,
    parameters: Parameters,
    label: str,
    *,
    draws: Draws | DrawsReader | None = None,
    optional: tuple[str, ...] = (),
    debug: bool = False,
    pauses: Floats | None = None,
) -> Engine:
    """An engine ready for its first round; policies of one run may share their draws, by readers of theirs.

    `debug`: the SimPy engine serves, and a policy in the shared form runs uncompiled with every index checked.
    `pauses`: rising times, above 0, at each of which a batch ends, after all events up to and including that instant.
    The decisions after it know what is told to the policy then.
    """
    if pauses is not None and not world.drain:
        raise EngineError("a run with looks needs the results of all pulls; set drain = true")
    # The engines are imported here, since they import this module and a run needs only one of them.
    reader = draws if isinstance(draws, DrawsReader) else DrawsReader(draws or Draws(world))
    if debug and name == "compiled":
        raise EngineError('debug runs policies uncompiled, in the SimPy engine; leave out engine "compiled"')
    if not debug and select(name, form, world.timing, paused=pauses is not None) == "compiled":
        assert isinstance(form, SharedPolicy)  # noqa: S101 (else it would not have been selected)
        from tpstream.engines.compiled_engine import CompiledEngine  # noqa: PLC0415

        return CompiledEngine(world, form, parameters, reader, label, optional=optional, pauses=pauses)
    from tpstream.engines.simpy_engine import SimpyEngine  # noqa: PLC0415

    stream = open_stream(world.seed, world.run, Purpose.POLICY)
    policy = start_policy(form, world.problem, parameters, stream, debug=debug)
    return SimpyEngine(
        world, policy, label, clairvoyant=form.clairvoyant, optional=optional, reader=reader, pauses=pauses
    )
