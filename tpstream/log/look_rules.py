"""The rules of a log's events about looks: they are counted, their rows are in order, and no arm is closed twice."""

import math

from tpstream.log.rule_texts import ARM_CLOSED, LOOK_NUMBER, LOOK_ORDER, LOOK_PART, LOOK_VALUE
from tpstream.model.arrays import Bools, Ints
from tpstream.model.events import LOOK, STOPPED
from tpstream.model.numba_support import compiled_within

AFTER_ALL = 2**62
"""Stands for the pull of the last delivery of a time once a look came: nothing but looks may follow at that time."""
REASONS = 5


@compiled_within
def look_fault(
    last: Ints, dropped: Bools, after: int, kind: int, number: int, arm: int, part: int, value: float
) -> int:
    """The rule that an event about a look breaks, or 0.

    `last` is number, kind, arm and part of the last such event, `dropped` which arms are closed, and `after` is not 0
    if that event is of this time, too.
    """
    if number < 1 or not (number == last[0] or (kind == LOOK and number == last[0] + 1)):
        return LOOK_NUMBER
    if part < 0 or (kind == STOPPED and not 1 <= part <= REASONS):
        return LOOK_PART
    if math.isinf(value) or (kind == STOPPED and value not in (0.0, 1.0)):
        return LOOK_VALUE
    if kind == STOPPED and dropped[arm]:
        return ARM_CLOSED
    goes_on = number == last[0] if kind == LOOK else last[1] == kind
    in_order = after and last[1] == kind and (arm > last[2] or (arm == last[2] and part > last[3]))
    return 0 if in_order or not goes_on else LOOK_ORDER


@compiled_within
def accept_look(last: Ints, dropped: Bools, kind: int, number: int, arm: int, part: int) -> None:
    """Remember an event about a look."""
    last[0], last[1], last[2], last[3] = number, kind, arm, part
    if kind == STOPPED:
        dropped[arm] = True
