"""Tests of the reward model my-reward; run them with pytest."""

from pathlib import Path

import pytest

from tpstream import Scenario, TpstreamError, load_plugin, simulate
from tpstream.testing import check_rewards

load_plugin(Path(__file__).with_name("my_reward.py"))


@pytest.mark.parametrize("chance", [0.0, 0.2, 1.0])
def test_it_keeps_its_promises(chance: float) -> None:
    """It conforms; in particular its mean and maximum are those that it declares."""
    check_rewards("my-reward", {"price": 3.0}, [{"chance": chance}, {"chance": 0.5}], span=10)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_it_runs(engine: str) -> None:
    """A scenario can use it, in both engines."""
    assert len(simulate(scenario(0.3), "tp-ucb-fr", engine=engine).arms) == 200  # type: ignore[arg-type]


def test_impossible_settings_are_refused() -> None:
    """A probability above 1 is an error that names the key."""
    with pytest.raises(TpstreamError, match=r"arms\[0\]\.chance"):
        scenario(1.5)


def scenario(chance: float) -> Scenario:
    """A small world with these rewards."""
    return Scenario(
        name="trial", horizon=200, span=10, rewards={"kind": "my-reward"}, arms=[{"chance": chance}, {"chance": 0.6}]
    )
