"""What a log proves of itself: damage to a complete log is found, and damaged buffers are never followed."""

import hashlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from log_samples import FORMATS, bits, make_events, make_header, write_log

from tpstream.log import arrow_messages
from tpstream.log.arrow import END, HEADER, make_schema
from tpstream.log.reader import Log, read_log
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


def test_a_conversion_computes_it_anew(whole: Log, tmp_path: Path) -> None:
    """A converted log is whole by itself."""
    for format in FORMATS:
        copy = convert(whole, tmp_path / f"copy.{format}")
        assert copy.reader.sha256 is not None
        assert bits(copy.join()) == bits(EVENTS)


def test_a_log_without_it_is_read(tmp_path: Path) -> None:
    """A log of another program, or of an older version, tells only how many events there are."""
    path = write_log(tmp_path / "log.jsonl", make_header(), [EVENTS]).path
    *lines, _ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, b'{"end": 40}\n']))
    assert (read(path).complete, read(path).reader.sha256) == (True, None)


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


def test_offsets_that_point_outside(tmp_path: Path) -> None:
    """Lists whose offsets lead beyond their values are refused before anything follows them."""
    schema = make_schema(make_header(), pa.field("step", pa.int32(), nullable=False))
    lists = pa.array([[1.0, 2.0], [3.0, 4.0]])
    path = arrow_log(tmp_path / "log.arrows", [batch_of(schema, 2, indices=lists)], compression=None)
    data, offsets = path.read_bytes(), struct.pack("<3i", 0, 2, 4)
    assert data.count(offsets) == 1
    path.write_bytes(data.replace(offsets, struct.pack("<3i", 0, 2, 2**30)))
    with pytest.raises(LogError, match="batch 1 is damaged"):
        read(path)


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
