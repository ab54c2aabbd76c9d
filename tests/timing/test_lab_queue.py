"""The lab queue: first come first served, and as long as queueing theory says."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import simpy
from delays_helper import RATE, build_delay, erlang_c_wait
from scipy import stats

from tpstream.model.arrays import Floats


@dataclass
class Bench:
    """One pull at the queue, without an engine: what is delivered is noted with its time."""

    env: simpy.Environment
    resources: Mapping[str, simpy.Resource]
    arrivals: Sequence[tuple[float, int]]
    stream: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    pull: int = 1
    arm: int = 0
    delivered: list[tuple[float, int]] = field(default_factory=list)

    def wait_until(self, time: float) -> simpy.Event:
        """An event at that time."""
        return self.env.timeout(max(time - self.env.now, 0.0))

    def deliver(self, part: int) -> None:
        """Note it."""
        self.delivered.append((self.env.now, part))

    def lose(self, part: int) -> None:
        """The queue loses nothing."""
        raise NotImplementedError


def serve(pulls: Sequence[Sequence[tuple[float, int]]], capacity: int, **keys: object) -> list[list[tuple[float, int]]]:
    """When the parts of these pulls are handed out by a lab of that capacity."""
    env = simpy.Environment()
    lab = {"lab": simpy.Resource(env, capacity)}
    queue = build_delay({"kind": "lab-queue", "resource": "lab", **keys})
    benches = [Bench(env, lab, pull, np.random.default_rng(number)) for number, pull in enumerate(pulls)]
    for bench in benches:
        env.process(queue.run(bench))
    env.run()
    return [bench.delivered for bench in benches]


def mean_wait(rate: float, mean: float, servers: int, seed: int) -> float:
    """The mean wait of parts 501 to 2500 that come at random to an empty lab."""
    times: Floats = np.random.default_rng(seed).exponential(1 / rate, 2500).cumsum()
    env = simpy.Environment()
    lab = {"lab": simpy.Resource(env, servers)}
    queue = build_delay({"kind": "lab-queue", "resource": "lab", "mean": mean})
    bench = Bench(env, lab, [(time, number) for number, time in enumerate(times.tolist())])
    bench.stream = np.random.default_rng(seed + 10_000)
    env.process(queue.run(bench))
    env.run()
    through = np.array([time - times[number] for time, number in bench.delivered if number >= 500])
    return float(through.mean()) - mean


@pytest.mark.parametrize(("servers", "rate", "mean"), [(1, 0.6, 1.0), (2, 0.6, 2.5), (3, 1.0, 2.0)])
def test_the_wait_is_erlangs(servers: int, rate: float, mean: float) -> None:
    """The mean wait over 25 labs is within its interval of the Erlang-C value (false alarm: 1 in a million)."""
    waits = np.array([mean_wait(rate, mean, servers, seed) for seed in range(25)])
    off = abs(waits.mean() - erlang_c_wait(rate, mean, servers)) / (waits.std(ddof=1) / math.sqrt(len(waits)))
    assert off < stats.t.isf(RATE / 2, len(waits) - 1)


def test_first_come_first_served_by_hand() -> None:
    """One place, 2 per part: whoever comes first is served first, whichever pull it is of."""
    pulls = [[(0.0, 1), (1.0, 2)], [(0.5, 1), (9.0, 2)]]
    assert serve(pulls, 1, mean=2, service="constant") == [[(2, 1), (6, 2)], [(4, 1), (11, 2)]]


def test_two_places_by_hand() -> None:
    """Two parts are served at a time, and parts of one pull may overtake each other."""
    pulls = [[(0.0, 2), (0.0, 1), (1.0, 3)]]
    assert serve(pulls, 2, mean=2, service="constant") == [[(2, 2), (2, 1), (4, 3)]]


def test_service_times_belong_to_the_pull() -> None:
    """With places enough, a pull's service times are those of its own stream, in order of arrival."""
    (delivered,) = serve([[(0.0, 1), (1.0, 2), (2.0, 3)]], 3, mean=4)
    times = np.random.default_rng(0).exponential(4, 3)
    assert sorted(delivered) == sorted(zip(np.arange(3) + times, (1, 2, 3), strict=True))


def test_a_pull_without_parts_is_done_at_once() -> None:
    """A pull whose parts are all lost does not wait."""
    assert serve([[]], 1, mean=1) == [[]]


def test_a_pull_is_done_when_its_last_part_was_served() -> None:
    """The process of a pull ends no sooner than its last part is handed out."""
    env = simpy.Environment()
    bench = Bench(env, {"lab": simpy.Resource(env, 1)}, [(0.0, 1), (1.0, 2)])
    env.run(
        env.process(build_delay({"kind": "lab-queue", "resource": "lab", "mean": 2, "service": "constant"}).run(bench))
    )
    assert bench.delivered == [(2, 1), (4, 2)]
