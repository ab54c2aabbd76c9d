"""Values of a fixed allocation: as the formulas say, evaluated one decision and age at a time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from logged_decisions import ARMS, PERIODS, logged

from tpstream.analysis.open_values import ArmAges, estimate
from tpstream.model.arrays import Floats, Ints
from tpstream.twin.weighted import effective_size, finished, weighted_values


def literal(ages: ArmAges, arm: Ints, chance: Floats, allocation: Floats) -> dict[str, tuple[float, list[float]]]:
    """The values and the errors f_i / n of the formulas, in loops."""
    n = ages.count
    x = np.zeros((n, PERIODS))
    for row, age, amount in zip(ages.row, ages.age, ages.amount, strict=True):
        x[row, age] += amount
    w = [allocation[arm[i]] / chance[i] for i in range(n)]
    found = {name: (0.0, [0.0] * n) for name in ("inverse propensity", "self-normalised", "doubly robust")}

    def add(name: str, value: float, errors: dict[int, float]) -> None:
        total, sums = found[name]
        found[name] = total + value, [sums[i] + errors.get(i, 0.0) / n for i in range(n)]

    for a in range(PERIODS):
        seen = [i for i in range(n) if ages.observed[i] >= a + 1]
        p = len(seen) / n
        v = sum(w[i] * x[i, a] for i in seen) / len(seen)
        add("inverse propensity", v, {i: (w[i] * x[i, a] - v) / p for i in seen})
        mean_weight = sum(w[i] for i in seen) / len(seen)
        s = sum(w[i] * x[i, a] for i in seen) / sum(w[i] for i in seen)
        add("self-normalised", s, {i: w[i] * (x[i, a] - s) / (p * mean_weight) for i in seen})
        own = {k: [i for i in seen if arm[i] == k] for k in range(ARMS)}
        m = {k: sum(x[i, a] for i in own[k]) / len(own[k]) for k in range(ARMS)}
        value = sum(allocation[k] * m[k] for k in range(ARMS))
        value += sum(w[i] * (x[i, a] - m[arm[i]]) for i in seen) / len(seen)
        d = {k: allocation[k] - sum(w[i] for i in own[k]) / len(seen) for k in range(ARMS)}
        add(
            "doubly robust",
            value,
            {i: (x[i, a] - m[arm[i]]) * (w[i] / p + d[arm[i]] * n / len(own[arm[i]])) for i in seen},
        )
    return found


@settings(max_examples=80)
@given(logged(), st.sampled_from([(0.5, 0.5), (0.2, 0.8), (1.0, 0.0)]))
def test_the_formulas(world: tuple[ArmAges, Ints, Floats], allocation: tuple[float, float]) -> None:
    """All three values, and the errors of all decisions, are those of the literal formulas, refunds included."""
    shares = np.array(allocation)
    found = weighted_values(*world, shares, PERIODS)
    for name, (value, errors) in literal(*world, shares).items():
        assert found[name].value == pytest.approx(value, abs=1e-9), name
        assert found[name].errors == pytest.approx(np.array(errors), abs=1e-9), name


@settings(max_examples=30)
@given(logged())
def test_the_allocation_of_the_log(world: tuple[ArmAges, Ints, Floats]) -> None:
    """If the allocation is that of the log, weights are 1 and all values are that of the decisions without arms."""
    ages, arm, _ = world
    shares = np.array([0.4, 0.6])
    found = weighted_values(ages, arm, shares[arm], shares, PERIODS)
    plain = estimate(ages, PERIODS)
    for name in ("inverse propensity", "self-normalised"):
        assert found[name].value == pytest.approx(plain.value)
        assert found[name].errors == pytest.approx(plain.errors, abs=1e-9)


def test_one_arm_by_fixed_probabilities() -> None:
    """With constant probabilities the doubly robust value of an arm is that of its own decisions, with its error."""
    random = np.random.default_rng(1)
    arm, observed = random.integers(0, 2, 400), random.integers(1, PERIODS + 1, 400)
    row = np.flatnonzero(random.random(400) < 0.5)
    age = random.integers(0, PERIODS, len(row))
    ages = ArmAges(np.zeros(400), observed, row, age, random.normal(1.0, 1.0, len(row)), PERIODS)
    found = weighted_values(ages, arm, np.full(400, 0.5), np.array([0.0, 1.0]), PERIODS)["doubly robust"]
    chosen = arm[row] == 1
    number = np.cumsum(arm == 1) - 1
    own = ArmAges(
        np.zeros((arm == 1).sum()), observed[arm == 1], number[row[chosen]], age[chosen], ages.amount[chosen], 3
    )
    alone = estimate(own, PERIODS)
    assert found.value == pytest.approx(alone.value)
    assert found.error == pytest.approx(alone.error)


def test_open_decisions_taken_as_finished() -> None:
    """As finished, every decision counts at every age with what was paid, also in a period that is not over."""
    ages = ArmAges(np.zeros(2), np.array([3, 1]), np.array([0, 1]), np.array([2, 1]), np.array([4.0, 2.0]), 3)
    found = weighted_values(finished(ages), np.zeros(2, dtype=int), np.ones(2), np.ones(1), 3)
    assert found["inverse propensity"].value == pytest.approx(3.0)


def test_the_effective_number_of_decisions() -> None:
    """Equal weights count in full, and one large weight counts alone."""
    assert effective_size(np.full(7, 2.5)) == pytest.approx(7)
    assert effective_size(np.array([1000.0, 1.0, 1.0])) == pytest.approx(1, abs=0.01)
    assert effective_size(np.zeros(3)) == 0
