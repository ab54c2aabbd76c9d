"""Intervals of open decisions contain the truth as often as they say; what ignores open decisions does not."""

import sys
from pathlib import Path

import numpy as np
import pytest
from open_worlds import PaymentWorld

sys.path.append(str(Path(__file__).parents[2] / "docs"))
from coverage_tables import WORLDS, cover, peek

pytestmark = pytest.mark.verify


@pytest.mark.parametrize("world", WORLDS[:5])
def test_coverage(world: PaymentWorld) -> None:
    """Of 95 % intervals, 93 to 97 % contain the truth, and what was paid so far is a tenth too low or more.

    With 1,500 runs the standard error is 0.6 %; a right interval leaves these bounds with a chance of 1 in 1,000.
    """
    found = cover(world, 1500, seed=7)
    assert found["given"] > 0.99
    assert 0.93 < found["value"] < 0.97
    assert np.isnan(found["outstanding"]) or 0.92 < found["outstanding"] < 0.98
    assert found["naive"] < 0.9


@pytest.mark.parametrize(
    "world",
    [PaymentWorld(4000, 0.97, 1.3, 0.05), PaymentWorld(4000, 0.9, 1.5, 0.0), PaymentWorld(4000, 0.97, 1.5, 0.0)],
)
def test_long_tails(world: PaymentWorld) -> None:
    """Of payments lognormal(3, 1.3) and (3, 1.5), most runs get an interval, and it holds."""
    found = cover(world, 1500, seed=7)
    assert found["given"] > 0.9
    assert 0.93 < found["value"] < 0.97
    assert np.isnan(found["outstanding"]) or 0.92 < found["outstanding"] < 0.98


def test_heavy_tails_are_withheld() -> None:
    """Of payments by a power law without a variance, or lognormal(3, 2.6), hardly any run gets an interval."""
    assert cover(PaymentWorld(4000, 0.9, 1.5, 0.0, tail="pareto"), 500, seed=7)["given"] < 0.1
    assert cover(PaymentWorld(4000, 0.97, 1.5, 0.0, tail="pareto"), 500, seed=7)["given"] < 0.15
    assert cover(PaymentWorld(4000, 0.9, 2.6, 0.0), 500, seed=7)["given"] < 0.02


def test_peeking() -> None:
    """Looking every day calls no more leads by chance than was asked for; comparing what was paid so far does."""
    alarms = peek(300, seed=7)
    naive, corrected, ours = (found[0] for found in alarms.values())
    assert naive > 0.5
    assert corrected > 0.08
    assert ours < 0.085  # the standard error of 5 % is 1.3 %
