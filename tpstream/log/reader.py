"""The reader: opens logs of any format and gives their events one by one, as arrays or as a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tpstream.log.formats import FORMATS, OLD_SUFFIXES, SUFFIXES
from tpstream.log.guard import FormatReader, counted as counted_batches, damage_told, guarded
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats
from tpstream.model.display import Curve, Displayed, Summary, counted, number_text
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.model.events import (
    COLUMN,
    COLUMN_NAMES,
    KIND_NAMES,
    Columns,
    Event,
    Events,
    Kind,
    concatenate,
    pull_events,
    spread,
)
from tpstream.model.registry import load_object
from tpstream.model.whole_files import check_ordinary

if TYPE_CHECKING:
    import pandas as pd  # slow to load: imported where a table is made
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tpstream.view.pages import Page

DATE = "date"
"""The column of dates in the table of a log whose header has an origin."""
FARTHEST = 2e17
"""Microseconds, some six thousand years: later times have no date."""
MOST_DRAWN = 200_000
"""Events of a log that a notebook reads to draw a small curve; it must not wait for more."""
STUDY, RESULTS = "study.json", "results"
"""What tells that a folder holds a study, and the table of its results, which may be Parquet without being a log."""


@dataclass(frozen=True, eq=False, repr=False)
class Log(Displayed):
    """The log of one run as it was when it was opened; events are read when they are asked for.

    Get one from `read_log`. The methods that read events take `kinds`, the kinds of events to read (all if None), and
    some take the names of the columns: of a columnar log only what is chosen is read.

    Parameters
    ----------
    path
        The file.
    format
        "jsonl", "arrow" or "parquet", as its content shows.
    reader
        Reads that format.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, read_log, simulate
    >>> from tpstream.model.events import Kind
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.arrows"
    ...     run = simulate(Scenario.load("setting-1").with_(horizon=10), "uniform", log=path)
    ...     log = read_log(path)
    ...     arms = log.columns(["arm"], kinds=[Kind.PULL])["arm"]
    >>> log.format, log.complete, log.header.policy
    ('arrow', True, 'uniform')
    >>> bool((arms == run.arms).all())
    True
    """

    path: Path
    format: str
    reader: FormatReader

    @property
    def header(self) -> Header:
        """What the run was: scenario, policy, seed, and the arms' true means."""
        return self.reader.header

    @property
    def complete(self) -> bool:
        """Whether the run came to its end, and the log proves it by a SHA-256."""
        return self.reader.complete

    @property
    def truncated(self) -> str | None:
        """Where a log without an end marker ends: "cut after round 30 of 60 (seq 1234)"; None for a complete log.

        Of an end marker without a SHA-256 it is said that it proves nothing.
        """
        if self.complete:
            return None
        if self.reader.end is not None:
            return "the end marker has no SHA-256: whether the log is whole is not known"
        last, rounds = self.reader.last, self.reader.last_round
        if self.header.decider is not None and last is not None:
            return f"goes on: {counted(rounds or 0, 'decision')} so far (seq {last})"
        if last == -1:
            return f"cut before the first of {self.header.horizon:,} rounds"
        if last is None:
            return "cut after a broken event"
        return f"cut after round {rounds:,} of {self.header.horizon:,} (seq {last})"

    def require_all(self, purpose: str) -> None:
        """Raise LogError if the log holds only the pulls; `purpose` is what needs every event."""
        if self.header.detail == "pulls":
            raise LogError(
                f"{self.path}: holds only the pulls, and {purpose} needs every event; "
                f'run it again with log_detail = "all" (--log-detail all)'
            )

    def require_run(self, purpose: str) -> None:
        """Raise LogError if the log was imported, so that `purpose`, which needs a simulated run, means nothing."""
        if self.header.imported is not None:
            raise LogError(
                f"{self.path}: was imported from tables, and {purpose}; `tpstream answer` says what its arms pay, and "
                f"`tpstream evaluate` what another policy would have earned"
            )

    def require_simulated(self, purpose: str) -> None:
        """Raise LogError if the log is not of a simulated run, which `purpose` needs."""
        self.require_run(purpose)
        if self.header.decider is not None:
            raise LogError(
                f"{self.path}: decisions were made for real, and {purpose}; `tpstream answer` says what its arms pay"
            )

    def batches(self, kinds: Sequence[Kind] | None = None) -> Iterator[Events]:
        """The events as arrays, batch by batch, for logs larger than memory."""
        for columns in self._read(COLUMN_NAMES, kinds):
            yield Events(**columns)

    def counted(self, names: Sequence[str], *, as_written: bool = False) -> Iterator[Columns]:
        """Some columns, batch by batch, whose arms, parts and pulls can be used as places in arrays.

        Times and values are finite, and values are there where events need them. `as_written`: of a sparse log, without
        the zeros that are put in.

        Raises
        ------
        LogError
            If a number is out of its range; `check_log` says which.
        """
        reader = self.reader.written or self.reader if as_written else self.reader
        for columns in counted_batches(reader, self.path, _with_kind(names, always=True)):
            yield {name: columns[name] for name in names if name in columns}

    def join(self, kinds: Sequence[Kind] | None = None) -> Events:
        """The events as arrays, all at once."""
        return Events(**self.columns(COLUMN_NAMES, kinds))

    def columns(self, names: Sequence[str], kinds: Sequence[Kind] | None = None) -> Columns:
        """Some columns by name; `indices` has a row for each pull, and is absent from a log without indices."""
        for name in names:
            if name not in COLUMN:
                raise UnknownNameError("column", name, COLUMN_NAMES)
        columns = concatenate(list(self._read(names, kinds)), names)
        for name in [name for name in columns if COLUMN[name].per_pull and "kind" in columns]:
            rows, pulls = len(columns[name]), int(np.count_nonzero(columns["kind"] == Kind.PULL))
            if rows != pulls:
                raise LogError(f"{rows} of {pulls} pulls have {name}; give them for all or for none")
        return columns

    def frame(self, columns: Sequence[str] | None = None, kinds: Sequence[Kind] | None = None) -> "pd.DataFrame":
        """The log as a DataFrame, a row for each event; all columns, or only those named.

        If the header has an origin, there is a further column `date`: the date and time of the event.
        """
        names = (*COLUMN_NAMES, DATE) if columns is None else columns
        calendar = self.header.calendar if DATE in names else None
        read = [name for name in names if name != DATE] + (["time"] if calendar is not None and columns else [])
        table = frame(self.columns(_with_kind(list(dict.fromkeys(read))), kinds))
        if calendar is not None:
            table[DATE] = _dates(table["time"].to_numpy(), *calendar)
        return table[[name for name in names if name in table]]

    def events(self, kinds: Sequence[Kind] | None = None) -> Iterator[Event]:
        """The events one by one."""
        for batch in self.batches(kinds):
            yield from batch

    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: "Axes | None" = None,
        log_y: bool = False,
        labels: Mapping[str, str] | None = None,
    ) -> "Figure":
        """Draw what the pulls of each arm were credited with over time; of a log of pulls, how many there were.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.
        ax
            Matplotlib axes to draw on; by default a new figure is made.
        log_y
            Whether the vertical axis is logarithmic.
        labels
            Other names for arms, by their names.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        from tpstream.figures.logs import log_figure  # noqa: PLC0415 (an import upwards; see docs/design.md)

        return log_figure(path, self, ax=ax, log_y=log_y, labels=labels)

    def view(self, path: str | Path | None = None, *, pulls: Sequence[int] = ()) -> "Page":
        """Make a page that shows this log in a browser: one HTML file that loads nothing.

        Parameters
        ----------
        path
            Where to write the page. By default nothing is written.
        pulls
            Numbers of pulls whose parts the page must hold, besides a sample.

        Returns
        -------
        Page
            The page, which a notebook shows.

        Raises
        ------
        LogError
            If the log breaks a rule without which it cannot be drawn.
        PageError
            If the page cannot be written.
        """
        from tpstream.view.explorer import view  # noqa: PLC0415 (an import upwards; see docs/design.md)

        return view([self], pulls).written(path)

    def _summary(self) -> Summary:
        header, events = self.header, self.reader.end
        name = header.scenario.get("name", "a world without a scenario")
        facts = [f"seed {header.seed}", f"run {header.run}", f"{self.format} at {self.path}"]
        state = self.truncated if events is None else f"complete, {counted(events, 'event')}"
        rows = [
            {
                "arm": arm,
                "mean": "not known" if mean is None else number_text(mean),
                "maximum": "none" if maximum is None else number_text(maximum),
            }
            for arm, mean, maximum in zip(header.arms, header.means, header.maxima, strict=True)
        ]
        rounds = counted(header.horizon, "round")
        title = f"Log of {name} under {header.policy}: {rounds}, span {header.span:,}, {state}"
        known = "pulls" if header.detail == "pulls" else "all events"
        curves = {"credited": self._credited()} if header.detail != "pulls" and 0 < (events or 0) <= MOST_DRAWN else {}
        return Summary(title, [f"holds {known}", *facts], rows, (), curves, ("time", "reward credited"))

    def _credited(self) -> Curve:
        """What all parts paid so far, over time."""
        columns = pull_events(self.columns(["time", "kind", "value", "shown"], [Kind.PARTIAL]))
        return Curve(columns["time"], np.cumsum(columns["value"]))

    def _read(self, names: Sequence[str], kinds: Sequence[Kind] | None) -> Iterator[Columns]:
        """The columns of these names, batch by batch, with the rows of these kinds."""
        needed, reader = _with_kind(names, always=kinds is not None), self.reader
        if reader.written and kinds is not None and Kind.PARTIAL not in kinds and "seq" not in names:
            reader = reader.written  # the zeros of a sparse log would be left out again
        for columns in reader.batches(needed):
            chosen = columns if kinds is None else _choose(columns, kinds)
            yield {name: chosen[name] for name in names if name in chosen}

    def verify(self) -> None:
        """Raise LogError if the file is not as it was written, by the SHA-256 in its end marker; looked at once."""
        self.reader.verify()


def _with_kind(names: Sequence[str], *, always: bool = False) -> Sequence[str]:
    """These names, and "kind" if it is needed: to choose rows, or for columns that have rows for pulls only."""
    needed = always or any(name in COLUMN and COLUMN[name].per_pull for name in names)
    return [*names, "kind"] if needed and "kind" not in names else names


def _choose(columns: Columns, kinds: Sequence[Kind]) -> Columns:
    """The rows of these kinds."""
    rows = np.isin(columns["kind"], [int(kind) for kind in kinds])
    return {
        name: column if COLUMN[name].per_pull else column[rows]
        for name, column in columns.items()
        if Kind.PULL in kinds or not COLUMN[name].per_pull
    }


def _dates(times: Floats, origin: datetime, length: int) -> "pd.Series[pd.Timestamp]":
    """These times as dates, in the zone of the origin; one beyond all dates is missing."""
    import pandas as pd  # noqa: PLC0415 (slow to load, and not needed to write a log)

    steps = np.round(np.where(np.abs(times) < FARTHEST / length, times, np.nan) * length).astype("m8[us]")
    first = np.datetime64(origin.astimezone(UTC).replace(tzinfo=None) if origin.tzinfo else origin, "us")
    dates = pd.Series(first + steps)
    return dates if origin.tzinfo is None else dates.dt.tz_localize(UTC).dt.tz_convert(origin.tzinfo)


def frame(columns: Columns) -> "pd.DataFrame":
    """Columns as a table; kinds are a category, and what only pulls have is None or NaN for other events."""
    import pandas as pd  # noqa: PLC0415 (slow to load, and not needed to write a log)

    table: dict[str, Any] = {
        name: spread(rows, columns["kind"]) if COLUMN[name].per_pull else rows for name, rows in columns.items()
    }
    if "kind" in columns:
        table["kind"] = pd.Categorical.from_codes(columns["kind"].astype(np.intp), categories=list(KIND_NAMES))  # type: ignore[call-overload]
    return pd.DataFrame(table)


def read_log(path: str | Path) -> Log:
    """Open the log of a run; its format is found by its content.

    Parameters
    ----------
    path
        The file, in any format; one that is still being written, or whose run was killed, can be read too.

    Returns
    -------
    Log
        The log as it is at this moment; its events are read when they are asked for.

    Raises
    ------
    LogError
        If the file cannot be read, is not a log, or its header is broken.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, read_log, simulate
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.jsonl"
    ...     run = simulate(Scenario.load("setting-1").with_(horizon=10), "uniform", log=path)
    ...     table = read_log(path).frame()
    >>> table["kind"].value_counts()["pull"].item()
    10
    """
    path = Path(path)
    try:
        check_ordinary(path)
        with path.open("rb") as file:
            start = file.read(8)
        if not start:
            raise LogError(f"{path}: the file is empty; its run ended before it began")
        for name, format in FORMATS.items():
            if start.startswith(format.magic):
                with damage_told(path):
                    reader: FormatReader = load_object(f"tpstream.log.{name}:open_reader")(path)
                return Log(path, name, _with_zeros(guarded(reader, path), path))
    except OSError as error:
        raise LogError(f"{path}: cannot read the log: {error.strerror}") from error
    if start.startswith(b"ARROW1"):
        raise LogError(f"{path}: this is an Arrow file with a footer; write it as an Arrow stream")
    raise LogError(f"{path}: this is not a log; logs are JSON lines, an Arrow stream or Parquet")


def _with_zeros(reader: FormatReader, path: Path) -> FormatReader:
    """The reader itself, or that of a sparse log, which puts in the parts that paid nothing."""
    if not reader.header.sparse or reader.header.detail == "pulls":
        return reader
    from tpstream.log.sparse import filled  # noqa: PLC0415 (compiled, and few logs are sparse)

    return filled(reader, path)


def read_logs(folder: str | Path) -> list[Log]:
    """Open every log of a folder.

    Parameters
    ----------
    folder
        The folder; files in it that do not end like a log are passed over. A single log will do.

    Returns
    -------
    list of Log
        Sorted by scenario, policy, seed and run.

    Raises
    ------
    LogError
        If the folder has no log, has the same run twice, or a log cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, read_logs, simulate
    >>> scenario = Scenario.load("setting-1").with_(horizon=10)
    >>> with TemporaryDirectory() as folder:
    ...     for run in (1, 0):
    ...         done = simulate(scenario, "uniform", run=run, log=Path(folder) / f"{run}.jsonl")
    ...     logs = read_logs(folder)
    >>> [log.header.run for log in logs]
    [0, 1]
    """
    folder = Path(folder)
    if not folder.is_dir():
        return [read_log(folder)]
    of_a_study = (folder / STUDY).is_file()
    endings = SUFFIXES.keys() | OLD_SUFFIXES.keys()
    paths = [path for path in sorted(folder.iterdir()) if path.suffix in endings]
    logs = [read_log(path) for path in paths if not (of_a_study and path.stem == RESULTS)]
    if not logs and of_a_study:
        remedy = f"`tpstream show {folder}` shows the study, and --log FOLDER records logs of its runs"
        raise LogError(f"{folder}: holds the results of a study and no log; {remedy}")
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
    """What no two logs of a folder may share."""
    header = log.header
    return str(header.scenario.get("name", "")), header.policy, header.seed, header.run
