"""Estimates from adaptive assignments: literal formulas, exact expectations, who is counted, what is refused."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from tpstream import Scenario, adaptive_estimates, import_log, read_log, simulate
from tpstream.analysis.adaptive_weights import WEIGHTS, Weights, evaluation_weights, stick_lambdas, weighted_mean
from tpstream.analysis.endpoints import read_endpoints
from tpstream.log.reader import Log
from tpstream.model.errors import DataError

ARMS = [{"name": name, "probability": chance} for name, chance in (("standard", 0.3), ("new", 0.5))]
TRIAL = Scenario(name="t", horizon=60, span=1, rewards={"kind": "binary"}, arms=ARMS, drain=True)
VISITS = TRIAL.with_(horizon=60, span=4, visits=[1.0, 2.0, 4.0, 8.0], drain=False)
LOSSES = [{"kind": "missing", "p": 0.1}, {"kind": "geometric", "p": 0.5}]


def literal(
    own: list[bool], chance: list[float], value: list[float], known: list[bool], weights: Weights, decay: float
) -> Iterator[tuple[float, float, float]]:
    """What is known in sum, the estimate and its variance, by IPW, then by AIPW, patient by patient."""
    total = len(own)
    for augmented in (False, True):
        left, sums, scores = 1.0, [0.0, 0.0], []
        for t in range(1, total + 1):
            e, earlier = chance[t - 1], range(t - 1)
            good = 1 / (1 + total - t)
            bad = (1 - decay) / ((1 - decay) + total * (t / total) ** decay - t)
            take = {"uniform": 0.0, "constant": good, "two-point": (1 - e) * bad + e * good}[weights]
            h = 1.0 if weights == "uniform" else (left * take * e) ** 0.5
            left *= 1 - take
            if augmented and t == 1:
                h = 0.0
            like = [i for i in earlier if own[i]] or list(earlier)
            m = float(np.mean([value[i] for i in like])) if like and augmented else 0.0
            c = float(np.mean([known[i] for i in like])) if like else 1.0
            g = m + (value[t - 1] - m) / e if own[t - 1] else m
            k = c + (known[t - 1] - c) / e if own[t - 1] else c
            scores.append((h, g, k))
            sums = [sums[0] + h * g, sums[1] + h * k]
        estimate = sums[0] / (sums[1] or np.nan)
        yield sums[1], estimate, sum((h * (g - estimate * k)) ** 2 for h, g, k in scores) / (sums[1] or np.nan) ** 2


patients = st.lists(
    st.tuples(st.booleans(), st.floats(0.05, 0.95), st.floats(-2, 3), st.sampled_from([True, True, False])),
    min_size=3,
    max_size=12,
)


@settings(max_examples=40)
@given(patients, st.sampled_from(WEIGHTS), st.sampled_from([0.0, 0.4, 0.7]))
def test_estimates_are_the_formulas(drawn: list[Any], weights: Weights, decay: float) -> None:
    """Estimate and variance, with endpoints that are not known, equal sums written patient by patient."""
    own, chance, value, known = (list(column) for column in zip(*drawn, strict=True))
    own[1] = known[1] = True  # somebody on the arm has an endpoint
    value = [one if there else 0.0 for one, there in zip(value, known, strict=True)]
    arrays = np.array(own), np.array(chance), np.array(value), np.array(known)
    for augmented, (total, estimate, variance) in enumerate(literal(own, chance, value, known, weights, decay)):
        found = weighted_mean(*arrays, weights, augmented=bool(augmented), decay=decay)
        if total < 1e-6:
            assert found is None or total > -1e-12
            continue
        assert found is not None
        np.testing.assert_allclose([found.estimate, found.error**2], [estimate, variance], rtol=1e-7, atol=1e-9)


@settings(max_examples=40)
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=30), st.floats(0, 0.95))
def test_a_stick_is_used_up(chance: list[float], decay: float) -> None:
    """h^2 / e adds up to 1; constant weights are sqrt(e / T), which two-point weights are if nothing decays."""
    e = np.array(chance)
    constant, none, two = (
        evaluation_weights(weights, e, a)
        for weights, a in (("constant", decay), ("two-point", 0.0), ("two-point", decay))
    )
    np.testing.assert_allclose(constant, np.sqrt(e / len(e)), rtol=1e-12)
    np.testing.assert_allclose(none, constant, rtol=1e-10)
    np.testing.assert_allclose(np.sum(two**2 / e), 1.0, rtol=1e-10)


def test_two_point_rates() -> None:
    """The rate of an arm that may be bad is t^-a over that plus the integral of s^-a from t to T."""
    t, total, a = np.arange(1, 51), 50, 0.7
    bad = t**-a / (t**-a + (total ** (1 - a) - t ** (1 - a)) / (1 - a))
    np.testing.assert_allclose(stick_lambdas("two-point", np.zeros(total), a), bad, rtol=1e-9)


def test_expectations_by_enumeration() -> None:
    """Over all courses of a trial of five patients, IPW and AIPW with equal weights are right; naive means are not."""
    truth, expected = (0.4, 0.7), dict.fromkeys(("naive", "ipw", "aipw"), 0.0)
    for arms in itertools.product((0, 1), repeat=5):
        for outcomes in itertools.product((0, 1), repeat=5):
            chance, weight = [], 1.0
            for t in range(5):  # play the winner: an urn to which a success adds a ball of its arm
                balls = [1 + sum(x for arm, x in zip(arms[:t], outcomes[:t], strict=True) if arm == k) for k in (0, 1)]
                e = balls[1] / sum(balls)
                p = truth[arms[t]] if outcomes[t] else 1 - truth[arms[t]]
                weight *= (e if arms[t] else 1 - e) * p
                chance.append(e)
            own, value = np.array(arms) == 1, np.array(outcomes, dtype=float)
            expected["naive"] += weight * (value[own].mean() if own.any() else truth[1])
            for name in ("ipw", "aipw"):
                full = np.ones(5, dtype=bool)
                found = weighted_mean(own, np.array(chance), value, full, "uniform", augmented=name == "aipw")
                expected[name] += weight * found.estimate
    assert expected["ipw"] == pytest.approx(0.7, abs=1e-12)
    assert expected["aipw"] == pytest.approx(0.7, abs=1e-12)
    assert expected["naive"] < 0.69


def logged(path: Path, scenario: Scenario = TRIAL, policy: str = "best-probability:minimum=0.1", **keys: Any) -> Log:
    """The log of a run with probabilities."""
    simulate(scenario, policy, seed=5, log=path, log_detail="probabilities", engine="simpy", **keys)
    return read_log(path)


@pytest.mark.parametrize("count", ["due", "known"])
@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [0, 0.5, 1, 0], [0, 0, 0, 1]])
def test_endpoints_are_those_of_the_events(count: Any, weights: list[float], tmp_path: Path) -> None:
    """Who is counted, and each endpoint, from the events one by one; lost parts and defaults are no endpoint."""
    world = VISITS.with_(delays=LOSSES, default_reward=0.5, window=12.0)
    log = logged(tmp_path / "log.jsonl", world, "uniform")
    events = list(log.events())
    missing = {(one.pull, one.part) for one in events if one.kind in ("late", "dropped")}
    parts = {(one.pull, one.part): one.value for one in events if one.kind == "partial"}
    needed = [part for part in range(1, 5) if weights[part - 1]]
    due = [1.0, 2.0, 4.0, 8.0][needed[-1] - 1]
    expected = []
    for pull in (one for one in events if one.kind == "pull"):
        keys = [(pull.pull, part) for part in needed]
        known = all(key in parts and key not in missing for key in keys)
        value = sum(weights[part - 1] * (parts[pull.pull, part] or 0) for part in needed) if known else 0.0
        if count == "known" or pull.time + due <= events[-1].time:
            expected.append((pull.pull - 1, pull.arm, value, known))
    found = read_endpoints(log, weights, count)
    rows = list(zip(found.counted, found.arm, found.value, found.known, strict=True))
    assert [row[:2] + row[3:] for row in rows] == [row[:2] + row[3:] for row in expected]
    np.testing.assert_allclose(found.value, [row[2] for row in expected])
    assert 0 < found.known.sum() < len(rows)


def test_a_log_gives_what_its_columns_give(tmp_path: Path) -> None:
    """Estimates of a log are those of the formulas; differences count what two arms share of a patient once."""
    log = logged(tmp_path / "log.arrows")
    found, patients = adaptive_estimates(log, decay=0.6), read_endpoints(log)
    assert patients.probabilities is not None
    influences = [
        weighted_mean(
            patients.arm == arm,
            patients.probabilities[:, arm],
            patients.value,
            patients.known,
            "two-point",
            augmented=True,
            decay=0.6,
        )
        for arm in (0, 1)
    ]
    difference = found.find("new", weights="two-point", against="standard")
    spread = influences[1].patients - influences[0].patients
    assert difference.value == influences[1].estimate - influences[0].estimate
    assert difference.error == np.sqrt(np.sum(spread**2))
    naive = found.find("new", "naive").columns()
    own = patients.value[patients.arm == 1]
    assert naive["estimate"] == pytest.approx(own.mean())
    by_scipy = stats.ttest_1samp(own, 0).confidence_interval()
    assert (naive["low"], naive["high"]) == pytest.approx(tuple(by_scipy))
    difference = found.find("new", "naive", against="standard")
    by_scipy = stats.ttest_ind(own, patients.value[patients.arm == 0], equal_var=False).confidence_interval()
    assert (difference.low, difference.high) == pytest.approx(tuple(by_scipy))


def test_a_trial_names_endpoint_and_control(tmp_path: Path) -> None:
    """The control is the first arm unless one is named; wrong names and weights are one line."""
    log = logged(tmp_path / "log.arrows")
    assert adaptive_estimates(log).control == "standard"
    assert adaptive_estimates(log, control="new").find("standard", against="new").value is not None
    for wrong in ({"control": "news"}, {"endpoint": [1, 2]}, {"endpoint": "first"}, {"decay": 1.0}, {"count": "all"}):
        with pytest.raises(DataError) as told:
            adaptive_estimates(log, **wrong)  # type: ignore[arg-type]
        assert "\n" not in str(told.value)


def chosen_only(folder: Path) -> Log:
    """An imported log, which has the probability of the chosen arm only."""
    offers = pd.DataFrame({"id": range(40), "day": range(40), "arm": ["a", "b"] * 20, "probability": [0.5] * 40})
    paid = pd.DataFrame({"id": range(0, 40, 3), "day": range(0, 40, 3), "amount": 1.0})
    return import_log(offers, paid, out=folder / "a.arrows", window=5, until=60)


@pytest.mark.parametrize("case", ["ucb1", "explore-then-commit:tries=30", "explore-then-commit", "none", "chosen"])
def test_what_is_not_available(case: str, tmp_path: Path) -> None:
    """Deterministic rules, and logs without the probabilities of all arms, give a reason and never a number."""
    if case == "chosen":
        log = chosen_only(tmp_path)
    elif case == "none":
        simulate(TRIAL, "uniform", log=tmp_path / "log.arrows")
        log = read_log(tmp_path / "log.arrows")
    else:
        log = logged(tmp_path / "log.arrows", policy=case)
    found = adaptive_estimates(log)
    weighted = [one for one in found.estimates if one.estimator != "naive"]
    assert all(one.value is None and one.error is None and one.reason for one in weighted)
    assert "not available" in found.notes[-1]
    assert all(one.value is not None for one in found.estimates if one.estimator == "naive")


def test_equal_endpoints_have_no_interval(tmp_path: Path) -> None:
    """Where all endpoints of an arm are equal there is no error to be estimated, and no interval."""
    none = [{"name": "a", "probability": 0.0}, {"name": "b", "probability": 0.5}]
    found = adaptive_estimates(logged(tmp_path / "log.arrows", TRIAL.with_(arms=none), "uniform"))
    row = found.find("a").columns()
    assert (row["estimate"], row["low"], row["high"]) == (0.0, None, None)
    assert row["reason"] == "all known endpoints are equal"
