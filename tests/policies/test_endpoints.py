"""Policies in a trial hear its endpoint: weighted parts, turned round where low values are good; logs keep raw ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tpstream import Scenario, compare, read_log, replay, simulate
from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError, ScenarioError
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, SharedPolicy

KEYS: dict[str, Any] = {
    "name": "responses",
    "horizon": 60,
    "visits": [1.0, 2.5, 4.0],
    "drain": True,
    "rewards": {"kind": "binary", "correlation": 0.4},
    "arms": [{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.6}],
    "arrivals": {"kind": "poisson", "rate": 2.0},
    "delays": [{"kind": "missing", "p": 0.1}, {"kind": "lognormal", "median": 1.0, "sigma": 0.5}],
}


class HearingState(NamedTuple):
    """What was heard of each arm."""

    indices: Floats
    parts: Floats
    closed: Floats


def init(problem: Problem, parameters: Parameters) -> HearingState:  # noqa: ARG001
    """Nothing was heard so far."""
    return HearingState(np.full(problem.arms, np.nan), np.zeros(problem.arms), np.zeros(problem.arms))


@compiled
def on_partial(state: HearingState, arm: int, slot: int, part: int, value: float) -> None:  # noqa: ARG001
    """Add up parts."""
    state.parts[arm] += value


@compiled
def on_closed(state: HearingState, arm: int, slot: int, credited: float) -> None:  # noqa: ARG001
    """Add up totals."""
    state.closed[arm] += credited


@compiled
def decide(state: HearingState, round: int, stream: np.random.Generator) -> int:
    """Mostly the arm of which more was heard: what is heard matters."""
    if stream.random() < 0.3:
        return round % 2
    return 0 if state.closed[0] + state.parts[0] > state.closed[1] + state.parts[1] else 1


def measures(state: HearingState) -> Mapping[str, float]:
    """The sums."""
    return {f"{name}_{arm}": float(getattr(state, name)[arm]) for name in ("parts", "closed") for arm in (0, 1)}


HEARING = SharedPolicy(
    "hearing", Parameters, init, decide, on_partial=on_partial, on_closed=on_closed, measures=measures
)


def trial(**design: Any) -> Scenario:
    """The trial with this design."""
    never = {"kind": "superiority", "method": "z", "threshold": 9}
    return Scenario(**KEYS, trial={"control": "standard", "rules": [never], **design})


@pytest.mark.parametrize(
    ("design", "scale", "shift"),
    [
        ({"endpoint": "last"}, [0, 0, 1], [0, 0, 0]),
        ({"weights": [0.5, 0, 2]}, [0.5, 0, 2], [0, 0, 0]),
        ({"direction": "lower"}, [-1, -1, -1], [1, 1, 1]),
        ({"direction": "lower", "endpoint": "last"}, [0, 0, -1], [0, 0, 1]),
        ({"direction": "lower", "weights": [-1, 0, 1]}, [1, 0, -1], [0, 0, 0]),
    ],
)
def test_what_is_heard(design: dict[str, Any], scale: list[float], shift: list[float], tmp_path: Path) -> None:
    """The sums that a policy hears are those of scaled and shifted parts that were credited, on both engines."""
    scenario = trial(**design)
    runs = {
        engine: simulate(scenario, HEARING, engine=engine, log=tmp_path / f"{engine}.jsonl")
        for engine in ("compiled", "simpy")
    }
    studies = [compare(scenario, [HEARING], runs=1, engine=engine) for engine in ("compiled", "simpy")]
    one, other = (run.events() for run in runs.values())
    assert one.equals(other)
    paid = one[one["kind"] == "partial"]
    parts = paid["part"].to_numpy() - 1
    heard = np.array(scale)[parts] * paid["value"].to_numpy() + np.array(shift)[parts]
    assert set(paid["value"]) == {0.0, 1.0}  # the log keeps what was paid
    for arm in (0, 1):
        expected = heard[(paid["arm"] == arm).to_numpy()].sum()
        for study in studies:
            assert study.measure("hearing", f"parts_{arm}") == pytest.approx(expected)
            assert study.measure("hearing", f"closed_{arm}") == pytest.approx(expected)
    problem = read_log(tmp_path / "simpy.jsonl").header.problem()
    assert problem.endpoint is not None
    assert (problem.endpoint.scale.tolist(), problem.endpoint.shift.tolist()) == (scale, shift)
    assert replay(tmp_path / "simpy.jsonl", HEARING).equal


def test_the_problem_is_that_of_the_endpoint() -> None:
    """Maxima, means and signs are those of what is heard; where parts count unequally, nothing is known of groups."""
    last = trial(endpoint="last").problem().heard()
    assert (last.maxima.tolist(), last.groups, last.signed) == ([1, 1], None, False)
    np.testing.assert_allclose(last.means, [0.3, 0.6])
    lower = trial(direction="lower").problem().heard()
    assert (lower.maxima.tolist(), lower.groups, lower.signed) == ([3, 3], 3, False)
    np.testing.assert_allclose(lower.means, [2.1, 1.2])
    changes = trial(weights=[-1, 0, 1]).problem().heard()
    assert np.isnan(changes.maxima).all()
    assert changes.signed
    assert trial().problem().endpoint is None


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ("ucb1", "is shown the whole reward of a pull, which the endpoint of this trial is not for"),
        ("tp-ucb-fr", "groups are not known for these rewards"),
    ],
)
def test_policies_that_do_not_fit(policy: str, complaint: str) -> None:
    """A clairvoyant policy, and one that assumes equal groups, are refused with a line."""
    with pytest.raises((PolicyError, ScenarioError), match=complaint):
        simulate(trial(endpoint="last"), policy)
