"""The columns of a log: their names and types, for all forms.

The header of a log: everything besides the events that is needed to read, replay and judge a run.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import Events, Kind
from tpstream.model.notes import own_version
from tpstream.model.world import Problem

Columns = dict[str, NDArray[Any]]
"""Some columns of some events by name; `indices` has a row for each pull only, and may be absent."""

TYPES: Mapping[str, type[np.generic]] = {
    "seq": np.int64,
    "time": np.float64,
    "kind": np.int8,
    "round": np.int64,
    "pull": np.int64,
    "arm": np.int64,
    "part": np.int64,
    "value": np.float64,
}
"""The columns that every event has, in the order of the schema, as they are in memory."""
COLUMN_NAMES = (*TYPES, "indices")


def check_names(names: Sequence[str]) -> None:
    """Refuse a column that there is not."""
    for name in names:
        if name not in COLUMN_NAMES:
            raise UnknownNameError("column", name, COLUMN_NAMES)


def choose(columns: Columns, kinds: Sequence[Kind] | None) -> Columns:
    """The rows of some kinds, or of all."""
    if kinds is None:
        return columns
    rows = np.isin(columns["kind"], [int(kind) for kind in kinds])
    chosen = {name: column[rows] for name, column in columns.items() if name != "indices"}
    if "indices" in columns and Kind.PULL in kinds:
        chosen["indices"] = columns["indices"]
    return chosen


def concatenate(pieces: Sequence[Columns], names: Sequence[str], arms: int) -> Columns:
    """Consecutive pieces as one, with these columns, also when there is none; indices only if some piece has them."""
    joined: Columns = {}
    for name in names:
        if name != "indices":
            joined[name] = np.concatenate([np.empty(0, TYPES[name]), *(piece[name] for piece in pieces)])
        elif rows := [piece["indices"] for piece in pieces if "indices" in piece]:
            joined["indices"] = np.concatenate([np.empty((0, arms)), *rows])
    if "indices" in joined and "kind" in joined:
        pulls = np.count_nonzero(joined["kind"] == Kind.PULL)
        if pulls != len(joined["indices"]):
            raise LogError(f"{len(joined['indices'])} of {pulls} pulls have indices; give them for all or for none")
    return joined


def to_columns(events: Events) -> Columns:
    """Events as columns by name."""
    columns: Columns = {name: getattr(events, name) for name in TYPES}
    return columns if events.indices is None else columns | {"indices": events.indices}


def to_events(columns: Columns) -> Events:
    """All columns by name as events."""
    return Events(**columns)


def no_events() -> Events:
    """A batch without events."""
    return Events(**{name: np.empty(0, kind) for name, kind in TYPES.items()})


def check_finite(events: Events) -> None:
    """Refuse numbers that no form can carry: a time that is not finite, a value that is infinite."""
    if not np.isfinite(events.time).all():
        place = int(np.argmin(np.isfinite(events.time)))
        raise LogError(f"event {events.seq[place]} has the time {events.time[place]}; times must be finite")
    if np.isinf(events.value).any():
        place = int(np.argmax(np.isinf(events.value)))
        raise LogError(f"event {events.seq[place]} has the value {events.value[place]}; values must be finite")


SCHEMA = 1
"""The version of the log's schema; it grows when a reader of the old one could go wrong."""
Detail = Literal["all", "pulls", "indices"]
"""What a log holds: every event, only the pulls, or every event and at each pull the policy's indices."""
PACKAGES = ("numpy", "numba", "simpy")
"""Packages whose version can change a number in a log."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was: its scenario as resolved, its policy, its randomness, and what the world's truth is."""

    schema: int = SCHEMA
    scenario: dict[str, Any]
    policy: str
    """The policy's label in the study."""
    kind: str
    """The policy's registered name."""
    parameters: dict[str, Any]
    seed: int
    run: int
    arms: list[str]
    means: list[float]
    maxima: list[float]
    span: int
    horizon: int
    groups: int | None
    clairvoyant: bool
    detail: Detail = "all"
    versions: dict[str, str]

    def problem(self) -> Problem:
        """The problem that the policy was told, and the means."""
        return Problem(
            names=tuple(self.arms),
            maxima=np.array(self.maxima),
            span=self.span,
            horizon=self.horizon,
            groups=self.groups,
            means=np.array(self.means),
        )


def package_versions() -> dict[str, str]:
    """The versions of tpstream and of the packages that its numbers depend on."""
    return dict(_versions())


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    """They are read from files, and cannot change while a process lives."""
    return {"tpstream": own_version()} | {name: version(name) for name in PACKAGES}
