"""The columnar format of a log: a compressed Arrow IPC stream, which needs no footer and can be read at any moment.

Integers are stored in 32 bits, since Zstandard compresses the pattern of a round several times faster in them than in
64; a header with a horizon beyond that stores 64. `seq` is stored as `step`, the difference to the event before (the
first counts from -1): a column of ones costs nothing, one of ever new numbers as much as all others but the values.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tpstream.log.arrow_columns import END, HEADER, fields, from_batch, narrow, to_arrays
from tpstream.log.file import LogFile
from tpstream.log.formats import Ending, decode_header, encode_header
from tpstream.log.schema import Header
from tpstream.model.arrays import Ints
from tpstream.model.errors import LogError
from tpstream.model.events import Columns, Events

LEVEL = 1
"""The compression level of Zstandard; a higher one makes the log hardly smaller and half as fast to write."""


class ArrowWriter:
    """Writes batches of events as record batches; a complete log ends with an empty one that tells their number."""

    def __init__(self, file: LogFile, header: Header) -> None:
        self._file = file
        integers = pa.int32() if header.horizon < 2**31 else pa.int64()
        columns = [pa.field("step", integers, nullable=False), *fields(integers)]
        self._schema = pa.schema(columns, {HEADER: encode_header(header)})
        options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", LEVEL), use_threads=False)
        self._stream = pa.ipc.new_stream(file, self._schema, options=options)
        self._last = -1
        self.write(Events.join([]))  # Arrow writes the header with the first batch

    def write(self, events: Events, metadata: dict[bytes, bytes] | None = None) -> None:
        """Write a batch of events."""
        step = np.diff(events.seq, prepend=self._last)
        try:
            arrays = [narrow(step, "step", self._schema.field("step").type), *to_arrays(events, self._schema)]
        except OverflowError as error:
            raise LogError(
                f"{self._file.path}: events {events.seq[0]} to {events.seq[-1]} do not fit the header: {error}"
            ) from error
        self._stream.write_batch(pa.record_batch(arrays, schema=self._schema), custom_metadata=metadata)
        self._file.flush()
        self._last = int(events.seq[-1]) if len(events) else self._last

    def end(self, count: int | None) -> None:
        """Write an empty batch with the number of events, and the end of the stream; nothing for a torn log."""
        if count is not None:
            self.write(Events.join([]), {END: str(count).encode()})
            self._stream.close()
            self._file.flush()


@dataclass(frozen=True)
class ArrowReader:
    """Reads record batches as columns, decompressing only those that are asked for."""

    path: Path
    header: Header
    ending: Ending
    size: int

    @staticmethod
    def open(path: Path) -> "ArrowReader":
        """Read the header, and how the log ends."""
        size = path.stat().st_size
        with _map(path, size) as source:
            schema = _open(path, source).schema
        header = decode_header(path, (schema.metadata or {}).get(HEADER, b""))
        last, end = -1, None
        for batch, metadata in _read_batches(path, size, ["seq"]):
            last = int(_seq(batch, last)[-1]) if len(batch) else last
            end = int(metadata[END]) if metadata and END in metadata else None
        return ArrowReader(path, header, Ending(last, end), size)

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names, batch by batch."""
        last, stored = -1, [name for name in names if name != "seq"]
        for batch, _ in _read_batches(self.path, self.size, names):
            if not len(batch):
                continue
            columns = from_batch(batch, stored, len(self.header.arms), self.path)
            if "seq" in names:
                columns["seq"] = _seq(batch, last)
                last = int(columns["seq"][-1])
            yield columns


def _read_batches(path: Path, size: int, names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Every whole batch, with the columns that are needed for these names, and its metadata.

    What follows the last whole batch is torn; a batch that is all there and cannot be decoded is damaged.
    """
    with _map(path, size) as source:
        stored = _open(path, source).schema.names
        needed = {"step" if name == "seq" and "step" in stored else name for name in names}
        source.seek(0)
        stream = _open(path, source, [number for number, name in enumerate(stored) if name in needed])
        whole = 0
        while True:
            try:
                batch, metadata = stream.read_next_batch_with_custom_metadata()
            except StopIteration:
                return
            except (pa.ArrowException, OSError) as error:
                if whole < _count_whole(source):
                    raise LogError(f"{path}: batch {whole + 1} is damaged: {error}") from error
                return
            whole += 1
            yield batch, metadata


def _map(path: Path, size: int) -> Any:
    """The file as it was when it had this size; the system loads the parts of it that are read."""
    return pa.BufferReader(pa.memory_map(str(path)).read_buffer(size))


def _open(path: Path, source: Any, included: list[int] | None = None) -> Any:
    try:
        return pa.ipc.open_stream(
            source, options=pa.ipc.IpcReadOptions(included_fields=included or [], use_threads=False)
        )
    except (pa.ArrowException, OSError) as error:
        raise LogError(f"{path}: the header is broken or torn: {error}; there is no log to read") from error


def _count_whole(source: Any) -> int:
    """The number of batches that are all there."""
    source.seek(0)
    count = 0
    with suppress(pa.ArrowException, OSError, EOFError):
        while message := pa.ipc.read_message(source):
            count += message.type == "record batch"
    return count


def _seq(batch: Any, last: int) -> Ints:
    """The numbers of a batch's events, which follow event `last`."""
    if "seq" in batch.schema.names:
        numbers: Ints = batch.column("seq").cast(pa.int64()).to_numpy()
        return numbers
    return np.cumsum(batch.column("step").to_numpy(), dtype=np.int64) + last
