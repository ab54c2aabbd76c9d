"""Tests of the arrival process my-arrival; run them with pytest."""

from pathlib import Path

import pytest
from scipy import stats

from tpstream import Scenario, TpstreamError, load_plugin, simulate
from tpstream.testing import check_arrivals

load_plugin(Path(__file__).with_name("my_arrival.py"))


def test_it_keeps_its_promises() -> None:
    """It passes the conformance kit, and its gaps have the right distribution."""
    check_arrivals("my-arrival", {"shortest": 1.0, "longest": 3.0}, distribution=stats.uniform(1.0, 2.0))


def test_it_runs() -> None:
    """A scenario can use it."""
    assert len(simulate(scenario({"kind": "my-arrival"}), "tp-ucb-fr").arms) == 200


def test_impossible_settings_are_refused() -> None:
    """A longest gap below the shortest one is an error."""
    with pytest.raises(TpstreamError, match="longest is below shortest"):
        scenario({"kind": "my-arrival", "shortest": 2.0, "longest": 1.0})


def scenario(arrivals: dict[str, object]) -> Scenario:
    """A small scenario with these arrivals."""
    return Scenario(
        name="small",
        horizon=200,
        span=10,
        rewards={"kind": "smooth-beta", "groups": 5},
        arms=[{"maximum": 10.0}, {"maximum": 20.0}],
        arrivals=arrivals,
    )
