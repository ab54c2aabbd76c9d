"""One experiment of a service: its decider, who may ask it how often, and what is counted of it."""

from dataclasses import dataclass
from typing import Any, Protocol

from tpstream.log.schema import Header
from tpstream.serve.access import Door, Rate
from tpstream.serve.metrics import Metrics
from tpstream.serve.page import LogPage
from tpstream.serve.worker import Worker


class Settled(Protocol):
    """What the service needs of a decider, besides what its worker does."""

    @property
    def header(self) -> Header:
        """The header of its log."""

    def state(self) -> dict[str, Any]:
        """The numbers of the experiment."""

    def switch(self, arm: str | None, *, reason: str) -> object:
        """Decide for this arm from now on; None: let the policy decide."""


@dataclass(frozen=True, eq=False)
class Served:
    """One experiment: its decider, and who may ask it how often."""

    name: str
    decider: Settled
    worker: Worker
    door: Door
    rate: Rate
    metrics: Metrics
    page: LogPage


def decider_facts(header: Header) -> dict[str, Any]:
    """What a decider was opened with, by the names of the configuration."""
    names = (
        "kind",
        "parameters",
        "arms",
        "span",
        "window",
        "groups",
        "maxima",
        "signed",
        "seed",
        "run",
        "horizon",
        "currency",
    )
    own = ("clock", "silence", "tolerance", "minimum_probability", "random_share")
    found = {name: getattr(header, name) for name in names}
    return found | {name: getattr(header.decider, name) for name in own}
