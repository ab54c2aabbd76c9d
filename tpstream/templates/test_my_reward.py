"""Tests of the reward model my-reward; run them with pytest."""

from pathlib import Path
from typing import Literal

import pytest

from tpstream import Scenario, TpstreamError, load_plugin, simulate
from tpstream.testing import check_rewards

load_plugin(Path(__file__).with_name("my_reward.py"))


@pytest.mark.parametrize("chance", [0.0, 0.2, 1.0])
def test_it_keeps_its_promises(chance: float) -> None:
    """It passes the conformance kit; among other things, its mean and maximum are right."""
    check_rewards("my-reward", {"price": 3.0}, [{"chance": chance}, {"chance": 0.5}], span=10)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_it_runs(engine: Literal["simpy", "compiled"]) -> None:
    """A scenario can use it, in both engines."""
    assert len(simulate(scenario(0.3), "tp-ucb-fr", engine=engine).arms) == 200


def test_impossible_settings_are_refused() -> None:
    """A probability above 1 is an error that names the key."""
    with pytest.raises(TpstreamError, match=r"arms\[0\]\.chance"):
        scenario(1.5)


def scenario(chance: float) -> Scenario:
    """A small scenario with these rewards."""
    return Scenario(
        name="small", horizon=200, span=10, rewards={"kind": "my-reward"}, arms=[{"chance": chance}, {"chance": 0.6}]
    )
