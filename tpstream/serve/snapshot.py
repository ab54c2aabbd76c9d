"""Snapshots: the state of a decider after the first bytes of its log, so that it need not be told all of them again.

A snapshot is a file of NumPy arrays, some of which are JSON; nothing in it is executed. It tells the SHA-256 of the
bytes that it stands for, and counts for nothing if the log does not begin with them; and the SHA-256 of all its arrays,
since compiled code trusts them: a damaged one counts for nothing either.

The state is copied first, for which nothing may change it, and then written, which takes longer and disturbs nobody.
"""

import contextlib
import hashlib
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tpstream.log.periods import PeriodState
from tpstream.log.schema import Header
from tpstream.model.errors import DeciderError
from tpstream.model.notes import package_versions
from tpstream.model.pull_rows import Ring
from tpstream.policies.runner import Runner
from tpstream.replay.steering import Change, applied
from tpstream.serve.book import Delivered, Place, PullRecord
from tpstream.serve.journal import Journal
from tpstream.serve.live_state import LiveState

VERSION = 3
"""Of the form of snapshots; one of another version is not used."""
FIELDS = tuple(field.name for field in fields(PullRecord) if field.name != "keys")
"""What is kept of a pull; its keys are those of its deliveries."""
META = "meta"
"""The array with the JSON of `Meta`."""
DIGEST = "sha256"
"""The array with the SHA-256 of all others."""
PIECE = 500
"""Rows that are encoded at a time; meanwhile no other thread of Python goes on."""
_columns = tuple(map(attrgetter, FIELDS))
_encoder, _decoder = msgspec.json.Encoder(), msgspec.json.Decoder()


class Meta(msgspec.Struct, frozen=True):
    """What a snapshot tells besides arrays."""

    version: int
    sha256: str
    """Of the bytes of the log that the snapshot stands for."""
    size: int
    """Their number."""
    events: int
    rounds: int
    versions: dict[str, str]
    identity: str
    change: Change
    """How decisions are made."""
    streams: list[dict[str, Any]]
    """The states of the policy's stream, and of that of chance."""
    rings: list[tuple[int, int, list[int]]]
    """Capacity, oldest pull and released pulls, of the policy and of the periods."""
    told: int
    pending: list[tuple[Any, ...]]
    time: float
    last: tuple[int, int, int] | None
    missing: dict[int, int]
    counts: dict[str, int]
    pulls_of: list[int]
    paid_of: list[float]


def snapshot_path(log: Path) -> Path:
    """Where the snapshot of a log is: beside it."""
    return log.with_name(f"{log.stem}.snapshot.npz")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A snapshot that was read."""

    meta: Meta
    arrays: Mapping[str, NDArray[Any]]

    @property
    def size(self) -> int:
        """The bytes of the log that it stands for."""
        return self.meta.size

    @property
    def events(self) -> int:
        """The events that it stands for."""
        return self.meta.events

    @property
    def rounds(self) -> int:
        """The decisions that it stands for."""
        return self.meta.rounds

    def restore(self, state: LiveState) -> None:
        """Put a state that is as new where the snapshot was taken."""
        meta, steering = self.meta, state.steering
        applied(meta.change, steering, state.header)
        _set_stream(steering.stream, meta.streams[0])
        _set_stream(steering.safety, meta.streams[1])
        policy = steering.policy
        assert isinstance(policy, Runner)  # noqa: S101 (no snapshot is taken of others)
        policy.restore(self._fields("state"), self._fields("subscriptions"), _ring(meta.rings[0]))
        if state.teller.periods is not None:
            periods = state.teller.periods
            periods.ring = _ring(meta.rings[1])
            periods.state = PeriodState(**self._fields("periods"))
        state.teller.count = meta.told
        state.pending = [tuple(np.nan if value is None else value for value in row) for row in meta.pending]
        self._restore_book(state)

    def _fields(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays of one group, by name."""
        start = f"{name}."
        return {key.removeprefix(start): rows for key, rows in self.arrays.items() if key.startswith(start)}

    def _rows(self, name: str) -> list[Any]:
        """The rows of JSON of one name."""
        return _decoder.decode_lines(self.arrays[f"rows.{name}"].tobytes())

    def _restore_book(self, state: LiveState) -> None:
        meta, book = self.meta, state.book
        book.events, book.time = meta.events, meta.time
        book.last = None if meta.last is None else Place(*meta.last)
        book.arms.frombytes(self.arrays["arms"].astype(np.int32).tobytes())
        book.open.update((values[0], PullRecord(*values)) for values in self._rows("open"))
        book.closed.update((values[0], PullRecord(*values)) for values in self._rows("closed"))
        for record in (*book.closed.values(), *book.open.values()):
            if record.key is not None:
                book.decisions[record.key] = record
        book.missing.update(meta.missing)
        for key, (pull, kind, part, value, time, event_time) in self._rows("deliveries"):
            amount = np.nan if value is None else value
            book.deliveries[key] = Delivered(pull, kind, part, amount, time, event_time)
            known = book.record(pull)
            if known is not None:
                known.keys.append(key)
        book.closings[:] = [(time, pull) for ((time, pull),) in self._rows("closings")]
        book.counts.update({name: count - book.counts[name] for name, count in meta.counts.items()})
        book.pulls_of[:], book.paid_of[:] = meta.pulls_of, meta.paid_of


@dataclass(frozen=True, eq=False)
class StateCopy:
    """The state of a decider at one moment, which nothing changes any more."""

    path: Path
    """Where its snapshot will be."""
    meta: Meta
    arrays: Mapping[str, NDArray[Any]]
    tables: Mapping[str, list[list[Any]]]
    """Open and closed pulls, deliveries by their keys, and when windows end: a list for each column."""


def copy_state(state: LiveState, journal: Journal, change: Change) -> StateCopy | str:
    """The state after all that is in the log; a sentence why no snapshot of it is possible, if none is."""
    steering, book = state.steering, state.book
    policy = steering.policy
    if not isinstance(policy, Runner):
        return (
            f"{steering.choice.label} is an ordinary Python object, whose state has no known form; it is told the log"
        )
    periods = state.teller.periods
    arrays = _arrays("state", policy.state) | _arrays("subscriptions", policy.subscriptions)
    if periods is not None:
        arrays |= _arrays("periods", periods.state)
    arrays["arms"] = np.array(book.arms, dtype=np.int32)
    rings = [policy.ring] if periods is None else [policy.ring, periods.ring]
    meta = Meta(
        version=VERSION,
        sha256=journal.read_to(journal.size),
        size=journal.size,
        events=book.events,
        rounds=book.rounds,
        versions=package_versions(),
        identity=_identity(state.header),
        change=change,
        streams=[_stream_state(steering.stream), _stream_state(steering.safety)],
        rings=[(ring.capacity, ring.oldest, sorted(ring.released)) for ring in rings],
        told=state.teller.count,
        pending=list(state.pending),
        time=book.time,
        last=book.last,
        missing=dict(book.missing),
        counts=dict(book.counts),
        pulls_of=list(book.pulls_of),
        paid_of=list(book.paid_of),
    )
    tables: dict[str, list[list[Any]]] = {
        "open": [list(map(values_of, book.open.values())) for values_of in _columns],
        "closed": [list(map(values_of, book.closed.values())) for values_of in _columns],
        "deliveries": [list(book.deliveries), list(book.deliveries.values())],
        "closings": [list(book.closings)],
    }  # lists of what is there: an object for each row would set off the garbage collector
    return StateCopy(snapshot_path(journal.path), meta, arrays, tables)


def write_snapshot(copied: StateCopy) -> str | None:
    """Write the snapshot of a state; why that is not possible, if it is not."""
    arrays = {META: _bytes(msgspec.json.encode(copied.meta)), **copied.arrays}
    arrays |= {f"rows.{name}": _bytes(_encoded(columns)) for name, columns in copied.tables.items()}
    arrays[DIGEST] = _bytes(_digest(arrays))
    path = copied.path
    part = path.with_name(f"{path.name}.partial")
    try:
        with part.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        return f"{path}: cannot write the snapshot: {error.strerror}; the log has everything"
    return None


def _encoded(columns: list[list[Any]]) -> bytes:
    """The rows of a table as lines of JSON."""
    pieces = range(0, len(columns[0]), PIECE)
    rows = (zip(*(column[first : first + PIECE] for column in columns), strict=True) for first in pieces)
    return b"".join(map(_encoder.encode_lines, map(list, rows)))


def _digest(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The SHA-256 of arrays with their names, types and shapes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.digest()


def _bytes(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)


def load_snapshot(journal: Journal, header: Header, notes: list[str]) -> Snapshot | None:
    """The snapshot of a log; None if there is none that can be used, and a note why."""
    path = snapshot_path(journal.path)
    if not path.exists():
        return None
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        _check_digest(arrays.pop(DIGEST), arrays)
        meta = msgspec.json.decode(arrays.pop(META).tobytes(), type=Meta)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, msgspec.DecodeError) as error:
        notes.append(f"the snapshot is not used: it is damaged ({type(error).__name__}: {error})")
        return None
    reason = _reason_against(meta, journal, header)
    if reason is not None:
        notes.append(f"the snapshot is not used: {reason}")
        return None
    return Snapshot(meta, arrays)


def _check_digest(told: NDArray[Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    if told.tobytes() != _digest(arrays):
        raise ValueError("it has not the SHA-256 that it tells")


def _reason_against(meta: Meta, journal: Journal, header: Header) -> str | None:
    if meta.version != VERSION:
        return f"it has version {meta.version}, and this is version {VERSION}"
    if meta.versions != package_versions():
        return "it was taken with other versions of packages"
    if meta.identity != _identity(header) or meta.size > journal.size:
        return "it is of another log"
    if journal.read_to(meta.size) != meta.sha256:
        return "the log does not begin as it did when the snapshot was taken"
    return None


def _identity(header: Header) -> str:
    if header.decider is None:
        raise DeciderError("this log was not written by a decider")
    return header.decider.identity


def _arrays(group: str, values: Any) -> dict[str, NDArray[Any]]:
    """Copies of the fields of a named tuple that are arrays or numbers, by names that tell the group."""
    return {f"{group}.{name}": np.array(value) for name, value in values._asdict().items()}


def _ring(values: tuple[int, int, list[int]]) -> Ring:
    ring = Ring(values[0])
    ring.oldest, ring.released = values[1], set(values[2])
    return ring


def _stream_state(stream: np.random.Generator) -> dict[str, Any]:
    """The state of a stream as JSON has it: whole numbers as text."""
    found = dict(stream.bit_generator.state)
    found["state"] = {name: str(number) for name, number in found["state"].items()}
    return found


def _set_stream(stream: np.random.Generator, saved: Mapping[str, Any]) -> None:
    """Put a stream where it was."""
    state = dict(saved)
    state["state"] = {name: int(number) for name, number in saved["state"].items()}
    stream.bit_generator.state = state
