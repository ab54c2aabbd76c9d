"""When a trial is looked at, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from tpstream.looks.design import Design, Looks
from tpstream.looks.schedule import look_times

DESIGN = Design(("a", "b"), 6, np.array([1.0, 4.0]), np.array([0.0, 1.0]))
TIMES = np.array([1.0, 1.5, 1.5, 3.0, 7.0, 8.0])


@pytest.mark.parametrize(
    ("looks", "cuts"),
    [
        (Looks("time", (2.5, 9.0)), [2.5, 9.0]),
        (Looks("randomised", (2.0, 3.0, 6.0)), [1.5, 1.5, 8.0]),
        (Looks("known", (2.0, 6.0)), [5.5, 12.0]),
        (Looks("information", (1 / 3, 0.5, 0.6)), [5.5, 5.5, 7.0]),  # of 6 patients: 2, 3 and 3.6, i.e. 4
    ],
)
def test_cuts(looks: Looks, cuts: list[float]) -> None:
    """Times are taken as they are, patients by their arrival, and endpoints by the visit at which they are due."""
    found = look_times(replace(DESIGN, looks=looks), TIMES)
    assert found.cuts.tolist() == cuts
    assert found.decisions.tolist() == cuts
    assert found.enrolled.all()


def test_a_look_waits_for_the_decision_before() -> None:
    """With 3 for cleaning, the second look at time 4 waits until 5, and the third until 8."""
    found = look_times(replace(DESIGN, looks=Looks("time", (2.0, 4.0, 7.0), cleaning=3.0)), TIMES)
    assert found.cuts.tolist() == [2.0, 5.0, 8.0]
    assert found.decisions.tolist() == [5.0, 8.0, 11.0]


def test_a_look_after_the_end_is_not_held() -> None:
    """The last patient comes at 8 and is followed until 12: there is a look at 12, and none after it."""
    found = look_times(replace(DESIGN, looks=Looks("time", (9.0, 12.0, 12.5), cleaning=0.5)), TIMES)
    assert found.cuts.tolist() == [9.0, 12.0, np.inf]
    assert found.decisions.tolist() == [9.5, 12.5, np.inf]


def test_recruiting_pauses_between_cut_and_decision() -> None:
    """Who comes at the cut is enrolled, who comes at the decision is not; numbers count those who are enrolled."""
    looks = Looks("randomised", (2.0, 5.0), cleaning=1.5, recruiting=False)
    times = np.array([1.0, 1.5, 1.5, 3.0, 3.5, 4.0, 5.0, 6.0, 9.0])
    found = look_times(replace(DESIGN, looks=looks), times)
    # The pause after 1.5 ends at 3.0; the fifth to be enrolled comes at 4.0, and the pause after it ends at 5.5.
    assert found.cuts.tolist() == [1.5, 4.0]
    assert found.enrolled.tolist() == [True, True, True, False, True, True, False, True, False]


def test_a_look_that_is_not_reached_is_never() -> None:
    """Where pauses leave too few patients, the look has no time."""
    looks = Looks("randomised", (1.0, 6.0), cleaning=1.0, recruiting=False)
    assert look_times(replace(DESIGN, looks=looks), TIMES).cuts.tolist() == [1.0, np.inf]
