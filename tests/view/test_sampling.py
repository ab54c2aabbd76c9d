"""A sample of a run: each pull stands for others, nothing is counted twice, and the cost is limited."""

import itertools
import time

import numpy as np
import pytest
from studies import ASYNCHRONOUS, KEYS

from tpstream import Scenario, simulate
from tpstream.log.sinks import MemorySink
from tpstream.model.events import CLOSED, LOOK, PARTIAL, PULL, Events
from tpstream.run.loop import make_header
from tpstream.view.aggregate import Aggregate
from tpstream.view.sampling import FEWEST, LENGTH, MOST_SAVED, OVERHEAD, Budget, SampledRun

WORLD = Scenario(**(KEYS | ASYNCHRONOUS["window"] | {"horizon": 400}))


@pytest.fixture(scope="module")
def events() -> Events:
    """All events of a run with late parts."""
    sink = MemorySink()
    simulate(WORLD, "uniform", sinks=[sink])
    return Events.join(sink.batches)


def sampled_run(budget: Budget) -> SampledRun:
    """A sample of such a run, of which nothing is known yet."""
    problem, choice = WORLD.problem(), WORLD.policy("uniform")
    return SampledRun(problem.span, problem.horizon, problem.arms, lambda: make_header(WORLD, choice, 3, 0), budget)


def feed(run: SampledRun, events: Events, stretches: list[tuple[int, int]]) -> None:
    """Tell a sample all events in small batches; it begins these stretches."""
    waiting = list(stretches)
    for first in range(0, len(events), 50):
        batch = events.cut(first, first + 50)
        last = int(batch.round[-1])
        while waiting and waiting[0][0] <= last:
            run.begin(*waiting.pop(0))
        run.made = run.round = last
        if run.waits:
            run.take(batch.columns())
    arms = events.arm[events.kind == PULL]
    run.round = 0
    run.count(arms)


def test_what_a_stretch_cost_is_learned() -> None:
    """If stretches cost four times what they should, the next one is taken to cost that; less than planned is luck."""
    budget = Budget()
    for before in (4 * budget.cost(1000), 0.0):
        budget.begin(1000)
        with budget.spend(before):
            pass
        budget.settle()
        assert budget.factor is not None
    assert 3.4 - 0.1 < budget.factor < 3.4 + 0.1
    assert budget.cost(1000) == pytest.approx(budget.factor * (OVERHEAD + 1000 * budget.per_event))


def test_a_whole_sample_is_the_aggregate(events: Events) -> None:
    """If every pull is in it, its sums are those of all events, and it says so."""
    run, exact = sampled_run(Budget()), Aggregate(make_header(WORLD, WORLD.policy("uniform"), 3, 0))
    feed(run, events, [(1, 150), (151, 250)])
    exact.add(events.columns())
    assert run.complete
    for kind in (PULL, PARTIAL, CLOSED):
        assert run.aggregate.counts[..., kind].sum() == exact.counts[..., kind].sum()
        assert run.aggregate.sums[..., kind].sum() == pytest.approx(exact.sums[..., kind].sum())


def test_each_pull_stands_for_all_since_the_last_stretch(events: Events) -> None:
    """The weights of the sample add up to the pulls that it stands for; sums are those of its pulls, weighted."""
    run = sampled_run(Budget())
    feed(run, events, [(41, 10), (100, 25), (351, 50)])
    assert not run.complete
    assert run.aggregate.pulls.weight[: run.aggregate.pulls.count].sum() == pytest.approx(400)
    expected = 0.0
    for first, count, weight in ((41, 10, 5.0), (100, 25, 74 / 25), (351, 50, 276 / 50)):
        own = (events.pull >= first) & (events.pull < first + count) & (events.kind == PARTIAL)
        expected += weight * events.value[own].sum()
    assert run.aggregate.sums[..., PARTIAL].sum() == pytest.approx(expected)


def test_allocation_is_that_of_all_pulls(events: Events) -> None:
    """A picture of a sample has the exact number of pulls of every arm."""
    run = sampled_run(Budget())
    feed(run, events, [(41, 10), (351, 50)])
    assert run.text() is not None
    expected = np.bincount(events.arm[events.kind == PULL], minlength=3)
    assert run.aggregate.counts[..., PULL].sum(axis=0) == pytest.approx(expected)


def test_looks_alone_cost_nothing(events: Events) -> None:
    """A trial of which no pull is sampled makes neither header nor aggregate; once there is one, it has the looks."""
    run = sampled_run(Budget())
    look = {"time": [30.0], "kind": [LOOK], "pull": [1], "arm": [0], "part": [0], "value": [7.0]}
    run.take({name: np.array(rows) for name, rows in look.items()})
    assert not {"header", "aggregate"} & vars(run).keys()
    feed(run, events, [(1, 400)])
    assert run.text() is not None
    assert run.aggregate.looks == [(30.0, LOOK, 1, 0, 0, 7.0)]


def test_no_more_is_spent_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be spent is a share of the time that passed, up to a limit; it is less by what was spent."""
    clock = itertools.chain([0.0, 10.0, 10.0, 10.1, 10.1, 1000.0])
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    budget = Budget(share=0.02)
    assert budget.available() == pytest.approx(0.2)
    with budget.spend():
        pass
    assert budget.available() == pytest.approx(0.2 - 0.1 + 0.002)
    assert budget.available() == MOST_SAVED


def test_a_plan_costs_what_can_be_afforded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing without time that was saved, some stretches with a little, everything with enough."""
    budget = Budget()
    monkeypatch.setattr(Budget, "available", lambda _: 0.0)
    late = sampled_run(budget)
    assert late.plan(1, 400) == []
    monkeypatch.setattr(Budget, "available", lambda _: 0.29)
    budget.per_event = 1.3e-4
    run = sampled_run(budget)
    assert run.plan(1, 400) == [(1, LENGTH)]  # what it costs is not known yet
    budget.factor = 1.0
    planned = run.plan(1, 400)
    assert len(planned) > 1
    assert all(count == LENGTH for _, count in planned)
    assert all(first + count <= later for (first, count), (later, _) in itertools.pairwise(planned))
    budget.factor = 3.0
    assert len(run.plan(1, 400)) < len(planned)
    budget.per_event = 1e-7
    assert run.plan(1, 400) == [(1, 400)]


def test_a_long_run_is_shown_with_some_stretches() -> None:
    """With one stretch of a long run its curves would be steps: nothing is shown until there are a few."""
    sampled = sampled_run(Budget())
    sampled.events, sampled.made = 160, 5_000
    sampled.begin(1, 32)
    assert sampled.shown == 160
    sampled.made = 50_000
    assert sampled.shown == 0
    for number in range(1, FEWEST):
        sampled.begin(10_000 * number, 32)
    assert sampled.shown == 160
