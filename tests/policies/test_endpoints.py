"""Policies in a trial hear its endpoint: weighted parts, turned round where low values are good; logs keep raw ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tpstream import Scenario, compare, read_log, replay, simulate
from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError, ScenarioError
from tpstream.model.events import Events, Kind
from tpstream.model.numba_support import JIT_IS_OFF, compiled
from tpstream.model.world import Problem, Purpose, open_stream
from tpstream.policies.base import Parameters, PolicyForm, PythonPolicy, SharedPolicy
from tpstream.policies.path_prior import PathPrior, default_prior
from tpstream.replay.rerun import Rerun
from tpstream.scenario.policy_choice import PolicyChoice

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


class HearingObject:
    """The same as an ordinary Python object; it also keeps the late parts that it hears."""

    def __init__(self, problem: Problem, parameters: Parameters, stream: np.random.Generator) -> None:  # noqa: ARG002
        self.problem, self.stream = problem, stream
        self.sums = np.zeros(problem.arms)
        self.late: list[float] = []

    def hear(self, events: Events) -> None:
        """Add up parts and totals."""
        for kind, arm, value in zip(events.kind.tolist(), events.arm.tolist(), events.value.tolist(), strict=True):
            if kind in (Kind.PARTIAL, Kind.CLOSED):
                self.sums[arm] += value
            elif kind == Kind.LATE:
                self.late.append(value)

    def decide(self, round: int) -> int:
        """Mostly the arm of which more was heard."""
        if self.stream.random() < 0.3:
            return round % 2
        return 0 if self.sums[0] > self.sums[1] else 1

    def indices(self) -> Floats:
        """There are none."""
        return np.full(self.problem.arms, np.nan)


OBJECT = PythonPolicy("hearing-object", Parameters, HearingObject)
DESIGNS: list[tuple[dict[str, Any], list[float], list[float]]] = [
    ({"endpoint": "last"}, [0, 0, 1], [0, 0, 0]),
    ({"weights": [0.5, 0, 2]}, [0.5, 0, 2], [0, 0, 0]),
    ({"direction": "lower"}, [-1, -1, -1], [1, 1, 1]),
    ({"direction": "lower", "endpoint": "last"}, [0, 0, -1], [0, 0, 1]),
    ({"direction": "lower", "weights": [-1, 0, 1]}, [1, 0, -1], [0, 0, 0]),
]
"""Designs, with the scale and the shift of what is heard of each part."""


def trial(**design: Any) -> Scenario:
    """The trial with this design."""
    never = {"kind": "superiority", "method": "z", "threshold": 9}
    return Scenario(**KEYS, trial={"control": "standard", "rules": [never], **design})


@pytest.mark.parametrize("dropouts", ["exclude", "failure"])
@pytest.mark.parametrize(("design", "scale", "shift"), [({}, [1, 1, 1], [0, 0, 0]), *DESIGNS])
def test_what_is_heard(
    design: dict[str, Any], scale: list[float], shift: list[float], dropouts: str, tmp_path: Path
) -> None:
    """The sums that a policy hears are those of scaled and shifted parts that were credited, on both engines.

    Where drop-outs are excluded, closings are heard of pulls of which all parts that count came, and of no others.
    """
    design = {**design, "dropouts": dropouts}
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
    came = paid["pull"][np.array(scale)[parts] != 0].value_counts()
    complete = paid["pull"].isin(came.index[came == np.count_nonzero(scale)]).to_numpy()
    assert 0 < complete.mean() < 1
    for arm in (0, 1):
        own = (paid["arm"] == arm).to_numpy()
        closed = heard[own & (complete | (dropouts == "failure"))].sum()
        for study in studies:
            assert study.measure("hearing", f"parts_{arm}") == pytest.approx(heard[own].sum())
            assert study.measure("hearing", f"closed_{arm}") == pytest.approx(closed)
    problem = read_log(tmp_path / "simpy.jsonl").header.problem()
    if problem.endpoint is None:
        assert (scale, dropouts) == ([1, 1, 1], "failure")
    else:
        assert (problem.endpoint.scale.tolist(), problem.endpoint.shift.tolist()) == (scale, shift)
        assert problem.endpoint.complete == (dropouts == "exclude")
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
    assert trial(dropouts="failure").problem().endpoint is None


def test_nobody_is_excluded_where_nothing_can_be_lost() -> None:
    """A world without losses needs no endpoint of its own for the sum; one that can lose parts does, also inside.

    What is heard, what is known of it, and which policies fit are the same in both.
    """
    lag = {"kind": "constant", "lag": 2}
    assert trial().with_(delays=[lag]).problem().endpoint is None
    for changes in (
        {"delays": [{"kind": "reward-dependent", "threshold": 1.0, "below": {"kind": "missing", "p": 0.1}}]},
        {"delays": [lag], "window": 4.0},
        {},
    ):
        problem = trial().with_(**changes).problem()
        assert problem.endpoint is not None
        assert problem.endpoint.plain
        heard = problem.heard()
        assert heard.maxima.tolist() == problem.maxima.tolist()
        assert (heard.groups, heard.signed) == (problem.groups, problem.signed)
        np.testing.assert_array_equal(heard.means, problem.means)
    assert len(simulate(trial(), "ucb1").arms) == 60


def test_drop_outs_do_not_make_an_arm_look_worse() -> None:
    """Where more is lost on one arm, allocation follows the complete patients: adding a constant changes nothing.

    Both arms have the same normal outcomes; 5 and 40 % of their patients are lost. Counting lost ones as 0, the
    probabilities would depend on where 0 lies.
    """
    lost = [{"kind": "missing", "p": 0.05}, {"kind": "missing", "p": 0.4}]
    keys = {**KEYS, "visits": [1.0], "rewards": {"kind": "normal"}, "horizon": 200}
    shares = {}
    for mean in (-10.0, 10.0):
        arms = [{"name": name, "mean": mean, "deviation": 1.0} for name in ("standard", "new")]
        delays = [{"kind": "by-arm", "arms": dict(zip(("standard", "new"), lost, strict=True))}]
        never = {"kind": "superiority", "method": "z", "threshold": 9}
        changes = {"arms": arms, "delays": delays, "trial": {"control": "standard", "rules": [never]}}
        scenario = Scenario(**{**keys, **changes})
        policy = {"kind": "best-probability", "family": "normal", "burn_in": 20}
        shares[mean] = [simulate(scenario, policy, seed=seed).arms.mean() for seed in range(1 if JIT_IS_OFF else 5)]
    assert shares[-10.0] == shares[10.0]


def test_who_is_misled_by_drop_outs() -> None:
    """A policy that hears closed pulls only is not warned of; others are pointed to one that fits the trial."""
    scenario = trial()
    assert scenario.warnings(["delayed-ucb1", "best-probability", "delayed-thompson"]) == []
    (warning,) = scenario.warnings(["tp-ucb-fr:groups=1"])
    assert "use one that learns from closed pulls, such as delayed-thompson" in warning
    assert trial(dropouts="failure").warnings(["tp-ucb-fr:groups=1", "delayed-ucb1"]) == []


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ("ucb1", "is shown the whole reward of a pull, which is not the endpoint of this trial"),
        ("tp-ucb-fr", "groups are not known for these rewards"),
        ("tp-ucb-fr:groups=3", "groups = 3 are taken to pay alike, and parts count unequally.*give it caps, or"),
        ("group-thompson:groups=3", "groups = 3 are taken to pay alike.*this trial; set groups = 1"),
    ],
)
def test_policies_that_do_not_fit(policy: str, complaint: str) -> None:
    """A clairvoyant policy, and one that assumes equal groups, are refused with a line."""
    with pytest.raises((PolicyError, ScenarioError), match=complaint):
        simulate(trial(endpoint="last"), policy)


def test_policies_that_are_told_of_unequal_groups() -> None:
    """Caps say what each group pays at most; one group pays whatever the endpoint is."""
    for policy in ("tp-ucb-fr:groups=3,caps=[0, 0, 1]", "tp-ucb-fr:groups=1"):
        assert len(simulate(trial(endpoint="last"), policy, engine="simpy").arms) == 60


@pytest.mark.parametrize(("design", "scale", "shift"), DESIGNS)
def test_python_policies_hear_the_same(
    design: dict[str, Any], scale: list[float], shift: list[float], tmp_path: Path
) -> None:
    """An ordinary object decides as the compiled policy that adds up the same, its log replays, and late parts fit."""
    made: list[HearingObject] = []

    def create(*given: Any) -> HearingObject:
        made.append(HearingObject(*given))
        return made[-1]

    scenario = trial(**design).with_(window=4.5)
    run = simulate(scenario, PythonPolicy("object", Parameters, create), engine="simpy", log=tmp_path / "run.jsonl")
    assert run.arms.tolist() == simulate(scenario, HEARING, engine="compiled").arms.tolist()
    events = run.events()
    late = events[events["kind"] == "late"]
    parts = late["part"].to_numpy() - 1
    assert len(late) > 0
    np.testing.assert_allclose(made[0].late, np.array(scale)[parts] * late["value"] + np.array(shift)[parts])
    assert made[0].problem.maxima.tolist() == pytest.approx(scenario.problem().heard().maxima.tolist(), nan_ok=True)
    assert replay(tmp_path / "run.jsonl", OBJECT).equal


@pytest.mark.parametrize("policy", [HEARING, OBJECT])
def test_a_rerun_hears_what_the_run_heard(policy: PolicyForm, tmp_path: Path) -> None:
    """With the same random numbers the patients of a log are assigned as they were, drop-outs left out."""
    path = tmp_path / "run.jsonl"
    run = simulate(trial(endpoint="last").with_(window=4.5), policy, engine="simpy", log=path, seed=2)
    rerun = Rerun(PolicyChoice(policy.name, policy, Parameters()), read_log(path))
    assert rerun.assign(open_stream(2, 0, Purpose.POLICY)).tolist() == run.arms.tolist()


PRIOR = PathPrior(
    mean=(0.2, 0.5, 0.4),
    covariance=((0.05, 0.02, 0.01), (0.02, 0.06, 0.03), (0.01, 0.03, 0.04)),
    noise=((0.2, 0.05, 0.03), (0.05, 0.25, 0.1), (0.03, 0.1, 0.2)),
)


def literal_draw(prior: PathPrior, weights: Floats, seen: list[dict[int, float]], normal: float) -> float:
    """A draw from N(w'm, w'Cw), m and C the posterior of the path given the means of the parts of these pulls."""
    mu, sigma, noise = (np.array(one) for one in (prior.mean, prior.covariance, prior.noise))
    known = [part for part in range(3) if any(part in pull for pull in seen)]
    values = {part: [pull[part] for pull in seen if part in pull] for part in known}
    surprise = np.array([np.mean(values[part]) - mu[part] for part in known])
    spread = np.empty((len(known), len(known)))
    for row, one in enumerate(known):
        for column, other in enumerate(known):
            both = sum(one in pull and other in pull for pull in seen)
            spread[row, column] = sigma[one, other] + noise[one, other] * both / len(values[one]) / len(values[other])
    gain = sigma[:, known] @ np.linalg.inv(spread)
    mean, covariance = mu + gain @ surprise, sigma - gain @ sigma[known]
    return float(weights @ mean + np.sqrt(weights @ covariance @ weights) * normal)


@pytest.mark.parametrize("own", [True, False], ids=["own prior", "default prior"])
@pytest.mark.parametrize(("design", "scale", "shift"), DESIGNS)
def test_progressive_thompson_weighs_the_path(
    design: dict[str, Any],
    scale: list[float],
    shift: list[float],
    own: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """It hears what was paid, and every index is a draw from the posterior of the weighted path, literally."""
    if not own and np.min(design.get("weights", 0)) < 0:
        pytest.skip("the default prior needs an endpoint with a maximum")
    prior, unit = (PRIOR, 1.0) if own else (default_prior(3), 3.0)
    given = {"prior": PRIOR.model_dump(mode="json")} if own else {}
    scenario, path = trial(**design), tmp_path / "run.jsonl"
    policy = {"kind": "progressive-thompson", "ties": "first", **given}
    simulate(scenario, policy, engine="simpy", log=path, log_detail="indices", seed=4)
    stream = open_stream(4, 0, Purpose.POLICY)
    seen: dict[int, tuple[int, dict[int, float]]] = {}
    for event in read_log(path).events():
        if event.kind == "pull":
            for arm in (0, 1):
                pulls = [{part: x / unit for part, x in parts.items()} for one, parts in seen.values() if one == arm]
                draw = unit * literal_draw(prior, np.array(scale), pulls, stream.standard_normal())
                assert event.indices[arm] == pytest.approx(draw + sum(shift), abs=1e-9)
            seen[event.pull] = (event.arm, {})
        elif event.kind == "partial":
            seen[event.pull][1][event.part - 1] = event.value
    assert replay(path).equal


def test_coordinates_that_join_unequal_parts() -> None:
    """Groups of progressive-thompson join parts of equal weight; of closed pulls it hears the endpoint."""
    scenario = trial(endpoint="last").with_(visits=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(PolicyError, match=r"join parts with different weights.*set groups = 4"):
        simulate(scenario, "progressive-thompson:groups=2")
    equal = scenario.with_(trial={"control": "standard", "weights": [1, 1, 3, 3]})
    assert len(simulate(equal, "progressive-thompson:groups=2", engine="simpy").arms) == 60
    closed = simulate(scenario, "progressive-thompson:hears=closed", engine="compiled")
    assert closed.arms.tolist() == simulate(scenario, "progressive-thompson:hears=closed", engine="simpy").arms.tolist()
