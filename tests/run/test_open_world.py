"""`open_world`: decisions made in a loop of one's own are those of a run, with its log, sinks and regret."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tpstream import OpenWorld, Scenario, check_log, open_world, read_log, replay, simulate
from tpstream.log.sinks import MemorySink
from tpstream.model.errors import EngineError, LogError, PolicyError, SubscriberError
from tpstream.model.events import Events, Told
from tpstream.model.world import Purpose, open_stream
from tpstream.policies.runner import start_policy

SMALL = Scenario.load("setting-1").with_(horizon=60, drain=True)
CONVERSIONS: dict[str, Any] = {
    "name": "conversions",
    "horizon": 60,
    "span": 4,
    "rewards": {"kind": "churn"},
    "arms": [{"name": "here", "churn": 0.5, "activity": 0.6}, {"name": "there", "churn": 0.2, "activity": 0.7}],
    "delays": [{"kind": "geometric", "p": 0.5}],
    "arrivals": {"kind": "sites", "sites": [{"name": "shop", "rate": 1.0}, {"name": "web", "rate": 2.0, "opens": 5.0}]},
    "window": 9.0,
    "drain": True,
    "reveal": "positive",
}


def drive(world: OpenWorld, arms: Any) -> list[Events]:
    """Make these decisions."""
    return [world.pull(arm) for arm in arms]


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("scenario", [SMALL, Scenario(**CONVERSIONS)], ids=["plain", "hidden"])
def test_a_loop_is_a_run(engine: Any, scenario: Scenario, tmp_path: Path) -> None:
    """With the decisions of a run, a loop has its events, its regret and the lines of its log."""
    sink, heard, file = MemorySink(), MemorySink(), tmp_path / "run.jsonl"
    run = simulate(scenario, "uniform", seed=5, run=2, sinks=[sink], log=file)
    with open_world(scenario, seed=5, run=2, engine=engine, sinks=[heard], log=tmp_path / "loop.jsonl") as world:
        assert (world.engine, world.round, world.done, world.regret) == (engine, 1, False, 0.0)
        told = Events.join(drive(world, run.arms))
        assert (world.round, world.done, world.time) == (61, True, np.inf)
        assert world.regret == pytest.approx(run.regret[-1])
    expected, found = Events.join(sink.batches), Events.join(heard.batches)
    for one, other in ((Told().of(expected), told), (expected, found)):
        columns = other.columns()
        assert {name: rows.tobytes() for name, rows in one.columns().items()} == {
            name: rows.tobytes() for name, rows in columns.items()
        }
    assert check_log(tmp_path / "loop.jsonl").sound
    assert file.read_text().splitlines()[1:-1] == (tmp_path / "loop.jsonl").read_text().splitlines()[1:-1]


@pytest.mark.parametrize("policy", ["tp-ucb-fr", "tp-ucb-ew", "delayed-ucb1", "uniform"])
def test_policies_that_are_asked_from_outside(policy: str) -> None:
    """With delays and losses, a policy that is told the events of each step decides as in a run."""
    delays = [{"kind": "geometric", "p": 0.3}, {"kind": "missing", "p": 0.2}]
    scenario = SMALL.with_(horizon=200, delays=delays, window=120)
    choice, seed = scenario.policy(policy), 11
    stream = open_stream(seed, 3, Purpose.POLICY)
    with open_world(scenario, seed=seed, run=3) as world:
        asked = start_policy(choice.form, world.problem, choice.parameters, stream)
        arms = []
        while not world.done:
            asked.set_clock(world.time)
            arms.append(asked.decide(world.round))
            asked.hear(world.pull(arms[-1]))
    assert simulate(scenario, policy, seed=seed, run=3).arms.tolist() == arms


def test_arms_by_name() -> None:
    """An arm may be given by its name, and by any whole number."""
    numbers, names = open_world(SMALL, seed=1), open_world(SMALL, seed=1)
    for number in (0, 3, 9):
        one, other = numbers.pull(np.int32(number)), names.pull(names.arms[number])
        assert one.value.tobytes() == other.value.tobytes()


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        (10, "there is no arm 10 in round 1; arms are 0 to 9"),
        (-1, "there is no arm -1 in round 1"),
        ("arm11", "there is no arm 'arm11'"),
        (1.0, "arm 1.0 in round 1 is neither a number nor a name; give one of them"),
        (True, "arm True in round 1 is neither a number nor a name"),
    ],
)
def test_what_is_no_arm(arm: Any, message: str) -> None:
    """What is no arm gets a line, and the decision can be made all the same."""
    world = open_world(SMALL, seed=1)
    with pytest.raises(PolicyError, match=message):
        world.pull(arm)
    assert world.round == 1
    world.pull(0)
    assert world.round == 2


def test_after_the_end() -> None:
    """After the last decision there is none to make; closing is not needed, and does nothing."""
    world = open_world(SMALL)
    drive(world, [0] * 60)
    with pytest.raises(PolicyError, match="the last of 60 decisions was made; open another world"):
        world.pull(0)
    world.close()


def test_a_world_that_is_closed(tmp_path: Path) -> None:
    """Closed before its end, a world leaves a log with all events so far, without an end mark."""
    world = open_world(SMALL, log=tmp_path / "loop.jsonl")
    told = Events.join(drive(world, [0, 1, 2]))
    world.close()
    log = read_log(tmp_path / "loop.jsonl")
    assert (len(log.frame()), log.complete) == (len(told), False)
    with pytest.raises(PolicyError, match="the world is closed; open another one"):
        world.pull(0)
    with pytest.raises(PolicyError, match="closed already; close it once, or use it in a with statement"):
        world.close()
    with pytest.raises(LogError, match="name another policy"):
        replay(tmp_path / "loop.jsonl")


def test_an_error_inside_of_the_block(tmp_path: Path) -> None:
    """A loop that fails leaves what has happened in its log, and its error is not replaced."""

    def fail() -> None:
        with open_world(SMALL, log=tmp_path / "loop.jsonl") as world:
            world.pull(0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not read_log(tmp_path / "loop.jsonl").complete


def test_a_sink_that_fails() -> None:
    """A sink that raises ends the world with an error that names it."""

    class Sink:
        def hear(self, _: Events) -> None:
            raise ValueError("full")

    world = open_world(SMALL, engine="simpy", sinks=[Sink()])
    with pytest.raises(SubscriberError, match="full"):
        drive(world, [0] * 60)
    with pytest.raises(PolicyError, match="the world failed in round 2; open another one"):
        world.pull(0)
    world.close()


def test_trials_are_refused() -> None:
    """A trial holds its looks itself."""
    with pytest.raises(EngineError, match="a trial holds its looks itself and cannot be driven step by step"):
        open_world("three-arm-trial")
    assert open_world(Scenario.load("three-arm-trial").with_(trial=None)).round == 1
