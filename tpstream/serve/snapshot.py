"""Snapshots: the state of a decider after the first bytes of its log, so that it need not be told all of them again.

A snapshot is a file of NumPy arrays, one of which is JSON; nothing in it is executed. It tells the SHA-256 of the bytes
that it stands for, and counts for nothing if the log does not begin with them.
"""

import contextlib
import io
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
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

VERSION = 1
"""Of the form of snapshots; one of another version is not used."""
FIELDS = tuple(field.name for field in fields(PullRecord))
META = "meta"
"""The array with the JSON."""


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
    open: list[dict[str, Any]]
    closed: list[dict[str, Any]]
    missing: dict[int, int]
    deliveries: dict[str, tuple[int, int, int, float | None, float, float | None]]
    closings: list[tuple[float, int]]
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

    def _restore_book(self, state: LiveState) -> None:
        meta, book = self.meta, state.book
        book.events, book.time = meta.events, meta.time
        book.last = None if meta.last is None else Place(*meta.last)
        book.arms.frombytes(self.arrays["arms"].astype(np.int32).tobytes())
        book.open.update((values["pull"], PullRecord(**values)) for values in meta.open)
        book.closed.update((values["pull"], PullRecord(**values)) for values in meta.closed)
        for record in (*book.closed.values(), *book.open.values()):
            if record.key is not None:
                book.decisions[record.key] = record
        book.missing.update(meta.missing)
        for key, values in meta.deliveries.items():
            pull, kind, part, value, time, event_time = values
            amount = np.nan if value is None else value
            book.deliveries[key] = Delivered(pull, kind, part, amount, time, event_time)
        book.closings[:] = [(time, pull) for time, pull in meta.closings]
        book.counts.update({name: count - book.counts[name] for name, count in meta.counts.items()})
        book.pulls_of[:], book.paid_of[:] = meta.pulls_of, meta.paid_of


def save_snapshot(state: LiveState, journal: Journal, change: Change) -> str | None:
    """Write the snapshot of a state after all that is in the log; why that is not possible, if it is not."""
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
    arrays["arms"] = np.frombuffer(book.arms, dtype=np.int32) if book.rounds else np.zeros(0, np.int32)
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
        pending=state.pending,
        time=book.time,
        last=book.last,
        open=list(map(_fields_of, book.open.values())),
        closed=list(map(_fields_of, book.closed.values())),
        missing=book.missing,
        deliveries={key: tuple(told) for key, told in book.deliveries.items()},  # type: ignore[misc]
        closings=book.closings,
        counts=dict(book.counts),
        pulls_of=book.pulls_of,
        paid_of=book.paid_of,
    )
    arrays[META] = np.frombuffer(msgspec.json.encode(meta), dtype=np.uint8)
    path = snapshot_path(journal.path)
    part = path.with_name(f"{path.name}.partial")
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    try:
        with part.open("wb") as file:
            file.write(buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        return f"{path}: cannot write the snapshot: {error.strerror}; the log has everything"
    return None


def load_snapshot(journal: Journal, header: Header, notes: list[str]) -> Snapshot | None:
    """The snapshot of a log; None if there is none that can be used, and a note why."""
    path = snapshot_path(journal.path)
    if not path.exists():
        return None
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = msgspec.json.decode(arrays.pop(META).tobytes(), type=Meta)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, msgspec.DecodeError) as error:
        notes.append(f"the snapshot is not used: it is damaged ({type(error).__name__}: {error})")
        return None
    reason = _reason_against(meta, journal, header)
    if reason is not None:
        notes.append(f"the snapshot is not used: {reason}")
        return None
    return Snapshot(meta, arrays)


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


def _fields_of(record: PullRecord) -> dict[str, Any]:
    """A record as JSON has it."""
    return {name: getattr(record, name) for name in FIELDS}


def _identity(header: Header) -> str:
    if header.decider is None:
        raise DeciderError("this log was not written by a decider")
    return header.decider.identity


def _arrays(group: str, values: Any) -> dict[str, NDArray[Any]]:
    """The fields of a named tuple that are arrays or numbers, by names that tell the group."""
    return {f"{group}.{name}": np.asarray(value) for name, value in values._asdict().items()}


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
