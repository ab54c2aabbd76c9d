"""Logs that somebody changed: the lines of a readable log, edited, with an end marker that fits what they are now."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies import read_lines

Line = dict[str, Any]
ZEROS = "0" * 64
"""What stands for the SHA-256 while it is computed."""


def tamper(path: Path, change: Callable[[list[Line]], object], *, renumber: bool = False) -> Path:
    """A copy of a log whose events were changed, and numbered anew if asked for; its end is kept."""
    header, *events, end = read_lines(path)
    change(events)
    if renumber:
        for seq, event in enumerate(events):
            event["seq"] = seq
        end = {"end": len(events)}
    return write_lines(path.with_name(f"changed-{path.name}"), [header, *events, end])


def write_lines(path: Path, lines: list[Line]) -> Path:
    """Write the lines of a log; if they have an end, it tells their SHA-256, so that the log counts as whole."""
    *before, last = lines
    sealed = {**last, "sha256": ZEROS} if "end" in last else last
    data = "".join(f"{json.dumps(line)}\n" for line in [*before, sealed]).encode()
    path.write_bytes(data.replace(ZEROS.encode(), hashlib.sha256(data).hexdigest().encode()))
    return path


def place_of(events: list[Line], kind: str, number: int = 0, **facts: Any) -> int:
    """The place of the n-th event of that kind with these facts."""
    found = [
        place
        for place, event in enumerate(events)
        if event["kind"] == kind and all(event[key] == value for key, value in facts.items())
    ]
    return found[number]


def swap(events: list[Line], place: int) -> None:
    """Exchange an event with the one after it."""
    events[place], events[place + 1] = events[place + 1], events[place]
