"""Drop-outs: by a rate, a mean, a probability by a time or a curve, and those that depend on what was paid."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from delays_helper import RATE
from hypothesis import given, strategies as st
from scipy import stats

from tpstream import Scenario
from tpstream.engines.draws import Draws
from tpstream.model.arrays import Floats
from tpstream.model.errors import ScenarioError
from tpstream.model.interfaces import BuildContext
from tpstream.timing.losses import Dropout

CURVE = [(2.0, 0.1), (4.0, 0.1), (8.0, 0.5)]
VISITS = (1.0, 3.0, 6.0)


def build(**keys: Any) -> Dropout:
    """A drop-out in a scenario with three visits and one arm."""
    return Dropout(**keys).build(BuildContext(["one"], 3, Path(), visits=VISITS, maxima=[6.0]))


def moments(pulls: int, rewards: Floats | None = None, seed: int = 0, **keys: Any) -> Floats:
    """When the patients of so many pulls leave."""
    paid = np.zeros((pulls, 3)) if rewards is None else rewards
    limits = build(**keys).moves(paid, 0, np.random.default_rng(seed)).limits
    assert limits is not None
    return np.broadcast_to(limits, (pulls, 3))[:, 0]


@pytest.mark.parametrize(
    ("keys", "mean"), [({"rate": 0.5}, 2.0), ({"mean": 3.0}, 3.0), ({"probability": 0.5, "by": 4.0}, 4 / math.log(2))]
)
def test_exponential_moments(keys: dict[str, float], mean: float) -> None:
    """A rate, a mean and a probability by a time are the same law (false alarm: 1 in a million)."""
    assert stats.kstest(moments(4000, **keys), stats.expon(scale=mean).cdf).pvalue > RATE


def test_the_probability_by_a_time() -> None:
    """As many have left by then as the key says."""
    left = np.count_nonzero(moments(10_000, probability=0.2, by=365.0) <= 365)
    assert stats.binomtest(left, 10_000, 0.2).pvalue > RATE


def test_the_curve() -> None:
    """By each time of the curve, and between, as many have left as it says; nobody while it is flat; half stay."""
    left = moments(20_000, curve=CURVE)
    for time, share in ((1.0, 0.05), (2.0, 0.1), (3.0, 0.1), (6.0, 0.3), (8.0, 0.5), (1e9, 0.5)):
        assert stats.binomtest(int(np.count_nonzero(left <= time)), 20_000, share).pvalue > RATE
    assert not ((left > 2.0) & (left < 4.0)).any()


@given(st.sampled_from([{"mean": 3.0}, {"curve": CURVE}]), st.lists(st.floats(0.01, 0.6), min_size=1, max_size=5))
def test_the_hazard_and_its_inverse(keys: dict[str, Any], hazards: list[float]) -> None:
    """The hazard at the moment at which it is reached is what it was."""
    dropout, wanted = build(**keys), np.array(hazards)
    assert dropout.hazard(dropout.time_of(wanted)) == pytest.approx(wanted)


def literal_moment(drawn: float, paid: list[float], informative: float, mean: float) -> float:
    """Where the hazard, followed in small steps of time, reaches the drawn number."""
    step, time, reached, factor = 1e-3, 0.0, 0.0, 1.0
    while reached < drawn:
        for visit, value in zip(VISITS, paid, strict=True):
            if time >= visit:
                factor = math.exp(-informative * value / (6.0 / 3))
        reached += factor * step / mean
        time += step
    return time


@given(st.lists(st.floats(0, 2), min_size=3, max_size=3), st.floats(-1, 1.5), st.integers(0, 50))
def test_informative_moments(paid: list[float], informative: float, seed: int) -> None:
    """The hazard is that of the last value that was paid, in units of the maximum over the span."""
    (found,) = moments(1, np.array([paid]), seed=seed, mean=4.0, informative=informative)
    drawn = np.random.default_rng(seed).exponential()
    assert found == pytest.approx(literal_moment(drawn, paid, informative, 4.0), abs=0.02, rel=1e-3)


@pytest.mark.parametrize("informative", [0.5, -400.0, 400.0])
def test_a_curve_by_whose_end_all_have_left(informative: float) -> None:
    """Where the curve reaches 1 before the last visits, everybody has left by then, whatever was paid, and quietly."""
    with np.errstate(all="raise"):
        paid = np.random.default_rng(1).uniform(-6, 6, (2000, 3))
        left = moments(2000, paid, curve=[(2.0, 0.5), (3.0, 1.0)], informative=informative)
    assert 0 < left.min() < left.max() <= 3.0


def test_who_does_well_stays() -> None:
    """With a positive number, patients with full values stay longer than those with none."""
    good, bad = (moments(2000, np.full((2000, 3), value), mean=4.0, informative=1.0) for value in (2.0, 0.0))
    assert good.mean() > 1.3 * bad.mean()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"probability": 0.2}, "belong together"),
        ({"mean": 2.0, "by": 3.0}, "belong together"),
        ({"curve": [(2.0, 0.5), (1.0, 0.6)]}, "must rise"),
        ({"curve": [(1.0, 0.5), (2.0, 0.4)]}, "must rise"),
    ],
)
def test_keys_that_do_not_fit(keys: dict[str, Any], message: str) -> None:
    """What is wrong is told."""
    with pytest.raises(ValueError, match=message):
        Dropout(**keys)


def test_informative_needs_the_maxima() -> None:
    """Where the maxima are not known, informative is refused."""
    with pytest.raises(ScenarioError, match="informative: the maxima"):
        Dropout(mean=1.0, informative=1.0).build(BuildContext(["one"], 3, Path()))


def normal_keys(**keys: float) -> dict[str, Any]:
    """A scenario of patients whose scores have no maximum, of which nine in ten leave in the first hundred days."""
    return {
        "name": "scores",
        "horizon": 300,
        "visits": [30, 90, 180, 365],
        "rewards": {"kind": "normal"},
        "arms": [{"name": "old", "mean": 1.0, "deviation": 1.0}],
        "delays": [{"kind": "dropout", "probability": 0.9, "by": 100.0, **keys}],
    }


def test_informative_without_a_maximum_is_refused() -> None:
    """Rewards without a maximum have no unit of their own: the error tells to give one."""
    with pytest.raises(ScenarioError, match="the rewards of arm 'old' have no maximum; set unit"):
        Scenario(**normal_keys(informative=0.001))


def test_informative_with_a_unit() -> None:
    """With a unit, rewards without a maximum are served, and a faint dependence loses nearly as many as none."""

    def lost(**keys: float) -> Floats:
        world = Scenario(**normal_keys(**keys)).build_world(1, 0)
        schedule = Draws(world).block(0, 0).schedule
        assert schedule is not None
        return schedule.lost.mean(axis=0)

    assert lost(informative=1e-6, unit=1.0) == pytest.approx(lost(), abs=0.01)
    assert (lost(informative=1.0, unit=1.0)[1:] < lost()[1:]).all()


def test_the_unit_replaces_the_maximum() -> None:
    """A unit of the maximum over the span is what is taken without one."""
    paid = np.random.default_rng(1).uniform(0, 2, (50, 3))
    given, own = (moments(50, paid, mean=4.0, informative=1.0, **keys) for keys in ({"unit": 2.0}, {}))
    assert (given == own).all()
