"""When decisions are due, and how time is cut for the world outside the engines."""

from tpstream.delays.compose import arrival_times
from tpstream.model.arrays import Floats
from tpstream.model.streams import Purpose, open_stream
from tpstream.model.world import World

STRETCH = 4096
"""Rounds between two looks outside: for progress, and for the other policies of the same run."""


def decision_times(world: World) -> Floats:
    """When the decisions of a run are due."""
    stream, timing = open_stream(world.seed, world.run, Purpose.ARRIVALS), world.timing
    return arrival_times(timing.arrivals, stream, world.problem.horizon, timing.arrivals_name)
