"""Records: how often each arm was pulled in a run, packed small, and unpacked where someone looks."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import StudyError

INCREMENT = np.dtype("<u4")
"""What is stored: pulls between two checkpoints, which are far below 2^32."""
LEVEL = 1
"""zlib's fastest: half of the numbers are zeros, and more effort saves little."""


@dataclass(frozen=True)
class Outcome:
    """What became of one policy in one run: packed counts and seconds, or why it failed."""

    entry: str
    run: int
    counts: bytes
    seconds: float
    failure: str | None = None


@dataclass(frozen=True, eq=False)
class Records:
    """The outcomes of one policy in one world, by run: packed counts of pulls (rounds, arms), and seconds."""

    shape: tuple[int, int]
    runs: Ints
    packed: list[bytes]
    seconds: Floats

    def counts(self) -> Ints:
        """All counts, of shape (runs, rounds, arms)."""
        found = np.empty((len(self.runs), *self.shape), dtype=np.int64)
        for place, counts in enumerate(self):
            found[place] = counts
        return found

    def __iter__(self) -> Iterator[Ints]:
        """The counts of one run after the other."""
        return (unpack(packed, self.shape) for packed in self.packed)

    def __len__(self) -> int:
        return len(self.runs)


def pack(counts: Ints) -> bytes:
    """The counts (rounds, arms), which grow over rounds, as compressed increments."""
    return zlib.compress(np.diff(counts, axis=0, prepend=0).astype(INCREMENT).tobytes(), LEVEL)


def unpack(packed: bytes, shape: tuple[int, int]) -> Ints:
    """The counts as they were packed."""
    increments = np.frombuffer(zlib.decompress(packed), dtype=INCREMENT)
    if increments.size != shape[0] * shape[1]:
        raise StudyError(f"a stored result has {increments.size} numbers instead of {shape[0]} x {shape[1]}")
    return increments.reshape(shape).cumsum(axis=0, dtype=np.int64)


@dataclass(frozen=True)
class Counts(Mapping[str, Ints]):
    """Counts of pulls (runs, rounds, arms) for every policy, unpacked when asked for."""

    records: Mapping[str, Records] = field(default_factory=dict)

    def __getitem__(self, policy: str) -> Ints:
        return self.records[policy].counts()

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)
