"""The compiled loop that checks every event of a log by the rules of log/rule_texts.py."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpstream.log.look_rules import AFTER_ALL, accept_look, look_fault
from tpstream.log.rule_texts import (
    ARM,
    ARM_CLOSED,
    ARM_UNKNOWN,
    CHANGE,
    CHANGE_ORDER,
    CLOSED_BEFORE,
    CLOSED_EARLY,
    CLOSED_TIME,
    CLOSED_VALUE,
    EXPECTED,
    HIDDEN,
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
    REPEATED_VALUE,
    ROUND,
    SEQ,
    SHOWN,
    SHOWN_VALUE,
    TIME,
    VALUE,
    WITHHELD,
)
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.events import (
    CHANGED,
    CLOSED,
    DROPPED,
    KIND_NAMES,
    LATE,
    LOOK_KINDS,
    NO_PULL,
    PARTIAL,
    PULL,
    EventColumns,
)
from tpstream.model.limits import LARGEST
from tpstream.model.numba_support import compiled_loop, compiled_within
from tpstream.model.reveal import ALL, POSITIVE, is_shown

KINDS = len(KIND_NAMES)
TOLERANCE = 1e-9
"""The relative difference that is allowed between a total shown at the pull and a sum of parts in another order."""


class Rules(NamedTuple):
    """What the rules depend on."""

    arms: int
    span: int
    clairvoyant: bool
    regular: bool
    horizon: int
    end: int
    """The last time of a regular world."""
    window: float
    """After how long a pull is closed although parts are missing; infinite: never."""
    default: bool
    """Whether parts that are missing at the closing are credited with a default, as further events of kind partial."""
    payments: bool
    """Whether a part is a period in which any number of payments may come, so that a pull is closed by time alone."""
    reveal: int
    """What of the feedback is shown: a number of model/reveal.py."""


class CheckerState(NamedTuple):
    """What is known after the events so far; the arrays from `arms` on have a row for each pull."""

    events: Ints
    """One entry: the number of events so far."""
    rounds: Ints
    """One entry: the number of decisions so far."""
    time: Floats
    """One entry: the time of the last event."""
    waiting: Ints
    """One entry: the pull that must be closed at this time, or 0."""
    last: Ints
    """Pull, place and kind of the last delivery at this time; zeros before the first."""
    due: Ints
    """Kind, pull, part and time of the next event of a regular world; kind -1 after its end."""
    look: Ints
    """Number, kind, arm and part of the last event about a look; zeros before the first."""
    dropped: Bools
    """Whether a look closed the arm."""
    arms: Ints
    """The arm of each pull."""
    settled: Ints
    """The number of parts that were credited, late or dropped so far."""
    closed: NDArray[np.bool_]
    sums: Floats
    """What the parts that were credited so far add up to."""
    shown: Floats
    """The total that was shown at the pull; NaN: none."""
    credited: NDArray[np.uint8]
    """A bit for every part that was credited; no columns in a regular world, where parts come in their order."""
    gone: NDArray[np.uint8]
    """A bit for every part that was late or dropped."""
    pulled: Floats
    """The time of each pull, where feedback is hidden."""
    withheld: Ints
    """The number of parts that were withheld and not yet repeated, and what these paid."""
    owed: Floats
    waits: NDArray[np.uint8]
    """A bit for each of these parts."""


@compiled_loop
def first_fault(rules: Rules, state: CheckerState, columns: EventColumns) -> tuple[int, int]:
    """The place of the first event that breaks a rule, and the number of the rule; if none does, their number and 0."""
    for event in range(columns.kind.size):
        fault = _next_event(rules, state, columns, event)
        if fault:
            return event, fault
        state.events[0] += 1
    return columns.kind.size, 0


@compiled_loop
def recover(rules: Rules, state: CheckerState, columns: EventColumns, fault: int) -> bool:
    """Go on after an event that breaks a rule: whether it has to be looked at again, for other rules.

    The number, the time and the pull are taken from the event; one that cannot be taken is passed over.
    """
    kind, pull, part = columns.kind[0], columns.pull[0], columns.part[0]
    if fault == SEQ:
        state.events[0] = columns.seq[0]
        return True
    if fault == NOT_CLOSED:
        state.waiting[0] = 0
        return True
    if fault == TIME and math.isfinite(columns.time[0]):
        state.time[0] = columns.time[0]
        state.last[0] = state.last[1] = state.last[2] = 0
        return True
    state.events[0] += 1
    if NO_PULL <= kind < KINDS and 0 <= columns.arm[0] < rules.arms:
        _accept(rules, state, columns, 0)
    elif 0 <= kind < NO_PULL and 0 <= part <= rules.span:
        issued = 1 <= pull <= state.rounds[0] and (part > 0) == (kind != CLOSED)
        if (pull == state.rounds[0] + 1) if kind == PULL else issued:
            _accept(rules, state, columns, 0)
    return False


@compiled_within
def _next_event(rules: Rules, state: CheckerState, columns: EventColumns, event: int) -> int:
    """The number of the first rule that an event breaks, or 0; the event is remembered if it breaks none."""
    kind, time, pull = columns.kind[event], columns.time[event], columns.pull[event]
    if columns.seq[event] != state.events[0]:
        return SEQ
    if not (state.time[0] <= time <= LARGEST):
        return TIME
    if not 0 <= kind < KINDS:
        return KIND
    if state.waiting[0] and not _may_wait(rules, state, kind, pull, time):
        return NOT_CLOSED
    if time > state.time[0]:
        state.time[0] = time
        state.last[0] = state.last[1] = state.last[2] = 0
    fault = _fault(rules, state, columns, event)
    if fault == 0 and not _is_marked_rightly(rules, columns, event):
        fault = HIDDEN
    if fault == 0 and rules.regular:
        due = state.due
        if kind != due[0] or pull != due[1] or columns.part[event] != due[2] or time != due[3]:
            return EXPECTED
    if fault == 0:
        _accept(rules, state, columns, event)
    return fault


@compiled_within
def _fault(rules: Rules, state: CheckerState, columns: EventColumns, event: int) -> int:
    """The rule of its kind that an event breaks, or 0."""
    if columns.kind[event] == CHANGED:
        return _changed(state, columns, event)
    if columns.kind[event] in LOOK_KINDS:
        return _look(rules, state, columns, event)
    if columns.kind[event] == PULL:
        return _pull(rules, state, columns, event)
    return _delivery(rules, state, columns, event)


@compiled_within
def _may_wait(rules: Rules, state: CheckerState, kind: int, pull: int, time: float) -> bool:
    """Whether the event is the closing that must come now, or a credit of the default or a repeated part before it."""
    own = pull == state.waiting[0] and time == state.time[0]
    return bool(own and (kind == CLOSED or ((rules.default or rules.reveal != ALL) and kind != PULL)))


@compiled_within
def _pull(rules: Rules, state: CheckerState, columns: EventColumns, event: int) -> int:
    """The rule that a pull breaks, or 0."""
    number = state.rounds[0] + 1
    if columns.pull[event] != number:
        return PULL_NUMBER
    if columns.round[event] != number or number > rules.horizon:
        return ROUND if columns.round[event] != number else HORIZON
    if state.last[0]:
        return PULL_AFTER_DELIVERY
    if not 0 <= columns.arm[event] < rules.arms or state.dropped[columns.arm[event]]:
        return ARM_CLOSED if 0 <= columns.arm[event] < rules.arms else ARM_UNKNOWN
    if columns.part[event] != 0:
        return PART
    return SHOWN if math.isnan(columns.value[event]) == rules.clairvoyant else 0


@compiled_within
def _changed(state: CheckerState, columns: EventColumns, event: int) -> int:
    """The rule that a change breaks, or 0: it is of no pull, and the first event of its time."""
    if columns.round[event] != state.rounds[0]:
        return ROUND
    if columns.pull[event] != 0 or columns.part[event] != 0 or not math.isnan(columns.value[event]):
        return CHANGE
    return CHANGE_ORDER if state.last[0] else 0


@compiled_within
def _look(rules: Rules, state: CheckerState, columns: EventColumns, event: int) -> int:
    """The rule that an event about a look breaks, or 0."""
    kind, number, arm, part = columns.kind[event], columns.pull[event], columns.arm[event], columns.part[event]
    if columns.round[event] != state.rounds[0]:
        return ROUND
    if not 0 <= arm < rules.arms:
        return ARM_UNKNOWN
    after = int(state.last[0] == AFTER_ALL)
    return look_fault(state.look, state.dropped, after, kind, number, arm, part, columns.value[event])


@compiled_within
def _delivery(rules: Rules, state: CheckerState, columns: EventColumns, event: int) -> int:
    """The rule that an event of an earlier pull breaks, or 0."""
    kind, pull, part = columns.kind[event], columns.pull[event], columns.part[event]
    if not 1 <= pull <= state.rounds[0]:
        return PULL_UNKNOWN
    if columns.round[event] != state.rounds[0]:
        return ROUND
    if columns.arm[event] != state.arms[pull - 1]:
        return ARM
    if kind == CLOSED:
        fault = _closed(rules, state, pull, part, columns.value[event], columns.time[event])
    elif _is_repeat(rules, columns, event):
        fault = _repeated(rules, state, pull, part)
    else:
        fault = _part(rules, state, kind, pull, part, columns.value[event])
    after_last = _is_after_last(rules, state.last, _place_of_kind(rules, columns, event), pull, part)
    return ORDER if fault == 0 and not after_last else fault


@compiled_within
def _is_repeat(rules: Rules, columns: EventColumns, event: int) -> bool:
    """Whether an event shows a part that was withheld before."""
    if rules.reveal != POSITIVE or columns.kind[event] != PARTIAL or not columns.shown[event]:
        return False
    return not is_shown(rules.reveal, PARTIAL, columns.value[event])


@compiled_within
def _is_marked_rightly(rules: Rules, columns: EventColumns, event: int) -> bool:
    """Whether the column `shown`, where feedback is hidden, says what it must."""
    if rules.reveal == ALL or _is_repeat(rules, columns, event):
        return True
    return bool(columns.shown[event] == is_shown(rules.reveal, columns.kind[event], columns.value[event]))


@compiled_within
def _place_of_kind(rules: Rules, columns: EventColumns, event: int) -> int:
    """The kind as it counts in the order of the events of one part at one time, in which a repeated part is last."""
    return KINDS if _is_repeat(rules, columns, event) else int(columns.kind[event])


@compiled_within
def _repeated(rules: Rules, state: CheckerState, pull: int, part: int) -> int:
    if not 1 <= part <= rules.span:
        return PART
    if state.closed[pull - 1]:
        return CLOSED_BEFORE
    return 0 if _is_marked(state.waits, pull, part) else WITHHELD


@compiled_within
def _is_after_last(rules: Rules, last: Ints, kind: int, pull: int, part: int) -> bool:
    """Whether the order is kept: by pull, then part, then closed.

    A part's default is credited before it is dropped, and what was withheld of it is repeated after that. Payments of
    one part may come at one time, and one that is late may come at the time of the closing.
    """
    if pull != last[0]:
        return bool(pull > last[0])
    place = place_of(rules.span, rules.payments, kind, part)
    again = rules.payments and kind == last[2] and kind != CLOSED
    return bool(place > last[1] or (place == last[1] and (kind > last[2] or again)))


@compiled_within
def place_of(span: int, payments: bool, kind: int, part: int) -> int:  # noqa: FBT001 (compiled code)
    """The place of a delivery among those of its pull at one time: its part, then the closing, then late payments."""
    if kind == CLOSED:
        return span + 1
    return span + 2 if payments and kind == LATE else part


@compiled_within
def _part(rules: Rules, state: CheckerState, kind: int, pull: int, part: int, value: float) -> int:
    if not 1 <= part <= rules.span:
        return PART
    if kind == LATE and not state.closed[pull - 1]:
        return LATE_TOO_SOON
    credited, gone = _is_credited(state, pull, part), _is_marked(state.gone, pull, part)
    repeated = (credited if kind == PARTIAL else gone) or ((credited or gone) and not rules.default)
    if repeated and not (rules.payments and kind != DROPPED):
        return REPEATED
    if kind == PARTIAL and state.closed[pull - 1]:
        return CLOSED_BEFORE
    return VALUE if math.isfinite(value) == (kind == DROPPED) else 0


@compiled_within
def _closed(rules: Rules, state: CheckerState, pull: int, part: int, value: float, time: float) -> int:
    if part != 0:
        return PART
    if state.closed[pull - 1]:
        return CLOSED_BEFORE
    if state.settled[pull - 1] < rules.span and not (rules.window < math.inf and not rules.default):
        return CLOSED_EARLY
    if value != state.sums[pull - 1]:
        return CLOSED_VALUE
    if rules.clairvoyant and not _is_shown(rules, state, pull, value):
        return SHOWN_VALUE
    return _closed_hidden(rules, state, pull, time)


@compiled_within
def _closed_hidden(rules: Rules, state: CheckerState, pull: int, time: float) -> int:
    """The rule that a closing breaks where feedback is hidden, or 0."""
    if rules.reveal != ALL and time != state.pulled[pull - 1] + rules.window:
        return CLOSED_TIME
    return REPEATED_VALUE if rules.reveal == POSITIVE and not _is_repaid(state, pull) else 0


@compiled_within
def _is_repaid(state: CheckerState, pull: int) -> bool:
    """Whether all that was withheld of a pull was repeated; values in another order may add up differently."""
    return bool(state.withheld[pull - 1] == 0 and abs(state.owed[pull - 1]) <= TOLERANCE * abs(state.sums[pull - 1]))


@compiled_within
def _is_shown(rules: Rules, state: CheckerState, pull: int, value: float) -> bool:
    """Whether a closed pull paid what was shown at the pull; one with missing parts may have paid anything."""
    if rules.regular:
        return bool(state.shown[pull - 1] == value)
    for column in range(state.gone.shape[1]):
        if state.gone[pull - 1, column]:
            return True
    missing = rules.default or state.settled[pull - 1] < rules.span
    return bool(missing or abs(state.shown[pull - 1] - value) <= TOLERANCE * abs(value))


@compiled_within
def _is_credited(state: CheckerState, pull: int, part: int) -> bool:
    if state.credited.shape[1] == 0:
        return bool(part <= state.settled[pull - 1])
    return _is_marked(state.credited, pull, part)


@compiled_within
def _is_marked(bits: NDArray[np.uint8], pull: int, part: int) -> bool:
    return bool(bits.shape[1] > 0 and (bits[pull - 1, part // 8] & (1 << (part % 8))) != 0)


@compiled_within
def _accept(rules: Rules, state: CheckerState, columns: EventColumns, event: int) -> None:
    """Remember an event that breaks no rule."""
    kind, pull, part = columns.kind[event], columns.pull[event], columns.part[event]
    if kind == CHANGED:
        return
    if kind in LOOK_KINDS:
        state.last[0] = AFTER_ALL
        accept_look(state.look, state.dropped, kind, pull, columns.arm[event], part)
        return
    row, repeat = pull - 1, _is_repeat(rules, columns, event)
    if kind == PULL:
        state.rounds[0] = pull
        state.arms[row] = columns.arm[event]
        state.settled[row] = 0
        state.closed[row] = False
        state.sums[row] = 0.0
        state.shown[row] = columns.value[event]
        if rules.reveal != ALL:
            state.pulled[row], state.withheld[row], state.owed[row] = columns.time[event], 0, 0.0
    else:
        place = place_of(rules.span, rules.payments, kind, part)
        state.last[0], state.last[1], state.last[2] = pull, place, _place_of_kind(rules, columns, event)
    if kind == CLOSED:
        state.closed[row] = True
        state.waiting[0] = 0
    elif repeat:
        _accept_repeat(state, pull, part, columns.value[event])
    elif kind != PULL:
        _accept_part(rules, state, kind, pull, part, columns.value[event])
    if rules.regular:
        _advance(rules, state.due)


@compiled_within
def _accept_part(rules: Rules, state: CheckerState, kind: int, pull: int, part: int, value: float) -> None:
    row = pull - 1
    if not (_is_credited(state, pull, part) or _is_marked(state.gone, pull, part)):
        state.settled[row] += 1
    if kind == PARTIAL:
        state.sums[row] += value
    bits = state.credited if kind == PARTIAL else state.gone
    if bits.shape[1]:
        bits[row, part // 8] |= 1 << (part % 8)
    if rules.reveal == POSITIVE and kind == PARTIAL and not is_shown(rules.reveal, kind, value):
        state.waits[row, part // 8] |= 1 << (part % 8)
        state.withheld[row] += 1
        state.owed[row] += value
    by_time = rules.payments or rules.reveal != ALL
    if state.settled[row] == rules.span and not (state.closed[row] or by_time):
        state.waiting[0] = pull


@compiled_within
def _accept_repeat(state: CheckerState, pull: int, part: int, value: float) -> None:
    """Remember a repeated part; its pull must be closed now."""
    if _is_marked(state.waits, pull, part):
        state.waits[pull - 1, part // 8] ^= 1 << (part % 8)
        state.withheld[pull - 1] -= 1
        state.owed[pull - 1] -= value
    if not state.closed[pull - 1]:
        state.waiting[0] = pull


@compiled_within
def _advance(rules: Rules, due: Ints) -> None:
    """Work out the next event of a regular world."""
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
