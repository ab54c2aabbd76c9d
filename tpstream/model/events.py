"""Events: what happens on the timeline, one by one (`Event`) or as columns (`Events`)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from itertools import starmap
from math import isinf, isnan

import msgspec
import numpy as np

from tpstream.model.arrays import Bytes, Floats, Ints


class Kind(IntEnum):
    """The kinds of events; the numbers are part of the log's schema."""

    PULL = 0
    PARTIAL = 1
    CLOSED = 2
    LATE = 3
    DROPPED = 4


KIND_NAMES = tuple(kind.name.lower() for kind in Kind)
PULL, PARTIAL, CLOSED, LATE, DROPPED = (int(kind) for kind in Kind)
"""The same as plain integers, for compiled code, which knows no enumerations."""


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One event, in the order and with the names of the log's schema.

    `round` is the number of the last decision made; `part` is 0 where no single part is meant (pull, closed);
    `value` is what a part paid, what a closed pull was credited with, or the total that a clairvoyant
    policy was shown at the pull; None where nothing was shown. `indices` is the policy's index of every arm, with
    "inf" for an infinite one (JSON has no number for it) and None for one that is not a number.
    """

    seq: int
    time: float
    kind: str
    round: int
    pull: int
    arm: int
    part: int
    value: float | None
    indices: tuple[float | str | None, ...] | None = None


@dataclass(frozen=True, eq=False)
class Events:
    """A stretch of consecutive events as columns; `value` is NaN where an `Event` has None."""

    seq: Ints
    time: Floats
    kind: Bytes
    round: Ints
    pull: Ints
    arm: Ints
    part: Ints
    value: Floats
    indices: Floats | None = None
    """One row for each event of kind pull, when the policy's indices were asked for."""

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Iterator[Event]:
        """The events one by one."""
        kinds = [KIND_NAMES[kind] for kind in self.kind.tolist()]
        values = [None if isnan(value) else value for value in self.value.tolist()]
        columns = (
            self.seq.tolist(),
            self.time.tolist(),
            kinds,
            self.round.tolist(),
            self.pull.tolist(),
            self.arm.tolist(),
            self.part.tolist(),
            values,
        )
        if self.indices is None:
            return map(Event, *columns)
        rows = iter(self.indices.tolist())
        shown = (tuple(map(_spell, next(rows))) if kind == "pull" else None for kind in kinds)
        return starmap(Event, zip(*columns, shown, strict=True))

    @staticmethod
    def join(batches: Sequence["Events"]) -> "Events":
        """Consecutive batches as one."""
        columns = {field.name: np.concatenate([getattr(batch, field.name) for batch in batches]) for field in _COLUMNS}
        indices = [batch.indices for batch in batches if batch.indices is not None]
        return Events(**columns, indices=np.concatenate(indices) if indices else None)

    def take(self, chosen: Bytes | Ints | slice) -> "Events":
        """The chosen rows, without indices."""
        return Events(**{field.name: getattr(self, field.name)[chosen] for field in _COLUMNS})

    def cut(self, first: int, last: int) -> "Events":
        """The events from `first` up to before `last`, with their indices."""
        rows = slice(first, last)
        if self.indices is None:
            return self.take(rows)
        before, inside = (int(np.count_nonzero(self.kind[part] == Kind.PULL)) for part in (slice(0, first), rows))
        return replace(self.take(rows), indices=self.indices[before : before + inside])


_COLUMNS = [field for field in fields(Events) if field.name != "indices"]


def _spell(index: float) -> float | str | None:
    """An index as JSON can carry it."""
    if isnan(index):
        return None
    return str(index) if isinf(index) else index
