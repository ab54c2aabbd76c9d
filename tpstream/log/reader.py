"""The reader: logs of any form, as events, columns or a table.

Logs as tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tpstream.log.formats import SUFFIXES, FormName, LogReader, open_reader
from tpstream.log.schema import COLUMN_NAMES, Columns, Header, check_names, choose, concatenate, to_events
from tpstream.model.errors import LogError
from tpstream.model.events import KIND_NAMES, Event, Events, Kind


def frame(columns: Columns) -> pd.DataFrame:
    """Columns as a pandas DataFrame; kinds are a category, indices an array for each pull and None elsewhere."""
    return pd.DataFrame({name: _column(name, columns) for name in columns})


def _column(name: str, columns: Columns) -> Any:
    if name == "kind":
        return pd.Categorical.from_codes(columns["kind"].astype(np.intp), categories=list(KIND_NAMES))  # type: ignore[call-overload]
    if name == "indices":
        vectors = iter(columns["indices"])
        return [next(vectors) if kind == Kind.PULL else None for kind in columns["kind"].tolist()]
    return columns[name]


@dataclass(frozen=True, eq=False)
class Log:
    """The log of one run as it was when it was opened; events are read when they are asked for.

    `kinds` chooses events and `names` columns: of a columnar log only what is chosen is read.
    """

    path: Path
    form: FormName
    reader: LogReader

    @property
    def header(self) -> Header:
        """What the run was."""
        return self.reader.header

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.reader.ending.complete

    @property
    def truncated(self) -> str | None:
        """What is torn, e.g. "truncated after seq 1234"; None for a complete log."""
        return self.reader.ending.truncated

    def require_all(self, purpose: str) -> None:
        """Refuse a log of the pulls alone for what needs every event."""
        if self.header.detail == "pulls":
            raise LogError(
                f"{self.path}: holds only the pulls, and {purpose} needs every event; "
                f'run it again with log_detail = "all" (--log-detail all)'
            )

    def batches(self, kinds: Sequence[Kind] | None = None) -> Iterator[Events]:
        """The events as columns, piece by piece."""
        for piece in self._pieces(COLUMN_NAMES, kinds):
            yield to_events(piece)

    def join(self, kinds: Sequence[Kind] | None = None) -> Events:
        """The events as columns, all at once."""
        return to_events(self.columns(COLUMN_NAMES, kinds))

    def columns(self, names: Sequence[str], kinds: Sequence[Kind] | None = None) -> Columns:
        """Some columns by name; `indices` has a row for each pull, and is absent from a log without indices."""
        return concatenate(list(self._pieces(names, kinds)), names, len(self.header.arms))

    def frame(self, columns: Sequence[str] | None = None, kinds: Sequence[Kind] | None = None) -> pd.DataFrame:
        """The events as a table, with a row for each and typed columns."""
        names = COLUMN_NAMES if columns is None else columns
        table = frame(self.columns([*names, "kind"] if "indices" in names and "kind" not in names else names, kinds))
        return table if columns is None else table[[name for name in columns if name in table]]

    def events(self, kinds: Sequence[Kind] | None = None) -> Iterator[Event]:
        """The events one by one."""
        for batch in self.batches(kinds):
            yield from batch

    def _pieces(self, names: Sequence[str], kinds: Sequence[Kind] | None) -> Iterator[Columns]:
        check_names(names)
        read = names if kinds is None or "kind" in names else [*names, "kind"]
        for piece in self.reader.pieces(read):
            chosen = choose(piece, kinds)
            yield {name: chosen[name] for name in names if name in chosen}


def read_log(path: str | Path) -> Log:
    """Open the log of a run; its form is found by its content."""
    path = Path(path)
    try:
        form, reader = open_reader(path)
    except OSError as error:
        raise LogError(f"{path}: cannot read the log: {error.strerror}") from error
    return Log(path, form, reader)


def read_logs(folder: str | Path) -> list[Log]:
    """Open every log of a folder, sorted by scenario, policy, seed and run; a file is a study of one run."""
    folder = Path(folder)
    if not folder.is_dir():
        return [read_log(folder)]
    logs = [read_log(path) for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES]
    if not logs:
        raise LogError(f"{folder}: there is no log in this folder; logs end in {', '.join(SUFFIXES)}")
    logs.sort(key=_identity)
    for one, other in pairwise(logs):
        if _identity(one) == _identity(other):
            raise LogError(
                f"{folder}: {one.path.name} and {other.path.name} are both run {one.header.run} of "
                f"{one.header.policy!r}; move one of them away"
            )
    return logs


def _identity(log: Log) -> tuple[str, str, int, int]:
    """What no two logs of a study share."""
    header = log.header
    return str(header.scenario.get("name", "")), header.policy, header.seed, header.run
