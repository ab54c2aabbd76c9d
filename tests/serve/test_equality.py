"""A policy that is played a simulation decides for real as it did there."""

from pathlib import Path

import pytest
from deciders import open_like, play, recorded, status_of

from tpstream import check_log, read_log, replay

POLICIES = ["delayed-ucb1", "group-thompson"]
MORE = ["tp-ucb-fr", "epsilon-greedy", "part-thompson", "tp-ucb-ew"]
COMPARED = ["time", "kind", "round", "pull", "arm", "part", "value"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_flush")
@pytest.mark.parametrize("policy", [*POLICIES, *(pytest.param(name, marks=pytest.mark.verify) for name in MORE)])
def test_a_decider_decides_as_the_simulation(policy: str, tmp_path: Path) -> None:
    """With delays, losses and late parts, arms, probabilities and the whole log are those of the simulation."""
    log = recorded(tmp_path, policy)
    with open_like(log, tmp_path / "live") as decider:
        for event, answer in play(decider, log.events(), {}):
            if event.kind == "pull":
                assert (answer.arm, answer.probability) == (event.arm, event.probability)
            else:
                assert status_of(answer) == event.kind
    expected, found = log.frame(), read_log(decider.path).frame()
    last = len(found)
    assert found[COMPARED].astype(str).equals(expected[COMPARED][:last].astype(str))
    assert set(expected["kind"][last:]) <= {"closed"}
    assert {"late", "dropped"} <= set(found["kind"])
    assert replay(decider.path).equal
    assert check_log(decider.path).sound


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
