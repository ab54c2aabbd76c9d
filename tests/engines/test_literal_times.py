"""The reference engine makes the events of a literal simulation, which uses no engine and no heap."""

from hypothesis import given, settings
from literal_times import LiteralWorld, literal_events
from parity import case_of, lab_worlds, losing_worlds, real_worlds, run_simpy, timed_worlds

from tpstream.model.world import World


@settings(max_examples=60)
@given(real_worlds() | real_worlds() | timed_worlds() | lab_worlds() | losing_worlds())
def test_events_are_those_of_a_literal_simulation(world: World) -> None:
    """Every event of a random world is the same: stages in any order, queues, windows, losses, hidden feedback."""
    outcome = run_simpy(case_of(world, "uniform"))
    assert outcome.error is None
    assert outcome.events is not None
    found = literal_events(outcome.events)
    assert found == LiteralWorld(world).run(outcome.arms.tolist())
