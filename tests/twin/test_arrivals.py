"""Fitted arrivals: they have the rates that made the times, and are those of largest likelihood."""

from datetime import date

import numpy as np
import pytest
from scipy import optimize

from tpstream import Scenario
from tpstream.model.arrays import Floats
from tpstream.model.world import Purpose, open_stream
from tpstream.twin.arrivals import Cells, fit_arrivals, fit_rates

MONDAY = date(2024, 1, 1)


def drawn(arrivals: dict[str, object], count: int, unit: str = "day") -> Floats:
    """The times of decisions of a scenario that begins on a Monday."""
    arms = [{"name": "a", "maximum": 1}, {"name": "b", "maximum": 1}]
    scenario = Scenario(
        name="n",
        horizon=count,
        span=1,
        rewards={"kind": "smooth-beta", "groups": 1},
        arms=arms,
        arrivals=arrivals,
        time_unit=unit,
        start="2024-01-01",
    )
    return scenario.timing().arrivals.times(open_stream(1, 0, Purpose.ARRIVALS), count)


def test_rates_come_back() -> None:
    """A trend, factors of weekdays and of hours that were given are found again, within their errors."""
    hours = [0.2] * 8 + [1.8] * 8 + [1.0] * 8
    weekdays = {"Sat": 0.5, "Sun": 0.0}
    times = drawn({"kind": "varying", "curve": [[0, 100], [60, 200]], "hours": hours, "weekdays": weekdays}, 8000)
    found = fit_arrivals(times, "day", MONDAY)
    assert found.keys["kind"] == "varying"
    assert found.begin == 0
    by_day = found.keys["weekdays"]
    assert by_day["Sun"] == 0
    assert by_day["Sat"] / by_day["Mon"] == pytest.approx(0.5, rel=0.1)
    by_hour = np.array(found.keys["hours"])
    assert by_hour.reshape(3, 8).mean(axis=1) == pytest.approx([0.2, 1.8, 1.0], rel=0.1)
    at = [time for time, _ in found.keys["curve"]], [rate for _, rate in found.keys["curve"]]
    # The factors of a week are normed to a mean of 1, so the trend has the mean of the given ones in it.
    assert np.interp([5.0, 50.0], *at) == pytest.approx(np.array([108.3, 183.3]) * 5.5 / 7, rel=0.1)


def test_the_likelihood_is_the_largest() -> None:
    """A general optimiser finds no larger likelihood of a trend with factors."""
    random = np.random.default_rng(2)
    middle = np.arange(28) + 0.5
    cells = Cells(random.poisson(20 + middle).astype(float), np.ones(28), middle, np.arange(28) % 7, np.zeros(28, int))
    found = fit_rates(cells, 2, weekdays=True, hours=False)

    def loss(logs: Floats) -> float:
        rates = np.interp(middle, [0, 28], np.exp(logs[:2]))
        expected = rates * np.exp(np.append(0.0, logs[2:]))[cells.weekday]
        return float(expected.sum() - cells.count @ np.log(expected))

    best = optimize.minimize(loss, np.append([3.0, 4.0], np.zeros(6)), method="BFGS")
    own = found.expected.sum() - cells.count @ np.log(found.expected)
    assert own == pytest.approx(best.fun, abs=1e-3)


def test_simple_kinds() -> None:
    """Equal distances, equal batches and a constant rate are recognised; times that begin late are shifted."""
    assert fit_arrivals(np.arange(1.0, 100.0), None, None).keys == {"kind": "regular", "every": 1.0}
    batches = fit_arrivals(np.repeat(np.arange(40.0), 5)[:-2], None, None)
    assert (batches.keys, batches.begin) == ({"kind": "batches", "size": 5, "every": 1.0}, -1.0)
    random = np.random.default_rng(0)
    pairs = fit_arrivals(np.repeat(np.cumsum(random.exponential(0.5, 500)), 2), None, None)
    assert pairs.keys["size"] == 2
    assert pairs.keys["rate"] == pytest.approx(2.0, rel=0.1)
    steady = fit_arrivals(1000.3 + np.cumsum(random.exponential(0.1, 2000)), None, None)
    assert (steady.keys["kind"], steady.begin) == ("poisson", 1000.0)
    assert steady.keys["rate"] == pytest.approx(10.0, rel=0.1)


def test_dates_without_times_of_day() -> None:
    """Where all times are whole days, weekdays count, there are no hours, and it is said that times are spread."""
    counts = np.tile([40, 42, 38, 41, 39, 10, 3], 8)
    found = fit_arrivals(np.repeat(np.arange(56.0), counts), "day", MONDAY)
    assert "hours" not in found.keys
    assert found.keys["weekdays"]["Sun"] < 0.2
    assert "no times of day" in found.notes[0]
