"""Calendars by date, worked by hand and against a slow search; opening hours of resources; closed days of arrivals."""

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from queue_worlds import outcomes, world
from strategies import open_hours

from tpstream.model.errors import DelayError, ScenarioError
from tpstream.model.interfaces import BuildContext
from tpstream.timing import varying
from tpstream.timing.arrivals import RegularArrivals
from tpstream.timing.calendars import HOURS_IN, OpenHours
from tpstream.timing.sites import Sites
from tpstream.timing.varying import Varying

WORKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri"]
MONDAY = date(2024, 1, 1)


def context(unit: str | None = "day", start: date | None = MONDAY) -> BuildContext:
    """A scenario that begins on a Monday."""
    return BuildContext(["one"], 1, Path(), time_unit=unit, start=start)


def reported(keys: dict[str, Any], times: list[float], unit: str = "day") -> list[float]:
    """When what arrives at these times is handed on."""
    found: list[float] = OpenHours(**keys).build(context(unit)).reported(np.array(times)).tolist()
    return found


@pytest.mark.parametrize(
    ("keys", "times", "expected"),
    [
        # Day 5 is a Friday and ends at 5; day 6 and 7 are the weekend, and Monday begins at 7.
        ({"weekdays": WORKDAYS}, [0.5, 4.9, 5.0, 5.1, 6.9, 7.0, 7.1], [0.5, 4.9, 5.0, 7.0, 7.0, 7.0, 7.1]),
        ({"weekdays": ["Mon"]}, [0.5, 1.0, 1.5, 7.5], [0.5, 1.0, 7.0, 7.5]),
        ({"hours": [6, 18]}, [0.1, 0.25, 0.5, 0.75, 0.8], [0.25, 0.25, 0.5, 0.75, 1.25]),
        ({"hours": [12, 12]}, [0.1, 0.5, 0.6], [0.5, 0.5, 1.5]),
        ({"weekdays": WORKDAYS, "hours": [24, 24]}, [1, 4.5, 5.5, 8], [1, 5, 8, 8]),
        ({"holidays": ["2024-01-02", 3]}, [0.5, 1.5, 2.5, 3.5], [0.5, 3.0, 3.0, 3.5]),
        ({"weekdays": WORKDAYS, "holidays": ["2024-01-08"]}, [5.5, 7.5], [8.0, 8.0]),
        ({"seasons": [["01-03", "01-04"]]}, [0.5, 2.5, 4.0, 4.5], [2.0, 2.5, 4.0, 368.0]),
        ({"seasons": [["12-30", "01-02"]]}, [1.5, 3.0], [1.5, 364.0]),
    ],
    ids=str,
)
def test_days_by_hand(keys: dict[str, Any], times: list[float], expected: list[float]) -> None:
    """Weekends, hours, holidays and seasons; 2024 has 366 days, so that 3 January 2025 begins at 368."""
    assert reported(keys, times) == expected


def test_units() -> None:
    """In hours the day has 24 of them, in weeks a day is a seventh."""
    assert reported({"weekdays": WORKDAYS, "hours": [9, 17]}, [8.0, 17.5, 130.0], "hour") == [9.0, 33.0, 177.0]
    assert reported({"weekdays": ["Tue"]}, [0.5, 1.0], "week") == [8 / 7, 8 / 7]


def is_open(keys: dict[str, Any], moment: datetime) -> bool:
    """Whether a moment is inside opening hours, both ends included, looked up literally."""
    for day in (moment.date(), moment.date() - timedelta(days=1)):  # midnight belongs to two days
        midnight = datetime.combine(day, datetime.min.time())
        begin, end = (midnight + timedelta(hours=hour) for hour in keys.get("hours", [0, 24]))
        name = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][day.weekday()]
        number = day.strftime("%m-%d")
        seasons = keys.get("seasons", [["01-01", "12-31"]])
        in_season = any(a <= number <= b if a <= b else number >= a or number <= b for a, b in seasons)
        closed = {str(one) for one in keys.get("holidays", [])} & {str(day), str((day - MONDAY).days + 1)}
        if begin <= moment <= end and name in keys.get("weekdays", [name]) and in_season and not closed:
            return True
    return False


@given(open_hours(), st.lists(st.integers(1, 24 * 90), min_size=1, max_size=5), st.sampled_from(sorted(HOURS_IN)))
def test_against_a_search(keys: dict[str, Any], hours: list[int], unit: str) -> None:
    """What arrives at a whole hour is handed on at the first hour, not before it, that is open."""
    times = np.array(hours) / HOURS_IN[unit]
    found = OpenHours(**keys).build(context(unit)).reported(times)
    for hour, time in zip(hours, (found * HOURS_IN[unit]).tolist(), strict=True):
        moment = datetime(2024, 1, 1) + timedelta(hours=hour)  # noqa: DTZ001 (simulated time has no zone)
        while not is_open(keys, moment):
            moment += timedelta(hours=1)
        assert time == pytest.approx((moment - datetime(2024, 1, 1)).total_seconds() / 3600, abs=1e-6)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("keys", "given", "message"),
    [
        ({"hours": [8, 9]}, context(None), "set time_unit of the scenario to one of hour, day, week"),
        ({"hours": [8, 9]}, context("month"), "set time_unit of the scenario to one of hour, day, week"),
        ({"weekdays": ["Mon"]}, context(start=None), "set start of the scenario"),
        ({"holidays": ["2024-01-02"]}, context(start=None), "set start of the scenario"),
        ({"weekdays": ["Mon"], "seasons": [["02-30", "02-30"]]}, context(), "no day is open"),
    ],
    ids=str,
)
def test_what_is_missing_is_told(keys: dict[str, Any], given: BuildContext, message: str) -> None:
    """Dates need a unit of time and a first day, and some day must be open."""
    with pytest.raises(ScenarioError, match=message):
        OpenHours(**keys).build(given)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_lab_that_closes(engine: str) -> None:
    """Serving begins in opening hours only, one after another, and what was begun is finished."""
    delays = [{"kind": "lab-queue", "resource": "lab", "mean": 0.25, "service": "constant"}]
    opening = {"lab": {"weekdays": WORKDAYS, "hours": [6, 12]}}
    keys = {"time_unit": "day", "start": MONDAY, "opening_hours": opening}
    found = outcomes(world(delays, span=5, **keys), engine)
    # Pull 1 brings samples at 1 to 5, pull 2 at 2 to 6. Tuesday opens at 1.25, and ends at 1.5 with the first sample
    # served; samples of pulls 1 and 2 that come at 2 are served from 2.25 to 2.5, and to 2.75, which was begun at 2.5.
    assert [(time, pull) for time, pull, *_ in found[:3]] == [(1.5, 1), (2.5, 1), (2.75, 2)]
    # What comes at 5, after hours on Friday, and at 6 waits for Monday, which has time for two: the third waits till
    # Tuesday.
    assert [(time, pull) for time, pull, *_ in found[-3:]] == [(7.5, 1), (7.75, 2), (8.5, 2)]


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_weekend_release_after_a_lab(engine: str) -> None:
    """A result that the lab has ready at the weekend is released on Monday; others at once."""
    delays = [
        {"kind": "lab-queue", "resource": "lab", "mean": 0.5, "service": "constant"},
        {"kind": "calendar", "weekdays": WORKDAYS},
    ]
    found = outcomes(world(delays, span=6, horizon=1, time_unit="day", start=MONDAY), engine)
    assert [time for time, *_ in found] == [1.5, 2.5, 3.5, 4.5, 7.0, 7.0]


def test_nobody_comes_while_closed() -> None:
    """Arrivals are in opening hours only; Mondays have twice the arrivals of other days (false alarm: 1 in 10^9)."""
    process = Varying(
        curve=[(0.0, 10.0)], weekdays={"Mon": 2.0}, open=OpenHours(weekdays=WORKDAYS, hours=(6.0, 18.0))
    ).build(context())
    times = process.times(np.random.default_rng(1), 20_000)
    days, hours = np.floor(times).astype(int) % 7, times % 1 * 24
    assert (np.diff(times) >= 0).all()
    assert days.max() <= 4
    assert 6 <= hours.min() < hours.max() <= 18
    counts = np.bincount(days)
    assert abs(counts[0] - 20_000 / 3) < 6 * np.sqrt(20_000 * 2 / 9)


def test_the_expected_number_follows_the_curve() -> None:
    """Between two points the rate is linear: by time 10 at rates from 0 to 4, then 4, there are 20, 60 at time 20."""
    process = Varying(curve=[(0.0, 0.0), (10.0, 4.0)]).build(context(None))
    counts = np.array(
        [np.searchsorted(process.times(np.random.default_rng(seed), 200), [5, 10, 20]) for seed in range(400)]
    )
    assert np.abs(counts.mean(axis=0) - [5, 20, 60]).max() < 6 * np.sqrt(60 / 400)


def test_hours_have_factors() -> None:
    """An hour with factor 0 has no arrivals, and one with factor 3 three times those of another."""
    process = Varying(curve=[(0.0, 1.0)], hours=[0.0] * 8 + [3.0, 1.0] * 8).build(context("hour"))
    counts = np.bincount(np.floor(process.times(np.random.default_rng(2), 16_000) % 24).astype(int), minlength=24)
    assert counts[:8].sum() == 0
    assert abs(counts[8::2].sum() - 12_000) < 6 * np.sqrt(3000)


def test_a_shop_that_is_closed_on_sundays() -> None:
    """Time n is the end of day n: no decision is made at 7 and 14; where no time is open, that is told."""
    days = RegularArrivals(open=OpenHours(weekdays=[*WORKDAYS, "Sat"])).build(context())
    assert days.times(np.random.default_rng(0), 13).tolist() == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 15]
    never = RegularArrivals(open=OpenHours(hours=(9.0, 17.0))).build(context())
    with pytest.raises(DelayError, match=r"none of .* times is open"):
        never.times(np.random.default_rng(0), 3)


def test_weekdays_and_days_that_never_meet() -> None:
    """A factor of zero on the only open day is told."""
    process = Varying(curve=[(0.0, 1.0)], weekdays={"Mon": 0.0}, open=OpenHours(weekdays=["Mon"])).build(context())
    with pytest.raises(DelayError, match="nobody comes within"):
        process.times(np.random.default_rng(0), 1)


@pytest.mark.parametrize("unit", ["hour", "day", "week"])
@pytest.mark.parametrize(
    "keys",
    [
        {"curve": [(0.0, 0.02), (30.0, 0.5), (700.0, 0.01)], "weekdays": {"Sun": 0.0}},
        {"curve": [(1.0, 0.05)], "hours": [0.0] * 8 + [3.0, 1.0] * 8, "open": OpenHours(weekdays=WORKDAYS)},
    ],
)
def test_long_stretches_change_no_time(monkeypatch: pytest.MonkeyPatch, unit: str, keys: dict[str, Any]) -> None:
    """Whether days are looked at in stretches of four weeks or in ever longer ones, times are the same to the bit."""
    process, site = (
        kind.build(context(unit))
        for kind in (
            Varying(**keys),
            Sites(sites=[{"name": "first", "rate": 0.05, "opens": 40.0}, {"name": "second", "rate": keys["curve"]}]),  # type: ignore[list-item]
        )
    )

    def drawn() -> list[bytes]:
        return [one.times(np.random.default_rng(1), 200).tobytes() for one in (process, site)]

    in_long_ones = drawn()
    monkeypatch.setattr(varying, "MOST_AT_ONCE", varying.DAYS_AT_ONCE)
    assert drawn() == in_long_ones


def test_long_times_in_which_nobody_comes() -> None:
    """Decades between two decisions are looked at in few steps."""
    process = Varying(curve=[(0.0, 1e-4)]).build(context())
    steps = sum(1 for _ in process.periods(np.array([10.0, 20.0])))
    assert steps < 50


def test_batches_keep_opening_hours() -> None:
    """With a size so many decisions are made at each of the times at which somebody comes, the last batch is cut."""
    keys: dict[str, Any] = {"curve": [(0.0, 2.0)], "open": OpenHours(weekdays=["Wed"], hours=(9.0, 12.0))}
    one, three = (
        Varying(**keys, size=size).build(context()).times(np.random.default_rng(1), horizon)
        for size, horizon in ((1, 5), (3, 14))
    )
    assert three.tolist() == np.repeat(one, 3)[:14].tolist()
