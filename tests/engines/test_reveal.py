"""Where feedback is hidden: what is shown, when, and that a policy learns nothing else."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from families import SIMPLE
from hypothesis import given, settings, strategies as st
from parity import case_of, real_worlds, run_compiled, run_simpy

from tpstream import Scenario, simulate
from tpstream.engines.engine import select
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError, ScenarioError
from tpstream.model.events import CLOSED, DROPPED, LATE, PARTIAL, PULL, Events, Told, pull_events
from tpstream.model.world import Problem, World
from tpstream.policies import POLICIES
from tpstream.policies.base import Parameters, PythonPolicy, SharedPolicy

HIDING = ("positive", "closed")
CLOSED_ONLY = ("ucb1", "delayed-ucb1", "uniform", "oracle")
"""Built-in policies that learn from closed pulls at most."""


def events_of(world: World) -> Events:
    """The events of a run of the reference engine, under a policy whose decisions depend on nothing."""
    outcome = run_simpy(case_of(world, "uniform"))
    assert outcome.events is not None
    return outcome.events


def literal_rows(world: World) -> list[tuple[Any, ...]]:
    """What a run must give, from when the parts of each pull come in the same world without a window.

    Each row is time, kind, round, pull, part, value and whether it is shown.
    """
    timing, reveal = world.timing, world.timing.reveal
    free = replace(timing, window=None, default=None, reveal="all")
    events = events_of(replace(world, drain=True, timing=free))
    pulled = {event.pull: event.time for event in events if event.kind == "pull"}
    parts: dict[int, list[Any]] = defaultdict(list)
    for event in events:
        if event.part:
            parts[event.pull].append(event)
    rows = [(time, 0, pull, 0, 0, PULL, np.nan, True) for pull, time in pulled.items()]
    for pull, time in pulled.items():
        end, found = time + timing.window, []
        for event in parts[pull]:
            lost = event.kind == "dropped"
            missing = lost or event.time > end
            kind, value = (DROPPED, np.nan) if lost else (LATE if missing else PARTIAL, event.value)
            shown = reveal == "positive" and bool(value > 0)
            found.append((event.time, 1, pull, event.part, 1, kind, value, shown))
            credit, when = (timing.default, end) if missing else (value, event.time)
            if credit is None:
                continue
            shown = reveal == "positive" and bool(credit > 0)
            if missing:
                found.append((when, 1, pull, event.part, 0, PARTIAL, credit, shown))
            if reveal == "positive" and not shown:
                found.append((end, 1, pull, event.part, 2, PARTIAL, credit, True))
        credits = [row for row in sorted(found) if row[5] == PARTIAL and row[4] < 2]
        total = 0.0
        for row in credits:
            total += row[6]
        rows += [*found, (end, 1, pull, world.problem.span + 1, 0, CLOSED, total, True)]
    last = max(pulled.values())
    due = [row for row in sorted(rows) if world.drain or row[0] <= last]
    times = sorted(pulled.values())
    decided = np.searchsorted(times, [row[0] for row in due], "right").tolist()
    return [
        (time, kind, pull if kind == PULL else round, pull, 0 if kind == CLOSED else place, value, shown)
        for round, (time, _, pull, place, _, kind, value, shown) in zip(decided, due, strict=True)
    ]


@settings(max_examples=40)
@given(real_worlds(HIDING))
def test_events_are_those_of_a_literal_version(world: World) -> None:
    """Every event comes when it must, with its value, and is shown or not as `reveal` says."""
    events, rows = events_of(world), literal_rows(world)
    names = ("time", "kind", "round", "pull", "part", "value", "shown")
    for name, expected in zip(names, zip(*rows, strict=True), strict=True):
        found = getattr(events, name)
        np.testing.assert_array_equal(found, np.array(expected, dtype=found.dtype), name)


@settings(max_examples=40)
@given(real_worlds(HIDING))
def test_nothing_is_lost_and_nothing_counts_twice(world: World) -> None:
    """A closed pull was closed at the end of its window, with what its shown parts, or all of them once, add up to."""
    events = events_of(world)
    assert events.shown is not None
    columns = pull_events(events.columns())
    closed = events.kind == CLOSED
    pulled = dict(zip(events.pull[events.kind == PULL].tolist(), events.time[events.kind == PULL], strict=True))
    for pull, time, total in zip(events.pull[closed].tolist(), events.time[closed], events.value[closed], strict=True):
        assert time == pulled[pull] + world.timing.window
        own = (columns["kind"] == PARTIAL) & (columns["pull"] == pull)
        assert added_up(columns["value"][own]) == total
        assert len(set(columns["part"][own].tolist())) == np.count_nonzero(own)
        if world.timing.reveal == "positive":
            shown = events.shown & (events.kind == PARTIAL) & (events.pull == pull)
            assert sorted(events.part[shown].tolist()) == sorted(columns["part"][own].tolist())
            assert added_up(events.value[shown]) == pytest.approx(total, rel=1e-9, abs=1e-9)


def added_up(values: Floats) -> float:
    """The sum in this order."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total


CONVERSIONS: dict[str, Any] = {
    "name": "conversions",
    "horizon": 60,
    "span": 4,
    "rewards": {"kind": "churn"},
    "arms": [{"churn": 0.5, "activity": 0.6}, {"churn": 0.2, "activity": 0.7}],
    "window": 9.0,
    "drain": True,
}
"""Customers who pay 1 or nothing, so that sums are exact in any order."""
LAGS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=3)


@settings(max_examples=12)
@given(st.sampled_from(CLOSED_ONLY), LAGS, st.integers(0, 9))
def test_only_closings_tell(policy: str, lags: list[float], seed: int) -> None:
    """With "closed", what a policy is told and decides does not depend on when parts come, if that is in time."""
    delays = [{"kind": "empirical", "lags": lags}]
    runs = [told_of({**CONVERSIONS, "reveal": "closed", "delays": some}, policy, seed) for some in ([], delays)]
    assert runs[0] == runs[1]


@settings(max_examples=12)
@given(st.sampled_from(SIMPLE), LAGS, st.integers(0, 9))
def test_zeros_do_not_tell(policy: str, lags: list[float], seed: int) -> None:
    """With "positive", the same holds for when the parts come that pay nothing."""
    below = {"kind": "empirical", "lags": lags}
    delays = [{"kind": "reward-dependent", "threshold": 0.5, "below": below}]
    runs = [told_of({**CONVERSIONS, "reveal": "positive", "delays": some}, policy, seed) for some in ([], delays)]
    assert runs[0] == runs[1]


def told_of(keys: dict[str, Any], policy: str, seed: int) -> list[Any]:
    """The decisions of a run, and all that the policy was told, as plain values."""
    sink, told = MemorySink(), Told()
    run = simulate(Scenario(**keys), policy, seed=seed, sinks=[sink])
    columns = told.of(Events.join(sink.batches)).columns()
    return [run.arms.tolist(), {name: rows.tobytes() for name, rows in columns.items()}]


def test_losses_do_not_tell() -> None:
    """A lost part that would have paid nothing, or is never missed, changes nothing before the closing."""
    keys = {**CONVERSIONS, "reveal": "positive"}
    lost = [{"kind": "reward-dependent", "threshold": 0.5, "below": {"kind": "missing", "p": 1.0}}]
    runs = [events_of_run({**keys, "delays": delays, "default_reward": 0.0}) for delays in ([], lost)]
    assert np.count_nonzero(runs[1].kind == DROPPED) > 50
    one, other = (Told().of(events) for events in runs)
    assert one.time.tobytes() == other.time.tobytes()
    assert one.value.tobytes() == other.value.tobytes()


def events_of_run(keys: dict[str, Any], policy: str = "uniform") -> Events:
    """The events of a run."""
    sink = MemorySink()
    simulate(Scenario(**keys), policy, sinks=[sink])
    return Events.join(sink.batches)


class Listener:
    """A policy that writes down what it hears."""

    def __init__(self, problem: Problem, *_: Any) -> None:
        self.arms = problem.arms
        HEARD.clear()

    def hear(self, events: Events) -> None:
        """Keep them."""
        HEARD.append(events)

    def decide(self, round: int) -> int:
        """In turn."""
        return round % self.arms

    def indices(self) -> Floats:
        """None."""
        return np.full(self.arms, np.nan)


HEARD: list[Events] = []


@pytest.mark.parametrize("reveal", HIDING)
def test_a_policy_hears_shown_events_only(reveal: str) -> None:
    """A policy that is a Python object hears the shown events, numbered without a gap, and no column more."""
    listener = PythonPolicy("listener", Parameters, Listener)
    sink, sites = MemorySink(), [{"name": "here", "rate": 1.0}, {"name": "there", "rate": 2.0, "opens": 5.0}]
    keys = {**CONVERSIONS, "reveal": reveal, "arrivals": {"kind": "sites", "sites": sites}}
    simulate(Scenario(**keys), listener, sinks=[sink], engine="simpy")
    events, heard = Events.join(sink.batches), Events.join(HEARD)
    assert (heard.shown, heard.site) == (None, None)
    assert heard.seq.tolist() == list(range(int(np.count_nonzero(events.shown))))
    assert len(heard) < len(events)
    assert np.array_equal(heard.value, events.value[events.shown], equal_nan=True)


@pytest.mark.parametrize("policy", [name for name in POLICIES.builtin if name != "oracle"])
def test_policies_that_need_parts_are_refused_where_only_closings_are_shown(policy: str) -> None:
    """A policy with a handler for parts or groups is refused with the remedy; the others run."""
    scenario = Scenario(**{**CONVERSIONS, "reveal": "closed"}, policies=[{"kind": "uniform"}])
    form = POLICIES.find(policy)
    chosen = form.for_parameters(form.parameters())
    assert isinstance(chosen, SharedPolicy)
    if chosen.on_partial or chosen.on_received or chosen.on_group:
        with pytest.raises(PolicyError, match=r'reveal = "closed" shows only what closed pulls paid; use one that'):
            scenario.policy({"kind": policy} | ({"groups": 1} if "groups" in form.parameters.model_fields else {}))
    else:
        assert scenario.policy(policy).form is chosen


def test_a_window_is_needed() -> None:
    """Hidden feedback without a window is refused: nothing would ever close a pull."""
    with pytest.raises(ScenarioError, match=r'reveal: "positive" needs a window, at the end of which a pull is closed'):
        Scenario(**{**CONVERSIONS, "window": None, "reveal": "positive"})


def test_reveal_is_a_key_of_the_scenario_where_it_says_something() -> None:
    """What is shown is left out of a resolved scenario if that is everything, and one with another word differs."""
    scenario = Scenario(**CONVERSIONS)
    assert "reveal" not in scenario.resolved()
    assert scenario.with_(reveal="closed").resolved()["reveal"] == "closed"
    assert scenario.problem().reveal == "all"


def test_whole_rounds_run_compiled() -> None:
    """A world at whole rounds with hidden feedback is served by the compiled engine, with the events of SimPy."""
    world = Scenario(**{**CONVERSIONS, "reveal": "positive"}).build_world(3, 0)
    assert select("auto", POLICIES.find("tp-ucb-fr"), world.timing) == "compiled"
    case = case_of(world, "tp-ucb-fr", groups=2)
    one, other = run_simpy(case).events, run_compiled(case, log=True).events
    assert one is not None
    assert other is not None
    assert {name: rows.tobytes() for name, rows in one.columns().items()} == {
        name: rows.tobytes() for name, rows in other.columns().items()
    }
