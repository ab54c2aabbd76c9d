"""The check of a log without its policy: every rule, every event, and all faults with their lines.

The rules are those of log/contract.py, and of optional columns: the probability of the chosen arm is above 0 and at
most 1, those of all arms sum to 1, and the chosen one is among them. In a log of payments, a part is the period of age
in which it came, a pull is closed when its window ends, and what comes later is late.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tpstream.log.contract import BrokenRule, Checker
from tpstream.log.guard import FormatReader
from tpstream.log.reader import Log, read_log
from tpstream.log.schema import Header
from tpstream.model.display import Displayed, Summary, counted
from tpstream.model.errors import LogError
from tpstream.model.events import CLOSED, COLUMN_NAMES, LATE, PARTIAL, PULL, Columns, Events

ROUNDING = 1e-9
"""How far sums of probabilities, and ages as a share of the time, may be off."""
MOST_FAULTS = 10_000
"""Beyond so many a log is not looked at any more: nobody reads them all."""
FIRST_LINE = 2
"""The line of the first event of JSON lines; the first line is the header."""


@dataclass(frozen=True)
class Fault:
    """A broken rule: the event's number as the log is read, its line in a file of JSON lines, and what is wrong."""

    event: int | None
    line: int | None
    text: str

    def __str__(self) -> str:
        place = [
            f"line {self.line}" if self.line is not None else "",
            "" if self.event is None else f"event {self.event}",
        ]
        where = ", ".join(filter(None, place))
        return f"{where}: {self.text}" if where else self.text


@dataclass(frozen=True, eq=False, repr=False)
class LogCheck(Displayed):
    """What the check of a log found.

    Get one from `check_log`, which has an example.

    Parameters
    ----------
    log
        The log's file.
    faults
        Every event that breaks a rule, in the order of the log.
    events, rounds
        The number of events that are in the file, and of decisions.
    notes
        What a reader should know, such as where the log is torn.
    """

    log: str
    faults: tuple[Fault, ...]
    events: int
    rounds: int
    notes: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether no rule is broken."""
        return not self.faults

    def _summary(self) -> Summary:
        found = "keeps every rule" if self.sound else counted(len(self.faults), "fault")
        title = f"Check of {self.log}: {found}"
        facts = [counted(self.events, "event"), counted(self.rounds, "decision")]
        return Summary(title, facts, [{"fault": str(fault)} for fault in self.faults[:10]], self.notes)


def check_log(log: Log | str | Path) -> LogCheck:
    """Check that a log keeps the rules of the schema, whoever wrote it; no policy and no scenario is needed.

    Parameters
    ----------
    log
        A file, or a log that is open already.

    Returns
    -------
    LogCheck
        All faults, with their lines.

    Raises
    ------
    LogError
        If the file is no log, or its header is broken.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, check_log, simulate
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.jsonl"
    ...     run = simulate(Scenario.load("setting-1").with_(horizon=10), "uniform", log=path)
    ...     good = check_log(path)
    ...     written = path.write_text(path.read_text().replace('"part":1,', '"part":7,', 1))
    ...     bad = check_log(path)
    >>> good.sound, bad.sound, bad.faults[0].line is not None
    (True, False, True)
    """
    log = log if isinstance(log, Log) else read_log(log)
    reader = log.reader.written or log.reader
    faults = list(_header_faults(log.header))
    checker = Checker(_checked_header(log.header), keep_parts=True)
    # Payments are checked as they are written: periods without one need no event.
    as_written = log.header.payments or reader is log.reader
    probabilities, ages = _Probabilities(), _Ages(log.header) if log.header.payments else None
    try:
        for fault in _check_batches(reader if as_written else log.reader, checker, probabilities, ages):
            faults.append(fault)  # noqa: PERF402 (those that are found before an error are kept)
        missing = checker.at_end(complete=log.complete)
        faults += [] if missing is None else [Fault(None, None, missing.text)]
        log.verify()
    except LogError as error:
        faults.append(Fault(None, None, str(error).removeprefix(f"{log.path}: ")))
    end, last = reader.end, reader.last
    if end is not None and last is not None and end != last + 1:
        faults.append(Fault(None, None, f"its end counts {end} events, but the last one has seq {last}"))
    if end is not None and reader.sha256 is None:
        text = "its end has no SHA-256, so that nothing shows that it is whole; write one, or leave out the end"
        faults.append(Fault(None, None, text))
    if log.format == "jsonl":
        faults = _with_lines(faults, log, reader, as_written=as_written)
    notes = (log.truncated, "holds only the pulls" if log.header.detail == "pulls" else None)
    events = end if end is not None else (last or 0) + 1
    return LogCheck(str(log.path), tuple(faults), events, checker.rounds, tuple(filter(None, notes)))


def _checked_header(header: Header) -> Header:
    """The header by which events are judged: of a log of only the pulls, one that expects nothing else."""
    if header.detail != "pulls":
        return header
    return msgspec.structs.replace(header, scenario={}, clairvoyant=False)


def _header_faults(header: Header) -> Iterator[Fault]:
    """What is wrong with the numbers of a header."""
    if header.span < 1:
        yield Fault(None, 1, f"header: span is {header.span}; it must be at least 1")
    if header.payments and header.window is not None and not 0 < header.window <= header.span:
        yield Fault(None, 1, f"header: the window {header.window:g} does not fit the span {header.span}")


def _check_batches(
    reader: FormatReader, checker: Checker, probabilities: "_Probabilities", ages: "_Ages | None"
) -> Iterator[Fault]:
    """All faults of all events; LogError after so many that nobody reads on."""
    count = 0
    for columns in reader.batches(COLUMN_NAMES):
        events = Events(**columns)
        found = checker.all_broken(events, MOST_FAULTS)
        found += probabilities.broken(columns)
        found += [] if ages is None else ages.broken(columns)
        found = sorted(found, key=lambda one: one.place)[: MOST_FAULTS + 1 - count]
        yield from (Fault(one.seq, None, one.text) for one in found)
        count += len(found)
        if count > MOST_FAULTS:
            raise LogError(f"more than {MOST_FAULTS:,} events break a rule; what follows is not looked at")


class _Probabilities:
    """Checks the probabilities at pulls."""

    def broken(self, columns: Columns) -> list[BrokenRule]:
        pulls = np.flatnonzero(columns["kind"] == PULL)
        chosen, all_arms, arm = columns.get("probability"), columns.get("probabilities"), columns["arm"][pulls]
        wrong: list[tuple[Any, Any, str]] = []
        if chosen is not None:
            text = "the probability {value:g} of the chosen arm is not above 0 and up to 1"
            wrong.append(((chosen <= 0) | (chosen > 1), chosen, text))
        if all_arms is not None:
            known = ~np.isnan(all_arms).all(axis=1)
            sums = all_arms.sum(axis=1)
            outside = ((all_arms < 0) | (all_arms > 1)).any(axis=1)
            wrong.append(
                (known & ~(np.abs(sums - 1) <= ROUNDING), sums, "the probabilities sum to {value:.12g}, not to 1")
            )
            wrong.append((known & outside, sums, "a probability is not between 0 and 1"))
        if chosen is not None and all_arms is not None:
            own = all_arms[np.arange(len(pulls)), np.clip(arm, 0, all_arms.shape[1] - 1)]
            differs = np.abs(own - chosen) > ROUNDING
            wrong.append(
                (differs, chosen, "the probability {value:g} of the chosen arm is another one among those of all")
            )
        return [
            BrokenRule(int(pulls[row]), int(columns["seq"][pulls[row]]), text.format(value=float(values[row])))
            for bad, values, text in wrong
            for row in np.flatnonzero(bad)[: MOST_FAULTS + 1]
        ]


class _Ages:
    """Checks of payments that each came in the period that its part names, and of closings that the window was over."""

    def __init__(self, header: Header) -> None:
        self._window = float(header.span if header.window is None else header.window)
        self._span = header.span
        self._by_time = header.decider is None  # else whoever pays may close a pull
        self._pulled = np.zeros(0)

    def broken(self, columns: Columns) -> list[BrokenRule]:
        kind, pull, time, part = (columns[name] for name in ("kind", "pull", "time", "part"))
        self._pulled = np.append(self._pulled, time[kind == PULL])
        known = (kind != PULL) & (pull >= 1) & (pull <= len(self._pulled))
        age = np.where(known, time - self._pulled[np.where(known, pull - 1, 0)] if len(self._pulled) else 0.0, 0.0)
        slack = ROUNDING * np.maximum(np.abs(time), 1.0)
        inside = (age >= part - 1 - slack) & (age <= np.minimum(part, self._window) + slack)
        ended = age >= self._window - slack
        window = f"the window of {self._window:g}"
        wrong = (
            (
                (kind == PARTIAL) & ~inside,
                f"a payment at age {{age:g}} is not in the period of its part {{part}}, or not in {window}",
            ),
            (
                (kind == CLOSED) & ((age > self._window + slack) | (~ended & self._by_time)),
                f"a pull is closed at age {{age:g}} and not at the end of {window}",
            ),
            ((kind == LATE) & ~ended & self._by_time, f"a payment at age {{age:g}} is called late within {window}"),
        )
        return [
            BrokenRule(int(row), int(columns["seq"][row]), text.format(age=float(age[row]), part=int(part[row])))
            for bad, text in wrong
            for row in np.flatnonzero(known & bad)[: MOST_FAULTS + 1]
        ]


def _with_lines(faults: list[Fault], log: Log, reader: FormatReader, *, as_written: bool) -> list[Fault]:
    """The faults with the lines of their events; a zero that reading puts in has none."""
    wanted = {fault.event for fault in faults if fault.event is not None and fault.line is None}
    if not wanted:
        return faults
    lines: dict[int, int] = {}
    with suppress(LogError):  # it is among the faults
        _find_lines(lines, wanted, log, reader, as_written=as_written)
    return [
        Fault(fault.event, lines.get(fault.event, fault.line), fault.text) if fault.event is not None else fault
        for fault in faults
    ]


def _find_lines(lines: dict[int, int], wanted: set[int], log: Log, reader: FormatReader, *, as_written: bool) -> None:
    """Enter the lines of the events with these numbers."""
    key = ("time", "kind", "pull", "part", "value")
    if not as_written:
        seen = {}
        for columns in log.reader.batches(["seq", *key]):
            for row in np.flatnonzero(np.isin(columns["seq"], list(wanted))):
                seen[tuple(columns[name][row].tobytes() for name in key)] = int(columns["seq"][row])
    line = FIRST_LINE
    for columns in reader.batches(["seq", *key]):
        if as_written:
            rows = np.flatnonzero(np.isin(columns["seq"], list(wanted)))
            lines |= {int(columns["seq"][row]): line + int(row) for row in rows}
        else:
            for place in range(len(columns["seq"])):
                number = seen.get(tuple(columns[name][place].tobytes() for name in key))
                if number is not None:
                    lines[number] = line + place
        line += len(columns["seq"])
