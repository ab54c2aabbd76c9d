"""What a decider is asked and what it answers: the values that `Decider.handle` takes and returns, and a service sends.

They are read from JSON as strictly as they are made: an unknown field, a missing one or another type is an error.
"""

from typing import Literal

import msgspec

Reason = Literal["conflict", "unknown-token", "closed", "too-early", "bad-value", "time", "horizon"]
"""Why a request was refused."""
Status = Literal["credited", "late", "lost", "closed"]
"""What became of a delivery: credited to its pull, too late for it, told as lost; or the pull was closed."""
LONGEST_KEY = 200
"""Characters of a key."""


class Decide(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="decide", tag_field="type", kw_only=True):
    """A decision is due; the same key gets the same decision until its pull is closed."""

    key: str
    at: float | None = None
    """When it was due, in units of time; None: when it is handled."""


class Deliver(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="deliver", tag_field="type", kw_only=True):
    """A decision paid something."""

    token: str
    """The token of the decision."""
    amount: float
    key: str
    """Tells this payment from others: the same key is credited once."""
    part: int | None = None
    """Which part paid, from 1 to the span; None: the one to which the age of the pull belongs."""
    at: float | None = None


class Lost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="lost", tag_field="type", kw_only=True):
    """A part of a decision will never come."""

    token: str
    part: int
    key: str | None = None
    at: float | None = None


class Close(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="close", tag_field="type", kw_only=True):
    """A decision pays nothing any more; parts that are outstanding are over."""

    token: str
    key: str | None = None
    at: float | None = None


Request = Decide | Deliver | Lost | Close
"""Whatever a decider can be asked."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision.

    Parameters
    ----------
    key, token
        The key of the request, and the token under which the decision's payments are delivered.
    arm, name
        The number of the arm that is pulled, and its name.
    time
        When it was decided, in units of time.
    probability, probabilities
        The probability with which this arm was chosen, and that of every arm; None where it is not known.
    indices
        The policy's index of every arm; None for each arm that has none, or one that is not finite.
    repeated
        Whether the decision was taken before, for an earlier request with the same key.

    Examples
    --------
    >>> Decision(key="offer-1", token="1-3f", arm=0, name="A", time=0.0).arm
    0
    """

    key: str
    token: str
    arm: int
    name: str
    time: float
    probability: float | None = None
    probabilities: list[float | None] | None = None
    indices: list[float | None] | None = None
    repeated: bool = False


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a delivery, a loss or a closing.

    Parameters
    ----------
    token
        The token of the decision.
    status
        `credited`; `late`: the pull was closed before; `lost`; `closed`.
    part
        The part that was meant; 0 for a closing.
    time
        When it was told, in units of time.
    repeated
        Whether it was told before, by an earlier request with the same key.

    Examples
    --------
    >>> Receipt(token="1-3f", status="credited", part=2, time=1.5).status
    'credited'
    """

    token: str
    status: Status
    part: int
    time: float
    repeated: bool = False


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused; nothing was changed by it.

    Parameters
    ----------
    reason
        `conflict`: the key was used for something else; `unknown-token`; `closed`: the pull or the part is closed for
        this; `too-early`: it is from before its decision; `bad-value`; `time`: the caller's time goes back, or is ahead
        of the server's; `horizon`: the log has all the decisions for which it was opened.
    message
        A sentence for people.

    Examples
    --------
    >>> Refusal(reason="unknown-token", message="no decision has the token 'x'").reason
    'unknown-token'
    """

    reason: Reason
    message: str


Reply = Decision | Receipt | Refusal
"""Whatever a decider answers."""
