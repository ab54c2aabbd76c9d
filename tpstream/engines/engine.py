"""Which engine serves: the compiled one where it can, else SimPy, and why.

The bus: hands every event to every subscriber, in order.
"""

from collections.abc import Iterator
from functools import lru_cache
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from tpstream.model.arrays import Ints
from tpstream.model.errors import EngineError, LogError, SubscriberError
from tpstream.model.events import Events
from tpstream.model.interfaces import Subscriber
from tpstream.model.notes import logger
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import Timing, World
from tpstream.policies.base import Parameters, PolicyForm, SharedPolicy
from tpstream.policies.runner import start_policy

if TYPE_CHECKING:
    from tpstream.engines.draws import Draws


class Bus:
    """Subscribers hear each batch in the order in which they subscribed."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[str, Subscriber]] = []

    def subscribe(self, name: str, subscriber: Subscriber) -> None:
        """From now on the subscriber hears everything; the name is for errors."""
        self._subscribers.append((name, subscriber))

    @property
    def names(self) -> list[str]:
        """Who subscribed."""
        return [name for name, _ in self._subscribers]

    def publish(self, events: Events) -> None:
        """Hand the events on; a subscriber that raises stops the run."""
        for name, subscriber in self._subscribers:
            try:
                subscriber.hear(events)
            except LogError:
                raise  # it names its file
            except Exception as error:
                first, last, round = (int(number) for number in (events.seq[0], events.seq[-1], events.round[-1]))
                raise SubscriberError(
                    f"subscriber {name!r} raised {type(error).__name__} on events {first} to {last} "
                    f"(round {round}): {error}"
                ) from error


EngineName = Literal["auto", "compiled", "simpy"]


class Engine(Protocol):
    """One run of a world under a policy; subscribe sinks to its bus, then let time pass."""

    bus: Bus

    def round_batches(self) -> Iterator[Ints]:
        """The arms of the rounds, a stretch at a time."""
        ...


def obstacle(form: PolicyForm, timing: Timing) -> str | None:
    """Why the compiled engine cannot serve, or None if it can."""
    if not isinstance(form, SharedPolicy):
        return f"policy {form.name!r} is an ordinary Python object, not in the shared form"
    return timing_obstacle(timing)


def timing_obstacle(timing: Timing) -> str | None:
    """Why the compiled engine cannot keep this time, or None if it can."""
    if not timing.arrivals.regular:
        return f"{timing.arrivals_name} does not put round t at time t"
    if timing.process is not None:
        return f"{timing.process_name} is a process on SimPy's timeline"
    for delay, name in zip(timing.delays, timing.names, strict=True):
        if not delay.whole:
            return f"{name} has lags that are not whole rounds"
    if timing.calendar is not None and not timing.calendar.whole:
        return "the calendar has times that are not whole rounds"
    if timing.window is not None and not float(timing.window).is_integer():
        return f"the window {timing.window} is not a whole number of rounds"
    return None


def select(name: str, form: PolicyForm, timing: Timing) -> Literal["compiled", "simpy"]:
    """The engine that is meant; one that is asked for by name and cannot serve is an error."""
    if name not in get_args(EngineName):
        raise EngineError(f"unknown engine {name!r}; use one of {', '.join(get_args(EngineName))}")
    if name == "simpy":
        return "simpy"
    reason = obstacle(form, timing)
    if reason is None:
        return "compiled"
    if name == "compiled":
        raise EngineError(f'the compiled engine cannot serve: {reason}; use engine "simpy" or "auto"')
    _tell(reason)
    return "simpy"


@lru_cache(maxsize=1024)
def _tell(reason: str) -> None:
    """Say once why a run takes longer than others; the processes of a study leave that to the one that began it."""
    if parent_process() is None:
        logger().info("the SimPy engine serves, which is slower", reason=reason)


def open_engine(
    name: str,
    world: World,
    form: PolicyForm,
    parameters: Parameters,
    label: str,
    *,
    draws: "Draws | None" = None,
    indices: bool = False,
) -> Engine:
    """An engine ready for its first round; policies of one run may share their draws."""
    # The engines import this module; and who needs only one of them need not load the other.
    from tpstream.engines.draws import Draws, DrawsReader

    reader = DrawsReader(draws or Draws(world))
    if select(name, form, world.timing) == "compiled":
        assert isinstance(form, SharedPolicy)  # noqa: S101 (else it would not have been selected)
        from tpstream.engines.compiled_engine import CompiledEngine

        return CompiledEngine(world, form, parameters, reader, label, indices=indices)
    from tpstream.engines.simpy_engine import SimpyEngine

    policy = start_policy(form, world.problem, parameters, open_stream(world.seed, world.run, Purpose.POLICY))
    return SimpyEngine(world, policy, label, clairvoyant=form.clairvoyant, indices=indices, reader=reader)
