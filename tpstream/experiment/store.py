"""The store of a study: every finished or failed run, in one SQLite file or in memory.

A result is kept under a key, the hash of everything that it depends on. Every row carries a checksum over its key, its
run and its content; a row that does not fit its own is told of, removed, and its run is done again.
"""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from tpstream.experiment.runs import Records
from tpstream.model.errors import StudyError
from tpstream.model.notes import logger
from tpstream.model.registry import MODELS
from tpstream.policies import POLICIES
from tpstream.policies.base import PolicyForm
from tpstream.run.options import Measures
from tpstream.scenario.plugins import REGISTRIES, definition_code, definition_modules
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.source_code import file_hash, identify_code, modules_of
from tpstream.timing.kinds import kinds_in

SCHEMA = 3
"""The version of what is kept in a study's folder; a new one where older results could be misread."""
NAME = "study.sqlite"
TABLES = """
CREATE TABLE IF NOT EXISTS keys (id INTEGER PRIMARY KEY, result_key TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS done (
    id INTEGER NOT NULL, run INTEGER NOT NULL, seconds REAL NOT NULL, measures BLOB NOT NULL, checksum BLOB NOT NULL,
    PRIMARY KEY (id, run)
);
CREATE TABLE IF NOT EXISTS failed (
    id INTEGER NOT NULL, run INTEGER NOT NULL, failure TEXT NOT NULL, checksum BLOB NOT NULL, PRIMARY KEY (id, run)
);
"""
FASTEST = 1
"""zlib's level: half of the numbers are zeros, and more effort saves little."""
LARGEST = 2**31
"""Bytes that the measures of a run may have when they are unpacked."""
MOST_NAMED = 10
"""Damaged runs that are named in a warning."""
CONTENT = {"done": ("seconds", "measures"), "failed": ("failure",)}
"""The columns of each table that hold what became of a run."""


@dataclass(frozen=True)
class RunResult:
    """What became of one policy in one run: packed measures and seconds, or why it failed."""

    result_key: str
    run: int
    measures: bytes
    seconds: float
    failure: str | None = None


class _Packed(msgspec.Struct, array_like=True):
    """One measure as it is stored; whole numbers as differences along the first axis, which are small."""

    type: str
    shape: tuple[int, ...]
    differences: bool
    data: bytes


_decoder = msgspec.msgpack.Decoder(dict[str, _Packed])


def pack(measures: Measures) -> bytes:
    """The measures of a run, compressed."""
    return zlib.compress(msgspec.msgpack.encode({name: _pack(value) for name, value in measures.items()}), FASTEST)


def unpack(packed: bytes) -> dict[str, NDArray[Any]]:
    """The measures as they were packed; whole numbers come back as 64-bit integers."""
    try:
        return {name: _unpack(value) for name, value in _decoder.decode(_unzip(packed)).items()}
    except (zlib.error, msgspec.DecodeError, ValueError, TypeError) as error:
        raise StudyError(f"a stored result is damaged ({error}); repeat the study in another folder") from None


def _unzip(packed: bytes) -> bytes:
    """The plain bytes; raises ValueError if they are torn, or more than any run reports."""
    unzip = zlib.decompressobj()
    plain = unzip.decompress(packed, LARGEST)
    if not unzip.eof:
        raise ValueError(f"torn, or more than {LARGEST:,} bytes")
    return plain


def _pack(value: NDArray[Any]) -> _Packed:
    value = np.asarray(value)
    differences = value.dtype.kind in "iu" and value.ndim > 0
    stored = np.diff(value, axis=0, prepend=0) if differences else value
    if differences and stored.size:
        stored = stored.astype(np.result_type(np.min_scalar_type(stored.min()), np.min_scalar_type(stored.max())))
    return _Packed(stored.dtype.newbyteorder("<").str, value.shape, differences, np.ascontiguousarray(stored).tobytes())


def _unpack(packed: _Packed) -> NDArray[Any]:
    stored = np.frombuffer(packed.data, dtype=np.dtype(packed.type)).reshape(packed.shape)
    return stored.cumsum(axis=0, dtype=np.int64) if packed.differences else stored


def checksum(result_key: str, run: int, *content: float | str | bytes) -> bytes:
    """Sixteen bytes that change if a result is damaged, or is put under another key or run."""
    return hashlib.blake2b(msgspec.msgpack.encode((result_key, run, *content)), digest_size=16).digest()


class PackedMeasures:
    """The measures of several runs, unpacked one by one where someone looks: all together may be large."""

    def __init__(self, packed: Sequence[bytes]) -> None:
        self.packed = packed

    def __getitem__(self, place: int) -> Measures:
        return unpack(self.packed[place])

    def __len__(self) -> int:
        return len(self.packed)


class Store:
    """Results in a file of the study's folder, by result key (the hash of what was run) and number of the run.

    Without a folder they are kept in memory, until the store is closed.

    One process at a time has it, by SQLite's own lock, which ends with the process. What one call of `keep` was given
    is there after a kill at any moment in whole or not at all: it is a transaction in a write-ahead log.
    """

    def __init__(self, folder: Path | None) -> None:
        self._place = ":memory:" if folder is None else str(folder / NAME)
        with self._explained():
            self._database = sqlite3.connect(self._place, timeout=1)
            self._database.text_factory = partial(str, encoding="utf-8", errors="replace")  # damaged text is no error
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def _prepare(self) -> None:
        # The lock must be exclusive before the log begins: then it needs no shared memory, and network folders work.
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        (schema,) = self._database.execute("PRAGMA user_version").fetchone()
        if schema not in {0, SCHEMA}:
            raise StudyError(f"{self._place}: has schema {schema}, this tpstream knows {SCHEMA}; choose another folder")
        self._database.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")

    def keep(self, results: Iterable[RunResult]) -> None:
        """Write all of them, or none if the process dies on the way."""
        with self._explained(), self._database as database:
            for one in results:
                database.execute("INSERT OR IGNORE INTO keys (result_key) VALUES (?)", (one.result_key,))
                (number,) = database.execute("SELECT id FROM keys WHERE result_key = ?", (one.result_key,)).fetchone()
                if one.failure is None:
                    proof = checksum(one.result_key, one.run, one.seconds, one.measures)
                    row = (number, one.run, one.seconds, one.measures, proof)
                    database.execute("INSERT OR REPLACE INTO done VALUES (?, ?, ?, ?, ?)", row)
                    database.execute("DELETE FROM failed WHERE id = ? AND run = ?", (number, one.run))
                else:
                    failed = (number, one.run, one.failure, checksum(one.result_key, one.run, one.failure))
                    database.execute("INSERT OR REPLACE INTO failed VALUES (?, ?, ?, ?)", failed)

    def finished(self, result_key: str, runs: range) -> set[int]:
        """The finished runs under this key whose numbers are in the range; damaged ones are removed."""
        return {row[0] for row in self._select("done", result_key, runs)}

    def records(self, result_key: str, runs: range) -> Records:
        """The runs under this key whose numbers are in the range, without damaged ones."""
        rows = self._select("done", result_key, runs)
        return Records(
            np.array([row[0] for row in rows], dtype=np.int64),
            PackedMeasures([row[2] for row in rows]),
            np.array([row[1] for row in rows], dtype=np.float64),
            dict(self._select("failed", result_key, runs)),
        )

    def _select(self, table: str, result_key: str, runs: range) -> list[Any]:
        """The runs of a table under this key, for a range of runs and in their order: run, then its content.

        What does not fit its checksum is removed, so that the study does it again.
        """
        columns = ", ".join(("run", *CONTENT[table], "checksum"))
        query = f"SELECT {columns} FROM {table} JOIN keys USING (id) WHERE result_key = ?"  # noqa: S608 (our own words)
        values = (result_key, runs.start, runs.stop)
        with self._explained():
            found = self._database.execute(f"{query} AND run >= ? AND run < ? ORDER BY run", values).fetchall()
        sound = [row[:-1] for row in found if row[-1] == checksum(result_key, *row[:-1])]
        if len(sound) < len(found):
            kept = {row[0] for row in sound}
            self._remove(table, result_key, [row[0] for row in found if row[0] not in kept])
        return sound

    def _remove(self, table: str, result_key: str, runs: Sequence[int]) -> None:
        """Forget damaged runs, and say so."""
        logger().warning(
            "stored runs are damaged",
            file=self._place,
            runs=list(runs[:MOST_NAMED]),
            count=len(runs),
            remedy="the command that made the study does them again",
        )
        query = f"DELETE FROM {table} WHERE run = ? AND id = (SELECT id FROM keys WHERE result_key = ?)"  # noqa: S608
        with self._explained(), self._database as database:
            database.executemany(query, [(run, result_key) for run in runs])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the database, which leaves one whole file."""
        self._database.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StudyError(
                    f"{self._place}: another process is at work on this study; wait for it, or choose another folder"
                ) from None
            raise StudyError(f"{self._place}: {error}; make room or check its permissions, then go on") from None
        except sqlite3.DatabaseError as error:
            raise StudyError(f"{self._place}: is not the store of a study ({error}); choose another folder") from None


def hash_of(value: Any) -> str:
    """Thirty-two digits for plain JSON values."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def identify_world(scenario: Scenario) -> dict[str, Any]:
    """All that the numbers of a run depend on besides policy, seed and run, with the content of files and plug-ins."""
    everything = scenario.resolved()
    keys = {key: value for key, value in everything.items() if key not in {"name", "seed", "policies"}}
    paths = {name: scenario.folder / name for name in sorted(set(_files_in(everything)))}
    files = {name: file_hash(path) for name, path in paths.items() if path.is_file()}
    return {**keys, "files": files, "code": plugin_code(keys)}


def result_key(world: str, choice: PolicyChoice, seed: int, rounds: list[int], measurer: str | None = None) -> str:
    """The hash under which the runs of a policy in a world are kept.

    `rounds` are those at which pulls are counted, `measurer` is the name of what reports further measures.
    """
    parameters = choice.parameters.model_dump(mode="json")
    own = choice.form.name in POLICIES.builtin and choice.named
    code = None if own else policy_code(choice.form)
    policy = {"kind": choice.form.name, "parameters": parameters, "code": code}
    reported = {} if measurer is None else {"measurer": measurer}
    return hash_of({"schema": SCHEMA, "world": world, "policy": policy, "seed": seed, "rounds": rounds, **reported})


def policy_code(form: PolicyForm) -> dict[str, str] | None:
    """The code that a policy consists of; None for our own, whose version is kept."""
    parts, known = _parts(form), POLICIES.added.get(form.name) is form
    return (definition_code("policies", form.name, *parts) if known else identify_code(modules_of(*parts))) or None


def _parts(form: PolicyForm) -> list[Any]:
    """The functions and classes that a policy consists of."""
    return [value for value in vars(form).values() if callable(value)]


def _files_in(value: Any) -> Iterator[str]:
    """Every text under a key `file`."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "file" and isinstance(inner, str):
                yield inner
            else:
                yield from _files_in(inner)


def plugin_code(keys: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The code of every model that a scenario uses and that is not ours, by its kind."""
    found = {kind: definition_code(section, kind, *parts) for section, kind, parts in _models(keys)}
    return {kind: code for kind, code in found.items() if code}


def code_modules(scenarios: Iterable[Scenario], forms: Iterable[PolicyForm]) -> list[ModuleType]:
    """The modules of all users' code that these scenarios and policies use."""
    models = [one for scenario in scenarios for one in _models(scenario.resolved())]
    definitions = [*models, *(("policies", form.name, _parts(form)) for form in forms)]
    found = {module.__name__: module for one in definitions for module in definition_modules(one[0], one[1], *one[2])}
    return list(found.values())


def _models(keys: dict[str, Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """The section, the kind and the classes of every model that a scenario uses and that is not ours."""
    used = [
        ("rewards", keys["rewards"]["kind"]),
        *(("delays", kind) for kind in kinds_in(keys.get("delays", []))),
        ("arrivals", keys.get("arrivals", {"kind": "regular"})["kind"]),
    ]
    for section, kind in used:
        registry = REGISTRIES[section]
        if kind in registry.names() and kind not in registry.builtin:
            definition = registry.find(kind)
            models = [getattr(definition, name) for name in MODELS if hasattr(definition, name)]
            yield section, kind, [type(definition), *models]
