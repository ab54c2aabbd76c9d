"""Sinks by name: what a kind of sink is, and one that prints.

A log that is kept in memory, for a look at a short run.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec
import pandas as pd
from pydantic import BaseModel

from tpstream.log.reader import frame
from tpstream.log.schema import Header, to_columns
from tpstream.model.events import Events
from tpstream.model.interfaces import Subscriber
from tpstream.model.settings import Settings


class SinkKind(Protocol):
    """A sink as it is registered: its settings, as in `--sink NAME:key=value`, and how it is opened."""

    settings: type[BaseModel]

    def open(self, settings: Any, header: Header) -> AbstractContextManager[Subscriber]:
        """A sink for one run, which the header describes; it is left when the run ends, also by an error.

        Runs happen in several threads or processes at once, and each opens its own.
        """
        ...


class LinesSettings(Settings):
    """Prints every event as a line of JSON, for a look at a short run or for another program."""

    to: Literal["stderr", "stdout"] = "stderr"


@dataclass(frozen=True)
class Lines:
    """Prints what it hears."""

    to: Literal["stderr", "stdout"]

    def hear(self, events: Events) -> None:
        """Print the events."""
        stream = sys.stderr if self.to == "stderr" else sys.stdout
        stream.write("".join(msgspec.json.encode(event).decode() + "\n" for event in events))
        stream.flush()


class LinesKind:
    """The sink "lines"."""

    settings: type[BaseModel] = LinesSettings

    def open(self, settings: LinesSettings, header: Header) -> AbstractContextManager[Subscriber]:  # noqa: ARG002 (the protocol's)
        """There is nothing to close."""
        return nullcontext(Lines(settings.to))


LINES: SinkKind = LinesKind()


class MemorySink:
    """Keeps every event it hears."""

    def __init__(self) -> None:
        self.batches: list[Events] = []

    def hear(self, events: Events) -> None:
        """Keep the events."""
        self.batches.append(events)

    def frame(self) -> pd.DataFrame:
        """Everything heard, as a table."""
        return frame(to_columns(Events.join(self.batches)))
