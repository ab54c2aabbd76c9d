"""Conversion: a log in another form, without loss."""

from math import inf
from pathlib import Path

from tpstream.log.reader import Log, read_log
from tpstream.log.sink import Sink


def convert(log: str | Path | Log, target: str | Path, *, force: bool = False) -> Log:
    """Write a log again, in the form of the target's suffix; a torn log stays marked as torn.

    The target has its name only once it is whole, so that a broken conversion is not taken for a torn log.
    """
    source = log if isinstance(log, Log) else read_log(log)
    with Sink(Path(target), source.header, force=force, staged=True, patience=inf) as sink:
        for batch in source.batches():
            sink.hear(batch)
        sink.finish(source.reader.ending.end)
    return read_log(target)
