"""The exported format of a log: Parquet, for other programs; it cannot be read before its end is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tpstream.log.arrow_columns import END, HEADER, fields, from_batch, to_arrays
from tpstream.log.file import LogFile
from tpstream.log.formats import Ending, decode_header, encode_header
from tpstream.log.schema import Header
from tpstream.model.errors import LogError
from tpstream.model.events import Columns, Events

BATCH = 100_000
"""Events that are decoded at a time."""


class ParquetWriter:
    """Writes batches of events as row groups."""

    def __init__(self, file: LogFile, header: Header) -> None:
        self._file = file
        columns = [pa.field("seq", pa.int64(), nullable=False), *fields(pa.int64())]
        self._schema = pa.schema(columns, {HEADER: encode_header(header)})
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


@dataclass(frozen=True)
class ParquetReader:
    """Reads row groups as columns, only those that are asked for."""

    path: Path
    header: Header
    ending: Ending

    @staticmethod
    def open(path: Path) -> "ParquetReader":
        """Read the footer."""
        with _open(path) as file:
            metadata = file.metadata.metadata or {}
            header = decode_header(path, metadata.get(HEADER, b""))
            last, groups = -1, file.metadata.num_row_groups
            if groups:
                last = file.read_row_group(groups - 1, columns=["seq"]).column("seq")[-1].as_py()
        return ParquetReader(path, header, Ending(last, int(metadata[END]) if END in metadata else None))

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        """The columns of these names, batch by batch."""
        with _open(self.path) as file:
            for batch in file.iter_batches(BATCH, columns=list(names)):
                yield from_batch(batch, names, len(self.header.arms), self.path)


def _open(path: Path) -> Any:
    try:
        return pq.ParquetFile(path, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise LogError(f"{path}: the Parquet file is torn or broken: {error}; there is no log to read") from error
