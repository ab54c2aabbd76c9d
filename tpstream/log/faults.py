"""What is said when an event of a log breaks a rule."""

from collections.abc import Mapping
from typing import Any

from tpstream.log.rules import (
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
)

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


def describe(fault: int, facts: Mapping[str, Any]) -> str:
    """What is wrong with an event."""
    return TEXTS[fault].format_map(facts)
