"""Environments of Gymnasium: they keep its rules, and show what happens in a world, one by one or many at once."""

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings, strategies as st

from tpstream import Scenario, open_world, simulate
from tpstream.gym import PartialRewardEnv, PartialRewardVectorEnv
from tpstream.log.sinks import MemorySink
from tpstream.model.errors import EngineError, PolicyError, ScenarioError
from tpstream.model.events import PARTIAL, Events, Told

PLAIN = Scenario.load("setting-1").with_(horizon=12, drain=True)
CONVERSIONS = Scenario(
    name="conversions",
    horizon=12,
    span=4,
    rewards={"kind": "churn"},
    arms=[{"churn": 0.5, "activity": 0.6}, {"churn": 0.2, "activity": 0.7}],
    delays=[{"kind": "geometric", "p": 0.5}, {"kind": "missing", "p": 0.2}],
    arrivals={"kind": "poisson", "rate": 2.0},
    window=9.0,
    default_reward=0.25,
    drain=True,
    reveal="positive",
)
SCENARIOS = pytest.mark.parametrize("scenario", [PLAIN, CONVERSIONS], ids=["plain", "hidden"])
VECTORS = ("pull", "arm", "part", "value", "age", "arrived", "counts", "sums", "time")


def as_bytes(observation: Mapping[str, Any]) -> dict[str, bytes]:
    """An observation as values that can be compared to the bit."""
    return {name: np.asarray(observation[name]).tobytes() for name in VECTORS}


@SCENARIOS
@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes")
def test_gymnasiums_own_checks(scenario: Scenario, engine: Any) -> None:
    """The checker of Gymnasium finds nothing to complain about."""
    check_env(PartialRewardEnv(scenario, engine=engine))


@SCENARIOS
def test_what_is_seen(scenario: Scenario) -> None:
    """Arrivals, ages, counts, sums, times and rewards are those of the events of a run with the same decisions."""
    sink = MemorySink()
    run = simulate(scenario, "uniform", seed=5, run=1, sinks=[sink])
    events = Told().of(Events.join(sink.batches))
    env = PartialRewardEnv(scenario, room=2000)
    env.reset(seed=5)
    observation, info = env.reset()
    assert (info, observation["arrived"][0]) == ({"seed": 5, "run": 1}, 0)
    pulled, due, ended = {}, float(observation["time"][0]), False
    for round, arm in enumerate(run.arms.tolist(), start=1):
        pulled[round] = due
        observation, reward, ended, truncated, info = env.step(arm)
        assert observation in env.observation_space
        here = events.take((events.round == round) & (events.kind == PARTIAL))
        count = len(here)
        assert observation["arrived"][0] == count
        for name in ("pull", "arm", "part", "value"):
            assert observation[name][:count].tolist() == getattr(here, name).tolist()
            assert not observation[name][count:].any()
        ages = [time - pulled[pull] for time, pull in zip(here.time.tolist(), here.pull.tolist(), strict=True)]
        assert observation["age"][:count].tolist() == ages
        assert reward == pytest.approx(here.value.sum())
        assert observation["counts"].tolist() == np.bincount(run.arms[:round], minlength=len(scenario.arms)).tolist()
        so_far = events.take((events.round <= round) & (events.kind == PARTIAL))
        sums = np.bincount(so_far.arm, so_far.value, len(scenario.arms))
        assert observation["sums"] == pytest.approx(sums)
        assert info["regret"] == pytest.approx(run.regret[round - 1])
        assert (ended, truncated, info["round"]) == (round == 12, False, round + 1)
        due = float(observation["time"][0])
    assert ended
    assert due == pulled[12]


def test_room_that_does_not_suffice() -> None:
    """Arrivals beyond the room are counted and added up, and the first ones are seen."""
    narrow, wide = PartialRewardEnv(CONVERSIONS, room=1), PartialRewardEnv(CONVERSIONS)
    for env in (narrow, wide):
        env.reset(seed=3)
    most = 0
    for _ in range(12):
        (one, *rest), (other, *others) = narrow.step(1), wide.step(1)
        assert (one["arrived"], one["value"][0], rest) == (other["arrived"], other["value"][0], others)
        assert one["sums"].tolist() == other["sums"].tolist()
        most = max(most, int(one["arrived"][0]))
    assert most > 1


@pytest.mark.parametrize("reward", ["received", "total"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("scenario", [PLAIN, CONVERSIONS], ids=["plain", "hidden"])
def test_many_are_as_one_by_one(scenario: Scenario, mode: str, reward: Any) -> None:
    """Over two episodes, many environments at once are what Gymnasium makes of single ones, to the bit."""
    several = SyncVectorEnv([lambda: PartialRewardEnv(scenario, reward=reward)] * 3, autoreset_mode=mode)
    envs = PartialRewardVectorEnv(scenario, 3, reward=reward, autoreset_mode=mode)
    assert several.single_observation_space == envs.single_observation_space
    assert several.observation_space == envs.observation_space
    assert several.action_space == envs.action_space
    (expected, first), (found, infos) = several.reset(seed=7), envs.reset(seed=7)
    assert as_bytes(expected) == as_bytes(found)
    assert list(infos["seed"]) == list(first["seed"]) == [7, 8, 9]
    arms = np.random.default_rng(1).integers(0, len(scenario.arms), (30, 3))
    ends = 0
    for chosen in arms:
        expected, *one, first = several.step(chosen)
        found, *other, infos = envs.step(chosen)
        assert found in envs.observation_space
        assert as_bytes(expected) == as_bytes(found)
        assert [rows.tobytes() for rows in one] == [rows.tobytes() for rows in other]
        assert ("final_obs" in first) == ("final_obs" in infos)
        if "final_obs" in infos:
            last = zip(first["final_obs"], infos["final_obs"], strict=True)
            assert all(as_bytes(row) == as_bytes(again) for row, again in last)
            assert infos["final_info"]["regret"] == pytest.approx(first["final_info"]["regret"])
        ends += int(other[1].all())
    assert ends == 2
    several.close()
    envs.close()


def test_observations_stay_as_they_are() -> None:
    """What was seen is not written again, and writing to it changes nothing later."""
    envs, others = PartialRewardVectorEnv(PLAIN, 2), PartialRewardVectorEnv(PLAIN, 2)
    before, _ = envs.reset(seed=1)
    others.reset(seed=1)
    kept = as_bytes(before)
    seen, *_ = envs.step(np.array([1, 2]))
    assert as_bytes(before) == kept
    for rows in seen.values():
        rows[:] = 99
    others.step(np.array([1, 2]))
    assert as_bytes(envs.step(np.array([3, 4]))[0]) == as_bytes(others.step(np.array([3, 4]))[0])


def test_reset_by_hand() -> None:
    """With the mode "Disabled", worlds that have ended are reset by a mask, and the others go on."""
    envs = PartialRewardVectorEnv(PLAIN, 2, autoreset_mode=AutoresetMode.DISABLED)
    arms = np.array([0, 1])
    envs.reset(seed=[4, 9])
    for _ in range(11):
        envs.step(arms)
    observations, infos = envs.reset(options={"reset_mask": np.array([True, False])})
    assert observations["counts"].sum(axis=1).tolist() == [0, 11]
    assert (infos["seed"][0], infos["run"][0], infos["_run"].tolist()) == (4, 1, [True, False])
    *_, ended, _, _ = envs.step(arms)
    assert ended.tolist() == [False, True]
    with pytest.raises(PolicyError, match=r"the episodes of worlds \[1\] have ended; reset them"):
        envs.step(arms)


@settings(max_examples=5)
@given(st.integers(0, 2**70), st.integers(0, 9))
def test_common_random_numbers(seed: int, arm: int) -> None:
    """A seed stands for a world: that of `open_world` with this seed and run 0; the next episode is run 1."""
    env = PartialRewardEnv(PLAIN)
    env.reset(seed=seed)
    for run in (0, 1):
        told = open_world(PLAIN, seed=seed, run=run).pull(arm)
        assert env.step(arm)[1] == told.value[told.kind == PARTIAL].sum()
        env.reset()


def test_rewards_in_total() -> None:
    """The total of a pull is what it pays in the end."""
    env = PartialRewardEnv(PLAIN, reward="total")
    env.reset(seed=3)
    totals = [env.step(2)[1] for _ in range(11)]
    observation, last, *_ = env.step(2)
    assert observation["sums"][2] == pytest.approx(sum(totals) + last)


def test_without_a_seed() -> None:
    """Without any seed, one is drawn and told, and gives the same world again."""
    env = PartialRewardEnv(PLAIN)
    _, info = env.reset()
    first = env.step(0)
    env.reset(seed=info["seed"])
    assert as_bytes(env.step(0)[0]) == as_bytes(first[0])
    _, infos = PartialRewardVectorEnv(PLAIN, 2).reset()
    assert infos["seed"][0] != infos["seed"][1]


def test_mistakes() -> None:
    """What cannot be done gets a line."""
    env, envs = PartialRewardEnv(PLAIN), PartialRewardVectorEnv(PLAIN, 2)
    with pytest.raises(PolicyError, match="there is no episode yet; call reset first"):
        env.step(0)
    with pytest.raises(PolicyError, match="not every world has an episode; call reset first"):
        envs.step(np.array([0, 0]))
    envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(PolicyError, match="not every world has an episode"):
        envs.step(np.array([0, 0]))
    env.reset(seed=1)
    envs.reset(seed=1)
    with pytest.raises(PolicyError, match="action 10 is no arm; arms are 0 to 9"):
        env.step(10)
    for wrong in ([0], [0, 10], [0.0, 1.0]):
        with pytest.raises(PolicyError, match="are no arms; give 2 whole numbers from 0 to 9"):
            envs.step(np.array(wrong))
    for _ in range(12):
        env.step(0)
    with pytest.raises(PolicyError, match="the episode has ended after 12 decisions; call reset"):
        env.step(0)
    with pytest.raises(ScenarioError, match=r"reward: 'recieved' is unknown \(did you mean 'received'\?\); use one of"):
        PartialRewardEnv(PLAIN, reward="recieved")  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match="room: must be a whole number of at least 1, got 0"):
        PartialRewardEnv(PLAIN, room=0)
    with pytest.raises(ScenarioError, match="num_envs: must be a whole number of at least 1, got 0"):
        PartialRewardVectorEnv(PLAIN, 0)
    with pytest.raises(ScenarioError, match="seed: 1 seeds for 2 worlds; give one for each"):
        envs.reset(seed=[1])
    with pytest.raises(ScenarioError, match="reset_mask: must be 2 booleans"):
        envs.reset(options={"reset_mask": np.array([1, 0])})
    with pytest.raises(EngineError, match="a trial holds its looks itself and cannot be an environment"):
        PartialRewardEnv("three-arm-trial")


def test_without_gymnasium() -> None:
    """Where Gymnasium is missing, the room can be imported, and a name of it is refused with the remedy."""
    program = "import sys; sys.modules['gymnasium'] = None; import tpstream.gym as gym; gym.PartialRewardEnv"
    program = f"import importlib.util as u; u.find_spec = lambda name: None; {program}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert "PluginError: Gymnasium is not installed; install it with: pip install 'tpstream[gym]'" in done.stderr
