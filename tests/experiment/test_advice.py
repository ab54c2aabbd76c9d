"""Which policy to take where worlds have something in common."""

import numpy as np
import pytest
from studies import small

from tpstream import League, Scenario, TpstreamError, league
from tpstream.experiment.advice import FEATURES, advise, has_informed_prior
from tpstream.experiment.league import WORLDS


@pytest.fixture(scope="module")
def found() -> League:
    """Three policies, two of them the same, in two worlds."""
    twins = [{"kind": "tp-ucb-ew", "name": "twin"}, {"kind": "uniform"}]
    worlds = [small(name="one", horizon=300, policies=twins), small(name="two", horizon=200, span=6, policies=twins)]
    return league(worlds, ["tp-ucb-fr", "twin", "oracle"], runs=6)


def test_advice_by_hand(found: League) -> None:
    """The mean over worlds of regret divided by that of fixed randomisation, with Student's interval over the runs."""
    shares = {}
    for policy in ("tp-ucb-fr", "twin", "uniform"):
        each = [one.regret(policy)[:, -1] / one.regret("uniform")[:, -1].mean() for one in found.studies.values()]
        shares[policy] = np.array(each)
    best = min(shares, key=lambda policy: shares[policy].mean())
    advice = advise(found, ["one", "two"])
    runs = shares[best].mean(axis=0)
    half = 2.570582 * runs.std(ddof=1) / np.sqrt(6)  # Student's quantile at 5 degrees of freedom
    assert advice.policy == best
    assert (advice.share, advice.low, advice.high) == pytest.approx(
        (runs.mean(), runs.mean() - half, runs.mean() + half)
    )
    assert advice.worst == pytest.approx(shares[best].mean(axis=1).max())


def test_who_cannot_be_told_apart() -> None:
    """A policy that decides the same is tied with the best one; fixed randomisation loses more for sure."""
    twins = [{"kind": "tp-ucb-ew", "name": name} for name in ("a", "b")]
    arms = [{"maximum": 10.0}, {"maximum": 100.0}]
    apart = small(horizon=400, arms=arms, policies=[*twins, {"kind": "uniform"}])
    advice = advise(league([apart], ["a", "b"], runs=5), ["small"])
    assert {advice.policy, *advice.tied} == {"a", "b"}


def test_a_world_that_took_no_part(found: League) -> None:
    """It is named, with those that did."""
    with pytest.raises(TpstreamError, match="no world three; use one of one, two"):
        advise(found, ["one", "three"])


def test_features_are_of_shipped_worlds() -> None:
    """Every world of a feature is in the shipped league."""
    assert {world for worlds in FEATURES.values() for world in worlds} <= set(WORLDS)


@pytest.mark.parametrize(
    ("world", "informed"), [("setting-1", True), ("unrelated-maxima", False), ("e-commerce", False)]
)
def test_where_a_prior_is_informed(world: str, informed: bool) -> None:  # noqa: FBT001
    """In Setting 1 every mean is half of its maximum."""
    assert has_informed_prior(Scenario.load(world)) is informed
