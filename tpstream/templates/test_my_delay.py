"""Tests of the delay my-delay; run them with pytest."""

from pathlib import Path
from typing import Literal

import pytest
from scipy import stats

from tpstream import Scenario, TpstreamError, load_plugin, simulate
from tpstream.testing import check_delay

load_plugin(Path(__file__).with_name("my_delay.py"))


@pytest.mark.parametrize("mean", [0.0, 0.5, 3.0])
def test_it_keeps_its_promises(mean: float) -> None:
    """It passes the conformance kit, and its lags have the right distribution."""
    check_delay("my-delay", {"mean": mean}, distribution=stats.poisson(mean))


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_it_runs(engine: Literal["simpy", "compiled"]) -> None:
    """A scenario can use it, in both engines."""
    assert len(simulate(scenario({"kind": "my-delay"}), "tp-ucb-fr", engine=engine).arms) == 200


def test_impossible_settings_are_refused() -> None:
    """A negative mean is an error that names the key."""
    with pytest.raises(TpstreamError, match=r"delays\[0\]\.mean"):
        scenario({"kind": "my-delay", "mean": -1.0})


def scenario(delay: dict[str, object]) -> Scenario:
    """A small scenario with this delay."""
    return Scenario(
        name="small",
        horizon=200,
        span=10,
        rewards={"kind": "smooth-beta", "groups": 5},
        arms=[{"maximum": 10.0}, {"maximum": 20.0}],
        delays=[delay],
    )
