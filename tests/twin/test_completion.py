"""Completed traces: those of a literal version, with the means by age that the arm truly has."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from open_worlds import WINDOW, PaymentWorld, draw_arm

from tpstream.analysis.open_values import ArmAges, estimate
from tpstream.twin.completion import NEAREST, OWN, by_period, complete


def literal(arm: ArmAges, chances: list[float]) -> list[list[float]]:
    """The traces, decision by decision and payment by payment."""
    payments = list(zip(arm.row.tolist(), arm.age.tolist(), arm.amount.tolist(), strict=True))

    def paid_at(decision: int, age: int) -> float:
        return sum((amount for row, when, amount in payments if (row, when) == (decision, age)), 0.0)

    def history(decision: int, age: int) -> list[float]:
        paid, number, last = 0.0, 0, -1
        for before in range(age):
            paid += paid_at(decision, before)
            came = sum(1 for row, when, amount in payments if (row, when) == (decision, before) and amount)
            number, last = number + came, before if came else last
        return [paid, number, last]

    donors = [decision for decision in range(arm.count) if arm.observed[decision] == arm.periods]
    traces = []
    for decision in range(arm.count):
        age = int(arm.observed[decision])
        source = decision
        if age < arm.periods:
            scale = [float(np.std(column)) or 1.0 for column in np.array([history(one, age) for one in donors]).T]
            apart = [
                sum(abs(a - b) / s for a, b, s in zip(history(decision, age), history(one, age), scale, strict=True))
                for one in donors
            ]
            limit = sorted(apart)[min(NEAREST, len(donors)) - 1]
            near = [one for one, distance in zip(donors, apart, strict=True) if distance <= limit]
            alike = [
                one
                for one in range(arm.count)
                if arm.observed[one] == age and history(one, age) == history(decision, age)
            ]
            chance = (alike.index(decision) + chances[alike[0]]) / len(alike)
            source = near[int(chance * len(near))]
        traces.append([paid_at(decision if one < age else source, one) for one in range(arm.periods)])
    return traces


@st.composite
def small_arms(draw: st.DrawFn) -> ArmAges:
    """A few decisions of five periods, at least one of which is complete; amounts are whole, some are refunds."""
    observed = [5, *draw(st.lists(st.integers(0, 5), min_size=1, max_size=25))]
    payment = st.tuples(st.integers(0, len(observed) - 1), st.integers(0, 4), st.integers(-2, 3))
    rows = [one for one in draw(st.lists(payment, max_size=40)) if one[1] <= observed[one[0]]]
    row, age, amount = (
        np.array(column, dtype=kind) for column, kind in zip(_columns(rows), (int, int, float), strict=True)
    )
    return ArmAges(np.arange(float(len(observed))), np.array(observed), row, age, amount, 5)


def _columns(rows: list[tuple[int, int, int]]) -> list[list[int]]:
    return [[one[place] for one in rows] for place in range(3)]


@settings(max_examples=40, deadline=None)
@given(arm=small_arms(), seed=st.integers(0, 9))
def test_the_literal_version(arm: ArmAges, seed: int) -> None:
    """Traces are those of a slow version; what was observed is kept, donors are complete, and all ages are filled."""
    found = complete(arm, np.random.default_rng(seed))
    assert found.parts.tolist() == literal(arm, np.random.default_rng(seed).random(arm.count).tolist())
    assert ((found.donor == OWN) == (arm.observed == arm.periods)).all()
    assert (arm.observed[found.donor[found.donor != OWN]] == arm.periods).all()


def test_similar_histories_go_on_alike() -> None:
    """Who paid 100 before the cut goes on as those who paid 100, and not as those who paid 1."""
    count = 60
    amounts = np.where(np.arange(count) % 2, 100.0, 1.0)
    observed = np.full(count, 2)
    observed[-4:] = 1
    row = np.concatenate([np.arange(count), np.flatnonzero(observed == 2)])
    age = np.concatenate([np.zeros(count, int), np.ones(count - 4, int)])
    arm = ArmAges(np.arange(float(count)), observed, row, age, amounts[row], 2)
    found = complete(arm, np.random.default_rng(0))
    assert found.parts[:, 1].tolist() == amounts.tolist()


@pytest.mark.parametrize("refunds", [0.0, 0.05])
def test_means_by_age(refunds: float) -> None:
    """The mean of completed traces at each age is m_a within its error; so is their total, and the truth."""
    arm = draw_arm(np.random.default_rng(3), PaymentWorld(8000, 0.7, 0.6, refunds)).arm
    traces = complete(arm, np.random.default_rng(4)).parts
    expected = estimate(arm)
    assert expected.ages == WINDOW
    parts, _ = by_period(arm)
    reached = arm.reached()
    for age in range(WINDOW):
        error = parts[arm.observed > age, age].std() / np.sqrt(reached[age])
        assert abs(traces[:, age].mean() - expected.curve[age]) <= 3 * error
    assert abs(traces.sum(axis=1).mean() - expected.value) < expected.error
    assert abs(traces.sum(axis=1).mean() - PaymentWorld(8000, 0.7, 0.6, refunds).value) < 3 * expected.error
