"""The buffers into which compiled loops write events: a few of them, which are used again and again.

Fresh memory for every batch would cost more than the events themselves. A batch goes to the bus as views of its buffer.
While the thread of a log still writes it, the loop fills the next buffer.
"""

from collections import deque
from dataclasses import replace
from typing import Any

from tpstream.engines.engine import Bus, Loans, announced
from tpstream.model.arrays import Ints
from tpstream.model.events import PULL, EventColumns, Events, empty_columns, filled_events
from tpstream.model.world import Problem

EVENTS = 100_000
"""How many events are handed to the bus at once."""
ROWS = 4096
"""How many decisions, with their optional columns, are handed to the bus at once."""
MOST = 3
"""How many buffers there are at most: one that is filled, and two that are written."""
NARROW = 2**31
"""From this horizon, span or number of arms on, whole numbers need 64 bits."""


class EventBuffers:
    """Hands a loop the columns to fill, and what it filled to the bus; events are numbered in this order."""

    def __init__(self, bus: Bus, problem: Problem, optional: tuple[str, ...] = (), sites: Ints | None = None) -> None:
        self._bus = bus
        self._arms = problem.arms
        self._optional = optional
        self._sites = sites
        """The site of every decision, where there are any; loops know nothing of them."""
        self._narrow = max(problem.horizon, problem.span, problem.arms) < NARROW
        self._seq = 0
        self._lent: deque[tuple[EventColumns, Events, Loans]] = deque()
        # A short run gets no more room than it may fill, which takes long to make.
        self.columns = self._make(min(EVENTS, (problem.horizon + 1) * (3 * problem.span + 2)))
        """The columns that are to be filled now."""

    def publish(self, events: int, pulls: int = 0) -> None:
        """Hand the first rows of the columns to the bus; after that, `columns` can be filled from their start.

        If there are no events, a single round has more than fit, and the columns grow.
        """
        if events == 0:
            self.columns = self._make(2 * len(self.columns.kind))
            return
        batch = filled_events(self.columns, self._seq, events, pulls)
        if self._sites is not None:
            batch = replace(batch, site=self._sites[batch.pull[batch.kind == PULL] - 1])
        loans = self._bus.publish(batch)
        self._seq += events
        if loans:
            self._lent.append((self.columns, batch, loans))
            self.columns = self._free() or self._make(len(self.columns.kind))

    def announce(self, arms: int, **facts: Any) -> None:
        """Hand events about a look to the bus; all that the loop wrote must be there before."""
        names = self._optional if self._sites is None else (*self._optional, "site")
        events = announced(names, arms, seq=self._seq, **facts)
        self._bus.publish(events)
        self._seq += len(events)

    def _free(self) -> EventColumns | None:
        """A buffer that is written, waited for if there are as many as there may be; None if there may be more."""
        columns, batch, loans = self._lent[0]
        if len(self._lent) < MOST and not all(loan.done() for _, loan in loans):
            return None
        self._lent.popleft()
        self._bus.settle(loans, batch)
        return columns if len(columns.kind) >= len(self.columns.kind) else None

    def _make(self, events: int) -> EventColumns:
        return empty_columns(events, ROWS, self._arms, self._optional, narrow=self._narrow)
