"""The rules of a log, asked of one event after another, compiled."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.numba_support import compiled, compiled_loop

PULL, PARTIAL, CLOSED, LATE, DROPPED = 0, 1, 2, 3, 4  # Kind's numbers; Numba wants plain ones
CLOSE = 1e-9
"""A total shown at the pull may differ by this from the sum of parts that came in another order, relatively."""

# The rules that an event can break; 0 is none.
(
    SEQ,
    TIME,
    KIND,
    ROUND,
    PULL_NUMBER,
    PULL_AFTER_DELIVERY,
    ARM_UNKNOWN,
    PULL_UNKNOWN,
    ARM,
    PART,
    REPEATED,
    ORDER,
    NOT_CLOSED,
    CLOSED_EARLY,
    CLOSED_BEFORE,
    CLOSED_VALUE,
    LATE_TOO_SOON,
    VALUE,
    SHOWN,
    SHOWN_VALUE,
    EXPECTED,
    HORIZON,
) = range(1, 23)


class Rules(NamedTuple):
    """What the rules depend on."""

    arms: int
    span: int
    clairvoyant: bool
    regular: bool
    horizon: int
    end: int
    """The last time of a regular world."""
    window: bool
    """Whether pulls may be closed while parts are missing."""
    default: bool
    """Whether parts that are missing then are credited with a default, as further events of kind partial."""


class EventColumns(NamedTuple):
    """The events."""

    seq: Ints
    time: Floats
    kind: Bytes
    round: Ints
    pull: Ints
    arm: Ints
    part: Ints
    value: Floats


class CheckerState(NamedTuple):
    """What is known after the events so far; the first four have one entry each."""

    events: Ints
    rounds: Ints
    time: Floats
    waiting: Ints
    """The pull that must be closed at this time, or 0."""
    last: Ints
    """Pull, place and kind of the last delivery at this time; zeros before the first."""
    due: Ints
    """Kind, pull, part and time of the next event of a regular world; kind -1 after its end."""
    arms: Ints
    """Of every pull, as the rest."""
    settled: Ints
    """Parts of which it is known how they end."""
    closed: NDArray[np.bool_]
    sums: Floats
    shown: Floats
    credited: NDArray[np.uint8]
    """A bit for every part; no columns in a regular world, where parts come in their order."""
    gone: NDArray[np.uint8]
    """The same for parts that were late or dropped."""


@compiled_loop
def first_fault(rules: Rules, past: CheckerState, columns: EventColumns) -> tuple[int, int]:
    """The place of the first event that breaks a rule, and the rule; all events pass: their number and 0."""
    for event in range(columns.kind.size):
        fault = _next_event(rules, past, columns, event)
        if fault:
            return event, fault
        past.events[0] += 1
    return columns.kind.size, 0


@compiled
def _next_event(rules: Rules, past: CheckerState, columns: EventColumns, event: int) -> int:
    kind, time, pull = columns.kind[event], columns.time[event], columns.pull[event]
    if columns.seq[event] != past.events[0]:
        return SEQ
    if not (past.time[0] <= time < math.inf):
        return TIME
    if not PULL <= kind <= DROPPED:
        return KIND
    if past.waiting[0] and not _may_wait(rules, past, kind, pull, time):
        return NOT_CLOSED
    if time > past.time[0]:
        past.time[0] = time
        past.last[0] = past.last[1] = past.last[2] = 0
    fault = _pull(rules, past, columns, event) if kind == PULL else _delivery(rules, past, columns, event)
    if fault == 0 and rules.regular:
        due = past.due
        if kind != due[0] or pull != due[1] or columns.part[event] != due[2] or time != due[3]:
            return EXPECTED
    if fault == 0:
        _accept(rules, past, columns, event)
    return fault


@compiled
def _may_wait(rules: Rules, past: CheckerState, kind: int, pull: int, time: float) -> bool:
    """Whether the event is the closing that must come now, or a credit of the default before it."""
    own = pull == past.waiting[0] and time == past.time[0]
    return bool(own and (kind == CLOSED or (rules.default and kind != PULL)))


@compiled
def _pull(rules: Rules, past: CheckerState, columns: EventColumns, event: int) -> int:
    number = past.rounds[0] + 1
    if columns.pull[event] != number:
        return PULL_NUMBER
    if columns.round[event] != number or number > rules.horizon:
        return ROUND if columns.round[event] != number else HORIZON
    if past.last[0]:
        return PULL_AFTER_DELIVERY
    if not 0 <= columns.arm[event] < rules.arms:
        return ARM_UNKNOWN
    if columns.part[event] != 0:
        return PART
    return SHOWN if math.isnan(columns.value[event]) == rules.clairvoyant else 0


@compiled
def _delivery(rules: Rules, past: CheckerState, columns: EventColumns, event: int) -> int:
    kind, pull, part = columns.kind[event], columns.pull[event], columns.part[event]
    if not 1 <= pull <= past.rounds[0]:
        return PULL_UNKNOWN
    if columns.round[event] != past.rounds[0]:
        return ROUND
    if columns.arm[event] != past.arms[pull - 1]:
        return ARM
    if kind == CLOSED:
        fault = _closed(rules, past, pull, part, columns.value[event])
    else:
        fault = _part(rules, past, kind, pull, part, columns.value[event])
    return ORDER if fault == 0 and not _is_after_last(rules, past.last, kind, pull, part) else fault


@compiled
def _is_after_last(rules: Rules, last: Ints, kind: int, pull: int, part: int) -> bool:
    """Deliveries of one time come by pull, then part, then closed; a credit of the default before its dropping."""
    if pull != last[0]:
        return bool(pull > last[0])
    place = rules.span + 1 if kind == CLOSED else part
    return bool(place > last[1] or (place == last[1] and kind > last[2]))


@compiled
def _part(rules: Rules, past: CheckerState, kind: int, pull: int, part: int, value: float) -> int:
    if not 1 <= part <= rules.span:
        return PART
    if kind == LATE and not past.closed[pull - 1]:
        return LATE_TOO_SOON
    credited, gone = _is_credited(past, pull, part), _is_marked(past.gone, pull, part)
    if (credited if kind == PARTIAL else gone) or ((credited or gone) and not rules.default):
        return REPEATED
    if kind == PARTIAL and past.closed[pull - 1]:
        return CLOSED_BEFORE
    return VALUE if math.isfinite(value) == (kind == DROPPED) else 0


@compiled
def _closed(rules: Rules, past: CheckerState, pull: int, part: int, value: float) -> int:
    if part != 0:
        return PART
    if past.closed[pull - 1]:
        return CLOSED_BEFORE
    if past.settled[pull - 1] < rules.span and not (rules.window and not rules.default):
        return CLOSED_EARLY
    if value != past.sums[pull - 1]:
        return CLOSED_VALUE
    if rules.clairvoyant and not _is_shown(rules, past, pull, value):
        return SHOWN_VALUE
    return 0


@compiled
def _is_shown(rules: Rules, past: CheckerState, pull: int, value: float) -> bool:
    """Whether a closed pull paid what was shown at the pull; one with missing parts may have paid anything."""
    if rules.regular:
        return bool(past.shown[pull - 1] == value)
    for column in range(past.gone.shape[1]):
        if past.gone[pull - 1, column]:
            return True
    missing = rules.default or past.settled[pull - 1] < rules.span
    return bool(missing or abs(past.shown[pull - 1] - value) <= CLOSE * abs(value))


@compiled
def _is_credited(past: CheckerState, pull: int, part: int) -> bool:
    if past.credited.shape[1] == 0:
        return bool(part <= past.settled[pull - 1])
    return _is_marked(past.credited, pull, part)


@compiled
def _is_marked(bits: NDArray[np.uint8], pull: int, part: int) -> bool:
    return bool(bits.shape[1] > 0 and (bits[pull - 1, part // 8] & (1 << (part % 8))) != 0)


@compiled
def _accept(rules: Rules, past: CheckerState, columns: EventColumns, event: int) -> None:
    """Remember the event."""
    kind, pull, part = columns.kind[event], columns.pull[event], columns.part[event]
    row = pull - 1
    if kind == PULL:
        past.rounds[0] = pull
        past.arms[row] = columns.arm[event]
        past.settled[row] = 0
        past.closed[row] = False
        past.sums[row] = 0.0
        past.shown[row] = columns.value[event]
    else:
        past.last[0], past.last[1], past.last[2] = pull, rules.span + 1 if kind == CLOSED else part, kind
    if kind == CLOSED:
        past.closed[row] = True
        past.waiting[0] = 0
    elif kind != PULL:
        _accept_part(rules, past, kind, pull, part, columns.value[event])
    if rules.regular:
        _advance(rules, past.due)


@compiled
def _accept_part(rules: Rules, past: CheckerState, kind: int, pull: int, part: int, value: float) -> None:
    row = pull - 1
    if not (_is_credited(past, pull, part) or _is_marked(past.gone, pull, part)):
        past.settled[row] += 1
    if kind == PARTIAL:
        past.sums[row] += value
    bits = past.credited if kind == PARTIAL else past.gone
    if bits.shape[1]:
        bits[row, part // 8] |= 1 << (part % 8)
    if past.settled[row] == rules.span and not past.closed[row]:
        past.waiting[0] = pull


@compiled
def _advance(rules: Rules, due: Ints) -> None:
    """What comes next in a regular rules."""
    kind, pull, part, time = due[0], due[1], due[2], due[3]
    if kind == PARTIAL and part == rules.span:
        due[0], due[2] = CLOSED, 0
        return
    if kind == PULL:
        due[0], due[1], due[2] = PARTIAL, max(1, time - rules.span + 1), min(time, rules.span)
        return
    if pull < min(time, rules.horizon):
        due[0], due[1], due[2] = PARTIAL, pull + 1, time - pull
        return
    due[3] = time + 1
    if time == rules.end:
        due[0] = -1
    elif time < rules.horizon:
        due[0], due[1], due[2] = PULL, time + 1, 0
    else:
        due[0], due[1], due[2] = PARTIAL, max(1, time - rules.span + 2), min(time + 1, rules.span)
