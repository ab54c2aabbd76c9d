"""The lab queue worked by hand: first come first served, queues in a row, and what lies between them."""

import numpy as np
import pytest
from delays_helper import build_delay
from queue_worlds import outcomes, world

from tpstream.model.world import Purpose, open_stream

QUEUE = {"kind": "lab-queue", "resource": "lab", "service": "constant"}


ENGINES = pytest.mark.parametrize("engine", ["simpy", "compiled"])


@ENGINES
def test_first_come_first_served(engine: str) -> None:
    """One place, 2 for each part: whoever comes first is served first; at the same time the earlier pull is."""
    found = outcomes(world([{**QUEUE, "mean": 2}], span=2), engine)
    # Pull 1 has parts at 1 and 2, pull 2 at 2 and 3.
    assert found == [(3, 1, 1, "partial"), (5, 1, 2, "partial"), (7, 2, 1, "partial"), (9, 2, 2, "partial")]


@ENGINES
def test_two_places(engine: str) -> None:
    """Two parts are served at a time."""
    found = outcomes(world([{**QUEUE, "mean": 2}], span=2, servers=2), engine)
    assert found == [(3, 1, 1, "partial"), (4, 1, 2, "partial"), (5, 2, 1, "partial"), (6, 2, 2, "partial")]


@ENGINES
def test_a_place_that_becomes_free_serves_who_has_waited(engine: str) -> None:
    """A part that comes when another one leaves is behind those that wait already."""
    found = outcomes(world([{**QUEUE, "mean": 1}], span=1, arrivals={"kind": "batches", "size": 2}, horizon=4), engine)
    assert found == [(2, 1, 1, "partial"), (3, 2, 1, "partial"), (4, 3, 1, "partial"), (5, 4, 1, "partial")]


@ENGINES
def test_a_queue_after_a_queue(engine: str) -> None:
    """What the lab hands out waits for the desk, and then for the report of every fourth day."""
    delays = [
        {**QUEUE, "mean": 1},
        {"kind": "constant", "lag": 0.5},
        {**QUEUE, "resource": "desk", "mean": 2},
        {"kind": "reporting", "every": 4},
    ]
    # The lab is done at 2 and 3; the desk works from 2.5 to 4.5 and from then to 6.5.
    assert outcomes(world(delays, span=1), engine) == [(8, 1, 1, "partial"), (8, 2, 1, "partial")]


@ENGINES
def test_two_queues_for_one_resource(engine: str) -> None:
    """Queues for the same resource are one queue: who joins first is served first, whatever for."""
    delays = [{**QUEUE, "mean": 1}, {**QUEUE, "mean": 2}]
    # At 2, when pull 2 comes, pull 1 leaves and joins again: of those that join at one time the earlier pull is first.
    found = outcomes(world(delays, span=1), engine)
    assert found == [(4, 1, 1, "partial"), (7, 2, 1, "partial")]


@ENGINES
def test_a_lost_part_does_not_queue(engine: str) -> None:
    """That a part is lost is known without waiting for the lab, but not before the report of the stages after it."""
    delays = [{"kind": "missing", "p": 1}, {**QUEUE, "mean": 3}, {"kind": "reporting", "every": 5}]
    assert outcomes(world(delays, span=1), engine) == [(5, 1, 1, "dropped"), (5, 2, 1, "dropped")]


@ENGINES
def test_a_patient_who_leaves_while_the_lab_works(engine: str) -> None:
    """A drop-out before the lab loses only samples that are not taken; one after it loses results as well."""
    leave = {"kind": "dropout", "mean": 1e-9}
    lab = {**QUEUE, "mean": 3}
    assert [kind for *_, kind in outcomes(world([leave, lab], span=1), engine)] == ["partial", "partial"]
    assert [kind for *_, kind in outcomes(world([lab, leave], span=1), engine)] == ["dropped", "dropped"]


@ENGINES
def test_service_times_of_a_lone_queue(engine: str) -> None:
    """They are drawn for the parts that are not lost, from the arm's stream, in order of arrival."""
    delays = [{"kind": "lab-queue", "resource": "lab", "mean": 4}]
    found = outcomes(world(delays, span=3, servers=9), engine)
    times = open_stream(7, 0, Purpose.SERVICE, 0).exponential(4, 6).reshape(2, 3)
    expected = {(pull, part): pull + part - 1 + times[pull - 1, part - 1] for pull in (1, 2) for part in (1, 2, 3)}
    assert {(pull, part): time for time, pull, part, _ in found} == expected


@ENGINES
def test_service_times_of_several_queues(engine: str) -> None:
    """Each queue has a stream of its own, with a time for every part of a block of 256 pulls."""
    queue = {"kind": "lab-queue", "resource": "lab", "mean": 4}
    found = outcomes(world([queue, queue], span=3, servers=9), engine)
    times = [open_stream(7, 0, Purpose.SERVICE, 0, k).exponential(4, 768).reshape(256, 3) for k in (0, 1)]
    expected = {
        (pull, part): pull + part - 1 + times[0][pull - 1, part - 1] + times[1][pull - 1, part - 1]
        for pull in (1, 2)
        for part in (1, 2, 3)
    }
    assert {(pull, part): time for time, pull, part, _ in found} == expected


def test_constant_service_is_not_drawn() -> None:
    """Every service takes the mean."""
    assert build_delay({**QUEUE, "mean": 2}).service_times(np.random.default_rng(0), 3).tolist() == [2, 2, 2]
