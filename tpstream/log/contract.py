"""The contract of order, checked event by event: a log that breaks it is not to be trusted.

The rules are those of the schema. `seq` counts from 0; time never goes back; of one time pulls come first, then
deliveries by pull and part, `closed` right after its pull's last part. Pulls are numbered as they are issued, each part
of a pull comes at most once, on the pull's arm, and a pull is closed with the sum of its parts in the order in which
they came: when nothing of it is missing any more, or earlier in a world with a window. In a regular world (a decision
at each of the times 1, 2, ..., no delays) the next event is known but for arm and value: part j of the pull of round t
comes at time t + j - 1, and none is missing.

What is said when an event of a log breaks a rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpstream.log.contract_rules import (
    ARM,
    ARM_UNKNOWN,
    CLOSED_BEFORE,
    CLOSED_EARLY,
    CLOSED_VALUE,
    EXPECTED,
    HORIZON,
    KIND,
    LATE_TOO_SOON,
    NOT_CLOSED,
    ORDER,
    PART,
    PULL_AFTER_DELIVERY,
    PULL_NUMBER,
    PULL_UNKNOWN,
    REPEATED,
    ROUND,
    SEQ,
    SHOWN,
    SHOWN_VALUE,
    TIME,
    VALUE,
    CheckerState,
    EventColumns,
    Rules,
    first_fault,
)
from tpstream.log.schema import Header
from tpstream.model.errors import LogError
from tpstream.model.events import KIND_NAMES, Events, Kind

TEXTS: Mapping[int, str] = {
    SEQ: "seq {seq} where {events} should be; an event is missing, repeated or moved",
    TIME: "time {time} after time {before}; time is a number and never goes back",
    KIND: "kind {kind} is not known; use pull, partial, closed, late or dropped",
    ROUND: "round {round} after {rounds} decisions",
    PULL_NUMBER: "pull {pull} where pull {next_pull} is to be issued",
    PULL_AFTER_DELIVERY: "pull {pull} after deliveries of the same time; decisions come first",
    ARM_UNKNOWN: "arm {arm} does not exist; there are {arms} arms, from 0",
    PULL_UNKNOWN: "{kind} of pull {pull}, which was not issued",
    ARM: "arm {arm}, but pull {pull} is of arm {arm_of_pull}",
    PART: "{kind} with part {part}; pull and closed have part 0, others 1 to {span}",
    REPEATED: "part {part} of pull {pull} came before",
    ORDER: "{kind} of pull {pull} is out of order; deliveries of one time come by pull, then part",
    NOT_CLOSED: "nothing of pull {waiting} is missing any more, so that it must be closed first, at that time",
    CLOSED_EARLY: "pull {pull} is closed, but only {settled} of its {span} parts came",
    CLOSED_BEFORE: "{kind} of pull {pull}, which was closed before",
    CLOSED_VALUE: "pull {pull} is closed with {value}, but its parts add up to {sum}",
    LATE_TOO_SOON: "part {part} of pull {pull} is late, but the pull is not closed",
    VALUE: "{kind} with value {value}; parts that came have a finite number, dropped ones none",
    SHOWN: "pull {pull} with value {value}; only a clairvoyant policy is shown one, and always",
    SHOWN_VALUE: "pull {pull} is closed with {value}, but the policy was shown {shown}",
    EXPECTED: "{kind} of pull {pull}, part {part}, at time {time} where {expected} is due",
    HORIZON: "pull {pull} after the last round that the header tells of",
}


def fault_text(fault: int, facts: Mapping[str, Any]) -> str:
    """What is wrong with an event."""
    return TEXTS[fault].format_map(facts)


IRREGULAR = ("arrivals", "delays", "window")
"""Keys of a scenario that make times depend on more than the round."""


@dataclass(frozen=True)
class BrokenRule:
    """The first event that breaks a rule: its place in the batch, its seq, and what is wrong."""

    place: int
    seq: int
    text: str

    def error(self, source: object) -> LogError:
        """As an exception; the source is the log's name."""
        return LogError(f"{source}: event {self.seq}: {self.text}")


def is_regular(header: Header) -> bool:
    """Whether the header says that the next event follows from the ones before, but for arm and value."""
    return bool(header.scenario) and not any(header.scenario.get(key) for key in IRREGULAR)


class Checker:
    """Checks the consecutive batches of one log."""

    def __init__(self, header: Header) -> None:
        drained = bool(header.scenario.get("drain", False))
        self._rules = Rules(
            arms=len(header.arms),
            span=header.span,
            clairvoyant=header.clairvoyant,
            regular=is_regular(header),
            horizon=header.horizon,
            end=header.horizon + header.span - 1 if drained else header.horizon,
            window=header.scenario.get("window") is not None,
            default=header.scenario.get("default_reward") is not None,
        )
        self._drained = drained
        # In a regular world the parts of a pull come in their order, and their number tells which came.
        columns = 0 if self._rules.regular else header.span // 8 + 1
        self._past = CheckerState(
            events=np.zeros(1, dtype=np.int64),
            rounds=np.zeros(1, dtype=np.int64),
            time=np.full(1, -np.inf),
            waiting=np.zeros(1, dtype=np.int64),
            last=np.zeros(3, dtype=np.int64),
            due=np.array([Kind.PULL, 1, 0, 1], dtype=np.int64),
            arms=np.zeros(0, dtype=np.int64),
            settled=np.zeros(0, dtype=np.int64),
            closed=np.zeros(0, dtype=np.bool_),
            sums=np.zeros(0),
            shown=np.zeros(0),
            credited=np.zeros((0, columns), dtype=np.uint8),
            gone=np.zeros((0, columns), dtype=np.uint8),
        )

    @property
    def events(self) -> int:
        """How many events passed."""
        return int(self._past.events[0])

    @property
    def rounds(self) -> int:
        """How many decisions passed."""
        return int(self._past.rounds[0])

    def first_broken(self, events: Events) -> BrokenRule | None:
        """The first of the next events that breaks a rule; nothing may be checked after it."""
        self._make_room(int(np.count_nonzero(events.kind == Kind.PULL)))
        columns = EventColumns(
            events.seq, events.time, events.kind, events.round, events.pull, events.arm, events.part, events.value
        )
        before = float(self._past.time[0])
        place, fault = first_fault(self._rules, self._past, columns)
        if not fault:
            return None
        facts = {name: column[place].item() for name, column in columns._asdict().items()}
        if place:
            before = float(events.time[place - 1])
        return BrokenRule(place, facts["seq"], fault_text(fault, facts | self._facts(facts, before)))

    def at_end(self, *, complete: bool) -> BrokenRule | None:
        """What is missing at the end of a log that claims to be complete."""
        if not complete:
            return None
        if self._rules.regular and self._past.due[0] >= 0:
            missing = self._due()
        elif self._past.waiting[0]:
            missing = f"the closing of pull {self._past.waiting[0]}"
        elif self._drained and not self._past.closed[: self.rounds].all():
            missing = f"the closing of pull {int(np.argmin(self._past.closed)) + 1}"
        else:
            return None
        text = f"the log ends before {missing}, and says that it is complete"
        return BrokenRule(self.events, self.events, text)

    def _facts(self, event: dict[str, Any], before: float) -> dict[str, Any]:
        """What a message may tell besides the event itself."""
        kind, row = event["kind"], event["pull"] - 1
        facts = {
            "before": before,
            "kind": KIND_NAMES[kind] if 0 <= kind < len(KIND_NAMES) else kind,
            "events": self.events,
            "rounds": self.rounds,
            "next_pull": self.rounds + 1,
            "arms": self._rules.arms,
            "span": self._rules.span,
            "waiting": int(self._past.waiting[0]),
            "expected": self._due(),
        }
        if 0 <= row < self.rounds:
            facts["arm_of_pull"] = int(self._past.arms[row])
            facts["settled"] = int(self._past.settled[row])
            facts["sum"] = float(self._past.sums[row])
            facts["shown"] = float(self._past.shown[row])
        return facts

    def _due(self) -> str:
        kind, pull, part, time = self._past.due.tolist()
        what = {-1: "nothing", Kind.PULL: f"pull {pull}", Kind.PARTIAL: f"part {part} of pull {pull}"}
        return f"{what.get(kind, f'the closing of pull {pull}')}{f' at time {time}' if kind >= 0 else ''}"

    def _make_room(self, pulls: int) -> None:
        needed, room = self.rounds + pulls, len(self._past.arms)
        if needed > room:
            more = max(needed, 2 * room) - room
            columns, tables = ("arms", "settled", "closed", "sums", "shown"), ("credited", "gone")
            grown = {name: np.pad(getattr(self._past, name), (0, more)) for name in columns}
            grown |= {name: np.pad(getattr(self._past, name), ((0, more), (0, 0))) for name in tables}
            self._past = self._past._replace(**grown)
