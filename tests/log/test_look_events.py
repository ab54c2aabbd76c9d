"""Events about looks in logs: their rules, each broken once, every format, and readers that leave them out."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from contract_rows import CLOSED, FIRST, GOOD, PULL, SECOND, Row, changed, check_rows, columns_of, header_for_rows

from tpstream import read_log
from tpstream.analysis.log_regret import log_regret
from tpstream.analysis.money import Account
from tpstream.log.check import check_log
from tpstream.log.writer import LogWriter, convert
from tpstream.model.errors import LogError
from tpstream.model.events import Event, Events, Kind, Told, about_looks, about_pulls, pull_events
from tpstream.replay.looks import ToldLooks
from tpstream.view.aggregate import Aggregate
from tpstream.view.pulls import KeptParts

COUNTED: Row = (2.5, "look", 1, 1, 0, 0, 3.0)
ESTIMATE: Row = (2.5, "look", 1, 1, 0, 1, 0.25)
NONE: Row = (2.5, "look", 1, 1, 1, 0, None)
STOPPED: Row = (4.0, "stopped", 1, 1, 1, 2, 0.0)
NEXT: Row = (5.0, "pull", 2, 2, 0, 0, None)
LATER: Row = (6.0, "look", 2, 2, 0, 0, 1.0)
LOOKS = [*GOOD, COUNTED, ESTIMATE, NONE, STOPPED, NEXT, LATER, changed(STOPPED, time=6.0, round=2, pull=2, arm=0)]
"""A look that closes arm 1, one more patient, and a look that closes the other arm."""

CASES: dict[str, tuple[list[Row], int, str]] = {
    "first look is 2": ([PULL, FIRST, changed(COUNTED, pull=2)], 2, "look of look 2 after look 0"),
    "a look before": ([*GOOD, COUNTED, changed(LATER, pull=2, round=1), changed(COUNTED, time=7.0)], 6, "after look 2"),
    "a stop without a look": ([*GOOD, STOPPED], 4, "stopped of look 1 after look 0"),
    "a stop of another look": ([*GOOD, COUNTED, changed(STOPPED, pull=2)], 5, "stopped of look 2 after look 1"),
    "deliveries after a look": ([PULL, changed(COUNTED, time=1.0), FIRST], 2, "partial of pull 1 is out of order"),
    "a decision after a look": ([*GOOD, COUNTED, changed(NEXT, time=2.5)], 5, "decisions come first"),
    "a look before a closing": ([PULL, FIRST, SECOND, COUNTED, CLOSED], 3, "nothing of pull 1 is missing any more"),
    "rows out of order": ([*GOOD, ESTIMATE, COUNTED], 5, "look of look 1 is out of order"),
    "rows at another time": ([*GOOD, COUNTED, changed(ESTIMATE, time=3.0)], 5, "its rows come at one time"),
    "a row twice": ([*GOOD, COUNTED, COUNTED], 5, "look of look 1 is out of order"),
    "a look after its stop": ([*GOOD, COUNTED, STOPPED, changed(NONE, time=4.0)], 6, "look of look 1 is out of order"),
    "no such arm": ([*GOOD, changed(COUNTED, arm=2)], 4, "arm 2 does not exist"),
    "the round of a look": ([*GOOD, changed(COUNTED, round=2)], 4, "round 2 after 1 decisions"),
    "an unknown reason": ([*GOOD, COUNTED, changed(STOPPED, part=6)], 5, "stopped with part 6"),
    "an infinite number": ([*GOOD, changed(COUNTED, value=np.inf)], 4, "look with value inf"),
    "a stop with a number": ([*GOOD, COUNTED, changed(STOPPED, value=0.5)], 5, "stopped with value 0.5"),
    "closed twice": ([*GOOD, COUNTED, STOPPED, changed(STOPPED, time=5.0)], 6, "arm 1, which a look closed before"),
    "a closed arm is pulled": ([*GOOD, COUNTED, STOPPED, changed(NEXT, arm=1)], 6, "arm 1, which a look closed before"),
}


def test_looks_by_hand_pass() -> None:
    """The rows that the cases below change are right; two looks may meet at one time."""
    assert check_rows(LOOKS) is None
    meeting = [*GOOD, COUNTED, changed(STOPPED, time=2.5), changed(COUNTED, pull=2), changed(STOPPED, pull=2, arm=0)]
    assert check_rows(meeting) is None


@pytest.mark.parametrize("name", CASES)
def test_a_broken_rule_of_looks_is_named(name: str) -> None:
    """Every rule about looks, broken once, names its event and says what is wrong."""
    rows, seq, text = CASES[name]
    broken = check_rows(rows)
    assert broken is not None
    assert (broken.seq, text in broken.text) == (seq, True), broken.text


def events_with_looks() -> Events:
    """The rows above as events."""
    return columns_of([Event(seq, *row) for seq, row in enumerate(LOOKS)])


@pytest.mark.parametrize("suffix", ["jsonl", "arrows"])
def test_formats_keep_looks(suffix: str, tmp_path: Path) -> None:
    """Written and read again, converted too, the events are the same; a check finds nothing, and a sparse copy none."""
    events = events_with_looks()
    with LogWriter(tmp_path / f"looks.{suffix}", header_for_rows()) as writer:
        writer.hear(events)
    parquet = convert(tmp_path / f"looks.{suffix}", tmp_path / "looks.parquet")
    for log in (read_log(tmp_path / f"looks.{suffix}"), parquet):
        assert [*map(repr, log.events())] == [*map(repr, events)]
        assert not check_log(log).faults
        assert set(log.frame()["kind"]) == {"pull", "partial", "closed", "look", "stopped"}
    with pytest.raises(LogError, match="cannot be sparse"):
        convert(parquet, tmp_path / "sparse.jsonl", sparse=True)


def test_readers_leave_looks_out(tmp_path: Path) -> None:
    """Money, regret, pages and what a policy is told are those of the same events without looks."""
    events, header = events_with_looks(), header_for_rows()
    plain = columns_of(
        [Event(seq, *row) for seq, row in enumerate(row for row in LOOKS if row[1] not in ("look", "stopped"))]
    )
    paths = []
    for number, one in enumerate((events, plain)):
        paths.append(tmp_path / f"{number}.jsonl")
        with LogWriter(paths[-1], header) as writer:
            writer.hear(one)
    assert [repr(log_regret(path).frame().to_dict()) for path in paths[:1]] == [
        repr(log_regret(paths[1]).frame().to_dict())
    ]
    found = []
    for one in (events, plain):
        aggregate, kept, account = Aggregate(header), KeptParts(), Account(np.array([0.0, 0.0]), np.array([1, 2]), 9)
        aggregate.add(one.columns())
        kept.add(one.columns())
        account.hear(one)
        told = Told().of(one)
        parts = kept.parts(np.arange(1, 3))
        found.append(
            [aggregate.counts, aggregate.sums, parts.kind, parts.value, *account.curves(), *told.columns().values()]
        )
    assert len(found[0]) == len(found[1])
    for first, second in zip(*found, strict=True):
        assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


def test_changes_are_no_looks() -> None:
    """A change of how decisions are made is of no pull and of no look: no arm is closed by it."""
    kinds = np.array(list(Kind), dtype=np.int8)
    assert [Kind(kind).name for kind in kinds[about_looks(kinds)]] == ["LOOK", "STOPPED"]
    assert Kind.CHANGED not in about_pulls({"kind": kinds})["kind"]
    events = columns_of([Event(seq, *row) for seq, row in enumerate([*GOOD, (4.0, "changed", 1, 0, 0, 0, None)])])
    looks = ToldLooks(SimpleNamespace(indices=lambda: np.zeros(2)), cleaning=0.0)  # type: ignore[arg-type]
    assert list(looks.pieces(events)) == [events]


def test_only_looks() -> None:
    """A batch that holds nothing else is taken by whoever leaves looks out."""
    events = events_with_looks()
    only = events.take(about_looks(events.kind))
    aggregate = Aggregate(header_for_rows())
    aggregate.add(only.columns())
    assert (aggregate.events, aggregate.pulls.count) == (len(only), 0)
    assert len(Told().of(only)) == 0
    assert not any(len(rows) for rows in pull_events(only.columns()).values())
