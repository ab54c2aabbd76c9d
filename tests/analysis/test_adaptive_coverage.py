"""Estimates from adaptive trials are unbiased and intervals hold where naive means are biased and theirs fail."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "docs"))
from inference_tables import WORLDS, TrialWorld, false_alarms, measure

from tpstream.model.arrays import Floats


def bias(errors: Floats) -> tuple[float, float]:
    """The mean error over runs, and its Monte Carlo error."""
    return float(np.nanmean(errors)), float(np.nanstd(errors) / np.sqrt(len(errors)))


def test_a_few_trials() -> None:
    """In 150 small trials without limits, naive means are too low beyond chance, AIPW estimates are not."""
    found = measure(
        TrialWorld("small", (0.5, 0.5), {"kind": "best-probability", "update": 4}, patients=60), 150, seed=5
    )
    naive, right = bias(found["naive"]["mean"]), bias(found["AIPW"]["mean"])
    assert naive[0] < -3 * naive[1]
    assert abs(right[0]) < 3 * right[1]


@pytest.mark.verify
@pytest.mark.parametrize("world", WORLDS[:4], ids=[world.title for world in WORLDS[:4]])
def test_bias_and_coverage(world: TrialWorld) -> None:
    """AIPW is unbiased and covers 93 to 97 %; constant weights have shorter intervals; naive means are biased.

    With 1,500 runs the standard error of a coverage is 0.6 %; the bounds allow for 2.5 of it.
    """
    found = measure(world, 1500, seed=7)
    mean, error = bias(found["AIPW"]["mean"])
    assert abs(mean) < 4 * error
    for name in ("mean_covered", "difference_covered"):
        assert 0.915 < np.nanmean(found["AIPW"][name]) < 0.985
    assert np.nanmean(found["constant"]["difference_width"]) < np.nanmean(found["AIPW"]["difference_width"])
    naive, error = bias(found["naive"]["mean"])
    if len(set(world.chances)) == 1:
        assert naive < -4 * error
        assert naive < bias(found["constant"]["mean"])[0] < 0


@pytest.mark.verify
def test_naive_means_are_biased() -> None:
    """Where nothing limits the rule, naive means of 0.3 are 5 % too low or more, and their intervals hold in < 90 %."""
    found = measure(WORLDS[4], 1000, seed=7)["naive"]
    assert bias(found["mean"])[0] < -0.015
    assert np.nanmean(found["difference_covered"]) < 0.9


@pytest.mark.verify
def test_false_alarms() -> None:
    """The randomisation test keeps its level where the naive comparison does not; the standard error is 1.1 %."""
    calls = false_alarms(WORLDS[4], 400, seed=7)
    assert calls["naive"] > 0.1
    assert calls["randomisation test"] < 0.085
