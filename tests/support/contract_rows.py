"""Events of a log written by hand, one row each, and what the rules of a log say of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tpstream.log.contract import BrokenRule, Checker
from tpstream.log.schema import Header
from tpstream.model.events import KIND_NAMES, Event, Events

Row = tuple[float, str, int, int, int, int, float | None]
"""Time, kind, round, pull, arm, part, value."""


def columns_of(events: Sequence[Event]) -> Events:
    """Events as columns."""
    numbers = {
        name: np.array([getattr(event, name) for event in events], dtype=np.int64)
        for name in ("seq", "round", "pull", "arm", "part")
    }
    return Events(
        time=np.array([event.time for event in events], dtype=np.float64),
        kind=np.array([KIND_NAMES.index(event.kind) for event in events], dtype=np.int8),
        value=np.array([np.nan if event.value is None else event.value for event in events], dtype=np.float64),
        **numbers,
    )


def first_broken(header: Header, events: Events, *, size: int = 10**9, complete: bool = True) -> BrokenRule | None:
    """The first broken rule of a whole log that is read in pieces of this size."""
    checker = Checker(header)
    for first in range(0, len(events), size):
        broken = checker.first_broken(events.cut(first, min(first + size, len(events))))
        if broken is not None:
            return replace(broken, place=first + broken.place)
    return checker.at_end(complete=complete)


PULL: Row = (1.0, "pull", 1, 1, 0, 0, None)
FIRST: Row = (1.0, "partial", 1, 1, 0, 1, 0.25)
SECOND: Row = (2.5, "partial", 1, 1, 0, 2, 0.5)
CLOSED: Row = (2.5, "closed", 1, 1, 0, 0, 0.75)
GOOD = [PULL, FIRST, SECOND, CLOSED]
"""One pull of a world that the header does not tell: two arms, span 2."""


def changed(row: Row, **facts: Any) -> Row:
    """The row with other facts."""
    names = ("time", "kind", "round", "pull", "arm", "part", "value")
    return tuple((dict(zip(names, row, strict=True)) | facts).values())  # type: ignore[return-value]


def check_rows(rows: Sequence[Row], *, clairvoyant: bool = False, **scenario: Any) -> BrokenRule | None:
    """Check events written by hand; a scenario, if given, is one with delays."""
    told = {"delays": [{"kind": "some"}], **scenario} if scenario else {}
    facts: dict[str, Any] = {"scenario": told, "clairvoyant": clairvoyant, "arms": ["a", "b"], "span": 2}
    blank = {"policy": "some", "kind": "some", "parameters": {}, "seed": 0, "run": 0, "versions": {}}
    header = Header(means=[0.0, 0.0], maxima=[1.0, 1.0], horizon=9, groups=None, **facts, **blank)  # type: ignore[arg-type]
    events = [Event(seq, *row) for seq, row in enumerate(rows)]
    return first_broken(header, columns_of(events))


def header_for_rows() -> Header:
    """The header of a world that it does not tell: two arms, span 2."""
    return Header(
        scenario={}, policy="some", kind="some", parameters={}, seed=0, run=0, arms=["a", "b"], means=[0.0, 0.0],
        maxima=[1.0, 1.0], span=2, horizon=9, groups=None, clairvoyant=False, versions={},
    )  # fmt: skip
