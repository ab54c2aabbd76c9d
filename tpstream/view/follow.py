"""A log that is being written, by anyone, as a live page shows it: what is new is read and added up."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tpstream.log.arrow import Tail as ArrowTail
from tpstream.log.guard import Fitting, damage_told
from tpstream.log.jsonl import Tail as JsonTail
from tpstream.log.reader import read_log
from tpstream.log.schema import Header
from tpstream.model.display import counted
from tpstream.model.errors import LogError
from tpstream.model.events import Columns
from tpstream.view.aggregate import COARSE, Aggregate
from tpstream.view.changes import change_facts
from tpstream.view.content import live_text
from tpstream.view.explorer import MOST_LOGS
from tpstream.view.live import PageState
from tpstream.view.looks import Looks
from tpstream.view.pulls import KeptParts, count_open, read_batches
from tpstream.view.words import clean, divergence, header_facts

PAUSE, BREAK = 0.5, 5.0
"""Seconds after which a log is read again, and how many times as long as reading took."""
LONGEST_PAUSE = 10.0


class Tail(Protocol):
    """Reads what is new in a log of one format."""

    header: Header
    end: int | None

    def read(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names of the events that are new."""


TAILS: dict[str, Callable[[Path], Tail]] = {"jsonl": JsonTail, "arrow": ArrowTail}


class FollowedLog:
    """Reads a log as it grows.

    A sparse log is read from its beginning each time, since whether a part paid nothing may show only later; so is one
    that was replaced by another.

    Parameters
    ----------
    path
        The file: JSON lines or an Arrow stream.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begin()

    def _begin(self) -> None:
        log = read_log(self.path)
        if log.format not in TAILS:
            raise LogError(f"{self.path}: {log.format} cannot be followed, since it is written at its end; use view")
        self.header = log.header
        self.label = log.header.policy
        self._tail = TAILS[log.format](self.path)
        self._file = self._identity()
        self._size = 0
        self._clear()

    def _clear(self) -> None:
        self.aggregate = Aggregate(self.header, str(self.path), resolution=COARSE)
        self._fitting = Fitting(self.header, self.path, self.aggregate.needed)
        self._kept = KeptParts()
        self._open = 0
        self._pictured: tuple[int, Mapping[str, Any] | None] = 0, None

    def _identity(self) -> tuple[int, int]:
        about = self.path.stat()
        return about.st_dev, about.st_ino

    @property
    def ended(self) -> bool:
        """Whether the log is complete."""
        return self._tail.end is not None

    def read(self) -> int:
        """Add what is new, and say how many pulls that were."""
        return sum(self.read_batches())

    def read_batches(self) -> Iterator[int]:
        """The same batch by batch, since the first reading of a long log takes its time."""
        try:
            size = self.path.stat().st_size
            if size < self._size or self._identity() != self._file:
                self._begin()
            self._size = size
            if not self.header.sparse:
                with damage_told(self.path):
                    for columns in map(self._fitting.fit, self._tail.read(self.aggregate.needed)):
                        yield self._add(columns)
            elif any(len(columns["kind"]) for columns in self._tail.read(("kind",))):
                before = self.aggregate.pulls.count
                self._clear()
                yield sum(map(self._add, read_batches(read_log(self.path), self.aggregate.needed))) - before
        except OSError as error:
            raise LogError(f"{self.path}: cannot read the log: {error.strerror}") from error

    def _add(self, columns: Columns) -> int:
        before = self.aggregate.pulls.count
        self.aggregate.add(columns)
        opened, self._open = count_open(columns["kind"], self._open)
        self._kept.add(columns, opened)
        return self.aggregate.pulls.count - before

    def news(self) -> dict[str, Any]:
        """How far the log is, and the regret up to there."""
        pulls = self.aggregate.pulls.count
        known = pulls and None not in self.header.means
        regret = float(self.aggregate.regret()[-1]) if known else None
        return {"policy": self.label, "run": self.header.run, "round": pulls, "regret": regret}

    def picture(self, parting: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """The log as the script of its page unpacks it; None if nothing is new. `parting`: see `divergence`."""
        aggregate = self.aggregate
        if self._pictured == (aggregate.events, parting):
            return None
        self._pictured = aggregate.events, parting
        parts = self._kept.parts(np.arange(1, aggregate.pulls.count + 1))
        facts = [
            *header_facts(self.header),
            ("events", f"{aggregate.events:,} so far"),
            *Looks(aggregate).facts(),
            *change_facts(aggregate),
            ("file", clean(self.path.name)),
        ]
        note = (
            f"All events that are in the log are added up; the parts of {counted(len(parts.pulls), 'pull')} are here."
        )
        text = live_text(aggregate, parts, facts=facts, notes=[note], divergence=parting)
        return {"policy": self.label, "run": self.header.run, "text": text}


def show_logs(logs: Sequence[FollowedLog], state: PageState) -> None:
    """Feed a live page with logs until they are complete and someone has seen that."""
    if not 0 < len(logs) <= MOST_LOGS:
        raise LogError(f"a page shows 1 to {MOST_LOGS} logs, got {len(logs)}; name fewer")
    names = [log.header.policy for log in logs]
    for log in logs:
        log.label = log.header.policy if names.count(log.header.policy) == 1 else f"{log.label}, run {log.header.run}"
    state.expect(sum(log.header.horizon for log in logs))
    while True:
        began = time.monotonic()
        for log in logs:
            for pulls in log.read_batches():
                state(pulls)
        looked_at = state.viewers > 0
        apart = divergence([log.aggregate for log in logs]) if looked_at else []
        pictures = [log.picture(parting) for log, parting in zip(logs, apart, strict=False)]
        state.take(
            {
                "runs": [log.news() for log in logs],
                "pictures": [picture for picture in pictures if picture is not None],
            }
        )
        if looked_at and all(log.ended for log in logs):
            state.end("complete")
            return
        pause = min(max(PAUSE, BREAK * (time.monotonic() - began)), LONGEST_PAUSE)
        with state.changed:  # who begins to look need not wait
            state.changed.wait_for(lambda: state.viewers > 0 and not looked_at, pause)  # noqa: B023 (called at once)
