"""What the rules of a design say: cases by hand, published values, and laws."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from tpstream.looks.analysis import Moments
from tpstream.looks.critical_values import CriticalValues, dunnett_share, per_comparison
from tpstream.looks.delayed_response import decision_after_stop
from tpstream.looks.design import Design, Looks, Reason, Rule
from tpstream.looks.posteriors import best_probabilities
from tpstream.looks.rules import Stop, Verdict, judge
from tpstream.looks.statistics import FollowUp, LookData

INFERIOR, SUPERIOR, EQUIVALENT, FUTILE = (int(one) for one in list(Reason)[:4])
RATES = (0.4, 0.65, 1.0)


def make_design(*rules: Rule, arms: int = 3, **keys: Any) -> Design:
    """A binary design with the first arm as control."""
    names = tuple("abcde"[:arms])
    given = {"control": 0, "counts": True, "information": (0.5, 1.0), "looks": Looks("known", (100.0,))} | keys
    return Design(names, 200, np.zeros(1), np.ones(1), rules=rules, **given)


def binary(successes: list[float], patients: list[float]) -> LookData:
    """The data of arms with so many successes."""
    counted = np.array(patients, dtype=np.float64)
    share = np.array(successes) / counted
    return LookData(Moments(counted, share, share * (1 - share) / counted), None)


def decide(
    design: Design, data: LookData, analysis: int = 0, is_open: list[bool] | None = None, **keys: Any
) -> Verdict:
    """What the rules say with these arms open, by default all."""
    opened = np.array([True] * design.arms if is_open is None else is_open)
    return judge(design, CriticalValues(design), data, opened, analysis, **keys)


BEST = (
    Rule("inferiority", "posterior", "best", threshold=0.02, prior=(1.0, 1.0)),
    Rule("superiority", "posterior", "best", threshold=0.98, prior=(1.0, 1.0)),
    Rule("equivalence", "posterior", "all", threshold=0.9, margin=0.1, prior=(1.0, 1.0)),
)


def test_the_first_statistic_is_that_of_all_open_arms() -> None:
    """P(best) of the Beta posteriors, in the direction of benefit; nothing happens in between."""
    data = binary([29, 40, 34], [58, 59, 60])
    found = decide(make_design(*BEST, control=-1), data)
    np.testing.assert_allclose(found.statistic[0], [0.01796526, 0.8788907, 0.1031441], atol=1e-6)
    lower = decide(make_design(*BEST, control=-1, lower=True), data)
    a, b = np.array([30.0, 41, 35]), np.array([30.0, 20, 27])
    np.testing.assert_allclose(lower.statistic[0], best_probabilities("beta", b, a), atol=1e-12)


def test_inferior_arms_are_closed_and_the_rest_is_judged_anew() -> None:
    """The first arm is closed; P(best) of superiority is that of the two others."""
    found = decide(make_design(*BEST, control=-1), binary([29, 40, 34], [58, 59, 60]))
    assert found.closed.tolist() == [INFERIOR, 0, 0]
    assert not found.stop
    two = best_probabilities("beta", np.array([41.0, 35.0]), np.array([20.0, 27.0]))
    np.testing.assert_allclose(found.statistic[1], [np.nan, *two], atol=1e-12)


def test_the_last_arm_is_superior() -> None:
    """Without a control, a trial in which all other arms are inferior stops, and the arm that is left is selected."""
    found = decide(make_design(BEST[0], control=-1), binary([10, 10, 60], [100, 100, 100]))
    assert (found.conclusion, found.selected) == (SUPERIOR, 2)
    assert found.verdict.tolist() == [INFERIOR, INFERIOR, SUPERIOR]
    assert found.closed.tolist() == [INFERIOR, INFERIOR, SUPERIOR]


def test_at_least_the_best_arm_stays() -> None:
    """A threshold so high that all arms are inferior leaves the best one."""
    found = decide(make_design(replace(BEST[0], threshold=0.99), control=-1), binary([30, 31, 32], [100] * 3))
    assert (found.conclusion, found.selected) == (SUPERIOR, 2)


def test_equivalence_of_all_stops_the_trial() -> None:
    """Every arm that is open is closed for it, and none is selected; an arm that was closed before stays out."""
    found = decide(make_design(*BEST, control=-1), binary([300, 301, 900], [1000] * 3), is_open=[True, True, False])
    assert (found.conclusion, found.selected) == (EQUIVALENT, -1)
    assert found.closed.tolist() == [EQUIVALENT, EQUIVALENT, 0]


def against(kind: Any, threshold: float, **keys: Any) -> Rule:
    """A rule of posterior probabilities against the control."""
    return Rule(kind, "posterior", "control", threshold=threshold, prior=(1.0, 1.0), **keys)


def test_rules_against_the_control() -> None:
    """One arm is futile and closed, the control never is, and the trial goes on with the other."""
    rules = against("superiority", 0.99), against("futility", 0.05, margin=0.1)
    found = decide(make_design(*rules), binary([30, 25, 36], [100] * 3))
    assert found.closed.tolist() == [0, FUTILE, 0]
    assert not found.stop
    last = decide(make_design(*rules), binary([30, 25, 25], [100] * 3), is_open=[True, True, False])
    assert (last.conclusion, last.closed.tolist()) == (FUTILE, [FUTILE, FUTILE, 0])


def test_the_best_of_superior_arms_is_selected() -> None:
    """Both arms are superior; the one with the better estimate is selected, also where low values are good."""
    rule = against("superiority", 0.95)
    found = decide(make_design(rule), binary([30, 70, 60], [100] * 3))
    assert (found.verdict.tolist(), found.selected) == ([0, SUPERIOR, SUPERIOR], 1)
    assert found.closed.tolist() == [SUPERIOR] * 3
    lower = decide(make_design(rule, lower=True), binary([70, 40, 30], [100] * 3))
    assert (lower.verdict.tolist(), lower.selected) == ([0, SUPERIOR, SUPERIOR], 2)


def test_a_superior_arm_may_have_no_estimate_yet() -> None:
    """Deaths are compared before anybody reaches the last visit; of superior arms the strongest statistic is selected.

    In arms of 30, 15, 9 and 3 die after a time of 1, and the others are followed up to 2 of 4.
    """
    arm, deaths = np.repeat(range(3), 30), np.concatenate([np.arange(30) < dead for dead in (15, 9, 3)])
    data = LookData(
        Moments(np.full(3, 30.0), np.full(3, np.nan), np.full(3, np.nan)),
        FollowUp(arm, np.where(deaths, 1.0, 2.0), deaths),
    )
    rule = Rule("superiority", "logrank", "control", threshold=1.0)
    design = make_design(rule, counts=False, survival=True)
    found = decide(design, data)
    assert (found.verdict.tolist(), found.selected) == ([0, SUPERIOR, SUPERIOR], 2)
    assert data.follow_up is not None
    turned = replace(data, follow_up=replace(data.follow_up, arm=2 - arm))
    assert decide(replace(design, lower=True), turned).selected == 2


def test_the_order_of_rules_is_not_that_of_the_file() -> None:
    """An arm that is inferior is closed as such, though futility is listed first."""
    rules = against("futility", 0.5), against("inferiority", 0.05)
    assert decide(make_design(*rules), binary([60, 20, 61], [100] * 3)).verdict.tolist() == [0, INFERIOR, 0]


def test_a_rule_for_the_end_waits_for_it() -> None:
    """At a look it says nothing and has no statistic; at the end it applies."""
    design, data = make_design(against("superiority", 0.5, end_only=True)), binary([30, 60, 61], [100] * 3)
    look, end = decide(design, data), decide(design, data, end=True)
    assert (look.conclusion, np.isnan(look.statistic).all()) == (0, True)
    assert (end.conclusion, end.selected) == (SUPERIOR, 2)


def test_no_patients_no_conclusion() -> None:
    """An arm without patients has no z, and a normal posterior without a prior none either."""
    data = LookData(Moments(np.zeros(3), np.full(3, np.nan), np.full(3, np.nan)), None)
    rules = (
        Rule("superiority", "z", "control", threshold=-9.0),
        Rule("superiority", "posterior", "control", threshold=0.001, model="normal"),
        Rule("inferiority", "posterior", "best", threshold=0.9, model="normal"),
    )
    found = decide(make_design(*rules), data)
    assert np.isnan(found.statistic).all()
    assert not found.verdict.any()


@given(st.lists(st.integers(0, 40), min_size=3, max_size=3), st.sampled_from(["posterior", "z", "fisher"]))
@settings(max_examples=30, deadline=None)
def test_lower_is_higher_of_the_failures(successes: list[int], method: Any) -> None:
    """Successes that are bad are judged as failures that are good."""
    threshold = 1.0 if method == "z" else 0.2
    rules = [
        Rule(kind, method, "control", threshold=threshold, prior=(1.0, 1.0))
        for kind in ("superiority", "inferiority", "futility")
    ]
    bad, good = binary([float(x) for x in successes], [40] * 3), binary([40.0 - x for x in successes], [40] * 3)
    one, other = decide(make_design(*rules, lower=True), bad), decide(make_design(*rules), good)
    np.testing.assert_allclose(one.statistic, other.statistic, rtol=1e-9)
    assert one.verdict.tolist() == other.verdict.tolist()


def test_statistics_of_tests() -> None:
    """Z with a margin, of equivalence the smaller of two, Fisher's p of either side."""
    rules = (
        Rule("superiority", "z", "control", threshold=9.0, margin=0.05),
        Rule("equivalence", "z", "control", threshold=9.0, margin=0.2),
        Rule("superiority", "fisher", "control", threshold=1e-9),
        Rule("inferiority", "fisher", "control", threshold=1e-9),
        Rule("superiority", "z", "control", threshold=9.0, pooled=True),
    )
    found = decide(make_design(*rules), binary([30, 40, 20], [100, 90, 80])).statistic
    p, q = 40 / 90, 0.3
    error = math.sqrt(p * (1 - p) / 90 + q * (1 - q) / 100)
    assert found[0, 1] == pytest.approx((p - q - 0.05) / error)
    assert found[1, 1] == pytest.approx(min(p - q + 0.2, 0.2 - (p - q)) / error)
    for row, side in ((2, "greater"), (3, "less")):
        assert found[row, 1] == pytest.approx(stats.fisher_exact([[40, 50], [30, 70]], alternative=side).pvalue)
    both = 70 / 190
    assert found[4, 1] == pytest.approx((p - q) / math.sqrt(both * (1 - both) * (1 / 90 + 1 / 100)))


def test_normal_posteriors() -> None:
    """The normal prior and the estimate are weighted by their precisions."""
    rule = Rule("superiority", "posterior", "control", threshold=0.999, model="normal", prior=(0.0, 2.0))
    data = LookData(Moments(np.array([10.0, 10.0]), np.array([1.0, 2.0]), np.array([0.25, 0.5])), None)
    found = decide(make_design(rule, arms=2, counts=False), data).statistic[0, 1]
    means, variances = np.array([1.0 * 4, 2.0 * 2]) / [4.25, 2.25], 1 / np.array([4.25, 2.25])
    assert found == pytest.approx(stats.norm.cdf((means[1] - means[0]) / math.sqrt(variances.sum())))


RPACT = (
    Rule("superiority", "z", "control", alpha=0.05, delayed_response=True),
    Rule("futility", "z", "control", beta=0.1),
)


def test_critical_values_are_the_published_ones() -> None:
    """Those of rpact; at the last analysis there is no futility, and after a stop the decision boundary holds."""
    critical = CriticalValues(make_design(*RPACT, arms=2, information=RATES))
    assert [critical.value(0, look) for look in range(3)] == pytest.approx([2.8874465, 2.1853011, 1.6575593], abs=1e-6)
    assert [critical.value(1, look) for look in range(2)] == pytest.approx([-0.46043472, 0.64445014], abs=1e-6)
    assert math.isnan(critical.value(1, 2))
    assert critical.after_stop(0, 0, 1 + 0.1 / 0.4) == pytest.approx(1.3388855, abs=1e-5)
    assert critical.after_stop(0, 1, 1 + 0.2 / 0.65) == pytest.approx(1.5378695, abs=1e-5)
    assert critical.after_stop(0, 0, 1.0) == critical.value(0, 0)


@pytest.mark.parametrize("gained", [1.02, 1.11, 1.9])
def test_tabulated_decisions_are_close(gained: float) -> None:
    """The table gives the exact decision to 1e-4, the least pipelines included."""
    critical = CriticalValues(make_design(*RPACT, arms=2, information=RATES))
    boundaries = critical._boundaries[0]
    assert boundaries is not None
    exact = decision_after_stop(boundaries, 0, 0.4 * (gained - 1)).critical
    assert critical.after_stop(0, 0, gained) == pytest.approx(exact, abs=1e-4)


def normal(z: float, patients: float) -> LookData:
    """Two arms with this z, of so many patients each."""
    variance = 1 / patients
    moments = Moments(np.full(2, patients), np.array([0.0, z * math.sqrt(2 * variance)]), np.full(2, variance))
    return LookData(moments, None)


@pytest.mark.parametrize(
    ("z_stop", "z_end", "conclusion"),
    [(3.0, 1.4, SUPERIOR), (3.0, 1.3, FUTILE), (-0.5, 1.4, SUPERIOR), (-0.5, 1.3, FUTILE)],
)
def test_a_stop_is_decided_with_the_pipeline(z_stop: float, z_end: float, conclusion: int) -> None:
    """With a tenth of the information more than at the stop, z is compared with 1.3389, on either side."""
    design = make_design(*RPACT, arms=2, information=RATES, looks=Looks("information", RATES[:2]), counts=False)
    at_stop = normal(z_stop, 40)
    first = decide(design, at_stop)
    assert first.stop
    found = decide(design, normal(z_end, 50), end=True, stop=Stop(first, at_stop, 0))
    assert found.conclusion == conclusion


def test_the_pipeline_of_visits_that_count_one_by_one() -> None:
    """Their information is that of the variance: a tenth more of it, though no more patients count, gives 1.3389."""
    looks = Looks("information", RATES[:2], analysis="available")
    design = make_design(*RPACT, arms=2, information=RATES, looks=looks, counts=False)
    at_stop, later = normal(3.0, 40), normal(1.4, 50)
    later = replace(later, moments=later.moments._replace(counted=np.full(2, 40.0)))
    found = decide(design, later, end=True, stop=Stop(decide(design, at_stop), at_stop, 0))
    assert found.critical[0, 1] == pytest.approx(1.3388855, abs=1e-5)


def test_a_stop_with_nothing_that_varied() -> None:
    """Where information is infinite at the stop and in the end, the boundary of the stop holds."""
    looks = Looks("information", RATES[:2], analysis="available")
    design = make_design(*RPACT, arms=2, information=RATES, looks=looks, counts=False)
    nothing = LookData(Moments(np.full(2, 40.0), np.zeros(2), np.zeros(2)), None)
    stop = Stop(decide(design, nothing), nothing, 0)
    assert stop.verdict.conclusion == 0  # z = 0 lies between the boundaries of the first look
    stop = Stop(decide(design, nothing, 1), nothing, 1)
    assert stop.verdict.conclusion == FUTILE
    found = decide(design, nothing, 1, end=True, stop=stop)
    assert (found.conclusion, found.critical[0, 1]) == (FUTILE, CriticalValues(design).value(0, 1))


def test_alpha_of_comparisons() -> None:
    """Bonferroni's is an equal share; Dunnett's is such that both together exceed it with the whole probability."""
    assert per_comparison("none", 0.025, (1.0, 1.0)) == 0.025
    assert per_comparison("bonferroni", 0.025, (1.0, 1.0)) == 0.0125
    share = dunnett_share(0.025, (1.0, 0.5))
    cut, correlation = stats.norm.isf(share), math.sqrt(1 / 2 * 1 / 3)
    law = stats.multivariate_normal(cov=[[1, correlation], [correlation, 1]])
    assert 1 - law.cdf([cut, cut]) == pytest.approx(0.025, abs=1e-6)
    one = make_design(
        Rule("superiority", "z", "control", alpha=0.025), adjust="dunnett", information=(1.0,), looks=Looks()
    )
    assert CriticalValues(one).value(0, 0) == pytest.approx(2.2121, abs=1e-4)  # Dunnett's table: two treatments


@pytest.mark.verify
def test_dunnett_over_looks_keeps_the_error() -> None:
    """The family-wise error of three comparisons over three looks is within 5 % of alpha (400,000 trials)."""
    rule = Rule("superiority", "z", "control", alpha=0.025, spent="pocock")
    design = make_design(
        rule, arms=4, adjust="dunnett", information=(1 / 3, 2 / 3, 1.0), looks=Looks("known", (1.0, 2.0))
    )
    critical, random = CriticalValues(design), np.random.default_rng(1)
    sums, hit = np.zeros((400_000, 4)), np.zeros(400_000, dtype=np.bool_)
    for look in range(3):
        sums += random.normal(size=sums.shape)
        z = (sums[:, 1:] - sums[:, :1]) / math.sqrt(2 * (look + 1))
        hit |= (z >= critical.value(0, look)).any(axis=1)
    assert hit.mean() == pytest.approx(0.025, rel=0.05)  # 5 Monte Carlo errors
