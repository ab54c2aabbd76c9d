"""What policies have in common: equal decisions where formulas coincide, and order between their indices."""

import numpy as np
import pytest
from families import up_to
from hypothesis import given, settings, strategies as st
from literal_policies import largest_mean
from worlds import floats, run_world, table_world, table_worlds

from tpstream import Scenario, compare, simulate
from tpstream.model.errors import PolicyError
from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.model.world import World
from tpstream.policies.delayed_kl_ucb import upper_bound
from tpstream.policies.groups import QUANTILE, BetaBinomial, cap_shares
from tpstream.policies.path_prior import PathPrior, fit_prior

FIRST = {"ties": "first"}
EQUAL = {
    "pooled with one group": (
        ("tp-ucb-pooled", {"groups": 1, **FIRST}),
        ("delayed-ucb1", {"start": "random", **FIRST}),
    ),
    "equal caps": (("tp-ucb-fr", {"caps": {"a": 1, "b": 1}, **FIRST}), ("tp-ucb-fr", FIRST)),
    "equal caps, pooled": (("tp-ucb-pooled", {"caps": {"a": 1, "b": 1}, **FIRST}), ("tp-ucb-pooled", FIRST)),
    "one group, both forms": (
        ("tp-ucb-fr-exact", {"groups": 1, "caps": [1.0], **FIRST}),
        ("tp-ucb-fr-exact", {"groups": 1, **FIRST}),
    ),
    "a pull is one group": (
        ("group-thompson", {"groups": 1, "prior": "none", **FIRST}),
        ("delayed-thompson", {"family": "gauss", "prior": "none", **FIRST}),
    ),
    "a pull is one group, Beta": (
        ("group-thompson", {"groups": 1, "family": "beta", **FIRST}),
        ("delayed-thompson", FIRST),
    ),
    "parts are groups": (
        ("part-thompson", FIRST),
        ("group-thompson", {"variance": "empirical", **FIRST, "groups": "span"}),
    ),
}


@pytest.mark.parametrize("case", EQUAL)
@settings(max_examples=10)
@given(drawn=table_worlds(longest=40))
def test_equal_decisions(case: str, drawn: tuple[World, int]) -> None:
    """Two policies whose formulas coincide decide alike in a world without losses."""
    world, _ = drawn
    decisions = []
    for name, keys in EQUAL[case]:
        groups = {"groups": world.problem.span} if keys.get("groups") == "span" else {}
        decisions.append(run_world(world, name, {**keys, **groups}).arms.tolist())
    assert decisions[0] == decisions[1]


@settings(max_examples=up_to(25))
@given(drawn=table_worlds(longest=40))
def test_fr_exact_is_below_fr(drawn: tuple[World, int]) -> None:
    """On one history with one pull a round, the exact index is below TP-UCB-FR's by at least Rbar / n."""
    world, groups = drawn
    run = run_world(world, "tp-ucb-fr", {"groups": groups, **FIRST}, indices=True)
    other = run_world(world, "tp-ucb-fr", policy=Shadow(world, groups, run.arms.tolist()), indices=True)
    counts = np.zeros(world.problem.arms)
    for mine, exact in zip(run.of_kind("pull"), other.of_kind("pull"), strict=True):
        known = counts > 0
        gap = np.array(floats(mine.indices))[known] - np.array(floats(exact.indices))[known]
        assert (gap >= (world.problem.maxima / np.maximum(counts, 1))[known] * (1 - 1e-9)).all()
        counts[mine.arm] += 1


class Shadow:
    """TP-UCB-FR-exact that pulls given arms, for its indices on this history."""

    def __init__(self, world: World, groups: int, arms: list[int]) -> None:
        from worlds import build_policy  # noqa: PLC0415

        self.policy = build_policy(world, "tp-ucb-fr-exact", groups=groups, ties="first")
        self.arms = arms

    def hear(self, events: object) -> None:
        """Hand on."""
        self.policy.hear(events)  # type: ignore[arg-type]

    def decide(self, round: int) -> int:
        """The given arm."""
        self.policy.decide(round)
        return self.arms[round - 1]

    def indices(self) -> object:
        """Its indices."""
        return self.policy.indices()


@settings(max_examples=up_to(25))
@given(drawn=table_worlds(longest=40))
def test_pooled_is_never_above_ew(drawn: tuple[World, int]) -> None:
    """In the same round of the same history the pooled index is at most that of TP-UCB-EW: one root of a sum."""
    world, groups = drawn
    ew = run_world(world, "tp-ucb-ew", {"groups": groups, **FIRST}, indices=True).of_kind("pull")
    pooled = run_world(world, "tp-ucb-pooled", {"groups": groups, **FIRST}, indices=True).of_kind("pull")
    for one, other in zip(ew, pooled, strict=True):
        most = np.array(floats(one.indices)) + 1e-9 * world.problem.maxima
        assert (np.array(floats(other.indices)) <= most).all()
        if one.arm != other.arm:
            break


@pytest.mark.parametrize("mean", [1e-300, 1e-17, 0.3, 1 - 1e-12, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("budget", [0.0, 1e-300, 1e-20, 1e-9, 0.2, 50.0])
def test_the_bound_of_kl_ucb_is_a_number_between_the_mean_and_1(mean: float, budget: float) -> None:
    """Also where there is no number between the mean and 1, or none between the mean and the bound."""
    assert mean <= upper_bound(mean, budget, 0.5) <= 1.0


@pytest.mark.parametrize(("mean", "bound"), [(0.1, 0.378391), (0.5, 0.787088), (0.9, 0.994489), (0.0, 0.181269)])
def test_kl_bounds(mean: float, bound: float) -> None:
    """The largest q with kl(p, q) <= 0.2, from any guess."""
    assert upper_bound(mean, 0.2, 0.5) == pytest.approx(bound, abs=1e-6)
    others = [upper_bound(mean, 0.2, guess) for guess in (0.0, mean, 0.95, 0.999999)]
    assert others == pytest.approx([upper_bound(mean, 0.2, 0.5)] * 4, rel=1e-14)


@settings(max_examples=up_to(200))
@given(st.floats(0.0, 1.0), st.floats(1e-9, 30.0), st.floats(0.0, 1.0))
def test_kl_bounds_anywhere(mean: float, budget: float, guess: float) -> None:
    """Newton's method finds what halving the interval finds, whatever the guess."""
    assert upper_bound(mean, budget, guess) == pytest.approx(largest_mean(mean, budget), rel=1e-6, abs=1e-9)


def test_beta_binomial_caps() -> None:
    """Beta-binomial(3, 1, 2) on four groups is 0.4, 0.3, 0.2, 0.1; a = b = 1 is uniform."""
    assert cap_shares(BetaBinomial(a=1, b=2), 4).tolist() == pytest.approx([0.4, 0.3, 0.2, 0.1])
    assert cap_shares(BetaBinomial(a=1, b=1), 5).tolist() == pytest.approx([0.2] * 5)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tp-ucb-fr:caps=[0.5, 0.4]", "caps: the shares sum to 0.9; make them sum to 1"),
        ("tp-ucb-fr:caps=[0.5, 0.5]", "caps: 2 shares for 20 groups"),
        ("tp-ucb-fr:caps={a=1,b=1},groups=auto", "caps: there is one for each group"),
        ("tp-ucb-fr:caps={a=1}", "caps.b: missing"),
        ("group-thompson:family=beta,prior=none", 'family: "beta" has a uniform prior and no variance'),
        ("completion-ucb:profile=[0.5, 0.4, 1.0]", "profile: the shares must never fall and end with 1"),
        ("progressive-thompson:prior=nowhere.json", "nowhere.json cannot be read"),
        ("delayed-ucb1:groups=some", "groups: must be a whole number, got 'some'"),
    ],
)
def test_wrong_parameters(spec: str, message: str) -> None:
    """What cannot be is refused in one line."""
    with pytest.raises(PolicyError) as error:
        Scenario.load("setting-1").policy(spec)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_confidence_bound_of_variances() -> None:
    """The quantile of chi-square behind `groups = "auto"` is within 2 % of the exact one from 5 degrees on."""
    from scipy import stats  # noqa: PLC0415

    freedom = np.array([5, 10, 50, 1000])
    found = freedom * (1 - 2 / (9 * freedom) + QUANTILE * np.sqrt(2 / (9 * freedom))) ** 3
    np.testing.assert_allclose(found, stats.chi2.ppf(0.05, freedom), rtol=0.02)


def test_chosen_groups_are_a_measure() -> None:
    """A study tells the groups that were chosen: at most those that any group seen allows."""
    scenario = Scenario.load("setting-1").with_(horizon=600 if JIT_IS_OFF else 3000)
    study = compare(scenario, ["delayed-ucb1:groups=auto", "tp-ucb-fr:groups=auto", "uniform"], runs=2)
    chosen = study.measure("tp-ucb-fr:groups=auto", "groups_chosen")
    assert all(100 % int(groups) == 0 for groups in chosen)
    assert "groups_chosen" in study.table().columns


def test_one_payment_makes_one_group() -> None:
    """Where a pull pays everything in one part, no more than one group is chosen."""
    table = np.zeros((2, 200, 6))
    table[:, :, 2] = np.random.default_rng(1).random((2, 200))
    run = run_world(table_world(table, 200, maxima=[1.0, 1.0], groups=1), "tp-ucb-fr", {"groups": "auto"}, indices=True)
    one = run_world(table_world(table, 200, maxima=[1.0, 1.0], groups=1), "tp-ucb-fr", {"groups": 1}, indices=True)
    assert [event.indices for event in run.of_kind("pull")] == [event.indices for event in one.of_kind("pull")]


def test_a_fitted_prior_by_hand() -> None:
    """Two arms of two pulls each: the mean of means, their covariance, and the mean of the pulls' covariances."""
    prior = fit_prior({"a": np.array([[1.0, 0.0], [3.0, 2.0]]), "b": np.array([[5.0, 5.0], [5.0, 7.0]])})
    by_hand = {
        "mean": (3.5, 3.5),
        "covariance": ((4.5, 7.5), (7.5, 12.5)),
        "noise": ((1.0, 1.0), (1.0, 2.0)),
    }
    assert prior.model_dump() == by_hand


def test_a_prior_from_a_file(tmp_path: object) -> None:
    """A prior that was saved is the one that a policy gets by the name of its file."""
    from pathlib import Path  # noqa: PLC0415

    place = Path(str(tmp_path)) / "prior.json"
    prior = PathPrior(mean=(1.0, 2.0), covariance=((1.0, 0.5), (0.5, 1.0)), noise=((1.0, 0.0), (0.0, 1.0)))
    prior.save(place)
    scenario = Scenario.load("setting-1").with_(horizon=50)
    chosen = scenario.policy(f'progressive-thompson:groups=2,prior="{place}"')
    assert chosen.parameters.model_dump()["prior"] == prior.model_dump()
    assert len(simulate(scenario, chosen).arms) == 50
