"""A policy decides alike wherever it is asked: in a simulation, in a loop, by a decider and by a service."""

from pathlib import Path

import pytest
from deciders import RUN, SEED, WORLD, open_like, play, recorded, status_of
from services import experiment_of, serving

from tpstream import check_log, open_world, read_log, replay
from tpstream.log.reader import Log
from tpstream.model.world import Purpose, open_stream
from tpstream.policies.runner import start_policy
from tpstream.serve.client import Client
from tpstream.serve.rehearsal import rehearse

POLICIES = ["delayed-ucb1", "group-thompson"]
MORE = ["tp-ucb-fr", "epsilon-greedy", "part-thompson", "tp-ucb-ew"]
COMPARED = ["time", "kind", "round", "pull", "arm", "part", "value"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_flush")
@pytest.mark.parametrize("policy", [*POLICIES, *(pytest.param(name, marks=pytest.mark.verify) for name in MORE)])
def test_one_policy_decides_alike_in_four_ways(policy: str, tmp_path: Path) -> None:
    """With delays, losses and late parts, a loop, a decider and a service make the decisions of the simulation."""
    log = recorded(tmp_path, policy)
    arms = [event.arm for event in log.events() if event.kind == "pull"]
    assert decided_in_a_loop(policy) == arms
    assert decided_by_a_decider(log, tmp_path) == arms
    assert decided_by_a_service(policy, tmp_path) == arms


def decided_in_a_loop(policy: str) -> list[int]:
    """The arms of a policy that is asked in a loop of one's own."""
    choice, stream = WORLD.policy(policy), open_stream(SEED, RUN, Purpose.POLICY)
    arms: list[int] = []
    with open_world(WORLD, seed=SEED, run=RUN) as world:
        asked = start_policy(choice.form, world.problem, choice.parameters, stream)
        while not world.done:
            asked.set_clock(world.time)  # type: ignore[attr-defined]
            arms.append(int(asked.decide(world.round)))
            asked.hear(world.pull(arms[-1]))
    return arms


def decided_by_a_service(policy: str, folder: Path) -> list[int]:
    """The arms of a service that the customers of the world ask."""
    experiment = experiment_of(WORLD, policy, seed=SEED, run=RUN)
    with serving(folder, experiment) as server, Client(server.url) as client:
        found: list[int] = rehearse(WORLD, policy, client).arms.tolist()
    assert replay(folder / "logs" / policy / f"{policy}.jsonl").equal
    return found


def decided_by_a_decider(log: Log, folder: Path) -> list[int]:
    """The arms of a decider that is told what happens; probabilities and the whole log are the simulation's, too."""
    arms = []
    with open_like(log, folder / "live") as decider:
        for event, answer in play(decider, log.events(), {}):
            if event.kind == "pull":
                arms.append(answer.arm)
                assert answer.probability == event.probability
            else:
                assert status_of(answer) == event.kind
    expected, found = log.frame(), read_log(decider.path).frame()
    last = len(found)
    assert found[COMPARED].astype(str).equals(expected[COMPARED][:last].astype(str))
    assert set(expected["kind"][last:]) <= {"closed"}
    assert {"late", "dropped"} <= set(found["kind"])
    assert replay(decider.path).equal
    assert check_log(decider.path).sound
    return arms


@pytest.mark.usefixtures("no_flush")
def test_a_restart_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    """Closed and opened again after every 50 events, with and without snapshots, it decides as the simulation."""
    log = recorded(tmp_path, "delayed-ucb1")
    tokens: dict[int, str] = {}
    events = [event for event in log.events() if event.kind != "closed"]
    for first in range(0, len(events), 50):
        every = None if first % 100 else 1_000_000
        with open_like(log, tmp_path / "live", snapshot_every=every) as decider:
            assert decider.recovery.notes == ()
            assert decider.recovery.events >= first
            for event, answer in play(decider, iter(events[first : first + 50]), tokens):
                assert event.kind != "pull" or answer.arm == event.arm
    assert decider.recovery.from_snapshot > 0
