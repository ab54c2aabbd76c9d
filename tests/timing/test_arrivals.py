"""Arrival processes: when decisions are due."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from delays_helper import RATE, Keys, build_arrivals, read_arrivals
from hypothesis import given, strategies as st
from pydantic import ValidationError
from scipy import integrate, stats
from strategies import arrival_tables

from tpstream.model.arrays import Floats
from tpstream.model.errors import DelayError, ScenarioError
from tpstream.model.world import Regular
from tpstream.timing import ARRIVALS
from tpstream.timing.pipeline import arrival_times


def times_of(table: Keys, horizon: int, seed: int = 0) -> Any:
    """The times of that process, checked."""
    return arrival_times(build_arrivals(table), np.random.default_rng(seed), horizon, "arrivals")


@given(arrival_tables(), st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**32))
def test_times_never_fall_and_do_not_depend_on_the_horizon(table: Keys, one: int, other: int, seed: int) -> None:
    """All times are above 0 and never fall; those of a shorter run are the first ones of a longer run."""
    short, long = (times_of(table, horizon, seed) for horizon in sorted((one, other)))
    assert long[0] > 0
    assert (np.diff(long) >= 0).all()
    np.testing.assert_array_equal(short, long[: len(short)])


@given(arrival_tables())
def test_regular_means_at_time_t(table: Keys) -> None:
    """A process that says that it is regular has round t at time t, and only such a one says so."""
    process = build_arrivals(table)
    at_t = np.array_equal(times_of(table, 50), np.arange(1, 51))
    assert process.regular == at_t


@pytest.mark.parametrize(
    ("table", "times"),
    [
        ({"kind": "regular"}, [1, 2, 3, 4, 5]),
        ({"kind": "regular", "every": 0.5}, [0.5, 1, 1.5, 2, 2.5]),
        ({"kind": "batches", "size": 2}, [1, 1, 2, 2, 3]),
        ({"kind": "batches", "size": 3, "every": 7}, [7, 7, 7, 14, 14]),
    ],
    ids=str,
)
def test_times_by_hand(table: Keys, times: list[float]) -> None:
    """Processes without chance."""
    assert times_of(table, 5).tolist() == times


def test_poisson_gaps_are_exponential() -> None:
    """20,000 gaps pass the Kolmogorov-Smirnov test of their distribution (false alarm: 1 in a million)."""
    table = {"kind": "poisson", "rate": 2.5}
    law = stats.expon(scale=1 / 2.5)
    assert stats.kstest(np.diff(times_of(table, 20_000, 1), prepend=0.0), law.cdf).pvalue > RATE


RAMPS: list[Keys] = [
    {"kind": "ramp", "start": 0.5, "end": 4, "duration": 2000},
    {"kind": "ramp", "end": 3, "duration": 6000},
    {"kind": "ramp", "start": 4, "end": 1, "duration": 3000},
    {"kind": "ramp", "start": 2, "end": 2, "duration": 10},
]


def rate_at(time: float, start: float, end: float, duration: float) -> float:
    """The rate of a ramp."""
    return start + (end - start) * min(time / duration, 1.0)


def expected_decisions(times: Floats, start: float, end: float, duration: float) -> Floats:
    """How many decisions of a ramp are expected up to these times: the integral of its rate."""
    ramp = np.minimum(times, duration)
    expected: Floats = (start + (end - start) / (2 * duration) * ramp) * ramp + end * (times - ramp)
    return expected


@pytest.mark.parametrize("table", RAMPS, ids=str)
def test_a_ramp_has_its_rate(table: dict[str, Any]) -> None:
    """Measured by its cumulative rate a ramp is a Poisson process of rate 1: its 10,000 gaps are exponential.

    Kolmogorov-Smirnov, false alarm: 1 in a million. The cumulative rate is the integral of the rate.
    """
    duration = float(table["duration"])
    told = table.get("start", 0), table["end"], duration
    gaps = np.diff(expected_decisions(times_of(table, 10_000, 2), *told), prepend=0.0)
    assert stats.kstest(gaps, stats.expon.cdf).pvalue > RATE
    for time in (0.3 * duration, duration, 2.5 * duration):
        integral = integrate.quad(rate_at, 0, time, args=told, points=[duration])[0]
        assert expected_decisions(np.array([time]), *told)[0] == pytest.approx(integral)


@given(st.floats(0, 5), st.floats(0.01, 5), st.floats(0.01, 1e4), st.integers(0, 2**32))
def test_the_inversion_is_exact(start: float, end: float, duration: float, seed: int) -> None:
    """The expected number of decisions at the times drawn is what was drawn, also where the slope is near 0."""
    process = build_arrivals({"kind": "ramp", "start": start, "end": end, "duration": duration})
    times = process.times(np.random.default_rng(seed), 100)
    drawn = np.random.default_rng(seed).exponential(1.0, 100).cumsum()
    np.testing.assert_allclose(expected_decisions(times, start, end, duration), drawn, rtol=1e-9)


def test_recorded_times(tmp_path: Path) -> None:
    """The first times of the file's column are used; others of its columns are not."""
    (tmp_path / "visits.csv").write_text("patient,time\n7,0.5\n3,2\n9,2\n1,10\n")
    process = build_arrivals({"kind": "trace", "file": "visits.csv"}, tmp_path, horizon=3)
    assert process.times(np.random.default_rng(0), 3).tolist() == [0.5, 2, 2]
    assert not process.regular


def test_a_regular_record(tmp_path: Path) -> None:
    """A record of times 1, 2, 3 is regular."""
    (tmp_path / "visits.csv").write_text("time\n1\n2\n3\n")
    assert build_arrivals({"kind": "trace", "file": "visits.csv"}, tmp_path, horizon=3).regular


BELOW = " (row 1 is the line below the titles)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time\n1\n2\n", "file: visits.csv has 2 times but the horizon is 3; add rows or lower the horizon"),
        ("time\n0\n1\n2\n", "file: visits.csv row 1, column time: 0.0 is not above 0; shift the times" + BELOW),
        ("time\n1\n3\n2\n", "file: visits.csv row 3, column time: 2.0 is before the row above; sort the rows" + BELOW),
        ("times\n1\n", "file: visits.csv has no column 'time' (did you mean 'times'?); it needs time"),
        (
            "time\n1\n2\nnan\n",
            "file: visits.csv row 3, column time: the value is missing; give a finite number >= 0" + BELOW,
        ),
    ],
)
def test_a_bad_record(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong in the file is told with its row."""
    (tmp_path / "visits.csv").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        build_arrivals({"kind": "trace", "file": "visits.csv"}, tmp_path, horizon=3)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "regular", "every": 0},
        {"kind": "poisson", "rate": -1},
        {"kind": "poisson", "rate": float("inf")},
        {"kind": "batches", "size": 0},
        {"kind": "batches", "size": 2, "every": -1},
        {"kind": "ramp", "start": -1, "end": 1, "duration": 1},
        {"kind": "ramp", "start": 1, "end": 0, "duration": 1},
        {"kind": "ramp", "start": 1, "end": 1, "duration": 0},
        {"kind": "trace", "file": ""},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(table: Keys) -> None:
    """A value that no arrival process can have is an error of that key."""
    with pytest.raises(ValidationError, match="1 validation error"):
        read_arrivals(table)


@pytest.mark.parametrize("kind", ARRIVALS.names())
def test_every_process_refuses_unknown_keys(kind: str) -> None:
    """A key that the process does not know is an error, and settings are frozen."""
    with pytest.raises(ValidationError, match="Extra inputs"):
        read_arrivals({"kind": kind, "colour": "red"})
    assert ARRIVALS.find(kind).settings.model_config["frozen"]


class Plugin(Regular):
    """An arrival process that gives whatever it is told to."""

    def __init__(self, times: Any) -> None:
        self.given = times

    def times(self, stream: object, horizon: int) -> Any:  # noqa: ARG002
        """What was given."""
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (np.array([1.0, 2.0]), "mine: times must be float64 of shape (3,), got float64 (2,)"),
        (np.array([1, 2, 3]), "mine: times must be float64 of shape (3,), got int64 (3,)"),
        (None, "mine: times must be float64 of shape (3,), got NoneType"),
        (np.array([1.0, np.nan, 3.0]), "mine: the time of round 2 is nan; give a finite time"),
        (np.array([1.0, 2.0, 1e16]), "mine: the time of round 3 is 1e+16; give times up to 1e+15"),
        (np.array([0.0, 1.0, 3.0]), "mine: the time of round 1 is 0.0; give times above 0"),
        (np.array([1.0, 3.0, 2.0]), "mine: round 3 at time 2.0 is before round 2; sort the times"),
        (ValueError("no clock"), "mine raised ValueError for 3 rounds: no clock"),
    ],
    ids=str,
)
def test_a_bad_process_is_named(times: Any, message: str) -> None:
    """What an arrival process must not give is told with its name and the round."""
    with pytest.raises(DelayError) as caught:
        arrival_times(Plugin(times), np.random.default_rng(0), 3, "mine")
    assert str(caught.value) == message
