"""The rules of a log where feedback is hidden, and at sites: each broken once."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from log_samples import make_header, write_log
from parity import case_of, real_worlds, run_compiled
from studies import small

from tpstream import check_log, read_log, replay, simulate
from tpstream.log.contract import BrokenRule, Checker
from tpstream.log.schema import Header
from tpstream.model.errors import LogError
from tpstream.model.events import KIND_NAMES, Events
from tpstream.model.world import World

Row = tuple[float, str, int, float | None, bool]
"""Time, kind, part, value, shown; all of pull 1."""
PULL: Row = (1.0, "pull", 0, None, True)
ZERO: Row = (1.0, "partial", 1, 0.0, False)
PAID: Row = (2.5, "partial", 2, 0.5, True)
AGAIN: Row = (4.0, "partial", 1, 0.0, True)
CLOSED: Row = (4.0, "closed", 0, 0.5, True)
GOOD = [PULL, ZERO, PAID, AGAIN, CLOSED]
"""One pull with two parts and a window of 3, of which only payments are reported."""
BLANK: dict[str, Any] = {"policy": "some", "kind": "some", "parameters": {}, "seed": 0, "run": 0, "versions": {}}


def broken_by(rows: Sequence[Row], *, reveal: str = "positive") -> BrokenRule | None:
    """The rule that events written by hand break."""
    facts: dict[str, Any] = {"arms": ["a"], "means": [0.0], "maxima": [1.0], "span": 2, "horizon": 9, "groups": None}
    header = Header(scenario={"window": 3.0, "reveal": reveal}, clairvoyant=False, **facts, **BLANK)
    return Checker(header).first_broken(events_of(rows))


def events_of(rows: Sequence[Row]) -> Events:
    """Rows as columns."""
    time, kind, part, value, shown = zip(*rows, strict=True)
    ones = np.ones(len(rows), dtype=np.int64)
    return Events(
        seq=np.arange(len(rows)),
        time=np.array(time),
        kind=np.array([KIND_NAMES.index(name) for name in kind], dtype=np.int8),
        round=ones,
        pull=ones,
        arm=0 * ones,
        part=np.array(part),
        value=np.array(value, dtype=np.float64),
        shown=np.array(shown),
    )


def test_rows_by_hand_pass() -> None:
    """The rows that the cases below change are right."""
    assert broken_by(GOOD) is None
    shut: list[Row] = [(*row[:4], row[1] in {"pull", "closed"}) for row in (PULL, ZERO, PAID, CLOSED)]
    assert broken_by(shut, reveal="closed") is None
    lost: list[Row] = [PULL, ZERO, (2.5, "dropped", 2, None, False), AGAIN, (4.0, "closed", 0, 0.0, True)]
    assert broken_by(lost) is None
    late: list[Row] = [PULL, ZERO, AGAIN, (4.0, "closed", 0, 0.0, True), (5.0, "late", 2, 0.5, True)]
    assert broken_by(late) is None


CASES: dict[str, tuple[list[Row], int, str]] = {
    "a zero is shown": ([PULL, (*ZERO[:4], True)], 1, "part 1 of pull 1 is repeated, but it was not withheld"),
    "a payment is hidden": ([PULL, ZERO, (*PAID[:4], False)], 2, 'has the wrong value in column shown for reveal = "p'),
    "a hidden pull": ([(*PULL[:4], False)], 0, "pull of pull 1, part 0, with value nan, has the wrong value"),
    "a hidden closing": ([*GOOD[:4], (*CLOSED[:4], False)], 4, "closed of pull 1, part 0, with value 0.5, has the wr"),
    "a shown loss": ([PULL, (2.5, "dropped", 2, None, True)], 1, "dropped of pull 1, part 2, with value nan, has"),
    "a shown late zero": (
        [PULL, ZERO, AGAIN, (4.0, "closed", 0, 0.0, True), (5.0, "late", 2, 0.0, True)],
        4,
        "late of pull 1, part 2, with value 0.0, has the wrong value in column shown",
    ),
    "not repeated": ([PULL, ZERO, PAID, CLOSED], 3, "parts that were withheld are not all repeated before"),
    "repeated twice": ([*GOOD[:4], AGAIN, CLOSED], 4, "part 1 of pull 1 is repeated, but it was not withheld, or was"),
    "repeated with another value": (
        [PULL, (*ZERO[:3], -0.25, False), PAID, AGAIN, (*CLOSED[:3], 0.25, True)],
        4,
        "are not all repeated before, as they were",
    ),
    "repeated before the closing": (
        [*GOOD[:3], (3.0, *AGAIN[1:]), CLOSED],
        4,
        "nothing of pull 1 is missing any more, so that it must be closed first",
    ),
    "repeated after the closing": ([*GOOD, AGAIN], 5, "partial of pull 1, which was closed before"),
    "repeated out of order": (
        [PULL, ZERO, (2.5, "partial", 2, 0.0, False), (*AGAIN[:2], 2, 0.0, True), AGAIN],
        4,
        "partial of pull 1 is out of order",
    ),
    "closed before the end of the window": (
        [PULL, (*ZERO[:3], 0.25, True), PAID, (2.5, "closed", 0, 0.75, True)],
        3,
        "closed at time 2.5; where feedback is hidden, it is closed when its window ends, at 4.0",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_rule_is_named(name: str) -> None:
    """Every rule about hidden feedback, broken once, names its event and says what is wrong."""
    rows, seq, text = CASES[name]
    broken = broken_by(rows)
    assert broken is not None
    assert (broken.seq, text in broken.text) == (seq, True), broken.text


@settings(max_examples=40)
@given(real_worlds())
def test_what_the_engines_write_passes(world: World) -> None:
    """Every run of a random world keeps the rules, where feedback is hidden and at sites, too."""
    events = run_compiled(case_of(world, "uniform"), log=True, indices=False).events
    assert events is not None
    timing, problem = world.timing, world.problem
    told: dict[str, Any] = {"delays": ["some"], "drain": world.drain, "reveal": timing.reveal}
    told |= {"window": timing.window, "default_reward": timing.default}
    facts: dict[str, Any] = {"span": problem.span, "horizon": problem.horizon, "groups": None, "clairvoyant": False}
    arms: dict[str, Any] = {"arms": list(problem.names), "means": [0.0] * problem.arms, "maxima": [1.0] * problem.arms}
    checker = Checker(Header(scenario=told, sites=list(timing.sites), **arms, **facts, **BLANK))
    middle = len(events) // 2
    assert checker.first_broken(events.cut(0, middle)) is None
    assert checker.first_broken(events.cut(middle, len(events))) is None
    assert checker.at_end(complete=True) is None


SITES = {"kind": "sites", "sites": [{"name": "Bern", "rate": 1.0}, {"name": "Basel", "opens": 4.0, "rate": 2.0}]}


def site_log(folder: Path) -> tuple[Header, Events]:
    """The header and the events of a run at two sites."""
    simulate(small(arrivals=SITES), "uniform", log=folder / "sites.jsonl")
    log = read_log(folder / "sites.jsonl")
    return log.header, log.join()


def test_sites_are_those_of_the_header(tmp_path: Path) -> None:
    """The header names the sites, and each pull is at one of them."""
    header, events = site_log(tmp_path)
    assert header.sites == ["Bern", "Basel"]
    assert events.site is not None
    assert set(events.site.tolist()) == {0, 1}
    assert Checker(header).first_broken(events) is None
    wrong = replace(events, site=np.where(np.arange(len(events.site)) == 3, 2, events.site))
    broken = Checker(header).first_broken(wrong)
    fourth = int(events.seq[events.kind == 0][3])
    assert broken == BrokenRule(fourth, fourth, "site 2 does not exist; there are 2 sites, from 0")


def test_columns_are_those_of_the_world(tmp_path: Path) -> None:
    """A column that the world needs and the log lacks, or the other way round, is named; none is written silently."""
    header, events = site_log(tmp_path)
    assert "has no column site, which the header needs" in str(Checker(header).first_broken(replace(events, site=None)))
    shown = replace(events, shown=np.ones(len(events), dtype=np.bool_))
    assert "has a column shown, of which the header says nothing" in str(Checker(header).first_broken(shown))
    with pytest.raises(LogError, match=r"do not fit the header: they have a column shown, of which the header says"):
        write_log(tmp_path / "shown.arrows", header, [shown])


def test_an_unknown_word_is_an_error_of_the_header(tmp_path: Path) -> None:
    """A log whose scenario names another way to hide feedback is not read."""
    header = make_header()
    header.scenario["reveal"] = "some"
    with pytest.raises(LogError, match=r"header: Invalid enum value 'some' - at `\$.scenario.reveal`; correct it"):
        write_log(tmp_path / "some.jsonl", header, [])


@pytest.mark.parametrize("detail", ["all", "pulls"])
@pytest.mark.parametrize("ending", ["jsonl", "arrows"])
def test_logs_have_the_columns_that_are_needed(ending: str, detail: Any, tmp_path: Path) -> None:
    """Columns `shown` and `site` are in a log where feedback is hidden and where there are sites, and only there.

    A log of only the pulls does not say that these are shown.
    """
    scenario = small(arrivals=SITES, window=9.0, reveal="closed")
    simulate(scenario, "delayed-ucb1", log=tmp_path / f"hidden.{ending}", log_detail=detail)
    simulate(small(), "delayed-ucb1", log=tmp_path / f"usual.{ending}", log_detail=detail)
    hidden, usual = (read_log(tmp_path / f"{name}.{ending}") for name in ("hidden", "usual"))
    needed = {"shown", "site"} if detail == "all" else {"site"}
    assert {"shown", "site"} & set(hidden.frame().columns) == needed
    assert check_log(hidden).sound
    assert not {"shown", "site"} & set(usual.frame().columns)
    assert b"shown" not in (tmp_path / f"usual.{ending}").read_bytes()
    assert detail == "pulls" or replay(hidden).equal
