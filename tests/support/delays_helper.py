"""How the tests of delays and arrivals build and try them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, Schedule
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.kinds import arrival_table, delay_table
from tpstream.timing.pipeline import sample_schedule

Keys = Mapping[str, object]

NAMES = ("low", "high", "new")
RATE = 1e-6
"""With which probability a test of a distribution may fail though all is well; its seeds are fixed."""


def place_of(span: int = 5, folder: Path = Path(), horizon: int | None = None) -> BuildContext:
    """A scenario of three arms with two resources."""
    return BuildContext(NAMES, span, folder, horizon, {"lab": 2, "nurse": 3})


def build_delay(table: Keys, span: int = 5, folder: Path = Path()) -> Any:
    """The delay of a table."""
    kind = str(table["kind"])
    return DELAYS.find(kind).build(delay_table(kind).model_validate(table), place_of(span, folder))


def build_arrivals(table: Keys, folder: Path = Path(), horizon: int | None = None) -> Any:
    """The arrival process of a table."""
    kind = str(table["kind"])
    return ARRIVALS.find(kind).build(arrival_table(kind).model_validate(table), place_of(5, folder, horizon))


def sample(
    delays: Sequence[Any], pulls: int, span: int = 5, *, seed: int = 0, arm: int = 0, rewards: Floats | None = None
) -> Schedule:
    """The schedule of these delays, checked, for pulls that pay uniform parts unless told otherwise."""
    rewards = np.random.default_rng(99).random((pulls, span)) if rewards is None else rewards
    names = [f"delays[{number}]" for number in range(len(delays))]
    return sample_schedule(delays, rewards, arm, np.random.default_rng(seed), names, arm_name=NAMES[arm])


def lags_of(schedule: Schedule) -> Floats:
    """How much later than due each part is."""
    lags: Floats = schedule.offsets - np.arange(schedule.offsets.shape[1])
    return lags


def equal(one: Schedule, other: Schedule) -> bool:
    """Whether two schedules are the same to the last bit."""
    return bool(np.array_equal(one.offsets, other.offsets) and np.array_equal(one.lost, other.lost))


def erlang_c_wait(rate: float, mean: float, servers: int) -> float:
    """The mean wait in an M/M/c queue: the probability of having to wait, over the spare rate of service."""
    load = rate * mean
    busy = load**servers / math.factorial(servers) * servers / (servers - load)
    waiting = busy / (sum(load**n / math.factorial(n) for n in range(servers)) + busy)
    return waiting / (servers / mean - rate)
