"""Rewards with refunds and without maxima: who can learn from them, and who refuses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import every

from tpstream import Scenario, read_log, replay, simulate
from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError, RewardError, ScenarioError
from tpstream.model.interfaces import BuildContext, Rewards
from tpstream.model.settings import Settings
from tpstream.rewards import REWARDS

NEITHER = [
    "group-thompson:variance=empirical,prior=none,groups=4",
    "part-thompson:prior=none",
    "delayed-thompson:family=gauss,variance=empirical,prior=none",
    "epsilon-greedy",
    "explore-then-commit:tries=3",
    "uniform",
]


@dataclass(frozen=True)
class RefundArm:
    """A purchase in the first part, and a refund of all of it in the last one with probability 0.3."""

    price: float
    maximum: float | None
    span: int

    @property
    def mean(self) -> float:
        """What is left on average."""
        return self.price * (1 - 0.3)

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """Log-normal prices of mean `price`."""
        paid = np.zeros((pulls, self.span))
        paid[:, 0] = self.price * np.exp(stream.standard_normal(pulls) - 0.5)
        paid[:, -1] = np.where(stream.random(pulls) < 0.3, -paid[:, 0], 0.0)
        return paid


class RefundSettings(Settings):
    """Whether it says that it is signed."""

    signed: bool = True


class RefundArmSettings(Settings):
    """The price, and a maximum if there is one."""

    price: float
    maximum: float | None = None


class RefundKind:
    """Refunds."""

    settings = RefundSettings
    arm_settings = RefundArmSettings

    def build(self, settings: RefundSettings, arms: Sequence[RefundArmSettings], context: BuildContext) -> Rewards:
        """All arms."""
        models = [RefundArm(arm.price, arm.maximum, context.span) for arm in arms]
        return Rewards(models, groups=None, signed=settings.signed)


@pytest.fixture(autouse=True)
def _refunds() -> Iterator[None]:
    """The kind is known in each of these tests."""
    REWARDS.added["refunds"] = RefundKind()
    yield
    REWARDS.added.clear()


def shop(*, signed: bool = True, maximum: float | None = None, **keys: Any) -> Scenario:
    """Two prices."""
    given = {} if maximum is None else {"maximum": maximum}
    return Scenario(
        name="refunds",
        horizon=300,
        span=8,
        rewards={"kind": "refunds", "signed": signed},
        arms=[{"price": 1.0, **given}, {"price": 2.0, **given}],
        **keys,
    )


@pytest.mark.parametrize("policy", every(NEITHER, ("uniform", "epsilon-greedy")))
def test_who_runs_without_maxima_and_with_refunds(policy: str, tmp_path: Path) -> None:
    """Both engines give the same decisions, the log replays, and its header says that there are no maxima."""
    log = tmp_path / "log.jsonl"
    arms = simulate(shop(), policy, engine="simpy", log=log).arms
    assert arms.tolist() == simulate(shop(), policy, engine="compiled").arms.tolist()
    assert replay(log).equal
    header = read_log(log).header
    assert (header.maxima, header.signed) == ([None, None], True)


def test_the_better_price_is_found() -> None:
    """Gaussian Thompson sampling with empirical variances pulls the arm that pays twice as much most of the time."""
    arms = simulate(shop().with_(horizon=3000), NEITHER[0], seed=1, engine="simpy").arms
    assert np.mean(arms[1500:] == 1) > 0.9


@pytest.mark.parametrize(
    "policy",
    [
        "tp-ucb-fr:groups=1",
        "tp-ucb-ew:groups=1",
        "delayed-ucb1",
        "ucb1",
        "group-thompson:groups=1",
        "group-thompson:groups=1,variance=empirical",
        "delayed-thompson",
        "progressive-thompson",
        "completion-ucb",
        "delayed-kl-ucb",
    ],
)
def test_who_needs_maxima(policy: str) -> None:
    """A policy that needs maxima refuses in one line that names the arm and the remedy."""
    with pytest.raises(PolicyError, match=r"the policy needs the maximum of every arm, and 'arm-1' has none; give it"):
        shop().policy(policy)


@pytest.mark.parametrize("policy", ["tp-ucb-fr:groups=1", "delayed-ucb1", "group-thompson:groups=1", "delayed-moss"])
def test_who_needs_parts_above_zero(policy: str) -> None:
    """The same where there are maxima and refunds."""
    with pytest.raises(PolicyError, match="the policy needs parts of at least 0, and these rewards are signed"):
        shop(maximum=1e6).policy(policy)


def test_a_prior_of_ones_own_needs_no_maxima() -> None:
    """Progressive Thompson runs with a prior that is given."""
    prior = {"mean": [1.0, 0.0], "covariance": [[1.0, 0.0], [0.0, 1.0]], "noise": [[2.0, -0.6], [-0.6, 1.0]]}
    scenario = shop(policies=[{"kind": "progressive-thompson", "groups": 2, "prior": prior}])
    assert len(simulate(scenario, "progressive-thompson").arms) == 300


def test_negative_parts_must_be_declared() -> None:
    """A model that pays negative parts without saying so is refused when it draws them."""
    with pytest.raises(RewardError, match=r"has part 8 = -.*; parts must be at least 0$"):
        simulate(shop(signed=False), "uniform")


def test_a_maximum_holds_for_signed_rewards() -> None:
    """Totals above a declared maximum are refused, whatever the sign of parts."""
    with pytest.raises(RewardError, match=r"has a total of .*; parts must be finite and add up to at most 2"):
        simulate(shop(maximum=2.0), "uniform")


def test_groups_need_maxima() -> None:
    """Groups are a promise about shares of a maximum, so a model without maxima cannot make it."""
    from tpstream.rewards.base import check_rewards  # noqa: PLC0415

    with pytest.raises(ScenarioError, match=r"arms\[0\]: 2 groups promise shares of a maximum"):
        check_rewards(Rewards([RefundArm(1.0, None, 4)], groups=2, signed=True), 4)
