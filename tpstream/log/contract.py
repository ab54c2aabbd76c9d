"""The contract of a log, checked event by event: a log that breaks it is not to be trusted.

The rules are those of the schema. `seq` counts from 0; time never goes back; of one time pulls come first, then
deliveries by pull and part, `closed` right after its pull's last part. Pulls are numbered as they are issued, each part
of a pull comes at most once, on the pull's arm, and a pull is closed with the sum of its parts in the order in which
they came: when nothing of it is missing any more, or earlier in a world with a window. Where feedback is hidden, it is
closed exactly when the window ends, `shown` says which events the policy is told, and each part that was withheld is
repeated right before the closing. Events about a look of a trial come after all others of their time, and an arm that
one of them closed is pulled no more. In a regular world (a decision at each of the times 1, 2, ..., no delays) the next
event is known but for arm and value: part j of the pull of round t comes at time t + j - 1, and none is missing.
"""

import math
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.log.contract_rules import EXPECTED, TEXTS, CheckerState, Rules, first_fault, recover
from tpstream.log.schema import Header
from tpstream.model.errors import LogError
from tpstream.model.events import COLUMN, KIND_NAMES, EventColumns, Events, Kind
from tpstream.model.memory import check_room, most_rows
from tpstream.model.pull_rows import with_longer
from tpstream.model.reveal import REVEALS

IRREGULAR = ("arrivals", "delays", "visits", "window", "trial")
"""Keys of a scenario that make times depend on more than the round."""
NAMES = {"name", "currency", "time_unit"}
"""Keys of a scenario that say nothing about what happens."""


@dataclass(frozen=True)
class BrokenRule:
    """The first event that breaks a rule: its place in the batch, its number in the log, and what is wrong."""

    place: int
    seq: int
    text: str

    def error(self, source: object) -> LogError:
        """The exception that says so; `source` is the name of the log."""
        return LogError(f"{source}: event {self.seq}: {self.text}")


def is_regular(header: Header) -> bool:
    """Whether the header tells a regular world, in which the next event is known but for arm and value.

    A scenario that only names things tells no world.
    """
    return bool(header.scenario.keys() - NAMES) and not any(header.scenario.get(key) for key in IRREGULAR)


class Checker:
    """Checks the consecutive batches of one log.

    In a log of payments (`payments` in its header) a part is a period of age: any number of payments may come in it,
    and a pull is closed when its window ends, whatever came.
    """

    def __init__(self, header: Header, *, keep_parts: bool = False) -> None:
        """With `keep_parts` it is noted for every pull which parts came, also where their number tells that."""
        drained = bool(header.scenario.get("drain", False))
        self._rules = Rules(
            arms=len(header.arms),
            span=header.span,
            clairvoyant=header.clairvoyant,
            regular=is_regular(header),
            horizon=header.horizon,
            end=header.horizon + header.span - 1 if drained else header.horizon,
            window=self._window(header),
            default=header.scenario.get("default_reward") is not None,
            payments=header.payments,
            reveal=REVEALS.index(header.reveal),
        )
        self._header = header
        self._drained = drained
        # In a regular world the parts of a pull come in their order, and their number tells which came.
        columns = 0 if self._rules.regular and not keep_parts else header.span // 8 + 1
        self._state = CheckerState(
            events=np.zeros(1, dtype=np.int64),
            rounds=np.zeros(1, dtype=np.int64),
            time=np.full(1, -np.inf),
            waiting=np.zeros(1, dtype=np.int64),
            last=np.zeros(3, dtype=np.int64),
            due=np.array([Kind.PULL, 1, 0, 1], dtype=np.int64),
            look=np.zeros(4, dtype=np.int64),
            dropped=np.zeros(len(header.arms), dtype=np.bool_),
            arms=np.zeros(0, dtype=np.int64),
            settled=np.zeros(0, dtype=np.int64),
            closed=np.zeros(0, dtype=np.bool_),
            sums=np.zeros(0),
            shown=np.zeros(0),
            credited=np.zeros((0, columns), dtype=np.uint8),
            gone=np.zeros((0, columns), dtype=np.uint8),
            pulled=np.zeros(0),
            withheld=np.zeros(0, dtype=np.int64),
            owed=np.zeros(0),
            waits=np.zeros((0, columns), dtype=np.uint8),
        )

    @property
    def events(self) -> int:
        """The number of events that passed."""
        return int(self._state.events[0])

    @property
    def rounds(self) -> int:
        """The number of decisions that passed."""
        return int(self._state.rounds[0])

    def first_broken(self, events: Events) -> BrokenRule | None:
        """The first of the next events that breaks a rule; nothing may be checked after it."""
        wrong = self._wrong_column(events)
        found = self._first(events if wrong is None else events.cut(0, wrong.place))
        return wrong if found is None else found[0]

    def all_broken(self, events: Events, most: int = sys.maxsize) -> list[BrokenRule]:
        """All of the next events that break a rule; the checker must have been made with `keep_parts`.

        After a fault the event is taken as it is where that is possible, so that what follows is not blamed for it.
        Without the column `shown`, where the header needs one, nothing else can be checked. Beyond `most` faults the
        rest is not looked at.
        """
        wrong = self._wrong_column(events)
        faults: list[BrokenRule] = [] if wrong is None else [wrong]
        if self._header.reveal != "all" and events.shown is None:
            return faults
        first, again = 0, 0
        while first < len(events) and len(faults) <= most:
            found = self._first(events.take(slice(first, None)))
            if found is None:
                break
            broken, rule = found
            place = first + broken.place
            if not (faults and faults[-1].place == place):
                faults.append(replace(broken, place=place))
            # A resumed event is looked at again for other rules, at most once for each.
            again = again + 1 if place == first and again else 1
            stays = recover(self._rules, self._state, _columns(events.take(slice(place, place + 1))), rule)
            if rule == EXPECTED:
                self._rules = self._rules._replace(regular=False)
            first = place if stays and again < len(TEXTS) else place + 1
            again = again if first == place else 0
        return sorted(faults, key=lambda fault: fault.place)

    def _first(self, events: Events) -> tuple[BrokenRule, int] | None:
        """The first of the next events that breaks a rule, and the number of the rule; sites are not looked at."""
        self._make_room(int(np.count_nonzero(events.kind == Kind.PULL)))
        before = float(self._state.time[0])
        place, fault = first_fault(self._rules, self._state, _columns(events))
        if not fault:
            return None
        event = {name: rows[place].item() for name, rows in events.arrays()._asdict().items() if len(rows)}
        if place:
            before = float(events.time[place - 1])
        text = TEXTS[fault].format_map(event | self._facts(event, before))
        return BrokenRule(place, event["seq"], text), fault

    @staticmethod
    def _window(header: Header) -> float:
        """After how long a pull is closed although parts are missing; infinite: never."""
        window = header.scenario.get("window")
        if window is None:
            window = header.window or (header.span if header.payments else math.inf)
        return float(window)

    def _wrong_column(self, events: Events) -> BrokenRule | None:
        """The first event that lacks a column of its world, has one of another world, or is at no known site."""
        pulls, sites = np.flatnonzero(events.kind == Kind.PULL), self._header.sites
        for name, rows, there in (("shown", events.shown, len(events)), ("site", events.site, len(pulls))):
            needed = name in self._header.world_columns
            if there and needed != (rows is not None):
                what = f"has no column {name}, which" if needed else f"has a column {name}, of which"
                says = "needs" if needed else "says nothing"
                place = int(pulls[0]) if name == "site" else 0
                return BrokenRule(place, int(events.seq[place]), f"{what} the header {says}")
        if events.site is not None and ((events.site < 0) | (events.site >= len(sites))).any():
            number = int(np.argmax((events.site < 0) | (events.site >= len(sites))))
            text = f"site {events.site[number]} does not exist; there are {len(sites)} sites, from 0"
            return BrokenRule(int(pulls[number]), int(events.seq[pulls[number]]), text)
        return None

    def at_end(self, *, complete: bool) -> BrokenRule | None:
        """What is missing at the end of a log that claims to be complete."""
        if not complete:
            return None
        if self._rules.regular and self._state.due[0] >= 0:
            missing = self._due()
        elif self._state.waiting[0]:
            missing = f"the closing of pull {self._state.waiting[0]}"
        elif self._drained and not self._state.closed[: self.rounds].all():
            missing = f"the closing of pull {int(np.argmin(self._state.closed)) + 1}"
        else:
            return None
        text = f"the log ends before {missing}, and says that it is complete"
        return BrokenRule(self.events, self.events, text)

    def _facts(self, event: dict[str, Any], before: float) -> dict[str, Any]:
        """What the text of a rule may name besides the columns of the event itself."""
        kind, row = event["kind"], event["pull"] - 1
        facts = {
            "before": before,
            "kind": KIND_NAMES[kind] if 0 <= kind < len(KIND_NAMES) else kind,
            "events": self.events,
            "rounds": self.rounds,
            "next_pull": self.rounds + 1,
            "arms": self._rules.arms,
            "span": self._rules.span,
            "waiting": int(self._state.waiting[0]),
            "expected": self._due(),
            "reveal": self._header.reveal,
            "look": int(self._state.look[0]),
        }
        if 0 <= row < self.rounds:
            facts["arm_of_pull"] = int(self._state.arms[row])
            facts["settled"] = int(self._state.settled[row])
            facts["sum"] = float(self._state.sums[row])
            facts["shown"] = float(self._state.shown[row])
            if self._header.reveal != "all":
                facts["window_end"] = float(self._state.pulled[row] + self._rules.window)
        return facts

    def _due(self) -> str:
        """The next event of a regular world, in words."""
        kind, pull, part, time = self._state.due.tolist()
        what = {-1: "nothing", Kind.PULL: f"pull {pull}", Kind.PARTIAL: f"part {part} of pull {pull}"}
        return f"{what.get(kind, f'the closing of pull {pull}')}{f' at time {time}' if kind >= 0 else ''}"

    def _make_room(self, pulls: int) -> None:
        """Make the arrays that have a row for each pull long enough for that many more pulls."""
        needed, room = self.rounds + pulls, len(self._state.arms)
        if needed > room:
            kept = ("credited", "gone", *(["waits"] if self._header.reveal != "all" else []))
            of_parts = sum(getattr(self._state, name).shape[1] for name in kept)
            check_room("the check of a log", needed, of_parts, f"pulls of {self._rules.span:,} parts")
            names: tuple[str, ...] = ("arms", "settled", "closed", "sums", "shown", "credited", "gone")
            if self._header.reveal != "all":
                names += ("pulled", "withheld", "owed", "waits")
            self._state = with_longer(self._state, names, max(needed, min(2 * room, most_rows(of_parts))))


def _columns(events: Events) -> EventColumns:
    """The columns for the compiled rules, always of the same types, so that the rules are compiled once."""
    columns = events.arrays()
    found = (np.ascontiguousarray(rows, dtype=COLUMN[name].type).view() for name, rows in columns._asdict().items())
    return EventColumns(*map(_read_only, found))


def _read_only(rows: NDArray[Any]) -> NDArray[Any]:
    rows.flags.writeable = False
    return rows
