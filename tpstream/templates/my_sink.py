"""My sink: counts the pulls of each arm, and adds a line to a file when the run is over."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from tpstream.log.schema import Header
from tpstream.model.arrays import Ints
from tpstream.model.events import Events, Kind
from tpstream.model.interfaces import Subscriber
from tpstream.model.settings import Settings


class MySinkSettings(Settings):
    """Adds a line with policy, run and pulls of every arm to a file, as in `--sink my-sink:file=pulls.csv`."""

    file: Annotated[str, Field(min_length=1)] = "pulls.csv"


class MySink:
    """Hears the events of one run."""

    def __init__(self, arms: int) -> None:
        self.pulls: Ints = np.zeros(arms, dtype=np.int64)

    def hear(self, events: Events) -> None:
        """Take the next events, as columns and in order; there may be one or thousands. Do not change them."""
        self.pulls += np.bincount(events.arm[events.kind == Kind.PULL], minlength=len(self.pulls))


class MySinkKind:
    """What is registered under the name: the settings, and how a sink is opened with them."""

    settings: type[BaseModel] = MySinkSettings

    @contextmanager
    def open(self, settings: MySinkSettings, header: Header) -> Iterator[Subscriber]:
        """A sink for the run that the header describes; several runs may go on at once, in threads or processes."""
        sink = MySink(len(header.arms))
        yield sink  # if the run fails, the error is raised here and no line is written
        with Path(settings.file).open("a", encoding="utf-8") as out:
            out.write(",".join([header.policy, str(header.run), *map(str, sink.pulls.tolist())]) + "\n")


KIND = MySinkKind()
PLUGINS = {"sinks": {"my-sink": KIND}}
