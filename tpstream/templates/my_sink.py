"""My sink: counts how often each arm was pulled, and adds a line to a file when the run is over."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
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
    """Hears one run."""

    def __init__(self, arms: int) -> None:
        self.pulls: Ints = np.zeros(arms, dtype=np.int64)

    def hear(self, events: Events) -> None:
        """The next events, as columns and in order: one round or thousands at a time. Do not change them."""
        self.pulls += np.bincount(events.arm[events.kind == Kind.PULL], minlength=len(self.pulls))


class MySinkKind:
    """What `--sink` finds under the name: its settings, and how it is opened."""

    settings: type[BaseModel] = MySinkSettings

    def open(self, settings: MySinkSettings, header: Header) -> AbstractContextManager[Subscriber]:
        """A sink for one run, which the header describes; runs happen in several threads or processes at once."""
        return self._listen(Path(settings.file), header)

    @contextmanager
    def _listen(self, file: Path, header: Header) -> Iterator[Subscriber]:
        sink = MySink(len(header.arms))
        yield sink  # a run that fails does not get further
        with file.open("a", encoding="utf-8") as out:
            out.write(",".join([header.policy, str(header.run), *map(str, sink.pulls.tolist())]) + "\n")


KIND = MySinkKind()
PLUGINS = {"sinks": {"my-sink": KIND}}
