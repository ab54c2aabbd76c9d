"""The lab queue through the engine as users run it: as long as queueing theory says."""

import math

import numpy as np
import pytest
from delays_helper import RATE, erlang_c_wait
from runs import open_run
from scipy import stats

from tpstream import Scenario
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Floats
from tpstream.model.events import Events, Kind

WARM, COUNTED, RUNS = 1000, 9000, 12
"""Patients before the queue counts as stationary, those who are counted, and runs."""


def lab(servers: int, rate: float, mean: float, service: str = "exponential") -> Scenario:
    """One sample of each patient, who come at random: an M/M/c queue, or M/D/c with constant service times."""
    return Scenario.parse(
        {
            "name": "lab",
            "horizon": WARM + COUNTED,
            "span": 1,
            "drain": True,
            "rewards": {"kind": "smooth-beta", "groups": 1},
            "arms": [{"name": "one", "maximum": 1.0}, {"name": "other", "maximum": 2.0}],
            "arrivals": {"kind": "poisson", "rate": rate},
            "resources": {"lab": servers},
            "delays": [{"kind": "lab-queue", "resource": "lab", "mean": mean, "service": service}],
        }
    )


def through_times(scenario: Scenario, run: int) -> Floats:
    """How long each patient's sample was in the lab, in order of patients."""
    sink = MemorySink()
    engine = open_run(scenario, scenario.policy("uniform"), 7, run)
    engine.bus.subscribe("memory", sink)
    for _ in engine.round_batches():
        pass
    events = Events.join(sink.batches)
    pulls, parts = (events.take(events.kind == kind) for kind in (Kind.PULL, Kind.PARTIAL))
    return parts.time[np.argsort(parts.pull)] - pulls.time


def check_wait(scenario: Scenario, mean: float, expected: float) -> None:
    """Check that the mean wait over the runs is within its interval of theory (false alarm: 1 in a million)."""
    waits = np.array([through_times(scenario, run)[WARM:].mean() - mean for run in range(RUNS)])
    off = abs(waits.mean() - expected) / (waits.std(ddof=1) / math.sqrt(RUNS))
    assert off < stats.t.isf(RATE / 2, RUNS - 1)


@pytest.mark.parametrize(("servers", "rate", "mean"), [(1, 0.5, 1.0), (2, 0.6, 2.5), (3, 1.0, 2.0)])
def test_the_wait_is_erlangs(servers: int, rate: float, mean: float) -> None:
    """M/M/1 and M/M/c: the mean wait is the Erlang-C value."""
    check_wait(lab(servers, rate, mean), mean, erlang_c_wait(rate, mean, servers))


def test_the_wait_with_constant_service() -> None:
    """M/D/1: the mean wait is load * mean / (2 (1 - load)), half of that of M/M/1."""
    check_wait(lab(1, 0.6, 1.0, "constant"), 1.0, 0.6 / (2 * 0.4))
