"""Runs that are watched: their decisions and logs stay the same, the sample is that of the run, and a stop is clean."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer import unpack_text
from heard import policy_with
from studies import ASYNCHRONOUS, KEYS

from tpstream import Scenario, compare, read_log, simulate
from tpstream.model.errors import StudyError
from tpstream.model.events import LOOK, PULL
from tpstream.run import watch
from tpstream.run.watch import LiveLink
from tpstream.view.aggregate import LOOK_COLUMNS
from tpstream.view.sampling import Budget

PLAIN = Scenario.load("setting-1").with_(horizon=20_000)
TRIAL: dict[str, Any] = {
    "name": "trial",
    "horizon": 300,
    "drain": True,
    "visits": [1.0, 2.0],
    "rewards": {"kind": "binary"},
    "arms": [{"name": name, "probability": chance} for name, chance in (("old", 0.2), ("new", 0.3), ("other", 0.25))],
    "delays": [{"kind": "empirical", "lags": [0.0, 1.0, 4.0]}],
    "trial": {
        "control": "old",
        "endpoint": "last",
        "looks": {"at": "known", "values": [50, 100, 200], "cleaning": 2.0},
        "rules": [{"kind": "superiority", "threshold": 0.99}, {"kind": "futility", "threshold": 0.2}],
    },
}
POLICY = policy_with("on_look")
"""A policy that can leave out arms."""
WORLDS = {"plain": PLAIN, "window": Scenario(**(KEYS | ASYNCHRONOUS["window"] | {"horizon": 9000}))}


class Page(LiveLink):
    """A page without a server: someone looks at it, and asks to stop after some messages."""

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__(0, "")
        self._budget = Budget(share=1000.0)
        self._looked_at = True
        self.stop_after = stop_after
        self.messages: list[Mapping[str, Any]] = []

    def _exchange(self, message: Mapping[str, Any]) -> None:
        self.messages.append(message)
        self._stop = self.stop_after is not None and len(self.messages) > self.stop_after


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are sent before every batch of rounds."""
    monkeypatch.setattr(watch, "PERIOD", 0.0)


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("world", WORLDS)
def test_what_is_sampled_is_what_happened(world: str, engine: Any, tmp_path: Path) -> None:
    """Whatever feeds the sample: the kept parts are those of the log, and the decisions are the same as unwatched."""
    scenario, page, log = WORLDS[world], Page(), tmp_path / "run.arrows"
    if engine == "simpy":
        scenario = scenario.with_(horizon=300)
    watched = simulate(scenario, "tp-ucb-fr", engine=engine, live=page)
    alone = simulate(scenario, "tp-ucb-fr", log=log)
    assert (watched.arms == alone.arms).all()
    sampled = page._runs["tp-ucb-fr"].sampled
    parts = sampled._kept.parts(sampled._numbers()[: sampled.aggregate.pulls.count])
    frame = read_log(log).frame()
    assert len(parts.pulls) > 10
    for place in (0, len(parts.pulls) // 2, len(parts.pulls) - 1):
        own = frame[(frame["pull"] == parts.pulls[place]) & (frame["kind"] != "pull")]
        rows = slice(parts.starts[place], parts.starts[place + 1])
        np.testing.assert_array_equal(parts.time[rows], own["time"])
        np.testing.assert_array_equal(parts.part[rows], own["part"])
        np.testing.assert_allclose(parts.value[rows], own["value"], rtol=1e-12)
    assert sampled.totals.tolist() == np.bincount(alone.arms, minlength=len(sampled.totals)).tolist()


def test_a_watched_log_is_the_same(tmp_path: Path) -> None:
    """A page changes nothing in what a run writes."""
    for name, live in (("watched", Page()), ("alone", None)):
        simulate(WORLDS["window"], "tp-ucb-ew", log=tmp_path / f"{name}.arrows", live=live)
    one, other = (read_log(tmp_path / f"{name}.arrows").join() for name in ("watched", "alone"))
    assert all((one.columns()[name] == column)[~np.isnan(column)].all() for name, column in other.columns().items())


def test_a_run_that_is_stopped_reports_what_was_done(tmp_path: Path) -> None:
    """The results are those of the whole run at the last checkpoint that was reached; the log is kept, without end."""
    whole = compare(PLAIN, ["ucb1", "tp-ucb-fr"], runs=1)
    page = Page(stop_after=2)
    stopped = compare(PLAIN, ["ucb1", "tp-ucb-fr"], runs=1, live=page, logs=tmp_path, log_format="arrow")
    last = int(stopped.rounds[-1])
    assert 4096 < last <= 8192
    assert stopped.rounds.tolist() == [one for one in whole.rounds if one <= last]
    for policy in ("ucb1", "tp-ucb-fr"):
        pulls = (study.records[policy].measure("pulls")[0] for study in (stopped, whole))
        assert (next(pulls) == next(pulls)[: len(stopped.rounds)]).all()
    log = read_log(tmp_path / "ucb1.run-000.arrows")
    assert not log.complete
    assert 4096 < len(log.columns(["pull"], [PULL])["pull"]) <= 8192


def test_a_study_that_is_stopped_keeps_finished_runs(tmp_path: Path) -> None:
    """No further run is begun; the same call goes on from there, to what it would have been."""
    world, policies = PLAIN.with_(horizon=200), ["ucb1", "uniform"]
    some = compare(world, policies, runs=6, folder=tmp_path, live=Page(stop_after=5))
    assert 0 < some.table()["runs"].iloc[0] < 6
    page = Page()
    assert compare(world, policies, runs=6, folder=tmp_path, live=page).table()["runs"].tolist() == [6, 6]
    page.send()
    told = [one for message in page.messages for one in message["finished"]]
    assert len(told) == 2 * (6 - some.table()["runs"].iloc[0])
    assert set(told[0]["numbers"]) == {"regret", "share of best arm"}


def test_nothing_was_done() -> None:
    """A run that is stopped at once has nothing to show, and says so."""
    for runs in (1, 3):
        with pytest.raises(StudyError, match="stopped before any run was done"):
            compare(PLAIN, ["ucb1"], runs=runs, live=Page(stop_after=0))


def test_a_page_that_does_not_answer_is_left_alone() -> None:
    """Runs go on as if there were no page, and ask only once."""
    link = LiveLink(9, "nobody listens to this port")
    run = simulate(PLAIN.with_(horizon=100), "ucb1", live=link)
    assert len(run.arms) == 100
    assert link._lost


def test_policies_of_one_run_are_compared(tmp_path: Path) -> None:
    """The page is told where a policy first decides otherwise than the first one, and its indices if there are any."""
    page, policies = Page(), ["tp-ucb-fr", "tp-ucb-ew"]
    compare(
        PLAIN.with_(horizon=3000), policies, runs=1, live=page, logs=tmp_path, log_format="arrow", log_detail="indices"
    )
    logs = [read_log(tmp_path / f"{policy}.run-000.arrows").join() for policy in policies]
    first, other = (log.arm[log.kind == PULL] for log in logs)
    pictures = [page._runs[policy].sampled.text(page._runs[policies[0]].sampled) for policy in policies]
    about, arrays = unpack_text(str(pictures[1]))
    pull = int(np.argmax(first != other)) + 1
    assert about["logs"][0]["divergence"] == {"pull": pull, "time": pull, "policy": "tp-ucb-fr", "run": 0}
    assert unpack_text(str(pictures[0]))[0]["logs"][0]["divergence"] is None
    assert logs[1].indices is not None
    expected = logs[1].indices[arrays["0.parts.pull"] - 1].astype(np.float32)
    np.testing.assert_array_equal(arrays["0.parts.indices"].reshape(expected.shape), expected)


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_no_look_is_missed(engine: Any, tmp_path: Path) -> None:
    """The page of a trial that is sampled has the looks that are in its log; nothing changes."""
    scenario, page, log = Scenario(**TRIAL), Page(), tmp_path / "run.arrows"
    page._budget = Budget(share=1e9)
    watched = simulate(scenario, POLICY, engine=engine, live=page)
    alone = simulate(scenario, POLICY, log=log)
    assert (watched.arms == alone.arms).all()
    events = read_log(log).join()
    of_looks = events.kind >= LOOK
    sampled = page._runs[POLICY.name].sampled
    assert sampled.text() is not None
    seen = sampled.aggregate.looks
    assert of_looks.any()
    for place, name in enumerate(LOOK_COLUMNS):
        np.testing.assert_array_equal([row[place] for row in seen], getattr(events, name)[of_looks], name)


def test_not_every_run_of_a_study_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that begin soon after a watched one are left alone, but for new policies and longer runs.

    The results are told of all runs, and are the same.
    """
    clock = [0.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: clock[0])
    page, world = Page(), PLAIN.with_(horizon=300)

    def watched(scenario: Scenario, policies: list[str], first: int) -> list[str]:
        before = dict(page._runs)
        compare(scenario, policies, runs=1, first=first, live=page)
        return [label for label, one in page._runs.items() if one is not before.get(label)]

    assert watched(world, ["ucb1", "uniform"], 0) == ["ucb1", "uniform"]
    clock[0] = 0.1
    assert watched(world, ["ucb1", "uniform"], 1) == []
    assert watched(world, ["ucb1", "tp-ucb-ew"], 1) == ["tp-ucb-ew"]
    assert watched(world.with_(horizon=400), ["ucb1", "uniform"], 2) == ["ucb1", "uniform"]
    clock[0] = 1.2
    assert watched(world, ["uniform", "ucb1"], 3) == ["ucb1", "uniform"]
    alone, shown = (compare(world, ["ucb1"], runs=5, live=live) for live in (None, page))
    assert (alone.counts["ucb1"] == shown.counts["ucb1"]).all()
    page.send()
    assert sum(len(message["finished"]) for message in page.messages) == 15
