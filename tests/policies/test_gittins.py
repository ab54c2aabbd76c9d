"""Gittins indices: published values, a slow recursion and bisection, and laws."""

import numpy as np
import pytest

from tpstream.model.arrays import Ints
from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.model.world import Problem
from tpstream.policies import gittins_table as tables
from tpstream.policies.closed_pulls import count_successes
from tpstream.policies.gittins import GittinsParameters, index, init
from tpstream.policies.gittins_table import MOST, gittins_table

UNIFORM = (1.0, 1.0)
exact = pytest.mark.skipif(JIT_IS_OFF, reason="as plain Python tables are coarse")


def places(rows: int) -> tuple[Ints, Ints]:
    """N and s of the states in the first rows of a table."""
    n = np.repeat(np.arange(rows), np.arange(1, rows + 1))
    return n, np.arange(len(n)) - n * (n + 1) // 2


@exact
@pytest.mark.parametrize(("discount", "published"), [(0.99, 0.8699), (0.995, 0.9032)])
def test_published_values(discount: float, published: float) -> None:
    """An arm of which nothing is known."""
    assert 0.5 + gittins_table(discount, UNIFORM, 10)[0] == pytest.approx(published, abs=5e-5)


def literal(discount: float, a: float, b: float) -> float:
    """The index of Beta(a, b): for each lambda the recursion over all states of 400 pulls, and halving."""

    def advantage(sure: float) -> float:
        """How much better it is to pull once than to take lambda for ever."""
        levels = 400
        values = [max(sure, (a + s) / (a + b + levels)) for s in range(levels + 1)]
        for n in range(levels - 1, -1, -1):
            stay = []
            for s in range(n + 1):
                p = (a + s) / (a + b + n)
                after = p * values[s + 1] + (1 - p) * values[s]
                stay.append((1 - discount) * p + discount * after)
            values = [max(sure, one) for one in stay]
        return stay[0] - sure

    low, high = a / (a + b), 1.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if advantage(middle) > 0 else (low, middle)
    return (low + high) / 2


@exact
@pytest.mark.parametrize(
    ("discount", "prior", "n", "s"),
    [(0.9, UNIFORM, 0, 0), (0.9, UNIFORM, 3, 1), (0.95, (0.5, 2.0), 4, 4), (0.5, (3.0, 1.0), 2, 0)],
)
def test_the_slow_version(discount: float, prior: tuple[float, float], n: int, s: int) -> None:
    """The table agrees with a search for each single state, to 4 digits."""
    a, b = prior
    found = (a + s) / (a + b + n) + gittins_table(discount, prior, 10)[n * (n + 1) // 2 + s]
    assert found == pytest.approx(literal(discount, a + s, b + n - s), abs=5e-5)


@exact
def test_laws() -> None:
    """The index is above the mean, higher after a success and lower after a failure, and grows with the discount."""
    n, s = places(200)
    mean, last = (1 + s) / (2 + n), np.zeros(len(n))
    for discount in (0.0, 0.5, 0.9, 0.99):
        excess = gittins_table(discount, UNIFORM, 199)[: len(n)]
        found = mean + excess
        inner = n < 199
        failed = (n * (n + 1) // 2 + s + n + 1)[inner]
        assert (found[inner] > found[failed]).all()
        assert (found[inner] < found[failed + 1]).all()
        assert (excess >= last).all()
        last = excess
    assert not gittins_table(0.0, UNIFORM, 199).any()


@exact
def test_a_finer_grid_changes_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """With four times as many values of lambda and half the steps more, no index moves by 1e-4."""
    coarse = gittins_table(0.99, UNIFORM, 250)
    monkeypatch.setattr(tables, "GRID", 4000)
    monkeypatch.setattr(tables, "AHEAD", 6.0)
    assert np.abs(coarse - gittins_table(0.99, UNIFORM, 250)).max() < 1e-4


def test_a_table_is_computed_once() -> None:
    """The same array serves all horizons up to its number of rows; it cannot be changed."""
    table = gittins_table(0.9, UNIFORM, 1)
    assert table is gittins_table(0.9, UNIFORM, 255)
    assert not table.flags.writeable
    assert len(gittins_table(0.0, UNIFORM, 10**6)) == MOST * (MOST + 1) // 2


def test_beyond_the_table() -> None:
    """Beyond the last row the excess falls as 1 / n, without a jump; the state with the same mean is taken there."""
    problem = Problem(("one",), np.ones(1), span=1, horizon=40, groups=1)
    state = init(problem, GittinsParameters(discount=0.9))._replace(rows=11)  # as if it ended after ten pulls
    table = gittins_table(0.9, UNIFORM, 10)
    for n in range(1, 41):
        count_successes(state, 0, 0, float(n % 2))
        s, mean = (n + 1) // 2, (1 + (n + 1) // 2) / (2 + n)
        last = np.interp(mean * 12 - 1, np.arange(11), table[55:66]) * 12 / (2 + n)
        assert index(state, 0) == pytest.approx(mean + (table[n * (n + 1) // 2 + s] if n <= 10 else last), rel=1e-12)
