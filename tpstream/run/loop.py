"""The pulls of a run as events, straight from its decisions: all that a log of only the pulls holds."""

from collections.abc import Iterator

import numpy as np

from tpstream.engines.engine import Bus
from tpstream.model.arrays import Floats, Ints
from tpstream.model.events import Events, Kind
from tpstream.model.world import World
from tpstream.timing.pipeline import decision_times


def tell_pulls(world: World, stretches: Iterator[Ints], bus: Bus) -> Iterator[Ints]:
    """The same stretches of arms; the pulls of each are told to the bus, without the totals that were shown."""
    times = None if world.timing.arrivals.regular else decision_times(world)
    done = 0
    for arms in stretches:
        rounds = np.arange(done + 1, done + len(arms) + 1)
        bus.publish(pull_events(rounds, arms, rounds.astype(np.float64) if times is None else times[rounds - 1]))
        done += len(arms)
        yield arms


def pull_events(rounds: Ints, arms: Ints, times: Floats) -> Events:
    """These decisions as events, which are counted for themselves."""
    nothing = np.zeros(len(rounds), dtype=np.int64)
    return Events(
        seq=rounds - 1,
        time=times,
        kind=np.full(len(rounds), Kind.PULL, dtype=np.int8),
        round=rounds,
        pull=rounds,
        arm=arms,
        part=nothing,
        value=np.full(len(rounds), np.nan),
    )
