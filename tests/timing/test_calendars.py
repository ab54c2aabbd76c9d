"""Reporting: what arrived is handed out at certain times only."""

import numpy as np
import pytest
from delays_helper import Keys, build_delay
from hypothesis import given, strategies as st
from strategies import reporting_tables

ANY = reporting_tables(whole=False) | reporting_tables(whole=True)
times_of = st.lists(st.floats(0, 1e4) | st.integers(0, 100).map(float), min_size=1, max_size=20).map(np.array)


@given(ANY, times_of)
def test_nothing_is_handed_out_early_twice_or_out_of_order(table: Keys, times: np.ndarray) -> None:
    """No report is before its parts or is reported again, and later parts are not in earlier reports."""
    calendar = build_delay(table)
    reported = calendar.reported(times)
    assert (reported >= times).all()
    np.testing.assert_array_equal(calendar.reported(reported), reported)
    assert (np.diff(calendar.reported(np.sort(times))) >= 0).all()


@given(st.integers(1, 9) | st.floats(0.3, 9), st.integers(0, 9) | st.floats(0, 9), st.integers(0, 1000))
def test_a_report_is_in_that_report(every: float, first: float, number: int) -> None:
    """What arrives at the very time of a report is in it, however its time was rounded."""
    calendar = build_delay({"kind": "reporting", "every": every, "first": first})
    time = float(first) + number * float(every)
    assert calendar.reported(np.array([time])).tolist() == [time]


@given(ANY, times_of)
def test_no_report_is_skipped(table: Keys, times: np.ndarray) -> None:
    """Nobody waits longer than a period, or a week."""
    calendar = build_delay(table)
    longest = float(str(table.get("every", table.get("week", 7))))
    late = times[times >= float(str(table.get("first", 0)))]
    assert (calendar.reported(late) - late <= longest * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("table", "times", "reported"),
    [
        ({"every": 7}, [0, 1, 7, 7.5, 14], [7, 7, 7, 14, 14]),
        ({"every": 7, "first": 3}, [1, 3, 4, 10, 11], [3, 3, 10, 10, 17]),
        ({"every": 0.5, "first": 0}, [0, 0.1, 0.5, 0.75], [0, 0.5, 0.5, 1]),
        ({"days": [1, 2, 3, 4, 5]}, [1, 4.5, 5, 5.5, 6, 7, 8, 13], [1, 5, 5, 8, 8, 8, 8, 15]),
        ({"days": [3]}, [1, 3, 4], [3, 3, 10]),
        ({"days": [2, 4], "week": 4}, [0, 1, 2, 3, 5], [0, 2, 2, 4, 6]),
    ],
    ids=str,
)
def test_reports_by_hand(table: Keys, times: list[float], reported: list[float]) -> None:
    """Weekly reports, a shifted start, working days from Monday at time 1, a week of four days."""
    calendar = build_delay({"kind": "reporting", **table})
    assert calendar.reported(np.array(times, dtype=np.float64)).tolist() == reported


def test_the_shape_is_kept() -> None:
    """Times of several pulls at once keep their rows."""
    for table in ({"every": 2}, {"days": [1]}):
        assert build_delay({"kind": "reporting", **table}).reported(np.ones((3, 2))).shape == (3, 2)
