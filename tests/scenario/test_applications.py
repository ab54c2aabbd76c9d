"""The applications: worlds with drop-outs and queues lose nothing unseen, and contain the classical ones."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import notes
import numpy as np
import pytest
from parity import Case, Outcome, run_compiled, run_simpy
from runs import open_run
from studies import small

from tpstream import Scenario, simulate
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Ints
from tpstream.model.events import Events, Kind
from tpstream.model.numba_support import JIT_IS_OFF

AS_PYTHON = () if JIT_IS_OFF else pytest.mark.verify
"""Of loops that only one test needs: they run as plain Python, and compiled in `make verify`."""


def record(scenario: Scenario, policy: str, engine: str = "auto") -> Events:
    """Every event of a run."""
    sink = MemorySink()
    running = open_run(scenario, scenario.policy(policy), 3, 0, engine=engine)
    running.bus.subscribe("memory", sink)
    for _ in running.round_batches():
        pass
    return Events.join(sink.batches)


@pytest.fixture(scope="module")
def medical() -> Events:
    """One run of the medical trial: 2,000 patients, 24 visits, drop-out and lab queue."""
    return record(Scenario.load("medical-trial"), "tp-ucb-fr")


def ends_of_parts(events: Events) -> Ints:
    """How often each part of each pull (pulls, span) came to an end: credited, late or lost."""
    ends = events.take(np.isin(events.kind, [Kind.PARTIAL, Kind.LATE, Kind.DROPPED]))
    counts = np.zeros((2000, 24), dtype=np.int64)
    np.add.at(counts, (ends.pull - 1, ends.part - 1), 1)
    return counts


def test_every_part_of_the_medical_trial_has_one_end(medical: Events) -> None:
    """Each of the 48,000 visits is credited, late or lost, once; and every patient's file is closed once."""
    np.testing.assert_array_equal(ends_of_parts(medical), 1)
    np.testing.assert_array_equal(np.sort(medical.pull[medical.kind == Kind.CLOSED]), np.arange(1, 2001))


def test_the_medical_trial_has_everything(medical: Events) -> None:
    """Visits are lost by drop-out and skipping, some read-outs come too late, and most count."""
    counts = np.bincount(medical.kind, minlength=5)
    assert counts[Kind.PARTIAL] > 0.8 * 48_000
    assert counts[Kind.DROPPED] > 0.05 * 48_000
    assert counts[Kind.LATE] > 0


def test_what_a_patient_is_credited_with_is_what_came_in_time(medical: Events) -> None:
    """The total at closing is the sum of the parts that were credited."""
    parts, closed = (medical.take(medical.kind == kind) for kind in (Kind.PARTIAL, Kind.CLOSED))
    sums = np.bincount(parts.pull, weights=parts.value, minlength=2001)
    np.testing.assert_allclose(closed.value, sums[closed.pull], rtol=1e-12)


def test_the_queue_of_the_medical_trial_builds_up(medical: Events) -> None:
    """In the fourth year a read-out may be a week later than any in the first; none comes before its check."""
    pulls, parts = (medical.take(medical.kind == kind) for kind in (Kind.PULL, Kind.PARTIAL))
    waits = parts.time - (pulls.time[parts.pull - 1] + 30 * parts.part)  # a check is at the end of its month
    assert waits.min() >= -5
    assert waits[parts.time > 1080].max() > waits[parts.time < 360].max() + 5


def test_results_of_the_medical_trial_are_released_in_office_hours(medical: Events) -> None:
    """From Monday to Friday, 8 to 18 o'clock; the trial begins on a Monday."""
    times = medical.time[medical.kind == Kind.PARTIAL]
    hours = (times % 1) * 24
    assert ((times % 7) < 5).all()
    assert 8 - 1e-6 <= hours.min() < hours.max() <= 18 + 1e-6


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_lump_is_what_delayed_ucb1_hears(engine: str) -> None:
    """With `lump` at span - 1, TP-UCB-FR with one group is told what Delayed-UCB1 is without: same times and totals.

    The one hears what an arm was paid at an instant, the other what a closed pull was credited with; the decisions are
    those of a policy that does not listen, so that both are told of the same pulls.
    """
    plain = small(horizon=200, drain=True)
    lumps = record(plain.with_(delays=[{"kind": "lump", "at": plain.span - 1}]), "uniform", engine)
    parts = lumps.take(lumps.kind == Kind.PARTIAL)
    received: dict[tuple[float, int], float] = {}
    for time, arm, value in zip(parts.time.tolist(), parts.arm.tolist(), parts.value.tolist(), strict=True):
        received[time, arm] = received.get((time, arm), 0.0) + value
    events = record(plain, "uniform", engine)
    closed = events.take(events.kind == Kind.CLOSED)
    told = zip(zip(closed.time.tolist(), closed.arm.tolist(), strict=True), closed.value.tolist(), strict=True)
    assert received == dict(told)


@pytest.mark.parametrize(
    "run",
    [
        run_simpy,
        pytest.param(partial(run_compiled, log=True), marks=AS_PYTHON),
        pytest.param(partial(run_compiled, log=False), marks=AS_PYTHON),
    ],
    ids=["simpy", "compiled", "compiled without a log"],
)
def test_what_the_policies_make_of_a_lump(run: Callable[[Case], Outcome]) -> None:
    """With `lump` at span - 1, TP-UCB-FR with one group has at every decision the sums of Delayed-UCB1 without.

    And so do the counts agree: the one takes the sum to be of all its pulls, the other of those that are closed, which
    are the former's span - 1 rounds ago. Both are the real ones, overruled so that both are told of the same pulls.
    """
    plain = small(horizon=200, drain=True)
    lumps = plain.with_(delays=[{"kind": "lump", "at": plain.span - 1}])
    fr = run(Case(lumps.build_world(3, 0), notes.FR, notes.FR.parameters(groups=1, ties="first")))
    waiting = notes.DELAYED.parameters(start="random", ties="first")
    delayed = run(Case(plain.build_world(3, 0), notes.DELAYED, waiting))
    np.testing.assert_array_equal(fr.arms, delayed.arms)
    np.testing.assert_array_equal(fr.state.notes[..., 0], delayed.state.notes[..., 0])
    np.testing.assert_array_equal(fr.state.notes[: 1 - plain.span, :, 1], delayed.state.notes[plain.span - 1 :, :, 1])
    assert fr.state.notes[-1].min() > 0


@pytest.mark.parametrize("policy", ["delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew"])
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("form", ["jsonl", "arrow"])
def test_regular_and_none_are_the_papers_world(tmp_path: Path, policy: str, engine: str, form: str) -> None:
    """Decisions at every round and no delays, written out, leave the same bytes as nothing said about time."""
    plain = small(horizon=100)
    written_out = plain.with_(arrivals={"kind": "regular"}, delays=[{"kind": "none"}])
    for scenario, name in ((plain, "plain"), (written_out, "written_out")):
        simulate(scenario, policy, engine=engine, log=tmp_path / f"{name}.{form}")
    assert (tmp_path / f"plain.{form}").read_bytes() == (tmp_path / f"written_out.{form}").read_bytes()


def test_weekly_reports_come_weekly() -> None:
    """In e-commerce-weekly everything is heard at whole weeks, and nothing is lost."""
    scenario = Scenario.load("e-commerce-weekly").with_(horizon=100, drain=True)
    events = record(scenario, "tp-ucb-fr")
    parts = events.take(events.kind == Kind.PARTIAL)
    np.testing.assert_array_equal(parts.time % 7, 0)
    assert len(parts) == 100 * 30
