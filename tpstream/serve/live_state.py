"""All that the events of a decider's log determine: the policy, what it was told, and the book of its pulls."""

from math import isfinite, isnan, nan
from typing import Any

import numpy as np

from tpstream.log.changes import Change, encode_change
from tpstream.log.periods import NEEDED
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats
from tpstream.model.events import CHANGED, CLOSED, COLUMN, KIND_NAMES, PULL, Event, Events, json_number
from tpstream.replay.steering import Chosen, Steering, Teller
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.serve.book import Book, Place


class LiveState:
    """The state of a decider after the events so far, some of which may wait to be written.

    Parameters
    ----------
    header
        The header of the log.
    choice
        The policy that the header names.
    """

    def __init__(self, header: Header, choice: PolicyChoice) -> None:
        self.header = header
        self.first_choice = choice
        """The policy that the header names."""
        self.steering = Steering(choice, header)
        self.teller = Teller(header)
        self.book = Book(header)
        self.pending: list[tuple[Any, ...]] = []
        """The events since the last decision, that one first: their values in the columns `NEEDED`."""
        self.lines: list[Event] = []
        """The events that are to be written."""
        details = header.detail if isinstance(header.detail, list) else [header.detail]
        self._logs_indices, self._logs_probabilities = "indices" in details, "probabilities" in details

    def emit(
        self,
        kind: int,
        time: float,
        pull: int = 0,
        arm: int = 0,
        part: int = 0,
        value: float = nan,
        *,
        key: str | None = None,
        event_time: float | None = None,
        columns: dict[str, Any] | None = None,
    ) -> None:
        """Let an event happen now."""
        book = self.book
        seq = book.events
        book.add(kind, time, pull, arm, part, value, key, event_time)
        row = (seq, time, kind, book.rounds, pull, arm, part, value)
        self.pending.append(row)
        self.lines.append(
            Event(
                seq,
                time,
                KIND_NAMES[kind],
                book.rounds,
                pull,
                arm,
                part,
                None if isnan(value) else value,
                key=key,
                event_time=event_time,
                **(columns or {}),
            )
        )

    def close_until(self, time: float, place: Place | None) -> float:
        """Close the pulls whose windows end before an event of this time and place; the time at which it can be."""
        book = self.book
        while True:
            time = book.moved(time, place)
            if not book.is_over(time, place):
                return time
            due, pull = book.closings[0]
            self.close(pull, max(due, book.time))

    def close(self, pull: int, time: float, *, key: str | None = None, event_time: float | None = None) -> None:
        """Close an open pull at this time."""
        record = self.book.open[pull]
        time = self.book.moved(time, self.book.place(CLOSED, pull, 0))
        self.emit(CLOSED, time, pull, record.arm, 0, record.credited, key=key, event_time=event_time)

    def tell(self, until: float, *, leaving: bool = False) -> None:
        """Tell the policy all that came before a decision or a change at this time.

        `leaving`: a change comes after which decisions are not this policy's.
        """
        told = self.teller.tell(self.pending_events(), until)
        self.pending = []
        if len(told):
            self.steering.hear(told, leaving=leaving)

    def pending_events(self) -> Events:
        """The events of which the policy was not told yet."""
        rows: Any = zip(*self.pending, strict=True) if self.pending else [()] * len(NEEDED)
        return Events(
            **{name: np.array(values, dtype=COLUMN[name].type) for name, values in zip(NEEDED, rows, strict=True)}
        )

    def decide(self, time: float, key: str, event_time: float | None) -> None:
        """Let the policy take the next decision at this time, which `close_until` gave."""
        self.tell(time)
        number = self.book.rounds + 1
        chosen = self.steering.decide(number, time, probabilities=self._logs_probabilities)
        columns = self._decision_columns(chosen)
        self.emit(PULL, time, number, chosen.arm, key=key, event_time=event_time, columns=columns)
        self.note_decision(columns)

    def note_decision(self, columns: dict[str, Any]) -> None:
        """Remember what was logged with the last decision, for whoever asks again."""
        record = self.book.open[self.book.rounds]
        record.probability = columns.get("probability")
        for name in ("probabilities", "indices"):
            if name in columns:
                values = [None if isinstance(value, str) else value for value in columns[name]]
                setattr(record, name, None if values.count(None) == len(values) else values)

    def _decision_columns(self, chosen: Chosen) -> dict[str, Any]:
        """The optional columns of a decision that the log has."""
        columns: dict[str, Any] = {}
        if self._logs_indices:
            columns["indices"] = json_numbers(chosen.indices)
        if self._logs_probabilities:
            known = chosen.probabilities[chosen.arm]
            columns["probability"] = None if isnan(known) else float(known)
            columns["probabilities"] = json_numbers(chosen.probabilities)
        return columns

    def facts(self) -> dict[str, Any]:
        """How decisions are made and what was decided, as numbers and texts."""
        book, steering, header = self.book, self.steering, self.header
        arms = zip(header.arms, steering.open_arms, book.pulls_of, book.paid_of, strict=True)
        return {
            "policy": steering.choice.label,
            "switch": None if steering.switch is None else header.arms[steering.switch],
            "time": book.time if isfinite(book.time) else None,
            "time_unit": header.time_unit,
            "events": book.events,
            "decisions": book.rounds,
            "open": len(book.open),
            "arms": [
                {"name": name, "open": bool(is_open), "decisions": pulls, "credited": paid}
                for name, is_open, pulls, paid in arms
            ],
            "kinds": dict(book.counts),
            "keys": len(book.decisions) + len(book.deliveries),
        }

    def change(self, change: Change, time: float) -> float:
        """Log a change, at this time if it can be then; the policy was told all before it."""
        time = self.close_until(time, None)
        self.tell(time, leaving=change.leaves)
        self.emit(CHANGED, time, key=encode_change(change))
        return time


def json_numbers(numbers: Floats) -> tuple[float | str | None, ...]:
    """Numbers as JSON carries them in a log."""
    return tuple(map(json_number, numbers.tolist()))
