"""Figures: labels that keep apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tpstream.figures.style import spread

heights = st.lists(st.floats(0, 1000), min_size=1, max_size=12)
gaps = st.floats(0.1, 50)


@given(heights, gaps)
def test_labels_are_a_gap_apart(at: list[float], gap: float) -> None:
    """Any two labels are at least a gap apart."""
    assert np.diff(np.sort(spread(np.array(at), gap))).min(initial=gap) >= gap * (1 - 1e-9) - 1e-9


@given(heights, gaps)
def test_labels_keep_their_order(at: list[float], gap: float) -> None:
    """A label that belongs below another one stays below it."""
    moved = spread(np.array(at), gap)
    assert all(moved[one] < moved[other] for one in range(len(at)) for other in range(len(at)) if at[one] < at[other])


def test_labels_with_room_stay() -> None:
    """Labels that are apart already are not moved."""
    assert spread(np.array([30.0, 0.0, 10.0]), 10.0).tolist() == [30.0, 0.0, 10.0]


def test_labels_share_the_way() -> None:
    """Three labels at one height move apart evenly around it."""
    assert spread(np.array([5.0, 5.0, 5.0]), 2.0).tolist() == [3.0, 5.0, 7.0]
