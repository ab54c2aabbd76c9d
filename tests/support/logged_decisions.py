"""Any few decisions of two arms that are still paying, with the probabilities by which they were made."""

import numpy as np
from hypothesis import strategies as st

from tpstream.analysis.open_values import ArmAges
from tpstream.model.arrays import Floats, Ints

PERIODS, ARMS = 3, 2


@st.composite
def logged(draw: st.DrawFn) -> tuple[ArmAges, Ints, Floats]:
    """Any decisions of two arms with their probabilities; of each arm two have been observed for all ages."""
    arm = np.array([0, 0, 1, 1, *draw(st.lists(st.integers(0, 1), max_size=6))])
    observed = np.array([PERIODS] * 4 + [draw(st.integers(0, PERIODS)) for _ in arm[4:]])
    chance = np.array([draw(st.sampled_from([0.1, 0.25, 0.5, 0.9])) for _ in arm])
    payment = st.tuples(st.integers(0, len(arm) - 1), st.integers(0, PERIODS - 1), st.integers(-40, 100))
    payments = [one for one in draw(st.lists(payment, max_size=15)) if one[1] <= observed[one[0]]]
    row, age, amount = np.array(payments, dtype=np.int64).reshape(-1, 3).T
    return ArmAges(-observed.astype(float), observed, row, age, amount / 4, PERIODS), arm, chance
