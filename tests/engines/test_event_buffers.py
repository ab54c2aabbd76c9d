"""The buffers of compiled loops: used again and again, lent to those who say so, copied for all others."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import numpy as np
import pytest
from log_samples import bits
from studies import small

from tpstream import read_log, simulate
from tpstream.engines import event_buffers
from tpstream.log import arrow, writer as writer_module
from tpstream.log.formats import FORMATS
from tpstream.log.sinks import MemorySink
from tpstream.model.errors import LogError, SubscriberError
from tpstream.model.events import COLUMN, Events

WORLDS: dict[str, dict[str, Any]] = {
    "the paper's": {"drain": False},
    "the paper's, drained": {"drain": True},
    "the paper's, shorter than its span": {"drain": True, "horizon": 4, "span": 6},
    "delays": {"drain": True, "delays": [{"kind": "geometric", "p": 0.4}]},
}
POLICIES = ("ucb1", "tp-ucb-fr", "tp-ucb-ew")


class Keeper:
    """Borrows events and wrongly keeps them."""

    borrows = True

    def __init__(self) -> None:
        self.batches: list[Events] = []

    def hear(self, events: Events) -> None:
        """Keep the views."""
        self.batches.append(events)


class Slow(Keeper):
    """Borrows events, and is done with each batch when two more have come."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[Future[None]] = []
        self.heard: list[Events] = []

    def hear(self, events: Events) -> "Future[None] | None":  # type: ignore[override]
        """Keep the views until two more batches have come, and copy them then."""
        super().hear(events)
        self.waits.append(Future())
        self.finish(2)
        return self.waits[-1]

    def finish(self, waiting: int = 0) -> None:
        """Copy the batches that are not waiting any longer."""
        while len(self.batches) > waiting:
            self.heard.append(self.batches.pop(0).copy())
            self.waits[len(self.heard) - 1].set_result(None)


@pytest.fixture
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers of few events, and logs that write as few at a time, so that a short run fills many."""
    monkeypatch.setattr(event_buffers, "EVENTS", 40)
    monkeypatch.setattr(writer_module, "FORMATS", {name: replace(one, batch=40) for name, one in FORMATS.items()})


@pytest.mark.usefixtures("_small_buffers")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("format", ["arrow", "jsonl"])
@pytest.mark.parametrize("keys", WORLDS.values(), ids=WORLDS)
def test_a_log_through_many_buffers(tmp_path: Path, keys: dict[str, Any], format: str, policy: str) -> None:
    """A log that was written from reused buffers, by a thread, holds the events of SimPy's log, bit for bit."""
    logs = [tmp_path / f"{engine}.{format}" for engine in ("compiled", "simpy")]
    for log in logs:
        simulate(small(**keys), policy, engine=log.stem, log=log)
    compiled, simpy = (read_log(log) for log in logs)
    assert bits(compiled.join()) == bits(simpy.join())
    assert compiled.complete


@pytest.mark.usefixtures("_small_buffers")
@pytest.mark.parametrize("keys", WORLDS.values(), ids=WORLDS)
def test_subscribers_get_copies(keys: dict[str, Any]) -> None:
    """What a subscriber hears stays as it was, in the types of the schema, beside others that borrow."""
    sink, slow = MemorySink(), Slow()
    simulate(small(**keys), "tp-ucb-fr", engine="compiled", sinks=[slow, sink])
    slow.finish()
    alone = MemorySink()
    simulate(small(**keys), "tp-ucb-fr", engine="simpy", sinks=[alone])
    assert bits(Events.join(sink.batches)) == bits(Events.join(alone.batches))
    assert bits(Events.join(slow.heard)) == bits(Events.join(alone.batches))
    assert not any(batch.borrowed for batch in sink.batches)
    types = {name: rows.dtype for name, rows in sink.batches[0].columns().items()}
    assert types == {name: np.dtype(COLUMN[name].type) for name in types}


@pytest.mark.usefixtures("_small_buffers")
def test_borrowed_events_are_overwritten() -> None:
    """Who keeps borrowed events finds others in their place: the buffers are few, and used again."""
    keeper, sink = Keeper(), MemorySink()
    simulate(small(), "tp-ucb-fr", sinks=[keeper, sink])
    assert len({batch.value.__array_interface__["data"][0] for batch in keeper.batches}) == 1
    kept, heard = keeper.batches[0], sink.batches[0]
    assert kept.borrowed
    assert kept.seq.tolist() != heard.seq.tolist()


@pytest.mark.usefixtures("_small_buffers")
def test_a_round_that_fits_no_buffer(tmp_path: Path) -> None:
    """Buffers grow where a single round has more events than fit."""
    scenario = small(span=60, horizon=150, drain=True)
    logs = [tmp_path / f"{engine}.arrow" for engine in ("compiled", "simpy")]
    for log in logs:
        simulate(scenario, "tp-ucb-fr", engine=log.stem, log=log)
    assert bits(read_log(logs[0]).join()) == bits(read_log(logs[1]).join())


def failing_after(batches: int, raised: BaseException) -> Callable[..., None]:
    """A `Writer.write` that raises in another thread after so many batches."""
    write, done = arrow.Writer.write, []

    def fail(self: arrow.Writer, events: Events) -> None:
        if len(events) and current_thread() is not main_thread():
            done.append(len(events))
            if len(done) > batches:
                raise raised
        write(self, events)

    return fail


@pytest.mark.usefixtures("_small_buffers")
@pytest.mark.parametrize("batches", [0, 1, 3])
@pytest.mark.parametrize("keys", [WORLDS["the paper's"], WORLDS["delays"]], ids=["the paper's", "delays"])
def test_an_error_of_the_thread_reaches_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any], batches: int
) -> None:
    """What the thread of a log raises ends the run; the log keeps what was written before, whole and without a gap."""
    sink = MemorySink()
    simulate(small(**keys), "tp-ucb-fr", sinks=[sink])
    monkeypatch.setattr(arrow.Writer, "write", failing_after(batches, LogError("disk on fire")))
    log = tmp_path / "log.arrow"
    with pytest.raises(LogError, match="disk on fire"):
        simulate(small(**keys), "tp-ucb-fr", log=log)
    assert log.exists() == (batches > 0)
    if batches:
        read, events = read_log(log), Events.join(sink.batches)
        assert not read.complete
        assert len(read.join()) > 0
        assert bits(read.join()) == bits(events.cut(0, len(read.join())))


@pytest.mark.usefixtures("_small_buffers")
def test_an_unexpected_error_of_the_thread_names_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that no log expects is that of the subscriber, not of the policy that runs meanwhile."""
    monkeypatch.setattr(arrow.Writer, "write", failing_after(1, ZeroDivisionError("nothing to divide by")))
    with pytest.raises(
        SubscriberError, match=r"subscriber 'log .*log.arrow' raised ZeroDivisionError on events \d+ to"
    ):
        simulate(small(drain=False), "tp-ucb-fr", log=tmp_path / "log.arrow")


@pytest.mark.usefixtures("_small_buffers")
def test_an_error_of_the_last_batch_reaches_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what the thread raises after the last round ends the run: a torn log is never called complete."""
    scenario = small(drain=False)
    written = []
    monkeypatch.setattr(arrow.Writer, "write", lambda *_: written.append(current_thread() is not main_thread()))
    simulate(scenario, "tp-ucb-fr", log=tmp_path / "counted.arrow")
    monkeypatch.undo()
    monkeypatch.setattr(event_buffers, "EVENTS", 40)
    monkeypatch.setattr(writer_module, "FORMATS", {name: replace(one, batch=40) for name, one in FORMATS.items()})
    monkeypatch.setattr(arrow.Writer, "write", failing_after(sum(written) - 1, LogError("disk on fire")))
    with pytest.raises(LogError, match="disk on fire"):
        simulate(scenario, "tp-ucb-fr", log=tmp_path / "log.arrow")
    assert not read_log(tmp_path / "log.arrow").complete
