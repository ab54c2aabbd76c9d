"""The exported format of a log: Parquet, for other programs; it cannot be read before its end is written."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tpstream.log.arrow import END, HEADER, from_batch, make_schema, to_arrays
from tpstream.log.formats import FormatReader, LogFile
from tpstream.log.schema import Header, decode_header
from tpstream.model.errors import LogError
from tpstream.model.events import Columns, Events

BATCH = 100_000
"""Events that are decoded at a time."""


class Writer:
    """Writes batches of events as row groups."""

    def __init__(self, file: LogFile, header: Header) -> None:
        self._file = file
        self._schema = make_schema(header, pa.field("seq", pa.int64(), nullable=False))
        self._parquet = pq.ParquetWriter(
            file,
            self._schema,
            compression="zstd",
            use_dictionary=["kind", "arm", "part"],
            column_encoding=dict.fromkeys(("seq", "round", "pull"), "DELTA_BINARY_PACKED"),
        )

    def write(self, events: Events) -> None:
        """Write a batch of events as a row group."""
        arrays = [pa.array(events.seq), *to_arrays(events, self._schema)]
        self._parquet.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._file.flush()

    def end(self, count: int | None) -> None:
        """Write the footer, with the number of events unless the log is torn."""
        if count is not None:
            self._parquet.add_key_value_metadata({END: str(count).encode()})
        self._parquet.close()
        self._file.flush()


def open_reader(path: Path) -> FormatReader:
    """Read the footer."""
    with _open(path) as file:
        metadata = file.metadata.metadata or {}
        if HEADER not in metadata:
            raise LogError(f"{path}: is a Parquet file without the header of a log; give a log, such as --log records")
        header = decode_header(path, metadata[HEADER])
        last, groups = -1, file.metadata.num_row_groups
        if groups:
            last = file.read_row_group(groups - 1, columns=["seq"]).column("seq")[-1].as_py()
    end = int(metadata[END]) if END in metadata else None
    return FormatReader(header, last, end, partial(_read_columns, path, len(header.arms)))


def _read_columns(path: Path, arms: int, names: Sequence[str]) -> Iterator[Columns]:
    """The columns of these names, batch by batch."""
    with _open(path) as file:
        for batch in file.iter_batches(BATCH, columns=list(names)):
            yield from_batch(batch, names, arms, path)


def _open(path: Path) -> Any:
    try:
        return pq.ParquetFile(path, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise LogError(f"{path}: the Parquet file is torn or broken: {error}; there is no log to read") from error
