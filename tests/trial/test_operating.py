"""Operating characteristics are those of literal versions, trial by trial; their Monte Carlo errors are honest."""

import math
from statistics import fmean, stdev

import numpy as np
import pytest
from literal_trials import Setting, literal
from made_up_trials import ARMS, made_up

from tpstream.analysis.columns import TABLES
from tpstream.trial.monte_carlo import deviation_of, mean_of, quantile_of, root_mean_square_of, share_of, unknown
from tpstream.trial.operating import characteristics, contrasts

SETTINGS = [
    Setting((0.3, 0.3, 0.5), 0, higher=True),
    Setting((0.3, 0.4, 0.2), 0, higher=False),
    Setting((0.3, 0.3, 0.3), 0, higher=True),
    Setting((0.3, 0.3, 0.5), None, higher=True),
    Setting((0.3, 0.5, 0.5), None, higher=True),
]


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_characteristic_is_that_of_loops(setting: Setting, delayed: bool) -> None:  # noqa: FBT001
    """Values of all measures, of the trial and of each arm, with and without a control, and under the null.

    With delayed response the decision of a trial that stopped is its final conclusion.
    """
    trials, runs = made_up(120, setting.truths, setting.control, higher=setting.higher, delayed=delayed)
    found = {(one.arm, one.measure): one.estimate.value for one in characteristics(trials)}
    expected = literal(runs, setting, ARMS)
    quartiles = {key for key in found if key[1].endswith(("_q25", "_q75"))}
    assert set(found) - quartiles == set(expected)
    np.testing.assert_allclose([found[key] for key in expected], list(expected.values()), rtol=1e-12, atol=1e-14)


def test_under_the_null_nothing_is_about_a_best_arm() -> None:
    """Selection probabilities and type I errors are told, and no best arm, benefit lost or power."""
    trials, _ = made_up(50, (0.3, 0.3, 0.3))
    measures = {one.measure for one in characteristics(trials)}
    assert {"type1", "selected"} <= measures
    assert not measures & {"power", "on_best", "best_selected", "lost", "idp", "share_on_best"}


def test_the_register_knows_every_measure() -> None:
    """Every measure has a meaning in docs/columns.md, and the register holds no other."""
    told = {
        one.measure
        for setting in SETTINGS
        for one in characteristics(made_up(60, setting.truths, setting.control, higher=setting.higher)[0])
    }
    assert told == {column.name for column in TABLES["measures"]}


def test_errors_by_hand() -> None:
    """Standard errors of a share, a mean, a deviation, a root mean square and the ends of a median's interval."""
    values = np.array([1.0, 2.0, 4.0, 9.0])
    share = share_of(values > 3)
    assert (share.value, share.error, share.trials) == (0.5, 0.25, 4)
    mean = mean_of(np.append(values, np.nan))
    np.testing.assert_allclose([mean.value, mean.error], [4.0, stdev(values.tolist()) / 2])
    fourth, square = fmean((value - 4) ** 4 for value in values), 38 / 3
    spread = deviation_of(values)
    expected = math.sqrt((fourth - square**2 * 1 / 3) / 4) / (2 * math.sqrt(square))
    np.testing.assert_allclose([spread.value, spread.error], [math.sqrt(square), expected])
    root = root_mean_square_of(values)
    np.testing.assert_allclose(
        [root.value, root.error], [math.sqrt(25.5), stdev([1.0, 4, 16, 81]) / 2 / (2 * math.sqrt(25.5))]
    )
    middle = quantile_of(np.arange(101.0), 0.5)
    assert (middle.value, middle.low, middle.high) == (50.0, 40.0, 60.0)
    assert math.isnan(unknown().value)


@pytest.mark.parametrize("what", ["share", "mean", "deviation", "quantile", "root"])
def test_intervals_cover_the_truth(what: str) -> None:
    """Of 1,000 studies of 200 trials each, 95 % hold the truth, and their errors are the spread between studies."""
    stream = np.random.default_rng(5)
    draws = stream.gamma(4.0, size=(1000, 200))
    rules = {
        "share": (lambda one: share_of(one > 3.6720607489), 0.5),
        "mean": (mean_of, 4.0),
        "deviation": (deviation_of, 2.0),
        "quantile": (lambda one: quantile_of(one, 0.5), 3.6720607489),
        "root": (root_mean_square_of, math.sqrt(20.0)),
    }
    rule, truth = rules[what]
    found = [rule(one) for one in draws]
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert 0.91 < covered < 0.985
    spread = np.std([one.value for one in found])
    assert np.mean([one.error for one in found]) == pytest.approx(spread, rel=0.12)


def test_designs_are_compared_trial_by_trial() -> None:
    """A difference is that of the trials that both designs have, with the error of the differences."""
    first, runs = made_up(80)
    second, others = made_up(60, seed=2)
    found = {one.measure: one.estimate for one in contrasts(first, second)}
    gaps = [float(sum(one["patients"]) - sum(other["patients"])) for one, other in zip(runs, others, strict=False)]
    assert found["patients"].trials == 60
    np.testing.assert_allclose(
        [found["patients"].value, found["patients"].error], [fmean(gaps), stdev(gaps) / math.sqrt(60)]
    )
    same = {one.measure: one.estimate for one in contrasts(first, first)}
    assert (same["power"].value, same["power"].error, same["duration"].error) == (0.0, 0.0, 0.0)
