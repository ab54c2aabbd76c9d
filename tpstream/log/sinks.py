"""Sinks, the subscribers that record a run: the protocol of those that are registered by name, and two of our own."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from pydantic import BaseModel

from tpstream.log.reader import frame
from tpstream.log.schema import Header
from tpstream.model.events import Events
from tpstream.model.interfaces import Subscriber
from tpstream.model.settings import Settings

if TYPE_CHECKING:
    import pandas as pd  # slow to load: imported where a table is made


class SinkKind(Protocol):
    """A sink as it is registered: its settings, as in `--sink NAME:key=value`, and how it is opened."""

    settings: type[BaseModel]

    def open(self, settings: Any, header: Header) -> AbstractContextManager[Subscriber]:
        """A sink for one run, which the header describes; the context is left when the run ends, also by an error.

        Runs happen in several processes at once, and each run opens its own sink.
        """


class LinesSettings(Settings):
    """Prints every event as a line of JSON, for a look at a short run or for another program."""

    to: Literal["stderr", "stdout"] = "stderr"

    def hear(self, events: Events) -> None:
        """Print the events."""
        stream = sys.stderr if self.to == "stderr" else sys.stdout
        stream.write("".join(msgspec.json.encode(event).decode() + "\n" for event in events))
        stream.flush()


class LinesKind:
    """The sink "lines": its settings print, and there is nothing to open or to close."""

    settings: type[BaseModel] = LinesSettings

    def open(self, settings: LinesSettings, header: Header) -> AbstractContextManager[Subscriber]:  # noqa: ARG002 (the protocol's)
        """The settings themselves, which are the sink."""
        return nullcontext(settings)


LINES: SinkKind = LinesKind()


class MemorySink:
    """Keeps every event that it hears in memory."""

    def __init__(self) -> None:
        self.batches: list[Events] = []

    def hear(self, events: Events) -> None:
        """Keep the events."""
        self.batches.append(events)

    def frame(self) -> "pd.DataFrame":
        """All events so far as a table."""
        return frame(Events.join(self.batches).columns())
