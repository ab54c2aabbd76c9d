"""Each delay does what it declares: its distribution where it has one, hand-worked cases elsewhere."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from delays_helper import RATE, Keys, build_delay, distribution_of, equal, lags_of, sample
from scipy import stats

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import Schedule

CONTINUOUS: list[dict[str, Any]] = [
    {"kind": "uniform", "low": 1.5, "high": 4},
    {"kind": "uniform", "high": 2},
    {"kind": "lognormal", "median": 3, "sigma": 0.7},
    {"kind": "lognormal", "mu": -0.5, "sigma": 1.5},
    {"kind": "weibull", "shape": 0.6, "scale": 4},
    {"kind": "weibull", "shape": 3, "scale": 2},
    {"kind": "pareto", "shape": 1.2, "scale": 2},
]
DISCRETE: list[dict[str, Any]] = [
    {"kind": "geometric", "p": 0.3},
    {"kind": "geometric", "p": 1},
    {"kind": "poisson", "mean": 2.5},
    {"kind": "poisson", "mean": 40},
    {"kind": "uniform", "low": 2, "high": 6, "whole": True},
    {"kind": "empirical", "lags": [0, 3, 3, 8]},
    {"kind": "empirical", "lags": [0, 0.5, 2.25]},
    {"kind": "constant", "lag": 2.5},
    {"kind": "none"},
]
MEANS: list[tuple[dict[str, Any], float]] = [
    ({"kind": "geometric", "p": 0.25}, 3),
    ({"kind": "poisson", "mean": 2.5}, 2.5),
    ({"kind": "uniform", "low": 1, "high": 4}, 2.5),
    ({"kind": "uniform", "low": 1, "high": 4, "whole": True}, 2.5),
    ({"kind": "lognormal", "median": 1, "sigma": 2}, float(np.exp(2))),
    ({"kind": "weibull", "shape": 1, "scale": 4}, 4),
    ({"kind": "pareto", "shape": 3, "scale": 2}, 3),
    ({"kind": "empirical", "lags": [0, 3, 3, 8]}, 3.5),
    ({"kind": "constant", "lag": 2.5}, 2.5),
    ({"kind": "none"}, 0),
]


def drawn(table: Keys, pulls: int = 8000) -> Floats:
    """Lags of that delay, all in a row."""
    return lags_of(sample([build_delay(table)], pulls, seed=11)).ravel()


def chi_square(lags: Floats, law: Any) -> float:
    """The p-value of Pearson's test of the lags' frequencies; values expected less than 10 times are one cell."""
    values = np.unique(lags)
    expected = len(lags) * law.pmf(values)
    often = expected >= 10
    observed = np.array([np.count_nonzero(lags == value) for value in values])
    rest = len(lags) - expected[often].sum()
    cells = np.append(expected[often], max(rest, 0.0))
    counts = np.append(observed[often], observed[~often].sum())
    if cells[-1] < 1e-9 * len(lags):  # nothing else is possible
        assert counts[-1] == 0
        cells, counts = cells[:-1], counts[:-1]
    statistic = float(((counts - cells) ** 2 / cells).sum())
    return float(stats.chi2.sf(statistic, len(cells) - 1)) if len(cells) > 1 else float(statistic == 0)


@pytest.mark.parametrize("table", CONTINUOUS, ids=str)
def test_real_lags_match_their_distribution(table: Keys) -> None:
    """40,000 lags pass the Kolmogorov-Smirnov test of the declared distribution (false alarm: 1 in a million)."""
    assert stats.kstest(drawn(table), distribution_of(table).cdf).pvalue > RATE


@pytest.mark.parametrize("table", DISCRETE, ids=str)
def test_whole_lags_match_their_distribution(table: Keys) -> None:
    """The frequencies of 40,000 lags pass the chi-square test of the declared ones (false alarm: 1 in a million)."""
    assert chi_square(drawn(table), distribution_of(table)) > RATE


@pytest.mark.parametrize(
    "wrong", [{"kind": "geometric", "p": 0.32}, {"kind": "weibull", "shape": 0.63, "scale": 4}], ids=str
)
def test_the_tests_can_fail(wrong: Keys) -> None:
    """Parameters that are a little off do not pass."""
    if wrong["kind"] == "geometric":
        assert chi_square(drawn({"kind": "geometric", "p": 0.3}), distribution_of(wrong)) < RATE
    else:
        assert stats.kstest(drawn(CONTINUOUS[4]), distribution_of(wrong).cdf).pvalue < RATE


@pytest.mark.parametrize(("table", "mean"), MEANS, ids=str)
def test_distributions_have_the_documented_means(table: Keys, mean: float) -> None:
    """The distributions that lags are compared with have the means that are worked out by hand."""
    assert distribution_of(table).mean() == pytest.approx(mean)


@pytest.mark.parametrize("table", CONTINUOUS[2:], ids=str)
def test_rounding_up(table: Keys) -> None:
    """With `whole` the same lags are drawn and rounded up."""
    np.testing.assert_allclose(drawn({**table, "whole": True}), np.ceil(drawn(table)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("table", [*CONTINUOUS, *DISCRETE[:7]], ids=str)
def test_one_lag_for_the_pull(table: Keys) -> None:
    """With per = "pull" all parts of a pull have the same lag, of the same distribution as else."""
    lags = lags_of(sample([build_delay({**table, "per": "pull"})], 20_000, 3, seed=12))
    np.testing.assert_allclose(lags, lags[:, [0, 0, 0]], atol=1e-9)
    law, first = distribution_of(table), lags[:, 0]
    pvalue = stats.kstest(first, law.cdf).pvalue if table in CONTINUOUS else chi_square(first, law)
    assert pvalue > RATE


def test_parts_of_a_pull_have_independent_lags() -> None:
    """By default the lags of two parts of a pull are not correlated (within 5 standard errors at 20,000 pulls)."""
    lags = lags_of(sample([build_delay({"kind": "geometric", "p": 0.3})], 20_000, 2, seed=13))
    assert abs(np.corrcoef(lags.T)[0, 1]) < 5 / np.sqrt(20_000)


def test_a_file_of_lags(tmp_path: Path) -> None:
    """A column `lag` of a CSV file is the same as the list of its numbers."""
    (tmp_path / "lags.csv").write_text("arm, lag\na,0\n\nb,3\na,3\nb, 8\n", encoding="utf-8-sig")
    from_file = build_delay({"kind": "empirical", "file": "lags.csv"}, folder=tmp_path)
    assert equal(sample([from_file], 50), sample([build_delay({"kind": "empirical", "lags": [0, 3, 3, 8]})], 50))


def test_missing_parts() -> None:
    """Parts are lost with probability p, independently (both within 5 standard errors), and none is moved."""
    schedule = sample([build_delay({"kind": "missing", "p": 0.2})], 20_000, 2, seed=14)
    assert not lags_of(schedule).any()
    assert abs(schedule.lost.mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 40_000)
    assert abs(np.corrcoef(schedule.lost.T)[0, 1]) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize(("p", "lost"), [(0, False), (1, True)])
def test_missing_never_and_always(p: float, *, lost: bool) -> None:
    """With probability 0 nothing is lost and with 1 everything."""
    assert (sample([build_delay({"kind": "missing", "p": p})], 50).lost == lost).all()


def test_dropout() -> None:
    """After a part that is lost all later ones are, and the share that still comes falls exponentially."""
    schedule = sample([build_delay({"kind": "dropout", "rate": 0.2})], 20_000, 6, seed=15)
    assert not lags_of(schedule).any()
    assert (np.diff(schedule.lost.astype(int), axis=1) >= 0).all()
    share = np.exp(-0.2 * np.arange(6))
    # Each within 5 standard errors; the first part comes at the pull and always arrives.
    assert (np.abs((~schedule.lost).mean(axis=0) - share) <= 5 * np.sqrt(share * (1 - share) / 20_000)).all()


def test_dropout_by_its_mean() -> None:
    """A mean time of 5 is a rate of 0.2."""
    delays = [build_delay({"kind": "dropout", **keys}) for keys in ({"mean": 5}, {"rate": 0.2})]
    assert equal(sample(delays[:1], 50), sample(delays[1:], 50))


def test_dropout_counts_earlier_delays() -> None:
    """A part is lost if it would come after the moment, with the lags of the delays before."""
    late = [build_delay({"kind": "constant", "lag": 1e6}), build_delay({"kind": "dropout", "mean": 5})]
    assert sample(late, 50).lost.all()
    assert not sample(late[::-1], 50).lost[:, 0].any()


def test_lump() -> None:
    """All parts come at one moment: with the last part, or at the time given."""
    assert (sample([build_delay({"kind": "lump"})], 3).offsets == 4).all()
    assert (sample([build_delay({"kind": "lump", "at": 9.5})], 3).offsets == 9.5).all()


def test_a_lump_waits_for_all_parts() -> None:
    """After other delays the lump comes when the last part is there, if that is later than its time."""
    lags = build_delay({"kind": "geometric", "p": 0.3})
    scattered = sample([lags], 200).offsets
    lumped = sample([lags, build_delay({"kind": "lump", "at": 7})], 200).offsets
    assert (lumped == np.maximum(scattered.max(axis=1), 7)[:, None]).all()


def test_lags_after_a_lump_are_classical_delays() -> None:
    """A lump and then one lag for the pull: the whole reward at span - 1 + lag."""
    lag = {"kind": "geometric", "p": 0.3, "per": "pull"}
    lumped = sample([build_delay({"kind": "lump"}), build_delay(lag)], 200).offsets
    assert (lumped == (sample([build_delay(lag)], 200).offsets[:, [4]])).all()


def test_by_arm() -> None:
    """Each arm has its own delay, those not named have the one for the others, or none."""
    arms = {"low": {"kind": "constant", "lag": 3}, "new": {"kind": "missing", "p": 1}}
    some = build_delay({"kind": "by-arm", "arms": arms})
    every = build_delay({"kind": "by-arm", "arms": arms, "others": {"kind": "constant", "lag": 8}})
    found = [(lags_of(one).max(), bool(one.lost.all())) for one in (sample([some], 4, arm=arm) for arm in range(3))]
    assert found == [(3, False), (0, False), (0, True)]
    assert [lags_of(sample([every], 4, arm=arm)).max() for arm in range(3)] == [3, 8, 0]


def test_an_arms_delay_is_the_delay() -> None:
    """For its arm a delay by arm draws exactly what the delay itself would."""
    table = {"kind": "weibull", "shape": 2, "scale": 3}
    by_arm = build_delay({"kind": "by-arm", "arms": {"high": table}})
    assert equal(sample([by_arm], 20, arm=1), sample([build_delay(table)], 20, arm=1))


def test_reward_dependent_parts() -> None:
    """Parts below the threshold have the one delay, parts at or above it the other."""
    table = {
        "kind": "reward-dependent",
        "threshold": 1,
        "below": {"kind": "constant", "lag": 7},
        "above": {"kind": "missing", "p": 1},
    }
    schedule = sample([build_delay(table)], 2, 3, rewards=np.array([[0.0, 1.0, 2.0], [0.5, 0.25, 1.5]]))
    assert lags_of(schedule).tolist() == [[7, 0, 0], [7, 7, 0]]
    assert schedule.lost.tolist() == [[False, True, True], [False, False, True]]


def test_reward_dependent_pulls() -> None:
    """With per = "pull" the sum of the parts is compared; without a delay for one side it is not delayed."""
    table = {"kind": "reward-dependent", "threshold": 2.5, "below": {"kind": "constant", "lag": 7}, "per": "pull"}
    schedule = sample([build_delay(table)], 2, 3, rewards=np.array([[0.0, 1.0, 2.0], [0.5, 0.25, 1.5]]))
    assert lags_of(schedule).tolist() == [[0, 0, 0], [7, 7, 7]]


def test_rewards_do_not_change_what_is_drawn() -> None:
    """Two reward-dependent delays leave the stream at the same place whatever was paid."""
    table = {
        "kind": "reward-dependent",
        "threshold": 1,
        "below": {"kind": "geometric", "p": 0.5},
        "above": {"kind": "weibull", "shape": 2, "scale": 3},
    }
    delay, nominal = build_delay(table), sample([], 10)
    after = []
    for paid in (0.0, 2.0):
        stream = np.random.default_rng(3)
        delay.apply(nominal, np.full((10, 5), paid), 0, stream)
        after.append(stream.random())
    assert after[0] == after[1]


def test_lost_parts_have_lags_too() -> None:
    """A loss shows when the part would have come, with the lags of the delays after it."""
    late = sample([build_delay({"kind": "missing", "p": 1}), build_delay({"kind": "constant", "lag": 3})], 4)
    assert isinstance(late, Schedule)
    assert (late.lost.all(), lags_of(late).tolist()) == (True, [[3.0] * 5] * 4)
