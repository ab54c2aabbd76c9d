"""Deciders for tests: small ones, and simulations that are played to one event by event."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tpstream import Decider, Scenario, read_log, simulate
from tpstream.log.reader import Log
from tpstream.model.events import Event
from tpstream.serve.requests import Receipt

WORLD = Scenario(
    name="played",
    horizon=300,
    span=8,
    rewards={"kind": "smooth-beta", "groups": 2, "spread": "random"},
    arms=[{"name": "a", "maximum": 10.0}, {"name": "b", "maximum": 12.0}, {"name": "c", "maximum": 14.0}],
    delays=[{"kind": "geometric", "p": 0.4}, {"kind": "missing", "p": 0.1}],
    window=14.0,
)
"""A world with delays, losses and late parts."""
SHOP: dict[str, Any] = {"policy": "uniform", "arms": ["old", "new"], "span": 3, "clock": "caller"}
"""What a small decider is opened with."""
SEED, RUN = 3, 2


def shop(folder: Path, **options: Any) -> Decider:
    """A small decider."""
    return Decider.open(folder / "shop", **(SHOP | {"snapshot_every": None} | options))


def recorded(folder: Path, policy: str, scenario: Scenario = WORLD) -> Log:
    """The log of a simulation."""
    path = folder / f"{policy}.sim.jsonl"
    simulate(scenario, policy, seed=SEED, run=RUN, log=path, log_detail="probabilities", engine="simpy")
    return read_log(path)


def open_like(log: Log, path: Path, **options: Any) -> Decider:
    """A decider for the world of a simulation."""
    header = log.header
    known: dict[str, Any] = {
        "policy": {"kind": header.kind, **header.parameters},
        "arms": header.arms,
        "span": header.span,
        "groups": header.groups,
        "maxima": header.maxima,
        "seed": header.seed,
        "run": header.run,
        "horizon": header.horizon,
        "window": header.scenario["window"],
        "clock": "caller",
        "silence": "wait",
        "log_detail": ["probabilities"],
        "snapshot_every": None,
    }
    return Decider.open(path, **(known | options))


def play(decider: Decider, events: Iterator[Event], tokens: dict[int, str]) -> Iterator[tuple[Event, Any]]:
    """Tell a decider what happens in a simulation; each event of a caller, and the answer."""
    for event in events:
        if event.kind == "pull":
            answer: Any = decider.decide(f"offer-{event.pull}", at=event.time)
            tokens[event.pull] = answer.token
        elif event.kind in ("partial", "late"):
            assert event.value is not None
            key = f"{event.pull}/{event.part}"
            answer = decider.deliver(tokens[event.pull], amount=event.value, part=event.part, key=key, at=event.time)
        elif event.kind == "dropped":
            answer = decider.lost(tokens[event.pull], part=event.part, at=event.time)
        else:
            continue
        yield event, answer


def status_of(receipt: Receipt) -> str:
    """The kind of event that a receipt means."""
    return {"credited": "partial", "late": "late", "lost": "dropped", "closed": "closed"}[receipt.status]
