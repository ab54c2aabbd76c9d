"""Small worlds with queues, and what became of their parts."""

from typing import Any

from runs import open_run

from tpstream import Scenario
from tpstream.log.sinks import MemorySink
from tpstream.model.events import Events


def world(delays: list[dict[str, Any]], *, span: int, servers: int = 1, **keys: Any) -> Scenario:
    """One arm, and a decision at each of the times 1, 2, ..., unless told otherwise."""
    return Scenario.parse(
        {
            "name": "queues",
            "horizon": 2,
            "span": span,
            "drain": True,
            "rewards": {"kind": "smooth-beta", "groups": 1},
            "arms": [{"maximum": 1.0}],
            "resources": {"lab": servers, "desk": 1},
            "delays": delays,
            **keys,
        }
    )


def outcomes(scenario: Scenario, engine: str) -> list[tuple[float, int, int, str]]:
    """When which part of which pull was settled, and how."""
    sink = MemorySink()
    run = open_run(scenario, scenario.policy("uniform"), 7, 0, engine=engine)
    run.bus.subscribe("memory", sink)
    for _ in run.round_batches():
        pass
    return [
        (event.time, event.pull, event.part, event.kind)
        for event in Events.join(sink.batches)
        if event.kind in {"partial", "late", "dropped"}
    ]
