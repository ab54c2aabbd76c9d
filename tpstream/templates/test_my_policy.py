"""Tests of the policy my-policy; run them with pytest."""

from pathlib import Path

import numpy as np
import pytest

from tpstream import Scenario, TpstreamError, load_plugin, simulate
from tpstream.testing import check_policy

load_plugin(Path(__file__).with_name("my_policy.py"))

SCENARIO = Scenario(
    name="small",
    horizon=500,
    span=10,
    rewards={"kind": "smooth-beta", "groups": 5},
    arms=[{"maximum": 10.0}, {"maximum": 40.0}],
)


@pytest.mark.parametrize("explore", [0.0, 0.1, 1.0])
def test_it_keeps_its_promises(explore: float) -> None:
    """It passes the conformance kit: in both engines, in replay, with parts out of order or lost."""
    check_policy("my-policy", {"explore": explore})


def test_it_finds_the_better_arm() -> None:
    """Between arms of mean 5 and 20 it pulls the better one most of the time."""
    arms = simulate(SCENARIO, "my-policy").arms
    assert np.mean(arms == 1) > 0.8


def test_impossible_parameters_are_refused() -> None:
    """A share above 1 is an error that names the parameter."""
    with pytest.raises(TpstreamError, match="explore"):
        simulate(SCENARIO, "my-policy:explore=2")
