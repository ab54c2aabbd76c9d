"""The rules of a log: the number of each, and what is said when it is broken."""

from collections.abc import Mapping, Sequence

from tpstream.model.events import CLOSED, KIND_NAMES, PULL

# The numbers of the rules that an event can break; 0 is none.
SEQ, TIME, KIND, ROUND, PULL_NUMBER, PULL_AFTER_DELIVERY, ARM_UNKNOWN, PULL_UNKNOWN, ARM, PART = range(1, 11)
REPEATED, ORDER, NOT_CLOSED, CLOSED_EARLY, CLOSED_BEFORE, CLOSED_VALUE, LATE_TOO_SOON = range(11, 18)
VALUE, SHOWN, SHOWN_VALUE, EXPECTED, HORIZON, HIDDEN, WITHHELD, REPEATED_VALUE, CLOSED_TIME = range(18, 27)
LOOK_NUMBER, LOOK_ORDER, LOOK_PART, LOOK_VALUE, ARM_CLOSED = range(27, 32)
CHANGE, CHANGE_ORDER = range(32, 34)


def _words(names: Sequence[str], last: str) -> str:
    """Names as in "a, b or c"."""
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


_WITHOUT_PART = [KIND_NAMES[kind] for kind in (PULL, CLOSED)]
TEXTS: Mapping[int, str] = {
    SEQ: "seq {seq} where {events} should be; an event is missing, repeated or moved",
    TIME: "time {time} after time {before}; time is a number up to 1e15 and never goes back",
    KIND: f"kind {{kind}} is not known; use {_words(KIND_NAMES, 'or')}",
    ROUND: "round {round} after {rounds} decisions",
    PULL_NUMBER: "pull {pull} where pull {next_pull} is to be issued",
    PULL_AFTER_DELIVERY: "pull {pull} after deliveries of the same time; decisions come first",
    ARM_UNKNOWN: "arm {arm} does not exist; there are {arms} arms, from 0",
    PULL_UNKNOWN: "{kind} of pull {pull}, which was not issued",
    ARM: "arm {arm}, but pull {pull} is of arm {arm_of_pull}",
    PART: f"{{kind}} with part {{part}}; {_words(_WITHOUT_PART, 'and')} have part 0, others 1 to {{span}}",
    REPEATED: "part {part} of pull {pull} came before",
    ORDER: "{kind} of pull {pull} is out of order; deliveries of one time come by pull, then part",
    NOT_CLOSED: "nothing of pull {waiting} is missing any more, so that it must be closed first, at that time",
    CLOSED_EARLY: "pull {pull} is closed, but only {settled} of its {span} parts came; if the others paid nothing, "
    'the header must say "sparse": true',
    CLOSED_BEFORE: "{kind} of pull {pull}, which was closed before",
    CLOSED_VALUE: "pull {pull} is closed with {value}, but its parts add up to {sum}",
    LATE_TOO_SOON: "part {part} of pull {pull} is late, but the pull is not closed",
    VALUE: "{kind} with value {value}; parts that came have a finite number, dropped ones none",
    SHOWN: "pull {pull} with value {value}; only a clairvoyant policy is shown one, and always",
    SHOWN_VALUE: "pull {pull} is closed with {value}, but the policy was shown {shown}",
    EXPECTED: "{kind} of pull {pull}, part {part}, at time {time} where {expected} is due",
    HORIZON: "pull {pull} after the last round that the header tells of",
    HIDDEN: "{kind} of pull {pull}, part {part}, with value {value}, has the wrong value in column shown for "
    'reveal = "{reveal}"',
    WITHHELD: "part {part} of pull {pull} is repeated, but it was not withheld, or was repeated before",
    REPEATED_VALUE: "pull {pull} is closed, but the parts that were withheld are not all repeated before, as they were",
    CLOSED_TIME: "pull {pull} is closed at time {time}; where feedback is hidden, it is closed when its window ends, "
    "at {window_end}",
    LOOK_NUMBER: "{kind} of look {pull} after look {look}; looks are numbered 1, 2, ..., and a stop is of the last one",
    LOOK_ORDER: "{kind} of look {pull} is out of order; its rows come at one time, by arm, then part",
    LOOK_PART: "{kind} with part {part}; of a look it is at least 0, of a stop a reason from 1 to 5",
    LOOK_VALUE: "{kind} with value {value}; of a look it is finite or missing, of a stop 0 or 1",
    ARM_CLOSED: "{kind} of arm {arm}, which a look closed before",
    CHANGE: "changed of pull {pull}, part {part}, with value {value}; a change is of no pull and has no value",
    CHANGE_ORDER: "changed after deliveries of the same time; a change comes before them",
}
"""What is said when an event breaks a rule; the names in braces are facts about the event and the log so far."""
