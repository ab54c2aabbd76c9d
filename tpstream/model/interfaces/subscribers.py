"""The protocols of those that hear events: subscribers, and policies, which also decide."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tpstream.model.arrays import Floats
from tpstream.model.events import Events

if TYPE_CHECKING:
    from concurrent.futures import Future


class Subscriber(Protocol):
    """Is handed every event, in order, a batch at a time; any object with a method `hear` is one.

    Examples
    --------
    >>> from tpstream import Scenario, simulate
    >>> class Counter:
    ...     count = 0
    ...     def hear(self, events):
    ...         self.count += len(events)
    >>> counter = Counter()
    >>> run = simulate(Scenario.load("setting-1").with_(horizon=20), "uniform", sinks=[counter])
    >>> counter.count == len(run.events())
    True
    """

    def hear(self, events: Events) -> None:
        """Take the next events, without changing them."""


class Borrower(Protocol):
    """A subscriber that takes events as views of buffers, which saves a copy.

    The views hold the events only until `hear` returns, or until the future that it returns is done: then the engine
    writes other events into the same memory. What is to be kept must be copied (`events.copy()`). Whole numbers may
    have 32 bits, as logs store them; a copy has the types of the schema.
    """

    borrows: bool
    """True; all other subscribers are given a copy that is theirs."""

    def hear(self, events: Events) -> "Future[None] | None":
        """Take the next events, without changing them or keeping their arrays."""


class Policy(Subscriber, Protocol):
    """Is handed all events that happened before each decision, and decides."""

    def decide(self, round: int) -> int:
        """The arm to pull in this round."""

    def indices(self) -> Floats:
        """The index of every arm at the last decision; NaN for a policy without indices."""


@runtime_checkable
class TimedPolicy(Policy, Protocol):
    """A policy that is also told the time of each decision, which events do not tell it."""

    def set_clock(self, time: float) -> None:
        """Take note of the time of the decision that is asked for next."""
