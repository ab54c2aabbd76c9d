"""Permuted blocks: ratios hold in every block, each order is as likely, and probabilities are those of what is left."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tpstream import Scenario, read_log, replay, simulate
from tpstream.model.errors import PolicyError

ARMS = [{"name": name, "probability": 0.5} for name in ("standard", "low", "high")]
TRIAL = Scenario(name="t", horizon=48, span=1, rewards={"kind": "binary"}, arms=ARMS)


@pytest.mark.parametrize(
    ("keys", "places"),
    [({}, [2, 2, 2]), ({"ratio": [2, 1, 1]}, [4, 2, 2]), ({"ratio": [1, 2, 3], "block": 6}, [1, 2, 3])],
)
def test_every_block(keys: dict[str, Any], places: list[int], tmp_path: Path) -> None:
    """Each block has its places, and the logged probabilities are the shares of those that are left."""
    policy, path = {"kind": "permuted-blocks", **keys}, tmp_path / "log.arrows"
    run = simulate(TRIAL, policy, log=path, log_detail="probabilities")
    assert run.arms.tolist() == simulate(TRIAL, policy, engine="simpy").arms.tolist()
    assert replay(path).equal
    logged = read_log(path).columns(["probabilities"])["probabilities"]
    for patient, arm in enumerate(run.arms):
        if patient % sum(places) == 0:
            left = np.array(places)
        np.testing.assert_allclose(logged[patient], left / left.sum(), rtol=1e-12)
        left[arm] -= 1
        assert left.min() >= 0
    assert (logged[np.arange(48), run.arms] > 0).all()


def test_orders_are_equally_likely() -> None:
    """The six orders of two places of each of two arms: chi-squared with a probability of failure of 1e-4."""
    trial = TRIAL.with_(horizon=12_000, arms=ARMS[:2])
    blocks = Counter(map(tuple, simulate(trial, "permuted-blocks", seed=8).arms.reshape(-1, 4).tolist()))
    assert len(blocks) == 6
    assert stats.chisquare(list(blocks.values())).pvalue > 1e-4


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"ratio": [1, 1]}, "ratio: has 2 numbers for 3 arms; give one for each"),
        ({"block": 8}, "block: 8 is not a multiple of 3, the sum of the ratio; use one that is"),
        ({"ratio": [1, 0, 1]}, "ratio"),
    ],
)
def test_what_is_refused(keys: dict[str, Any], message: str) -> None:
    """A ratio for other arms, and a block that it does not fill, are told in a line."""
    with pytest.raises(PolicyError, match=message):
        simulate(TRIAL, {"kind": "permuted-blocks", **keys})
