"""Many threads ask one decider: they share flushes, and snapshots are written while decisions go on."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deciders import shop

from tpstream import Decider, DeciderError, check_log, read_log, replay
from tpstream.model.errors import SubscriberError
from tpstream.serve import snapshots
from tpstream.serve.requests import Decide
from tpstream.serve.sharing import SharedBatches
from tpstream.serve.snapshot import snapshot_path, write_snapshot

THREADS, EACH = 8, 25


def in_threads(action: Any, number: int = THREADS) -> None:
    """Do it at the same time in some threads."""
    threads = [threading.Thread(target=action, args=(one,)) for one in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_share_flushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one batch is flushed the requests of the others gather; each gets its own answer, and the log replays."""
    flushes, answers = [], {}

    def flush(_: int) -> None:
        flushes.append(1)
        time.sleep(0.002)

    with shop(tmp_path, silence="wait", policy="delayed-ucb1", maxima=5.0, groups=1) as decider:
        monkeypatch.setattr(os, "fdatasync", flush)

        def ask(thread: int) -> None:
            for number in range(EACH):
                key = f"{thread}-{number}"
                decision = decider.decide(key)
                answers[key] = (decision, decider.deliver(decision.token, amount=1.0, key=key, part=1))

        in_threads(ask)
        assert len(flushes) < THREADS * EACH  # alone, each decision and each payment would have one
        assert all(decision.key == key for key, (decision, _) in answers.items())
        assert len({decision.token for decision, _ in answers.values()}) == THREADS * EACH
        assert all(receipt.token == decision.token for decision, receipt in answers.values())
    arms = {f"{event.key}": event.arm for event in read_log(decider.path).events() if event.kind == "pull"}
    assert arms == {key: decision.arm for key, (decision, _) in answers.items()}
    assert check_log(decider.path).sound
    assert replay(decider.path).equal


def test_a_batch_has_the_log_of_its_requests_one_by_one(tmp_path: Path) -> None:
    """What is asked together is answered and logged as what is asked one after another."""
    one, other = shop(tmp_path / "one"), shop(tmp_path / "other")
    requests = [Decide(key=f"{number}", at=float(number)) for number in range(10)]
    together = [reply.arm for reply in one.handle(requests)]  # type: ignore[union-attr]
    assert together == [other.decide(request.key, at=request.at).arm for request in requests]
    one.close()
    other.close()
    lines = [path.read_bytes().splitlines()[1:] for path in (one.path, other.path)]
    assert lines[0] == lines[1]


def test_who_fails_fails_alone(tmp_path: Path) -> None:
    """A request that raises stops no other that waits with it."""
    gathered, first = threading.Event(), threading.Event()
    found: dict[int, Any] = {}
    with shop(tmp_path) as decider:

        def slow(requests: Any) -> Any:
            first.set()
            gathered.wait(5)
            return decider._handle(requests)

        batches = SharedBatches(slow)

        def ask(number: int) -> None:
            request: Any = Decide(key=f"{number}", at=1.0) if number != 2 else "no request"
            try:
                found[number] = batches.ask([request])
            except AttributeError as error:
                found[number] = error

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
        threads[0].start()
        first.wait(5)
        for thread in threads[1:]:
            thread.start()
        while len(batches._waiting) < 4:
            time.sleep(0.001)
        gathered.set()
        for thread in threads:
            thread.join()
        assert isinstance(found.pop(2), AttributeError)
        assert {number: replies[0].key for number, replies in found.items()} == {n: f"{n}" for n in (0, 1, 3, 4)}
        assert decider.state()["decisions"] == 4


def test_an_interrupt_of_one_does_not_stop_the_others() -> None:
    """Who was interrupted while he handled the requests of all gets nothing; the others are answered."""
    entered, gathered, found = threading.Event(), threading.Event(), []

    def handle(requests: Any) -> Any:
        if not gathered.is_set():
            entered.set()
            gathered.wait(5)
            raise KeyboardInterrupt
        return requests

    batches: Any = SharedBatches(handle)

    def first(_: int) -> None:
        with pytest.raises(KeyboardInterrupt):
            batches.ask(["a"])

    leader = threading.Thread(target=first, args=(0,))
    leader.start()
    entered.wait(5)
    other = threading.Thread(target=lambda: found.extend(batches.ask(["b"])))
    other.start()
    while not batches._waiting:
        time.sleep(0.001)
    gathered.set()
    leader.join()
    other.join()
    assert found == ["b"]


def test_a_subscriber_cannot_ask_its_decider(tmp_path: Path) -> None:
    """It would wait for itself; it is told so."""

    class Curious:
        def hear(self, _: Any) -> None:
            """Ask."""
            decider.decide("more")

    with shop(tmp_path) as decider:
        decider.subscribe("curious", Curious())
        with pytest.raises((DeciderError, SubscriberError), match="do that later"):
            decider.decide("offer", at=1.0)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Snapshots are not written before this event; its `begun` are those that wait."""
    event: Any = threading.Event()
    event.begun = []

    def write(copied: Any) -> str | None:
        event.begun.append(copied.meta.events)
        event.wait(10)
        return write_snapshot(copied)

    monkeypatch.setattr(snapshots, "write_snapshot", write)
    yield event
    event.set()


@pytest.mark.usefixtures("no_flush")
def test_decisions_go_on_while_a_snapshot_is_written(tmp_path: Path, held: Any) -> None:
    """One is written at a time, of the state as it was; closing waits for it."""
    with shop(tmp_path, snapshot_every=10, silence="wait") as decider:
        for number in range(30):
            token = decider.decide(f"{number}", at=float(number)).token
            decider.deliver(token, amount=1.0, part=1, key=f"p{number}", at=number + 0.5)
        assert held.begun == [10]
        threading.Timer(0.05, held.set).start()
        path = snapshot_path(decider.path)
        shutil.copy(decider.path, tmp_path / "copy.jsonl")
        decider._snapshots.wait()
        shutil.copy(path, snapshot_path(tmp_path / "copy.jsonl"))
    assert held.begun == [10, 60]
    with Decider.open(tmp_path / "copy.jsonl") as again:
        assert (again.recovery.from_snapshot, again.recovery.rounds, again.recovery.notes) == (10, 25, ())
        assert again.deliver(again.decide("3").token, amount=1.0, key="p3", part=1).repeated


@pytest.mark.usefixtures("no_flush")
@pytest.mark.parametrize("name", ["write_snapshot", "copy_state"])
def test_a_snapshot_that_fails_stops_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """It is a message, whatever happened."""

    def fail(*_: object) -> None:
        raise ValueError("broken")

    decider = shop(tmp_path, snapshot_every=3)
    monkeypatch.setattr(snapshots, name, fail)
    for number in range(5):
        decider.decide(f"{number}", at=float(number))
    decider._snapshots.wait()
    decider._snapshots.every = None
    decider.close()
    assert "no snapshot" in capsys.readouterr().err
    with Decider.open(decider.path) as again:
        assert again.recovery.rounds == 5
