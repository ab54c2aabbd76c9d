"""Sinks that a user asks for by name and settings; each is opened once for every run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from tpstream.engines.engine import Bus
from tpstream.log import SINKS
from tpstream.log.schema import Header
from tpstream.log.sinks import SinkKind
from tpstream.model.errors import PolicyError, SubscriberError, user_code
from tpstream.model.interfaces import Subscriber
from tpstream.scenario.messages import describe_error
from tpstream.scenario.policy_choice import split
from tpstream.scenario.tables import read


@dataclass(frozen=True)
class SinkChoice:
    """A kind of sink with its settings, as plain values that can be sent to other processes."""

    kind: str
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """How error messages name it."""
        return f"sink {self.kind}"

    def open(self, header: Header) -> Any:
        """A new sink for one run; the caller enters it as a context manager."""
        kind = cast("SinkKind", SINKS.find(self.kind))
        return kind.open(read(kind.settings, self.given), header)


def choose_sink(spec: str) -> SinkChoice:
    """The sink of "name" or "name:key=value,key=value", with settings that fit."""
    try:
        name, given = split(spec)
    except PolicyError as error:
        raise SubscriberError(f"sink {error}") from None
    settings = cast("SinkKind", SINKS.find(name)).settings
    try:
        read(settings, given)
    except ValidationError as error:
        raise SubscriberError(f"sink {name}: {describe_error(error, lambda _: settings.model_fields)}") from None
    return SinkChoice(name, given)


def subscribe_all(bus: Bus, sinks: Sequence["SinkChoice | Subscriber"], header: Header, stack: ExitStack) -> None:
    """Subscribe all sinks to the bus; those that are context managers are entered here and left with the stack."""
    for sink in sinks:
        if isinstance(sink, SinkChoice):
            bus.subscribe(sink.name, stack.enter_context(_entered(sink.name, sink.open, header)))
        elif hasattr(sink, "__exit__"):
            name = f"sink {type(sink).__name__}"
            bus.subscribe(name, stack.enter_context(_entered(name, lambda _, sink=sink: sink, header)))
        else:
            bus.subscribe(f"sink {type(sink).__name__}", sink)


@contextmanager
def _entered(name: str, make: Any, header: Header) -> Iterator[Subscriber]:
    """Enter the sink and leave it at the end; what it raises on entering or leaving becomes an error with its name."""
    with ExitStack() as stack:
        with user_code(SubscriberError, name, "when it was opened"):
            sink = stack.enter_context(make(header))
        try:
            yield sink
        except BaseException as error:
            # The sink learns why the run ends, and cannot make it go on.
            with user_code(SubscriberError, name, "when it was closed"):
                stack.pop_all().__exit__(type(error), error, error.__traceback__)
            raise
        with user_code(SubscriberError, name, "when it was closed"):
            stack.close()
