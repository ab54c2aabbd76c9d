"""The state of a user-written model does not pass from one run to another: models are built anew for each run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bad_plugins import Kind
from plugged import forgetful
from studies import small

from tpstream import Scenario, compare, read_log, simulate
from tpstream.model.interfaces import Rewards, Schedule
from tpstream.scenario.plugins import REGISTRIES

__all__ = ["forgetful"]
pytestmark = pytest.mark.usefixtures("forgetful")


class CountingArm:
    """Pays less with every block that is drawn."""

    mean, maximum = 0.5, 100.0

    def __init__(self, span: int) -> None:
        self.span, self.calls = span, 0

    def sample(self, stream: np.random.Generator, pulls: int) -> Any:
        """Uniform parts, scaled by the number of calls."""
        self.calls += 1
        return stream.random((pulls, self.span)) / self.calls


class CountingDelay:
    """Delays by the number of blocks of that arm that it has delayed."""

    whole = True

    def __init__(self) -> None:
        self.calls: dict[int, int] = {}

    def apply(self, schedule: Schedule, rewards: Any, arm: int, stream: Any) -> Schedule:  # noqa: ARG002
        """Later by the count."""
        self.calls[arm] = self.calls.get(arm, 0) + 1
        return Schedule(schedule.offsets + self.calls[arm], schedule.lost)


class CountingProcess:
    """Delays every pull by the number of pulls before it."""

    def __init__(self) -> None:
        self.calls = 0

    def run(self, context: Any) -> Iterator[Any]:
        """Deliver all parts after the last one, later by the count."""
        self.calls += 1
        yield context.wait_until(context.arrivals[-1][0] + self.calls / 100)
        for _, part in context.arrivals:
            context.deliver(part)


class CountingArrivals:
    """Decisions at distances that grow with the number of calls."""

    regular = False

    def __init__(self) -> None:
        self.calls = 0

    def times(self, stream: Any, horizon: int) -> Any:  # noqa: ARG002
        """Equal distances."""
        self.calls += 1
        return self.calls * np.arange(1.0, horizon + 1)


POLICIES = ["ucb1", "tp-ucb-fr:groups=1"]
COUNTING: dict[str, dict[str, Any]] = {
    "rewards": {"rewards": {"kind": "counting"}, "arms": [{}, {}]},
    "delays": {"delays": [{"kind": "counting"}]},
    "process": {"delays": [{"kind": "counting-process"}]},
    "arrivals": {"arrivals": {"kind": "counting"}},
}


@pytest.fixture(params=COUNTING)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    """A small scenario with one model that counts its calls in `self`."""
    rewards = Kind(lambda _, arms, context: Rewards([CountingArm(context.span) for _ in arms], None))
    REGISTRIES["rewards"].added["counting"] = rewards
    REGISTRIES["delays"].added["counting"] = Kind(lambda *_: CountingDelay())
    REGISTRIES["delays"].added["counting-process"] = Kind(lambda *_: CountingProcess())
    REGISTRIES["arrivals"].added["counting"] = Kind(lambda *_: CountingArrivals())
    return small(horizon=600, **COUNTING[request.param])


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two tables of events are the same to the last bit."""
    return one.equals(other)


def test_a_run_repeats_itself(scenario: Scenario) -> None:
    """The same seed and run give the same events again, also in an order in which another run came between."""
    first = simulate(scenario, POLICIES[0], seed=3).events()
    simulate(scenario, POLICIES[1], seed=3, run=1)
    assert same(simulate(scenario, POLICIES[0], seed=3).events(), first)


def test_a_run_after_a_study(scenario: Scenario, tmp_path: Path) -> None:
    """In a study each policy of each run has the events that it has alone, before and after the study."""
    alone = [simulate(scenario, policy, seed=3, run=1).events() for policy in POLICIES]
    compare(scenario, POLICIES, runs=2, seed=3, jobs=1, logs=tmp_path)
    after = [simulate(scenario, policy, seed=3, run=1).events() for policy in POLICIES]
    logs = {str(log.header.policy): log.frame() for log in map(read_log, sorted(tmp_path.glob("*run-001*")))}
    assert len(logs) == len(POLICIES)
    assert all(same(one, other) for one, other in zip(alone, after, strict=True))
    assert all(same(one, logs[policy]) for one, policy in zip(alone, POLICIES, strict=True))


def test_a_log_of_pulls_has_the_times_of_the_run(scenario: Scenario, tmp_path: Path) -> None:
    """The times of decisions are asked for once more for a log of only the pulls, and are the same."""
    path = tmp_path / "pulls.jsonl"
    events = simulate(scenario, POLICIES[0], seed=3, log=path, log_detail="pulls").events()
    pulls = events[events["kind"] == "pull"]
    assert read_log(path).frame()["time"].tolist() == pulls["time"].tolist()


def test_models_differ_if_they_are_not_built_anew() -> None:
    """The counting models of these tests do give something else when they are asked again."""
    arrivals, arm, delay = CountingArrivals(), CountingArm(2), CountingDelay()
    before = Schedule(np.zeros((1, 2)), np.zeros((1, 2), dtype=np.bool_))
    pairs = [
        [arrivals.times(None, 3) for _ in range(2)],
        [arm.sample(np.random.default_rng(0), 3) for _ in range(2)],
        [delay.apply(before, None, 0, None).offsets for _ in range(2)],
    ]
    assert not any(np.array_equal(*pair) for pair in pairs)
