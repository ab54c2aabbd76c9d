"""What callers say, checked: keys, tokens, numbers and parts.

A service reads them from JSON, which has types. A program may hand over anything, and what is of another type could be
written to the log, but not read again.
"""

from math import isfinite
from operator import index
from reprlib import repr as brief
from typing import Any

from tpstream.model.limits import LARGEST
from tpstream.serve.requests import LONGEST_KEY, Reason


class Refused(Exception):  # noqa: N818 (it becomes a Refusal)
    """A request is refused; its arguments are the reason and a sentence."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason, message)
        self.reason, self.message = reason, message


def check_key(key: object) -> None:
    """Refuse a key that is no text, empty or too long."""
    check_text("key", key)
    length = len(str(key))
    if not 0 < length <= LONGEST_KEY:
        raise Refused("bad-value", f"a key has 1 to {LONGEST_KEY} letters, got {length}")


def check_text(name: str, text: object) -> None:
    """Refuse what is no text, or has half of a character, which no file can hold."""
    if not isinstance(text, str):
        raise Refused("bad-value", f"{name} is {brief(text)}; it must be text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Refused("bad-value", f"{name} is {brief(text)}; it must be text that UTF-8 can hold") from None


def read_number(name: str, value: Any) -> float:
    """A number as a float; refused if it is none that a log can hold."""
    try:
        found = float("nan") if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = float("nan")
    if not (isfinite(found) and abs(found) <= LARGEST):
        raise Refused("bad-value", f"{name} is {brief(value)}; it must be a finite number up to {LARGEST:g}")
    return found


def read_part(value: Any, span: int) -> int:
    """The number of a part as an int; refused if there is no such part."""
    try:
        found = 0 if isinstance(value, bool) else index(value)
    except TypeError:
        found = 0
    if not 1 <= found <= span:
        raise Refused("bad-value", f"part is {brief(value)}; there are parts 1 to {span}")
    return found
