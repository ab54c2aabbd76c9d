"""Where feedback is hidden: policies are told what is shown, and nothing that is repeated counts twice."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from log_samples import bits, write_log

from tpstream import Scenario, diagnose, log_regret, read_log, simulate
from tpstream.log.reader import Log
from tpstream.model.events import PARTIAL, Events, Told, pull_events
from tpstream.trial.outcomes import OutcomeMeasures
from tpstream.view.aggregate import Aggregate
from tpstream.view.pulls import read_parts

KEYS: dict[str, Any] = {
    "name": "hidden",
    "horizon": 60,
    "span": 4,
    "rewards": {"kind": "churn"},
    "arms": [{"churn": 0.5, "activity": 0.6}, {"churn": 0.2, "activity": 0.7}],
    "window": 9.0,
    "drain": True,
    "delays": [{"kind": "missing", "p": 0.05}, {"kind": "geometric", "p": 0.3}],
    "reveal": "positive",
}


def outcome_of(log: Log) -> dict[str, Any]:
    """The outcome of a trial."""
    measures = OutcomeMeasures(np.array(log.header.means), log.header.span, log.header.scenario.get("default_reward"))
    for events in log.batches():
        measures.hear(events)
    return dict(measures.values())


def aggregate_of(log: Log) -> list[Any]:
    """What the page of a log shows."""
    aggregate = Aggregate(log.header)
    for events in log.batches():
        aggregate.hear(events)
    aggregate.flush()
    pulls = aggregate.pulls
    rows = [pulls.paid, pulls.parts, pulls.late, pulls.last]
    return [aggregate.counts, aggregate.sums, aggregate.outstanding(), aggregate.ages.counts, *rows]


SUMMARIES: dict[str, Callable[[Log], Any]] = {
    "money and regret": lambda log: [log_regret(log).money().to_dict("list"), log_regret(log).table().to_dict("list")],
    "diagnosis": lambda log: [[one.frame().to_dict("list"), one.pulls.tolist()] for one in diagnose(log)],
    "trial": outcome_of,
    "page": aggregate_of,
    "parts of pulls": lambda log: read_parts(log, np.arange(1, 61), 60).value,
    "figure": lambda log: [line.get_ydata() for line in log.plot().axes[0].lines],
    "notebook": lambda log: log._credited().y,
}
"""Everything that adds up or counts the parts of a log."""


@pytest.fixture(scope="module", params=[None, 0.0, 0.25])
def logs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Log, Log]:
    """The log of a run with hidden feedback, and the same events as if all had been shown."""
    folder = tmp_path_factory.mktemp("hidden")
    simulate(Scenario(**KEYS, default_reward=request.param), "tp-ucb-fr:groups=2", log=folder / "hidden.arrows")
    hidden = read_log(folder / "hidden.arrows")
    columns = pull_events(hidden.join().columns())
    assert len(columns["seq"]) < len(hidden.join()) - 60
    shown = {name: rows for name, rows in columns.items() if name != "shown"} | {"seq": np.arange(len(columns["seq"]))}
    scenario = {key: value for key, value in hidden.header.scenario.items() if key != "reveal"}
    header = msgspec.structs.replace(hidden.header, scenario=scenario)
    return hidden, write_log(folder / "shown.arrows", header, [Events(**shown)])


@pytest.mark.parametrize("summary", SUMMARIES)
def test_a_part_that_is_repeated_counts_once(logs: tuple[Log, Log], summary: str) -> None:
    """Everything that is found in a log is the same as if nothing had been hidden, and repeated at the closing."""
    hidden, shown = (SUMMARIES[summary](log) for log in logs)
    np.testing.assert_equal(hidden, shown)


def test_repeats_are_recognised(logs: tuple[Log, Log]) -> None:
    """By hand: each credited part of a pull, once, is left; what is repeated was there before."""
    events = logs[0].join()
    seen: set[tuple[int, int]] = set()
    once = []
    for event in events:
        known = event.kind == "partial" and (event.pull, event.part) in seen
        if event.kind == "partial":
            seen.add((event.pull, event.part))
        once.append(not known)
    expected = {name: rows[np.array(once)] for name, rows in events.columns().items()}
    assert bits(Events(**pull_events(events.columns()))) == bits(Events(**expected))


def test_told_events_have_no_gap() -> None:
    """Batch by batch: hidden events are left out, the others are numbered anew; without hidden ones nothing changes."""
    count = 6
    rows = {name: np.arange(count) for name in ("seq", "round", "pull", "arm", "part")}
    events = Events(time=np.zeros(count), kind=np.full(count, PARTIAL, dtype=np.int8), value=np.ones(count), **rows)
    hidden = Events(**events.columns(), shown=np.array([True, False, True, False, False, True]))
    told = Told()
    batches = [told.of(hidden.cut(0, 3)), told.of(hidden.cut(3, 6))]
    assert [batch.seq.tolist() for batch in batches] == [[0, 1], [2]]
    assert [batch.pull.tolist() for batch in batches] == [[0, 2], [5]]
    assert Told().of(events).seq.tolist() == list(range(count))
