"""How the tests of delays and arrival processes build and sample them, and the distributions that they must have."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import BuildContext, Schedule
from tpstream.model.registry import table_model
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.kinds import ArrivalTable, DelayTable
from tpstream.timing.pipeline import sample_schedule

Keys = Mapping[str, object]

NAMES = ("low", "high", "new")
RATE = 1e-6
"""The probability with which a test of a distribution may fail though all is well; its seeds are fixed."""


def context_of(span: int = 5, folder: Path = Path(), horizon: int | None = None) -> BuildContext:
    """A scenario of three arms with two resources."""
    return BuildContext(NAMES, span, folder, horizon, {"lab": 2, "nurse": 3})


def build_delay(table: Keys, span: int = 5, folder: Path = Path()) -> Any:
    """The delay of a table."""
    return DELAYS.find(str(table["kind"])).build(read_delay(table), context_of(span, folder))


def read_delay(table: Keys) -> DelayTable:
    """The checked table of a delay."""
    kind = str(table["kind"])
    return table_model(kind, DELAYS.find(kind).settings, DelayTable).model_validate(table)


def build_arrivals(table: Keys, folder: Path = Path(), horizon: int | None = None) -> Any:
    """The arrival process of a table."""
    return ARRIVALS.find(str(table["kind"])).build(read_arrivals(table), context_of(5, folder, horizon))


def read_arrivals(table: Keys) -> ArrivalTable:
    """The checked table of an arrival process."""
    kind = str(table["kind"])
    return table_model(kind, ARRIVALS.find(kind).settings, ArrivalTable).model_validate(table)


def distribution_of(table: Mapping[str, Any]) -> Any:  # noqa: PLR0911 (one for each kind)
    """The distribution of the lags of a delay, before any rounding up, written down independently of its code."""
    match table["kind"]:
        case "geometric":
            return stats.geom(table["p"], loc=-1)
        case "poisson":
            return stats.poisson(table["mean"])
        case "uniform" if table.get("whole"):
            return stats.randint(table.get("low", 0), table["high"] + 1)
        case "uniform":
            return stats.uniform(table.get("low", 0), table["high"] - table.get("low", 0))
        case "lognormal":
            return stats.lognorm(table["sigma"], scale=table.get("median") or math.exp(table["mu"]))
        case "weibull":
            return stats.weibull_min(table["shape"], scale=table["scale"])
        case "pareto":
            return stats.pareto(table["shape"], scale=table["scale"])
        case "none" | "constant" | "empirical":
            values, counts = np.unique(table.get("lags", [table.get("lag", 0)]), return_counts=True)
            return stats.rv_discrete(values=(values, counts / counts.sum()))
        case kind:
            raise ValueError(f"{kind} has no distribution of lags")


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
