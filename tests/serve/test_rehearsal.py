"""The simulator tests the service: for the same scenario and seed it decides as the simulation and the decider do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from services import experiment_of, serving
from studies import KEYS

from tpstream import Scenario, replay
from tpstream.model.errors import ServiceError
from tpstream.serve.client import Client
from tpstream.serve.rehearsal import Rehearsal, rehearse

POLICIES = ("uniform", "delayed-ucb1")
LATE: dict[str, Any] = {
    "horizon": 120,
    "arrivals": {"kind": "poisson", "rate": 2.0},
    "delays": [{"kind": "missing", "p": 0.2}, {"kind": "lognormal", "median": 1.5, "sigma": 0.7}],
    "window": 8.0,
    "drain": True,
}
"""Parts come late, too late or never."""


def world(**keys: Any) -> Scenario:
    """The small scenario with other keys."""
    return Scenario.parse(KEYS | keys, Path())


def test_equal_decisions(tmp_path: Path) -> None:
    """With delays, losses and a window; and the service's logs replay. Others are in test_equality.py."""
    scenario = world(**LATE)
    with serving(tmp_path, *(experiment_of(scenario, policy) for policy in POLICIES)) as server:
        for policy in POLICIES:
            with Client(server.url, policy) as client:
                found = rehearse(scenario, policy, client)
            assert found.equal, found.lines()
    for policy in POLICIES:
        assert replay(tmp_path / "logs" / policy / f"{policy}.jsonl").equal


def test_what_does_not_fit(tmp_path: Path) -> None:
    """Each difference between the service and the scenario is named, before anything is decided."""
    scenario = world(**LATE)
    other = experiment_of(scenario, "uniform", maxima=[9.0] * len(scenario.arms), clock="server")
    with serving(tmp_path, other) as server, Client(server.url) as client:
        with pytest.raises(ServiceError) as refused:
            rehearse(scenario, "tp-ucb-ew", client)
        assert client.state()["decisions"] == 0
    assert all(f"{name}: the service has" in str(refused.value) for name in ("policy", "parameters", "maxima", "clock"))
    with serving(tmp_path / "next", experiment_of(scenario, "uniform")) as server, Client(server.url) as client:
        with pytest.raises(ServiceError, match="knows the future"):
            rehearse(scenario, "ucb1", client)
        with pytest.raises(ServiceError, match="hides or replaces"):
            rehearse(world(**LATE, default_reward=0.5), "uniform", client)


def test_different_decisions() -> None:
    """The first round with another arm is named, with both arms."""
    arms = np.array([0, 1, 0])
    found = Rehearsal("uniform", arms, np.array([0, 1, 1]), 3, 1.0, np.ones(3))
    assert (found.equal, found.first_difference) == (False, 3)
    assert "in round 3 the service pulled arm 0, and the simulation arm 1" in found.lines()[0]
    assert Rehearsal("uniform", arms, arms, 3, 1.0, np.ones(3)).first_difference is None
