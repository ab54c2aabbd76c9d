"""What a log proves of itself: damage to a complete log is found, and damaged buffers are never followed."""

import hashlib
import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from log_samples import FORMATS, bits, make_events, make_header, write_log
from studies import KEYS

from tpstream import Scenario, answer, check_log, diagnose, log_regret, replay, simulate
from tpstream.analysis.endpoints import read_endpoints
from tpstream.log import arrow_messages
from tpstream.log.arrow import END, HEADER, make_schema
from tpstream.log.reader import Log, read_log
from tpstream.log.schema import DeciderSettings
from tpstream.log.writer import convert
from tpstream.model.errors import LogError

EVENTS = make_events(40, indices=True)


@pytest.fixture(scope="module", params=FORMATS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A complete log in each format."""
    return write_log(tmp_path_factory.mktemp("log") / f"log.{request.param}", make_header(), [EVENTS])


def read(path: Path) -> Log:
    """A log whose events have all been read."""
    log = read_log(path)
    log.join()
    return log


@settings(max_examples=300)
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_no_changed_byte_passes(whole: Log, place: float, flip: int) -> None:
    """One changed byte anywhere: an error, or a log that says that it is torn."""
    data = bytearray(whole.path.read_bytes())
    data[int(place * len(data))] ^= flip
    changed = whole.path.with_name("changed")
    changed.write_bytes(data)
    try:
        log = read(changed)
    except LogError:
        return
    assert not log.complete


def test_an_event_that_nobody_checks(tmp_path: Path) -> None:
    """A digit of a value is changed in a log whose events follow every rule: only the SHA-256 tells."""
    path = write_log(tmp_path / "log.jsonl", make_header(), [EVENTS]).path
    path.write_bytes(path.read_bytes().replace(b'"time":4.0', b'"time":4.1'))
    with pytest.raises(LogError, match=r"log.jsonl: the log is damaged: it has not the SHA-256 .*; take an undamaged"):
        read(path)


COMMANDS = {
    "regret": log_regret,
    "diagnosis": diagnose,
    "page": lambda path: read_log(path).view(),
    "answer": answer,
    "replay": replay,
    "endpoints": lambda path: read_endpoints(read_log(path)),
    "frame": lambda path: read_log(path).frame(),
}
"""Ways in which a log is used."""


@pytest.mark.parametrize("name", COMMANDS)
def test_whoever_reads_it_finds_out(tmp_path: Path, name: str) -> None:
    """What keeps every rule and is not what was written: a digit of the time of a late part."""
    timing = {"arrivals": {"kind": "poisson", "rate": 1.0}, "delays": [{"kind": "geometric", "p": 0.3}], "window": 8.0}
    simulate(Scenario(**KEYS | {"horizon": 20} | timing), "uniform", log=tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_bytes().splitlines(keepends=True)
    late = [number for number, line in enumerate(lines) if b'"kind":"late"' in line][-1]
    value = json.loads(lines[late])["value"]
    lines[late] = lines[late].replace(json.dumps(value).encode(), json.dumps(value + 1).encode())
    (tmp_path / "run.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(LogError, match=r"has not the SHA-256 that its end marker tells"):
        COMMANDS[name](tmp_path / "run.jsonl")


def test_a_conversion_computes_it_anew(whole: Log, tmp_path: Path) -> None:
    """A converted log is whole by itself."""
    for format in FORMATS:
        copy = convert(whole, tmp_path / f"copy.{format}")
        assert copy.reader.sha256 is not None
        assert bits(copy.join()) == bits(EVENTS)


def test_an_end_without_it_proves_nothing(tmp_path: Path) -> None:
    """A log that was cut and given another end is read, but not taken for a complete one, nor is its conversion."""
    scenario = Scenario(**KEYS | {"horizon": 20, "arrivals": {"kind": "poisson", "rate": 2.0}})
    simulate(scenario, "uniform", log=tmp_path / "run.jsonl")
    header, *events, _ = (tmp_path / "run.jsonl").read_bytes().splitlines()
    place = next(number for number, event in enumerate(events) if b'"kind":"pull","round":11,' in event)
    for kept in (place, 0):
        path = tmp_path / f"cut-{kept}.jsonl"
        path.write_bytes(b"\n".join([header, *events[:kept], b'{"end": %d}' % kept]) + b"\n")
        note = "the end marker has no SHA-256: whether the log is whole is not known"
        assert (read(path).complete, read(path).truncated) == (False, note)
        assert note in replay(path).notes
        assert "its end has no SHA-256" in str(check_log(path).faults[-1])
        assert not convert(path, tmp_path / f"copy-{kept}.arrows").complete


def arrow_log(path: Path, batches: list[Any], compression: str | None = "zstd") -> Path:
    """An Arrow stream with these batches, whatever they hold."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    schema = batches[0].schema
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema, options=options) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return path


def batch_of(schema: Any, rows: int, **other: Any) -> Any:
    """A batch of partial rewards, with other arrays for some columns."""
    arrays = {
        "step": pa.array(np.ones(rows, np.int32)),
        "time": pa.array(np.arange(rows, dtype=np.float64)),
        "kind": pa.DictionaryArray.from_arrays(pa.array(np.ones(rows, np.int8)), pa.array(["pull", "partial"])),
        "value": pa.array(np.zeros(rows)),
    }
    whole = {name: pa.array(np.ones(rows, np.int32)) for name in ("round", "pull", "arm", "part")}
    arrays |= whole | other
    rest = [name for name in schema.names if name not in arrays]
    arrays |= {name: pa.nulls(rows, schema.field(name).type) for name in rest}
    return pa.record_batch([arrays[name] for name in schema.names], schema=schema)


def test_an_index_outside_of_the_dictionary(tmp_path: Path) -> None:
    """A kind of number -1 is refused, and not taken for the last kind."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    wrong = pa.DictionaryArray.from_arrays(
        pa.array(np.array([0, -1], np.int8)), pa.array(["pull", "partial"]), safe=False
    )
    path = arrow_log(tmp_path / "log.arrows", [batch_of(schema, 2, kind=wrong)])
    with pytest.raises(LogError, match=r"batch 1 is damaged: .*-1"):
        read(path)


@pytest.mark.parametrize("wrong", [(0, 2, 2**30), (0, 2**30, 4), (0, -2, 4), (2**30, 2, 4), (-2, 2, 4), (4, 2, 0)])
def test_offsets_that_point_outside(tmp_path: Path, wrong: tuple[int, int, int]) -> None:
    """Lists whose offsets lead beyond their values, or back, are refused before anything follows them."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    lists = pa.array([[1.0, 2.0], [3.0, 4.0]])
    path = arrow_log(tmp_path / "log.arrows", [batch_of(schema, 2, indices=lists)], compression=None)
    data, offsets = path.read_bytes(), struct.pack("<3i", 0, 2, 4)
    assert data.count(offsets) == 1
    path.write_bytes(data.replace(offsets, struct.pack("<3i", *wrong)))
    with pytest.raises(LogError, match="batch 1 is damaged"):
        read(path)


def test_a_column_that_claims_to_be_empty(tmp_path: Path) -> None:
    """Texts whose offsets lead outside are refused, also if their column claims to have no value at all."""
    decider = DeciderSettings(identity="ab", clock="caller", silence="wait")
    schema = make_schema(msgspec.structs.replace(make_header(), decider=decider), pa.field("step", pa.int32()))
    path = arrow_log(tmp_path / "log.arrows", [batch_of(schema, 4, key=pa.array(["a", "bc", None, "d"]))], None)
    data = path.read_bytes()
    for old, new in (
        (struct.pack("<qq", 4, 1), struct.pack("<qq", 4, 4)),
        *[(struct.pack("<5i", 0, 1, 3, 3, 4), struct.pack("<5i", 0, 1, 2**30, 3, 4))],
    ):
        assert data.count(old) == 1
        data = data.replace(old, new)
    path.write_bytes(data)
    with pytest.raises(LogError, match="batch 1 is damaged"):
        read(path)


@pytest.mark.parametrize("first", ["there", "absent"])
def test_columns_that_only_some_batches_have(tmp_path: Path, first: str) -> None:
    """Indices for some pulls and not for others are refused wherever they are, and not only within a batch."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    kind = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3, np.int8)), pa.array(["pull", "partial"]))
    there = batch_of(schema, 3, kind=kind, indices=pa.array([[1.0, 2.0]] * 3))
    absent = batch_of(schema, 3, kind=kind)
    path = arrow_log(tmp_path / "log.arrows", [there, absent] if first == "there" else [absent, there])
    with pytest.raises(LogError, match="indices are given for some pulls and not for others"):
        convert(path, tmp_path / "copy.jsonl")


def test_arrays_are_of_one_kind(tmp_path: Path) -> None:
    """Compiled code is compiled once, whatever form a log has: its columns are arrays of one type, also in copies."""
    timing = {"arrivals": {"kind": "poisson", "rate": 1.0}, "window": 8.0}
    simulate(Scenario(**KEYS | {"horizon": 20} | timing), "uniform", log=tmp_path / "0.jsonl", log_detail="indices")
    for name in ("1.arrows", "2.parquet"):
        convert(tmp_path / "0.jsonl", tmp_path / name)
        convert(tmp_path / name, tmp_path / f"sparse-{name}", sparse=True)
    found: dict[str, set[Any]] = {}
    for path in tmp_path.iterdir():
        for batch in read_log(path).batches():
            for name, rows in (batch.columns() | batch.cut(1, 5).columns()).items():
                found.setdefault(name, set()).add(numba.typeof(rows))
    assert {name: len(types) for name, types in found.items()} == dict.fromkeys(found, 1)
    assert {"seq", "pull", "value", "kind", "indices"} <= found.keys()


def test_batches_without_pulls(tmp_path: Path) -> None:
    """A batch in which nothing was decided needs no indices."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    kind = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3, np.int8)), pa.array(["pull", "partial"]))
    there, without = batch_of(schema, 3, kind=kind, indices=pa.array([[1.0, 2.0]] * 3)), batch_of(schema, 3)
    path = arrow_log(tmp_path / "log.arrows", [without, there, without, there])
    assert read_log(path).columns(["indices"])["indices"].shape == (6, 2)


def test_a_column_of_which_the_header_says_nothing(tmp_path: Path) -> None:
    """It is refused for all who read it, and not first where a copy is written."""
    header = msgspec.structs.replace(make_header(), scenario={"reveal": "positive"})
    schema = make_schema(header, pa.field("step", pa.int32(), nullable=False))
    schema = schema.with_metadata({HEADER: msgspec.json.encode(make_header())})
    path = arrow_log(tmp_path / "log.arrows", [batch_of(schema, 3, shown=pa.array([True] * 3))])
    with pytest.raises(LogError, match="has a column shown, of which the header says nothing"):
        convert(path, tmp_path / "copy.parquet")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arm": 7}, r"an arm is outside of 0 to 1"),
        ({"part": 4}, r"a part is outside of 0 to 3"),
        ({"pull": 9}, r"a pull is outside of 1 to 2"),
        ({"time": math.nan}, r"a time is not between"),
        ({"value": math.inf}, r"a value is infinite"),
        ({"value": math.nan}, r"a value is missing"),
    ],
)
def test_numbers_that_cannot_be_counted(tmp_path: Path, change: dict[str, float], message: str) -> None:
    """Whoever uses arms, parts or pulls as places gets an error, and no other place."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    kind = pa.DictionaryArray.from_arrays(pa.array(np.array([0, 0, 1], np.int8)), pa.array(["pull", "partial"]))
    columns = {"arm": 0, "part": 0, "pull": 1, "time": 1.0, "value": 1.0} | change
    arrays = {name: pa.array([value] * 3, schema.field(name).type) for name, value in columns.items()}
    log = read_log(arrow_log(tmp_path / "log.arrows", [batch_of(schema, 3, kind=kind, **arrays)]))
    with pytest.raises(LogError, match=message):
        list(log.counted(["arm", "part", "pull", "time", "value"]))


def test_a_small_file_that_claims_to_be_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows and the bytes of a batch are bounded, and looked at before it is decompressed."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    path = arrow_log(tmp_path / "log.arrows", [batch_of(schema, 300_000)])
    read(path)
    for name, most in (("MOST_ROWS", 200_000), ("MOST_BYTES", 1_000_000)):
        with monkeypatch.context() as patch:
            patch.setattr(arrow_messages, name, most)
            with pytest.raises(LogError, match=r"the batch at byte \d+ claims 300,000 events in [\d,]+ bytes"):
                read_log(path)


def test_what_a_message_holds(tmp_path: Path) -> None:
    """Rows and bytes of a message are those of the batch that Arrow makes of it."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    batches = [batch_of(schema, rows) for rows in (0, 7, 1000)]
    path = arrow_log(tmp_path / "log.arrows", batches)
    messages = arrow_messages.whole_messages(path, pa.BufferReader(path.read_bytes()))
    found = [message for message in messages if message.type == "record batch"]
    assert [message.rows for message in found] == [0, 7, 1000]
    for message, batch in zip(found, batches, strict=True):
        assert 0.9 * batch.nbytes - 64 <= message.bytes <= 1.1 * batch.nbytes + 64
    assert [message.type for message in messages[:2]] == ["schema", "dictionary"]


@pytest.mark.parametrize("count", [b"many", b"-3", b"1e3", b"9" * 30])
def test_an_end_that_is_no_number(tmp_path: Path, count: bytes) -> None:
    """The count of a columnar log is a whole number."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    with pa.OSFile(str(tmp_path / "log.arrows"), "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        stream.write_batch(batch_of(schema, 0), custom_metadata={END: count})
    with pytest.raises(LogError, match=r"the end marker tells .* events, which is no number"):
        read_log(tmp_path / "log.arrows")


def parquet_log(path: Path, change: Callable[[Any], Any]) -> Path:
    """A Parquet log whose table was changed."""
    log = write_log(path, make_header(), [EVENTS])
    table = pq.read_table(log.path)
    pq.write_table(change(table), path)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop_columns(["seq"]), "seq"),
        (lambda table: table.append_column("seq", table["seq"]), "seq"),
        (lambda table: table.set_column(0, "seq", pa.array(["x"] * len(table))), "seq|parse|string"),
        (lambda table: table.drop_columns(["time"]), "time"),
        (lambda table: table.replace_schema_metadata({HEADER: b"\xff\xfe"}), "header is broken"),
    ],
)
def test_parquet_that_is_no_log(tmp_path: Path, change: Callable[[Any], Any], message: str) -> None:
    """A column that is missing, there twice or of another type, or a header that is no text: one error."""
    with pytest.raises(LogError, match=message):
        read(parquet_log(tmp_path / "log.parquet", change))


def test_parquet_without_rows(tmp_path: Path) -> None:
    """A table without rows is an empty log."""
    path = parquet_log(tmp_path / "log.parquet", lambda table: table.slice(0, 0))
    assert len(read(path).join()) == 0


def test_bytes_after_the_end(tmp_path: Path) -> None:
    """A log with bytes after its end is not called complete."""
    path = write_log(tmp_path / "log.arrows", make_header(), [EVENTS]).path
    path.write_bytes(path.read_bytes() + struct.pack("<q", 1))
    assert not read(path).complete


def test_the_marker_of_columns(tmp_path: Path) -> None:
    """The metadata tell the number of events and the SHA-256 of the file with zeros in the place of its digits."""
    log = write_log(tmp_path / "log.parquet", make_header(), [EVENTS])
    count, sha256 = pq.read_metadata(log.path).metadata[END].split()
    assert (count, sha256) == (
        b"40",
        hashlib.sha256(log.path.read_bytes().replace(sha256, b"0" * 64)).hexdigest().encode(),
    )
