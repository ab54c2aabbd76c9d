"""Visits: nominal times of the parts, their spread, and delays that depend on the time of the pull."""

import numpy as np
import pytest
from queue_worlds import outcomes, world
from scipy import stats

from tpstream import Scenario
from tpstream.engines.draws import Draws
from tpstream.timing.varying import Seasonal

ENGINES = pytest.mark.parametrize("engine", ["simpy", "compiled"])


def visits(**keys: object) -> Scenario:
    """A world with visits after 2, 4, 8 and 12."""
    scenario = world([], span=4, visits=[2, 4, 8, 12], **keys)
    assert Scenario.parse(scenario.resolved()) == scenario
    return scenario


@ENGINES
def test_parts_arrive_at_the_visits(engine: str) -> None:
    """Part j of a pull arrives at its visit after the pull."""
    found = outcomes(visits(), engine)
    assert [time - pull for time, pull, *_ in found if pull == 1] == [2, 4, 8, 12]
    assert [(part, time) for time, pull, part, _ in found if pull == 2] == [(1, 4), (2, 6), (3, 10), (4, 14)]


def test_the_number_of_visits_is_the_span() -> None:
    """With visits the span may be left out; other visits have another span."""
    keys = visits().resolved()
    del keys["span"]
    assert Scenario.parse(keys).span == 4
    assert visits().with_(visits=[1, 2]).span == 2


def test_the_spread_is_uniform() -> None:
    """Every part is due at its visit plus a uniform number in (-s, s), drawn before everything else."""
    scenario = visits(visit_spread=0.75)
    schedule = Draws(scenario.build_world(3, 0)).block(0, 0).schedule
    assert schedule is not None
    shifts = schedule.offsets - np.array([2, 4, 8, 12])
    assert stats.kstest(shifts.reshape(-1), stats.uniform(-0.75, 1.5).cdf).pvalue > 1e-6


@ENGINES
def test_lags_times_a_curve_of_the_time_of_the_pull(engine: str) -> None:
    """Pull 1, at time 1, has the factor 2 and pull 2 the factor 3: a lag of 0.5 becomes 1 and 1.5."""
    seasonal = {"kind": "seasonal", "delay": {"kind": "constant", "lag": 0.5}, "curve": [[0, 1], [4, 5]]}
    assert [time for time, *_ in outcomes(world([seasonal], span=1), engine)] == [2.0, 3.5]


@ENGINES
def test_arms_with_curves_of_their_own(engine: str) -> None:
    """A seasonal delay for each curve, with the delays of its arms inside: the other arms are not delayed by it."""
    lag = {"kind": "constant", "lag": 0.5}
    delays = [
        {"kind": "seasonal", "delay": {"kind": "by-arm", "arms": {name: lag}}, "curve": [[0, factor]]}
        for name, factor in (("slow", 3.0), ("fast", 1.0))
    ]
    arms = [{"name": "slow", "maximum": 1.0}, {"name": "fast", "maximum": 1.0}]
    found = outcomes(world(delays, span=1, arms=arms, horizon=12), engine)
    assert {round(time - pull, 9) for time, pull, *_ in found} == {0.5, 1.5}


def test_a_curve_that_repeats_itself() -> None:
    """With a period the factor of a time is that of the same place in the first period."""
    seasonal = Seasonal(delay={"kind": "constant", "lag": 1}, curve=[(0.0, 1.0), (5.0, 2.0)], period=10.0)
    assert seasonal.factor(np.array([2.5, 12.5, 7.5])).tolist() == [1.5, 1.5, 1.5]


def test_a_seasonal_delay_draws_what_the_delay_in_it_draws() -> None:
    """The drawn numbers are scaled, and never drawn anew."""
    lag = {"kind": "lognormal", "median": 2.0, "sigma": 1.0}
    plain, scaled = (
        world([{"kind": "reporting", "every": 0.5}, delay], span=3)
        for delay in (lag, {"kind": "seasonal", "delay": lag, "curve": [[0, 9]]})
    )
    lags = [Draws(scenario.build_world(1, 0)).block(0, 0).later for scenario in (plain, scaled)]
    assert all(one is not None for one in lags)
    assert np.array_equal(lags[0].lags, lags[1].lags)  # type: ignore[union-attr]
