"""The analysis of a look against slow versions that go through patients and parts one by one."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.support.histories import History, random_history
from tpstream.looks.analysis import Moments, estimate_arms
from tpstream.looks.design import AnalysisName, Design, Looks
from tpstream.looks.patients import Patients, add_events, no_patients

VISITS = np.array([0.0, 1.0, 3.0])
SEEDS = st.integers(0, 2**32 - 1)
WEIGHTS = st.sampled_from([[0, 0, 1], [1, 1, 1], [0, 2, 0], [1, 0, 0.5], [-1, 0, 1]])


def make_design(weights: list[float], **keys: Any) -> Design:
    """A design of two arms."""
    caps = np.full((2, 3), 1.0)
    return Design(("a", "b"), 150, VISITS, np.array(weights, dtype=np.float64), caps=caps, **keys)


def patients_of(design: Design, history: History, pieces: int = 1, seed: int = 0) -> Patients:
    """What the events of a history tell, heard in so many pieces."""
    events, patients = history.events(), no_patients(design)
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(events) + 1, pieces - 1)).tolist()
    for first, last in zip([0, *cuts], [*cuts, len(events)], strict=True):
        add_events(patients, events.cut(first, last))
    return patients


def part_at(design: Design, history: History, row: int, part: int, cut: float, *, everything: bool) -> float | None:
    """What a part counts at a cut, None for nothing: it must be due and known; a lost one may count as the worst."""
    if history.entered[row] > cut or not (everything or history.entered[row] + VISITS[part] <= cut):
        return None
    now = math.inf if everything else cut
    if math.isfinite(history.known[row, part]) and history.known[row, part] <= now:
        return float(history.values[row, part])
    closed = np.minimum(history.known[row], history.lost[row]).max()
    lost = min(history.lost[row, part], closed)
    if design.dropouts == "failure" and math.isfinite(lost) and lost <= now:
        bad_if_high = design.lower != (design.weights[part] < 0)
        return 1.0 if bad_if_high else 0.0
    return None


def slow_complete(design: Design, history: History, arm: int, cut: float, *, everything: bool) -> tuple[float, ...]:
    """Counted patients, mean and variance of the mean of complete endpoints."""
    endpoints = []
    for row in range(len(history.arm)):
        if history.arm[row] != arm:
            continue
        parts = {
            part: part_at(design, history, row, part, cut, everything=everything)
            for part in range(3)
            if design.weights[part] != 0
        }
        if all(value is not None for value in parts.values()):
            endpoints.append(sum(design.weights[part] * value for part, value in parts.items() if value is not None))
    count = len(endpoints)
    mean = sum(endpoints) / count if count else math.nan
    divisor = count if design.counts else count - 1
    variance = sum((one - mean) ** 2 for one in endpoints) / divisor / count if divisor > 0 else math.nan
    return count, mean, variance


def slow_available(design: Design, history: History, arm: int, cut: float, *, everything: bool) -> tuple[float, ...]:
    """Counted patients, the sum of weighted means by part, and its variance by patients."""
    rows = [row for row in range(len(history.arm)) if history.arm[row] == arm]
    parts = [part for part in range(3) if design.weights[part] != 0]
    table = {
        (row, part): part_at(design, history, row, part, cut, everything=everything) for row in rows for part in parts
    }
    known = {part: [table[row, part] for row in rows if table[row, part] is not None] for part in parts}
    counted = sum(any(table[row, part] is not None for part in parts) for row in rows)
    if any(not known[part] for part in parts):
        return counted, math.nan, math.nan
    means = {part: sum(known[part]) / len(known[part]) for part in parts}  # type: ignore[arg-type]
    total = 0.0
    for row in rows:
        error = 0.0
        for part in parts:
            value = table[row, part]
            if value is not None:
                error += design.weights[part] * (value - means[part]) / len(known[part])
        total += error**2
    least = min(len(known[part]) for part in parts)
    usual = 1.0 if design.counts else (least / (least - 1) if least > 1 else math.nan)
    return counted, sum(design.weights[part] * means[part] for part in parts), total * usual


@given(
    SEEDS, WEIGHTS, st.tuples(st.booleans(), st.booleans(), st.booleans()), st.sampled_from(["complete", "available"])
)
@settings(max_examples=60, deadline=None)
def test_estimates_are_those_of_the_slow_version(
    seed: int, weights: list[float], flags: tuple[bool, bool, bool], name: str
) -> None:
    """With drop-outs left out or as failures, at a cut or with everything known, for any weights."""
    lower, failure, everything = flags
    history = random_history(seed, VISITS, 2, 20, binary=True)
    dropouts: Any = "failure" if failure else "exclude"
    looks = Looks(analysis=name)  # type: ignore[arg-type]
    design = make_design(weights, lower=lower, dropouts=dropouts, counts=weights == [0, 0, 1], looks=looks)
    cut = float(seed % 25)
    patients = patients_of(design, history, pieces=1 + seed % 4, seed=seed)
    found = estimate_arms(design, patients, cut, 1e300 if everything else cut)
    slow = slow_complete if name == "complete" else slow_available
    for arm in range(2):
        expected = slow(design, history, arm, cut, everything=everything)
        np.testing.assert_allclose([one[arm] for one in found], expected, rtol=1e-12, atol=1e-15)


@given(SEEDS, st.integers(2, 6))
@settings(max_examples=20, deadline=None)
def test_any_division_into_batches_gives_the_same(seed: int, pieces: int) -> None:
    """Also to the last bit."""
    design, history = make_design([1, 0, 2]), random_history(seed, VISITS, 2, 20)
    whole, parted = (
        estimate_arms(design, patients_of(design, history, some, seed), 12.0, 12.0) for some in (1, pieces)
    )
    assert [one.tobytes() for one in whole] == [one.tobytes() for one in parted]


@pytest.mark.parametrize("name", ["complete", "available", "imputed"])
def test_what_is_heard_after_the_cut_does_not_count(name: AnalysisName) -> None:
    """A look can be analysed when later events were heard, with the same result to the last bit."""
    design, history = make_design([1, 0.3, 0.7], looks=Looks(analysis=name)), random_history(1, VISITS, 2, 140)
    events = history.events()
    for cut in np.linspace(20, 80, 13):
        early, late = no_patients(design), no_patients(design)
        add_events(late, events)
        add_events(early, events.take(events.time <= cut))
        for one, other in zip(
            estimate_arms(design, early, cut, cut), estimate_arms(design, late, cut, cut), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_available_equals_complete_for_one_visit(seed: int) -> None:
    """Where one part counts, parts one by one are the same as patients."""
    history = random_history(seed, VISITS, 2, 25)
    found = []
    for name in ("complete", "available"):
        design = make_design([0, 0, 3], looks=Looks(analysis=name))  # type: ignore[arg-type]
        found.append(estimate_arms(design, patients_of(design, history), 14.0, 14.0))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def monotone(seed: int, patients: int = 40) -> History:
    """A history in which a patient's parts are known up to some visit, as of who is still followed."""
    random = np.random.default_rng(seed)
    history = random_history(seed, VISITS, 2, patients)
    values = history.values.cumsum(axis=1)  # so visits of one patient correlate
    seen = np.arange(3) < random.integers(1, 4, (patients, 1))
    due = history.entered[:, np.newaxis] + VISITS
    return replace(history, values=values, known=np.where(seen, due, np.inf), lost=np.full_like(due, np.inf))


def imputed(history: History, weights: list[float]) -> Moments:
    """The imputed analysis when all visits are due."""
    design = make_design(weights, looks=Looks(analysis="imputed"))
    return estimate_arms(design, patients_of(design, history), 1e6, 1e6)


def slow_imputed(history: History, weights: list[float], arm: int) -> float:
    """Missing visits in turn predicted by a regression on the visits before, of patients of whom they are known."""
    rows = history.arm == arm
    values, known = history.values[rows].copy(), np.isfinite(history.known[rows])
    for visit in range(3):
        both = known[:, : visit + 1].all(axis=1)
        before = np.column_stack([np.ones(len(values)), values[:, :visit]])
        coefficients = np.linalg.solve(before[both].T @ before[both], before[both].T @ values[both, visit])
        values[~known[:, visit], visit] = (before @ coefficients)[~known[:, visit]]
    return float((values @ np.array(weights)).mean())


@pytest.mark.parametrize("weights", [[0, 0, 1], [1, 1, 1], [-1, 0, 1], [0, 1, 0]])
@pytest.mark.parametrize("seed", [1, 2])
def test_imputed_is_sequential_regression(weights: list[float], seed: int) -> None:
    """The estimate is the mean of endpoints after visits were predicted one after another."""
    history = monotone(seed, 80)
    found = imputed(history, weights)
    for arm in range(2):
        assert found.estimate[arm] == pytest.approx(slow_imputed(history, weights, arm), rel=1e-9)


@given(SEEDS, WEIGHTS)
@settings(max_examples=10, deadline=None)
def test_all_analyses_agree_when_everything_is_known(seed: int, weights: list[float]) -> None:
    """Then there is nothing to predict, and every part counts for everybody."""
    history = random_history(seed, VISITS, 2, 30)
    due = history.entered[:, np.newaxis] + VISITS
    history = replace(history, known=due, lost=np.full_like(due, np.inf))
    found = []
    for name in ("complete", "available", "imputed"):
        design = make_design(weights, looks=Looks(analysis=name))  # type: ignore[arg-type]
        found.append(estimate_arms(design, patients_of(design, history), 1e6, 1e6))
    for other in found[1:]:
        np.testing.assert_allclose(np.array(other), np.array(found[0]), rtol=1e-9)


@pytest.mark.verify
def test_the_variance_of_imputed_estimates() -> None:
    """Over 2,000 trials with missing visits, the mean of the variances is the variance of the estimates, within 8 %."""
    found = [imputed(monotone(seed, 120), [0, 0, 1]) for seed in range(2000)]
    estimates, variances = (np.array([getattr(one, name)[0] for one in found]) for name in ("estimate", "variance"))
    assert variances.mean() == pytest.approx(estimates.var(), rel=0.08)  # 2.5 Monte Carlo errors of the variance
