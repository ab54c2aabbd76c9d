"""The value of a learning policy from the decisions that it kept: as the formulas say, one decision at a time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from logged_decisions import ARMS, PERIODS, logged

from tpstream.analysis.open_values import ArmAges
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.twin.kept_value import MOST_OVERLAP, kept_value


def literal(ages: ArmAges, arm: Ints, replays: list[Bools]) -> tuple[float, float]:
    """The value and its variance, in loops."""
    n, repeats = ages.count, len(replays)
    x = np.zeros((n, PERIODS))
    for row, age, amount in zip(ages.row, ages.age, ages.amount, strict=True):
        x[row, age] += amount
    seen = [[a for a in range(PERIODS) if ages.observed[i] > a] for i in range(n)]
    count = {(k, a): sum(arm[i] == k and a in seen[i] for i in range(n)) for k in range(ARMS) for a in range(PERIODS)}
    mean = {(k, a): sum(x[i, a] for i in range(n) if arm[i] == k and a in seen[i]) / count[k, a] for k, a in count}
    total = [sum(x[i, a] if a in seen[i] else mean[arm[i], a] for a in range(PERIODS)) for i in range(n)]
    values = [np.mean([total[i] for i in range(n) if kept[i]]) for kept in replays]
    e = [
        [(total[i] - value) / sum(kept) if kept[i] else 0.0 for i in range(n)]
        for kept, value in zip(replays, values, strict=True)
    ]

    def unseen(k: int, a: int) -> float:
        return float(
            np.mean(
                [sum(kept[i] and arm[i] == k and a not in seen[i] for i in range(n)) / sum(kept) for kept in replays]
            )
        )

    errors = [
        np.mean([one[i] for one in e])
        + sum((x[i, a] - mean[arm[i], a]) / count[arm[i], a] * unseen(arm[i], a) for a in seen[i])
        for i in range(n)
    ]
    variance = sum(error**2 for error in errors)
    misled = max(np.var(values, ddof=1) - sum(np.var([one[i] for one in e], ddof=1) for i in range(n)), 0.0)
    both = np.mean([[sum(one[i] and other[i] for i in range(n)) for other in replays] for one in replays])
    u = min(both / np.mean([sum(kept) for kept in replays]), MOST_OVERLAP)
    return float(np.mean(values)), float(variance + (misled * (1 / repeats + u / (1 - u)) if variance > 0 else 0.0))


@settings(max_examples=60)
@given(logged(), st.lists(st.integers(1, 1023), min_size=2, max_size=4))
def test_the_formulas(world: tuple[ArmAges, Ints, Floats], picks: list[int]) -> None:
    """Value and error are those of the literal formulas, whatever was kept in each replay."""
    ages, arm, _ = world
    replays = [np.array([pick >> (place % 10) & 1 for place in range(len(arm))], dtype=bool) for pick in picks]
    replays = [kept if kept.any() else ~kept for kept in replays]
    value, variance = literal(ages, arm, replays)
    found = kept_value(ages, arm, ARMS, replays, PERIODS)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.error**2 == pytest.approx(variance, abs=1e-9)
