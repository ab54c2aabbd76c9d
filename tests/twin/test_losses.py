"""Losses of a log: their shares come back, in the kind in which they happened, and do not make arms look worse."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tpstream import Scenario, fit, simulate
from tpstream.analysis.open_values import ArmAges
from tpstream.twin.goodness import APART
from tpstream.twin.losses import without_losses


def world(delay: dict[str, Any]) -> Scenario:
    """Two arms that pay over eight days, with losses."""
    arms = [{"name": "low", "maximum": 8.0}, {"name": "high", "maximum": 12.0}]
    rewards = {"kind": "smooth-beta", "groups": 4}
    return Scenario(
        name="losing",
        horizon=2500,
        span=8,
        window=9.0,
        rewards=rewards,
        arms=arms,
        delays=[delay],
        arrivals={"kind": "poisson", "rate": 20.0},
    )


@pytest.mark.parametrize(
    ("delay", "kind"),
    [({"kind": "missing", "p": 0.2}, "missing"), ({"kind": "dropout", "curve": [[2, 0.2], [7, 0.5]]}, "dropout")],
)
def test_losses_come_back(tmp_path: Path, delay: dict[str, Any], kind: str) -> None:
    """The twin of a run with losses has arms with their true means, loses as much, and is like the log."""
    scenario = world(delay)
    simulate(scenario, "uniform", log=tmp_path / "run.arrows")
    twin = fit(tmp_path / "run.arrows")
    assert twin.scenario.means == pytest.approx(scenario.means, rel=0.04)
    (table,) = [one for one in twin.scenario.delays if one.kind == "by-arm"]
    for arm in table.arms.values():  # type: ignore[attr-defined]
        assert arm.kind == kind
        if kind == "missing":
            assert arm.p == pytest.approx(0.2, abs=0.02)
        else:
            assert dict(arm.curve)[2.0] == pytest.approx(0.2, abs=0.04)
            assert dict(arm.curve)[7.0] == pytest.approx(0.5, abs=0.05)
    assert (twin.check["verdict"] != APART).all()


def test_a_dropout_by_hand() -> None:
    """Of four decisions one leaves at age 1, and of the two that are seen at age 2 one leaves: 1 - 3/4 1/2."""
    arm = ArmAges(np.arange(4.0), np.array([3, 2, 3, 3]), np.array([0, 2]), np.array([0, 1]), np.ones(2), 3)
    lost = np.array([0, 0, 2]), np.array([1, 2, 2])
    found = without_losses(arm, lost, np.random.default_rng(0))
    assert found.delay == {"kind": "dropout", "curve": [[0.0, 0.0], [1.0, 0.25], [2.0, 0.625]]}
    assert found.arm.observed.tolist() == [1, 2, 2, 3]
    assert found.share == pytest.approx(3 / 11)


def test_nothing_lost_nothing_changed() -> None:
    """Without losses there is no delay, and the decisions are the same; losses that were not seen yet do not count."""
    arm = ArmAges(np.arange(2.0), np.array([1, 2]), np.array([0]), np.array([0]), np.ones(1), 2)
    found = without_losses(arm, (np.array([0]), np.array([1])), np.random.default_rng(0))
    assert found.delay is None
    assert found.arm is arm
