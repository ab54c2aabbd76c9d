"""The check of a log: every rule is looked at, all faults are listed with their lines, and nothing else is blamed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from families import up_to
from hypothesis import given, settings, strategies as st
from tampering import write_lines

from tpstream import Decider, Scenario, check_log, import_log, simulate
from tpstream.log import check as check_module
from tpstream.log.writer import convert

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """An imported log of two decisions and their payments, line by line."""
    offers = pd.DataFrame(
        {"offer": [1, 2], "day": ["2024-03-01", "2024-03-02"], "price": ["low", "high"], "p": [0.5, 0.5]}
    )
    days = ["2024-03-02", "2024-03-02", "2024-03-04", "2024-03-04"]
    paid = pd.DataFrame({"offer": [1, 1, 1, 2], "day": days, "amount": [5.0, -1.0, 3.0, 2.0]})
    path = tmp_path_factory.mktemp("shop") / "shop.jsonl"
    import_log(offers, paid, out=path, window="3d")
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A log of a simulated run with probabilities, line by line."""
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    scenario = Scenario.load("setting-1").with_(horizon=30, span=20)
    simulate(scenario, "epsilon-greedy", log=path, log_detail="probabilities")
    return [json.loads(line) for line in path.read_text().splitlines()]


def check(folder: Path, lines: Lines) -> list[str]:
    """The faults of these lines, whose end tells their SHA-256."""
    path = write_lines(folder / "changed.jsonl", lines)
    return [str(fault) for fault in check_log(path).faults]


def changed(lines: Lines, line: int, **values: Any) -> Lines:
    """The lines with other values in one of them, which counts from 1."""
    return [{**one, **values} if number == line else one for number, one in enumerate(lines, start=1)]


def line_of(lines: Lines, kind: str, number: int = 0) -> int:
    """The line of an event of a kind."""
    return [place for place, one in enumerate(lines, start=1) if one.get("kind") == kind][number]


def test_sound_logs(tmp_path: Path, shop: Lines, run: Lines) -> None:
    """Logs that tpstream wrote keep every rule: of payments and of runs, sparse, dense, as pulls, in every format."""
    assert check(tmp_path, shop) == check(tmp_path, run) == []
    path = tmp_path / "changed.jsonl"
    for name, sparse in (("a.arrows", True), ("b.parquet", None), ("c.jsonl", True)):
        assert check_log(convert(path, tmp_path / name, sparse=sparse)).sound
    simulate(Scenario.load("e-commerce").with_(horizon=20), "uniform", log=tmp_path / "p.jsonl", log_detail="pulls")
    assert check_log(tmp_path / "p.jsonl").sound


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda lines: changed(lines, line_of(lines, "partial"), value=6.0),
            "closed with 4.0, but its parts add up to 5",
        ),
        (lambda lines: changed(lines, line_of(lines, "partial"), part=3), "not in the period of its part 3"),
        (lambda lines: changed(lines, line_of(lines, "closed"), time=2.5), "closed at age 2.5 and not at the end"),
        (lambda lines: changed(lines, line_of(lines, "late"), kind="partial"), "which was closed before"),
        (lambda lines: changed(lines, line_of(lines, "pull"), probability=0.0), "is not above 0 and up to 1"),
        (lambda lines: changed(lines, line_of(lines, "pull"), probability=1.5), "is not above 0 and up to 1"),
        (lambda lines: changed(lines, line_of(lines, "partial"), pull=7), "which was not issued"),
        (lambda lines: changed(lines, len(lines), end=99), "its end counts 99 events"),
        (lambda lines: changed(lines, 1, window=9.0), "the window 9 does not fit the span 3"),
    ],
)
def test_faults_of_payments(tmp_path: Path, shop: Lines, change: Callable[[Lines], Lines], message: str) -> None:
    """Each rule of a log of payments, broken once, is found."""
    assert any(message in fault for fault in check(tmp_path, change(shop)))


def test_order_of_payments(tmp_path: Path, shop: Lines) -> None:
    """Payments of one part may come at one time; a late one at the time of the closing comes after it."""
    late, closed = line_of(shop, "late") - 1, line_of(shop, "closed") - 1
    assert shop[late]["time"] == shop[closed]["time"]
    lines = list(shop)
    lines[late], lines[closed] = {**shop[closed], "seq": late - 1}, {**shop[late], "seq": closed - 1}
    faults = check(tmp_path, lines)
    assert len(faults) == 2
    assert f"line {closed + 1}, event {closed - 1}: part 3 of pull 1 is late, but the pull is not closed" in faults[0]


def test_probabilities(tmp_path: Path, run: Lines) -> None:
    """Probabilities of all arms sum to 1 and have the chosen one among them."""
    line = line_of(run, "pull", 5)
    chances = run[line - 1]["probabilities"]
    more = [chances[0] + 0.01, *chances[1:]]
    faults = check(tmp_path, changed(run, line, probabilities=more))
    assert any("sum to 1.01, not to 1" in fault and f"line {line}," in fault for fault in faults)
    other = check(tmp_path, changed(run, line, probability=0.5 * run[line - 1]["probability"]))
    assert len(other) == 1
    assert "another one among those of all" in other[0]


def test_all_faults_are_listed(tmp_path: Path, run: Lines) -> None:
    """Three faults far apart are three lines: one does not hide the next, and what follows is not blamed for it."""
    places = [line_of(run, "pull", 3), line_of(run, "pull", 9), line_of(run, "pull", 20)]
    lines = changed(changed(changed(run, places[0], round=99), places[1], part=1), places[2], value=1.0)
    assert [fault.split(",")[0] for fault in check(tmp_path, lines)] == [f"line {place}" for place in places]


@settings(max_examples=up_to(25))
@given(st.data())
def test_a_changed_event_is_found(tmp_path_factory: pytest.TempPathFactory, run: Lines, data: st.DataObject) -> None:
    """Whatever number of an event of a regular world is changed, a fault is found, none before its line."""
    line = data.draw(st.integers(2, len(run) - 1))
    key = data.draw(st.sampled_from(["seq", "time", "round", "pull", "arm", "part"]))
    change = data.draw(st.sampled_from([-1, 1, 50]))
    faults = check(tmp_path_factory.mktemp("log"), changed(run, line, **{key: run[line - 1][key] + change}))
    assert faults
    lines = [int(fault.split(",")[0].removeprefix("line ")) for fault in faults if fault.startswith("line")]
    assert not lines or min(lines) >= line


def test_lines_of_sparse_logs(tmp_path: Path) -> None:
    """A fault in a sparse log of a run is given with its line in the file, whatever zeros reading puts in."""
    scenario = Scenario.load("e-commerce").with_(horizon=12, drain=True)
    simulate(scenario, "uniform", log=tmp_path / "dense.jsonl")
    convert(tmp_path / "dense.jsonl", tmp_path / "sparse.jsonl", sparse=True)
    lines = [json.loads(line) for line in (tmp_path / "sparse.jsonl").read_text().splitlines()]
    assert check(tmp_path, lines) == []
    line = line_of(lines, "closed", 4)
    faults = check(tmp_path, changed(lines, line, value=lines[line - 1]["value"] + 1))
    assert [fault.split(",")[0] for fault in faults] == [f"line {line}"]


def test_a_log_of_which_nothing_is_right(tmp_path: Path, run: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first faults are listed, and that there are more."""
    monkeypatch.setattr(check_module, "MOST_FAULTS", 20)
    lines = [one if number == 1 or "end" in one else {**one, "arm": 77} for number, one in enumerate(run, start=1)]
    *faults, last = check(tmp_path, lines)
    assert len(faults) == 21
    assert last == "more than 20 events break a rule; what follows is not looked at"


def test_damage_is_a_fault_beside_others(tmp_path: Path, run: Lines) -> None:
    """A changed byte is told by the end marker too, after what it broke."""
    path = tmp_path / "changed.jsonl"
    lines = changed(run, line_of(run, "partial"), part=7)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, *_, last = (str(fault) for fault in check_log(path).faults)
    assert "part 7" in first
    assert last.startswith("the log is damaged: it has not the SHA-256")


def test_a_fault_in_the_log_of_a_decider(tmp_path: Path) -> None:
    """Events that have a name from outside are told like others."""
    with Decider.open(tmp_path / "shop", policy="uniform", arms=["a", "b"], span=3, clock="caller") as decider:
        decider.deliver(decider.decide("offer", at=1.0).token, amount=2.0, key="payment", part=1, at=1.5)
    lines = [json.loads(line) for line in (tmp_path / "shop.jsonl").read_text().splitlines()]
    (fault,) = check(tmp_path, changed(lines, line_of(lines, "partial"), arm=7))
    assert "arm 7, but pull 1 is of arm" in fault
