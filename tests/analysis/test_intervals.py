"""Intervals of bounded quantities respect their bounds and cover as stated."""

import numpy as np
import pytest
from studies import small

from tpstream import trial
from tpstream.analysis.intervals import t_interval

REPETITIONS = 20_000
"""With a fixed seed; the standard error of a coverage of 95 % is 0.0015, of 80 % 0.0028."""
COVERAGE = {
    (4.0, 4.0): {2: 0.950, 5: 0.947, 20: 0.951},
    (8.0, 2.0): {2: 0.940, 5: 0.927, 20: 0.946},
    (0.5, 0.5): {2: 0.888, 5: 0.927, 20: 0.947},
    (0.3, 3.0): {2: 0.792, 5: 0.806, 20: 0.897},
}
"""The coverage of 95 % intervals by the parameters of the shares' beta distribution and the number of runs."""


@pytest.mark.parametrize(
    ("shape", "runs", "expected"),
    [(shape, runs, share) for shape, of_runs in COVERAGE.items() for runs, share in of_runs.items()],
)
def test_coverage_of_cut_intervals(shape: tuple[float, float], runs: int, expected: float) -> None:
    """Cut at 0 and 1, Student's interval of shares covers their mean exactly as often as uncut, as tabled."""
    shares = np.random.default_rng(1).beta(*shape, (runs, REPETITIONS))
    truth = shape[0] / sum(shape)
    whole = t_interval(shares)
    cut = whole.within(0.0, 1.0)
    covered = (cut.low <= truth) & (truth <= cut.high)
    assert ((cut.low >= 0) & (cut.high <= 1)).all()
    assert (covered == ((whole.low <= truth) & (truth <= whole.high))).all()
    assert covered.mean() == pytest.approx(expected, abs=1e-3)


def test_no_runs_have_no_interval() -> None:
    """The mean over no run is unknown, for one number and for a curve, without a warning."""
    for shape in ((0,), (0, 4)):
        found = t_interval(np.empty(shape))
        assert found.mean.shape == shape[1:]
        assert all(np.isnan(part).all() for part in (found.mean, found.low, found.high))


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_intervals_of_a_trial_are_possible(runs: int) -> None:
    """Patients are from 0 to all, probabilities from 0 to 1, losses from 0 to those of the worst arm."""
    found = trial(small(horizon=40), ["ucb1", "tp-ucb-ew"], runs=runs)
    table, choices = found.table(), found.choices()
    bounds = {"on_best": 40, "best_chosen": 1, "lost": 40 * 10.0, "last_readout": np.inf, "lost_later": 10.0}
    for name, most in bounds.items():
        assert (table[f"{name}_low"] >= 0).all()
        assert (table[f"{name}_low"] <= table[name] + 1e-12).all()
        assert (table[name] <= table[f"{name}_high"] + 1e-12).all()
        assert (table[f"{name}_high"] <= most).all()
    assert choices["patients_low"].min() >= 0
    assert choices["patients_high"].max() <= 40
    curve = found.allocation("ucb1")
    assert 0 <= curve.low.min() <= curve.high.max() <= 1
