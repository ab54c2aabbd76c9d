"""The log of a decider is an ordinary log, also while it is written: every tool reads it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from deciders import shop

from tpstream import Decider, answer, check_log, evaluate, fit, log_regret, read_log, replay
from tpstream.log.writer import convert
from tpstream.model.errors import LogError
from tpstream.model.events import COLUMN_NAMES, Events, Kind
from tpstream.view.follow import FollowedLog

pytestmark = pytest.mark.usefixtures("no_flush")


@pytest.fixture
def decider(tmp_path: Path) -> Iterator[Decider]:
    """A decider with 200 decisions, some of which pay, some late, and a change."""
    dice = np.random.default_rng(1)
    with shop(tmp_path, random_share=0.1, currency="EUR", unit="day") as opened:
        tokens = []
        for number in range(200):
            tokens.append(opened.decide(f"{number}", at=number / 4).token)
            for place in range(int(dice.integers(0, 3))):
                token = tokens[int(dice.integers(max(0, number - 16), number + 1))]
                opened.deliver(token, amount=float(dice.integers(1, 9)), key=f"{number}/{place}", at=number / 4 + 0.1)
            if number == 100:
                opened.change(arms=["old", "new"], reason="none")
        yield opened


def test_tools_read_the_log_while_it_is_written(decider: Decider) -> None:
    """Check, replay, answer, evaluate, fit, view and figures take it as it is."""
    path = decider.path
    assert check_log(path).sound
    assert replay(path).equal
    assert {row["arm"] for row in answer(path).frame().to_dict("records")} == {"old", "new"}
    assert evaluate(path, allocation={"new": 1.0}).estimates
    assert fit(path)
    assert read_log(path).view()
    assert read_log(path).plot()
    assert "goes on: 200 decisions" in str(read_log(path).truncated)


def test_regret_says_in_one_line_what_is_missing(decider: Decider) -> None:
    """Nobody knows the means of arms that are pulled for real."""
    with pytest.raises(LogError, match="made for real, and regret needs the arms' true means"):
        log_regret(decider.path)


def test_a_live_page_follows_it(decider: Decider) -> None:
    """What is decided after the page was opened is seen."""
    log = FollowedLog(decider.path)
    assert log.read() == 200
    decider.decide("one more", at=60.0)
    assert log.read() == 1
    assert log.picture() is not None


@pytest.mark.parametrize("ending", ["arrows", "parquet", "jsonl"])
def test_it_is_converted_with_its_keys(ending: str, decider: Decider, tmp_path: Path) -> None:
    """Copies in all formats have the same events, keys, times and changes, and replay."""
    copy = convert(decider.path, tmp_path / f"copy.{ending}")
    first, second = read_log(decider.path), copy
    assert first.header == second.header
    one, other = first.frame(), second.frame()
    assert one.astype(str).equals(other.astype(str))
    assert set(COLUMN_NAMES) - set(one.columns) == {"shown", "site"}
    assert other["key"].notna().sum() == sum(
        decider.state()["kinds"][kind] for kind in ("pull", "partial", "late", "changed")
    )
    assert len(second.columns(["key"], [Kind.CHANGED])["key"]) == 1
    assert replay(copy).equal
    assert check_log(copy).sound


def test_subscribers_hear_what_is_on_disk(decider: Decider) -> None:
    """Each batch is published once it is written."""
    heard: list[Events] = []

    class Listener:
        def hear(self, events: Events) -> None:
            """Keep them."""
            heard.append(events)

    decider.subscribe("a listener", Listener())
    decider.decide("x", at=100.0)
    written = read_log(decider.path).reader.written
    assert written is not None
    seqs = np.concatenate([batch["seq"] for batch in written.batches(["seq"])])
    assert heard[0].seq.tolist() == seqs[-len(heard[0]) :].tolist()
    assert heard[0].key is not None
    assert heard[0].key[-1] == "x"


def test_a_restart_among_periods_changes_nothing(tmp_path: Path) -> None:
    """With snapshots and without, decisions and the log are as in one go, where parts are periods."""
    found = []
    for name, every in (("whole", None), ("told", None), ("snapshot", 1000)):
        options = {"policy": "tp-ucb-fr", "maxima": 20.0, "groups": 3, "snapshot_every": every}
        live = shop(tmp_path / name, **options)
        dice, tokens, arms = np.random.default_rng(1), [], []
        for number in range(120):
            decision = live.decide(f"{number}", at=number / 4)
            tokens.append(decision.token)
            arms.append(decision.arm)
            token = tokens[int(dice.integers(max(0, number - 12), number + 1))]
            live.deliver(token, amount=float(dice.integers(1, 9)), key=f"{number}", at=number / 4 + 0.1)
            if name != "whole" and number % 30 == 29:
                live.close()
                live = Decider.open(live.path, snapshot_every=every)
                assert (live.recovery.from_snapshot > 0) == (name == "snapshot")
        live.close()
        assert replay(live.path).equal
        found.append(arms)
    assert found[0] == found[1] == found[2]
