"""Values of arms whose decisions are still paying: as their formulas say, evaluated one decision and age at a time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from open_worlds import PaymentWorld, draw_arm
from scipy import stats

from tpstream.analysis.open_values import FEWEST, ArmAges, OpenValue, Shape, degrees_of_freedom, estimate

PERIODS = 4


@st.composite
def arms(draw: st.DrawFn) -> ArmAges:
    """Any arm: at least two decisions reach the last age; payments at any age that has begun."""
    observed = np.array([PERIODS, PERIODS, *draw(st.lists(st.integers(0, PERIODS), max_size=6))])
    rows = range(len(observed))
    payments = draw(
        st.lists(st.tuples(st.sampled_from(rows), st.integers(0, PERIODS - 1), st.integers(-50, 100)), max_size=15)
    )
    payments = [(row, age, amount) for row, age, amount in payments if age <= observed[row]]
    row, age, amount = np.array(payments, dtype=np.int64).reshape(-1, 3).T
    return ArmAges(-observed.astype(float), observed, row, age, amount / 4, PERIODS)


def literal(arm: ArmAges) -> dict[str, float]:
    """The formulas as they stand, in loops."""
    paid = np.zeros((arm.count, PERIODS))
    for row, age, amount in zip(arm.row, arm.age, arm.amount, strict=True):
        paid[row, age] += amount
    seen = [[age for age in range(PERIODS) if arm.observed[row] >= age + 1] for row in range(arm.count)]
    reached = [sum(age in ages for ages in seen) for age in range(PERIODS)]
    means = [
        sum(paid[row, age] for row in range(arm.count) if age in seen[row]) / reached[age] for age in range(PERIODS)
    ]
    shares = [number / arm.count for number in reached]
    f = [sum((paid[row, age] - means[age]) / shares[age] for age in seen[row]) for row in range(arm.count)]
    g = [sum((paid[row, age] - means[age]) * (1 / shares[age] - 1) for age in seen[row]) for row in range(arm.count)]
    complete = [row for row in range(arm.count) if len(seen[row]) == PERIODS]
    squares, third = [x * x for x in g], 0.0
    for row in range(arm.count):
        if len(seen[row]) < PERIODS:
            apart = np.array([paid[other, len(seen[row]) :].sum() for other in complete])
            apart -= apart.mean()
            third += np.mean(apart**3)
            for other, distance in zip(complete, apart, strict=True):
                squares[other] += distance**2 / (len(complete) - 1)
    error = np.sqrt(sum(squares))
    ratio = sum(x * square for x, square in zip(g, squares, strict=True))
    bend = (3 * ratio - sum(x**3 for x in g) + third) / 6
    begun = sum(paid[row, age] for row in range(arm.count) for age in range(PERIODS) if age not in seen[row])
    return {
        "value": sum(means),
        "error": np.sqrt(sum(x * x for x in f)) / arm.count,
        "outstanding": sum((arm.count - reached[age]) * means[age] for age in range(PERIODS)) - begun,
        "outstanding_error": error,
        "bend": bend / error**3 if error > 1e-6 else 0.0,
        "shift": (ratio / 2 - bend) / error**3 if error > 1e-6 else 0.0,
        "paid": paid.sum(),
    }


@settings(max_examples=150)
@given(arms())
def test_the_formulas(arm: ArmAges) -> None:
    """Value, outstanding and their errors are those of the literal formulas, for any payments and refunds."""
    found = estimate(arm, PERIODS)
    expected = literal(arm)
    for name in ("bend", "shift"):
        if found.outstanding_error > 1e-6:
            assert getattr(found.outstanding_shape, name) == pytest.approx(expected[name], abs=1e-9), name
        del expected[name]
    for name, number in expected.items():
        assert getattr(found, name) == pytest.approx(number, abs=1e-9), name


@settings(max_examples=50)
@given(arms())
def test_nothing_is_lost(arm: ArmAges) -> None:
    """What was paid and what is outstanding add up to the value of all decisions."""
    found = estimate(arm, PERIODS)
    assert found.paid + found.outstanding == pytest.approx(found.value * arm.count)


def test_complete_decisions_need_no_correction() -> None:
    """Without open decisions, the value is the mean of what was paid, with its error, and nothing is outstanding."""
    random = np.random.default_rng(0)
    amount = random.exponential(size=200)
    arm = ArmAges(np.zeros(100), np.full(100, 2), np.arange(200) % 100, np.arange(200) // 100, amount, 2)
    found, totals = estimate(arm), amount[:100] + amount[100:]
    assert found.value == pytest.approx(totals.mean())
    assert found.error == pytest.approx(totals.std() / 10)
    assert (found.outstanding, found.outstanding_error) == (pytest.approx(0.0, abs=1e-9), pytest.approx(0.0, abs=1e-6))


def test_ages_that_too_few_have_reached() -> None:
    """Only ages that 50 decisions have reached count."""
    observed = np.repeat([1, 2, 3], [10, FEWEST - 1, 1])
    arm = ArmAges(np.zeros(60), observed, np.array([59]), np.array([2]), np.array([1.0]), 3)
    assert arm.reached().tolist() == [60, 50, 1]
    assert arm.usable() == 2
    assert estimate(arm).value == 0.0


@pytest.mark.parametrize("skew", [0.0, 0.5, 3.0])
def test_the_interval_solves_its_equation(skew: float) -> None:
    """The transformed distance of each end from the estimate is the quantile of Student's distribution."""
    errors = np.random.default_rng(1).gamma(2.0, size=80) ** skew if skew else np.tile([-1.0, 1.0], 40)
    errors = (errors - errors.mean()) / 80
    found = OpenValue(1, np.zeros(1), 5.0, errors, 0.0, 0.0, 0.0, Shape(0.0, 0.0, 1.0))
    third = float((errors**3).sum() / (errors**2).sum() ** 1.5)  # skewness / sqrt n
    for end, quantile in zip(found.interval(), (0.975, 0.025), strict=True):
        z = (5.0 - end) / found.error
        transformed = z + third * (2 * z * z + 1) / 6 + third**2 * z**3 / 27
        assert transformed == pytest.approx(stats.t.ppf(quantile, degrees_of_freedom(errors**2)))


def test_degrees_of_freedom() -> None:
    """They fall to those of the few decisions that carry the error, and have no end where all add the same."""
    assert degrees_of_freedom(np.ones(50)) > 1e9
    assert degrees_of_freedom(np.repeat([1.0, 0.0], [5, 10_000])) == pytest.approx(10, rel=0.01)
    normal = np.random.default_rng(1).normal(size=100_000) ** 2
    assert degrees_of_freedom(normal) == pytest.approx(100_000, rel=0.05)


def test_an_earlier_cut() -> None:
    """An arm as it was known earlier is the arm of a cut at that time."""
    drawn = draw_arm(np.random.default_rng(2), PaymentWorld(500, 0.5, 0.5, 0.1))
    then = drawn.arm.cut(drawn.times, 90.0)
    assert then.count == int((drawn.arm.made <= 90).sum())
    assert then.observed.tolist() == [min(int(90 - made), 60) for made in then.made]
    assert then.amount.sum() == pytest.approx(drawn.arm.amount[drawn.times <= 90].sum())
    assert estimate(drawn.arm.cut(drawn.times, 120.0)).value == pytest.approx(estimate(drawn.arm).value)


def test_values_by_age_end_in_the_value() -> None:
    """The error of what is paid up to the last age is that of the value."""
    drawn = draw_arm(np.random.default_rng(3), PaymentWorld(800, 0.5, 0.5, 0.0))
    found = estimate(drawn.arm)
    assert found.curve_errors(drawn.arm)[-1] == pytest.approx(found.error)
