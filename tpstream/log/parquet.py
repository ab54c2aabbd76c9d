"""The exported format of a log: Parquet, for other programs; it cannot be read before its end is written."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tpstream.log.arrow import HEADER, end_marker, from_batch, make_schema, read_marker, to_arrays, validated
from tpstream.log.formats import LogFile
from tpstream.log.guard import FormatReader
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
        self._parquet.write_table(pa.table(arrays, schema=self._schema))
        self._file.flush()

    def end(self, count: int | None) -> None:
        """Write the footer, with the number of events unless the log is torn."""
        if count is not None:
            self._parquet.add_key_value_metadata(end_marker(count))
        self._parquet.close()
        if count is None:
            self._file.flush()
        else:
            self._file.seal()


def open_reader(path: Path) -> FormatReader:
    """Read the footer and the number of the last event."""
    with _open(path) as file:
        metadata, groups = file.metadata.metadata or {}, file.metadata.num_row_groups
    if HEADER not in metadata:
        raise LogError(f"{path}: is a Parquet file without the header of a log; give a log, such as --log records")
    header = decode_header(path, metadata[HEADER])
    end, sha256 = read_marker(path, metadata)
    read, last, rounds = partial(_read_columns, path, len(header.arms)), -1, None
    for columns in read(["seq", "round"], [groups - 1] if groups else []):
        last, rounds = int(columns["seq"][-1]), int(columns["round"][-1])
    return FormatReader(header, last, end, read, last_round=rounds, sha256=sha256)


def _read_columns(
    path: Path, arms: int, names: Sequence[str], row_groups: Sequence[int] | None = None
) -> Iterator[Columns]:
    """The columns of these names, batch by batch; of all row groups, or of those with these numbers."""
    with _open(path) as file:
        chosen = range(file.metadata.num_row_groups) if row_groups is None else row_groups
        try:
            for number, batch in enumerate(file.iter_batches(BATCH, list(chosen), list(names)), 1):
                if len(batch):
                    yield from_batch(validated(batch, path, number), names, arms, path)
        except (pa.ArrowException, OSError) as error:
            raise LogError(f"{path}: the Parquet file is damaged: {error}") from error


def _open(path: Path) -> Any:
    try:
        return pq.ParquetFile(path, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise LogError(f"{path}: the Parquet file is torn or broken: {error}; there is no log to read") from error
