"""How a decider goes on with a log that is there: its tail is cut, and its events are told to the policy again.

That is a replay: every decision must be the logged one. A snapshot stands for the beginning of the log, if it is of
this very log, as the SHA-256 of its bytes tells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tpstream.log.contract import Checker
from tpstream.log.jsonl import read_between
from tpstream.log.periods import NEEDED
from tpstream.log.reader import read_log
from tpstream.log.schema import Header
from tpstream.model.errors import DeciderError
from tpstream.model.events import COLUMN_NAMES, PULL, Events, json_number
from tpstream.replay.decided import written_before
from tpstream.replay.replay import Divergence
from tpstream.replay.retelling import Retelling
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.serve.journal import Journal
from tpstream.serve.live_state import LiveState
from tpstream.serve.snapshot import load_snapshot

KIND = NEEDED.index("kind")


@dataclass(frozen=True)
class Recovery:
    """What was found: how many decisions were compared, and what a user should know."""

    events: int
    rounds: int
    from_snapshot: int
    """The events for which a snapshot stood."""
    notes: tuple[str, ...] = ()


def recover(journal: Journal, choice: PolicyChoice, *, use_snapshot: bool = True) -> tuple[LiveState, Recovery]:
    """The state after the events of a log, whose tail was cut already."""
    log = read_log(journal.path)
    notes: list[str] = []
    journal.rewind()
    snapshot = load_snapshot(journal, log.header, notes) if use_snapshot else None
    journal.read_to(journal.size)
    state = LiveState(log.header, choice)
    start, checker = None, Checker(log.header)
    if snapshot is not None:
        try:
            snapshot.restore(state)
            start = snapshot.size
        except (KeyError, ValueError, TypeError) as error:
            notes.append(f"the snapshot is not used: {type(error).__name__}: {error}")
            state, snapshot = LiveState(log.header, choice), None
    retelling = Retelling(state.steering, state.teller, log.header, log.path, partial(written_before, log))
    if snapshot is not None:
        retelling.pending = [state.pending_events()] if state.pending else []
        retelling.decided = bool(state.pending) and state.pending[0][KIND] == PULL
    before = 0 if snapshot is None else snapshot.events
    for events in _events(journal, log.header, start, before):
        if snapshot is None:
            broken = checker.first_broken(events)
            if broken is not None:
                raise DeciderError(f"{broken.error(log.path)}; take another copy of the log")
        _require_equal(journal, retelling.take(events))
        note(state, events)
    _require_equal(journal, retelling.finish())
    state.pending = [row for events in retelling.pending for row in _rows(events)]
    complete(state)
    return state, Recovery(state.book.events, retelling.rounds, before, tuple(notes))


def _events(journal: Journal, header: Header, start: int | None, before: int) -> Iterator[Events]:
    """The events as they are written, from this byte on (None: all) up to the last that is known to be on disk.

    There are `before` events before that byte, each a line after the header's.
    """
    if start is None:
        with journal.path.open("rb") as file:
            start = len(file.readline())
    for columns in read_between(journal.path, header, start, journal.size, COLUMN_NAMES, line=before + 2):
        yield Events(**columns)


def _rows(events: Events) -> Iterator[tuple[Any, ...]]:
    """The events as rows of the columns of which a policy is told."""
    return zip(*(getattr(events, name).tolist() for name in NEEDED), strict=True)


def note(state: LiveState, events: Events) -> None:
    """Enter events that are in the log in the book."""
    count, book = len(events), state.book
    keys = [None] * count if events.key is None else events.key.tolist()
    known = np.full(count, np.nan) if events.event_time is None else events.event_time
    happened = [None if time != time else time for time in known.tolist()]  # noqa: PLR0124 (not a number)
    columns = [getattr(events, name).tolist() for name in ("kind", "time", "pull", "arm", "part", "value")]
    decisions = _decisions(events)
    for row in zip(*columns, keys, happened, strict=True):
        book.add(*row)
        if row[0] == PULL:
            state.note_decision(next(decisions))


def _decisions(events: Events) -> Iterator[dict[str, Any]]:
    """The optional columns of each decision."""
    names = [name for name in ("probability", "probabilities", "indices") if getattr(events, name) is not None]
    values = [getattr(events, name).tolist() for name in names]
    for place in range(int(np.count_nonzero(events.kind == PULL))):
        found = {name: value[place] for name, value in zip(names, values, strict=True)}
        yield {
            name: json_number(value) if name == "probability" else tuple(map(json_number, value))
            for name, value in found.items()
        }


def complete(state: LiveState) -> None:
    """Close the pull whose last part was the last event that was written before a kill."""
    last = state.book.last
    if last is None or state.header.payments:
        return
    record = state.book.open.get(last.pull)
    if record is not None and state.book.whole(record.settled):
        state.close(record.pull, state.book.time)


def _require_equal(journal: Journal, found: Divergence | None) -> None:
    """Raise DeciderError if the policy does not decide as it did."""
    if found is not None:
        raise DeciderError(
            f"{journal.path}: decision {found.round:,} (event {found.seq}) was for arm {found.logged}, and the policy "
            f"now decides for arm {found.decided}: it, its parameters or the versions of packages are others; take "
            f"those with which the log was written"
        )
