"""The value of partial information: the fraction of the delay's cost that a policy recovers."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from command import Command, tpstream
from hypothesis import assume, given, strategies as st
from scipy import stats
from studies import small

from tpstream import compare
from tpstream.analysis.intervals import fieller_interval, is_informed, recovery
from tpstream.cli.app import main
from tpstream.model.errors import UnknownNameError

__all__ = ["tpstream"]
WAITING = np.array([100.0, 110.0, 90.0, 104.0])
CLAIRVOYANT = np.array([40.0, 52.0, 38.0, 41.0])
Numerators = st.lists(st.floats(-100, 100), min_size=5, max_size=5).map(np.array)
Denominators = st.lists(st.floats(60, 100), min_size=5, max_size=5).map(np.array)
"""However they vary, their mean differs from 0 by far."""


def test_the_fraction_by_hand() -> None:
    """Waiting loses 101, being told at once 42.75, the policy 60: it recovers 41 of 58.25."""
    found = recovery(np.array([61.0, 59.0, 63.0, 57.0]), WAITING, CLAIRVOYANT)
    assert (found["fraction"], found["cost"], found["runs"]) == (41 / 58.25, 58.25, 4)


@pytest.mark.parametrize(("own", "fraction"), [(WAITING, 0.0), (CLAIRVOYANT, 1.0)])
def test_the_ends_of_the_scale(own: np.ndarray, fraction: float) -> None:
    """The waiting policy recovers nothing and the clairvoyant one all, for certain."""
    found = recovery(own, WAITING, CLAIRVOYANT)
    np.testing.assert_allclose([found["fraction"], found["low"], found["high"]], fraction, atol=1e-12)


@given(Numerators, Denominators)
def test_the_interval_is_what_a_t_test_does_not_reject(numerators: np.ndarray, denominators: np.ndarray) -> None:
    """At both ends of Fieller's interval r, the test of mean(n - r d) = 0 has a p-value of 5 %; inside it is larger."""
    low, high = fieller_interval(numerators, denominators)
    assume(high - low > 1e-4)  # else the p-value is lost in rounding
    values = [stats.ttest_1samp(numerators - ratio * denominators, 0.0).pvalue for ratio in (low, high)]
    np.testing.assert_allclose(values, 0.05, rtol=1e-3)
    assert stats.ttest_1samp(numerators - (low + high) / 2 * denominators, 0.0).pvalue > 0.05


def test_undefined_if_the_delay_may_cost_nothing() -> None:
    """Where the interval of the cost has 0 in it there is no fraction, but the cost is told."""
    found = recovery(WAITING, np.array([60.0, 60.0, 50.0, 64.0]), np.array([55.0, 60.0, 52.0, 63.0]))
    assert math.isnan(found["fraction"])
    assert math.isnan(found["low"])
    assert found["cost"] == 1.0
    assert found["cost_low"] < 0 < found["cost_high"]


@pytest.mark.parametrize("runs", [0, 1])
def test_undefined_without_two_runs(runs: int) -> None:
    """One run has no interval, none has not even a cost."""
    found = recovery(WAITING[:runs], WAITING[:runs], CLAIRVOYANT[:runs])
    assert math.isnan(found["fraction"])
    assert math.isnan(found["cost"]) == (runs == 0)


def test_a_study_tells_the_value() -> None:
    """A row for each policy, from the final regrets of the same runs."""
    study = compare(small(horizon=300), ["ucb1", "delayed-ucb1", "tp-ucb-ew"], runs=4, seed=3)
    table = study.value().set_index("policy")
    finals = [study.regret(policy)[:, -1].mean() for policy in ("delayed-ucb1", "tp-ucb-ew", "ucb1")]
    assert list(table.index) == ["ucb1", "delayed-ucb1", "tp-ucb-ew"]
    assert table.loc["tp-ucb-ew", "cost"] == pytest.approx(finals[0] - finals[2])
    if not math.isnan(table.loc["tp-ucb-ew", "fraction"]):
        expected = (finals[0] - finals[1]) / (finals[0] - finals[2])
        assert table.loc["tp-ucb-ew", "fraction"] == pytest.approx(expected)


def test_a_study_without_the_ends_cannot_tell() -> None:
    """Both baselines must have run."""
    study = compare(small(horizon=20), ["ucb1", "tp-ucb-ew"], runs=2)
    with pytest.raises(UnknownNameError, match="delayed-ucb1"):
        study.value()


def test_the_option_adds_the_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`compare --value` runs both baselines if they were not asked for, and prints a fraction for each policy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    words = ["tpstream", "compare", "setting-1", "-t", "300", "-n", "3", "-j", "1", "-p", "tp-ucb-ew", "--value"]
    printed = []
    for more in ("--json", "--quiet"):
        monkeypatch.setattr(sys, "argv", [*words, more])
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        printed.append(capsys.readouterr().out)
    assert [row["policy"] for row in json.loads(printed[0])["value"]] == ["ucb1", "delayed-ucb1", "tp-ucb-ew"]
    assert "Fieller" in printed[1]


def test_baselines_can_be_added() -> None:
    """`compare(baselines=True)` runs both ends of the scale if they were not asked for."""
    study = compare(small(horizon=50), ["tp-ucb-ew"], runs=3, baselines=True)
    assert list(study.value()["policy"]) == ["ucb1", "delayed-ucb1", "tp-ucb-ew"]


def test_a_folder_keeps_the_value(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`compare --value --out` writes the fractions beside the other tables."""
    monkeypatch.chdir(tmp_path)
    words = ["setting-1", "-t", "200", "-n", "2", "-j", "1", "-p", "tp-ucb-ew", "--value", "--out", "out", "-q"]
    monkeypatch.setattr(sys, "argv", ["tpstream", "compare", *words])
    with pytest.raises(SystemExit):
        main()
    assert (tmp_path / "out" / "value.csv").read_text().startswith("policy,")


def test_between_other_policies(tpstream: Command, tmp_path: Path) -> None:
    """The scale may be that of one policy which hears more or less; `show` takes it from the last command."""
    ends = ["progressive-thompson:hears=pull", "progressive-thompson:hears=closed"]
    scale = ["--value", "--clairvoyant", ends[0], "--waiting", ends[1]]
    out = str(tmp_path / "out")
    words = ["compare", "setting-1", "-t", "150", "-n", "3", "-j", "1", "-p", "progressive-thompson", "--out", out]
    words += ["--engine", "simpy"]
    told = json.loads(tpstream(*words, *scale, "--json").out)["value"]
    assert [row["policy"] for row in told] == [*ends, "progressive-thompson"]
    assert json.loads(tpstream("show", out, "--value", "--json").out)["value"] == told
    study = compare(small(horizon=50), ["tp-ucb-ew"], runs=2, baselines=ends, engine="simpy")
    assert list(study.records) == [*ends, "tp-ucb-ew"]


def test_ends_without_a_scale(tpstream: Command) -> None:
    """They mean nothing without --value."""
    assert "add --value" in tpstream("compare", "setting-1", "--waiting", "tp-ucb-ew").err


@pytest.mark.parametrize(
    ("policy", "informed"), [("ucb1", True), ("Oracle", True), ("p:hears=pull,groups=2", True), ("delayed-ucb1", False)]
)
def test_who_knows_too_much(policy: str, informed: bool) -> None:  # noqa: FBT001
    """A policy that is shown totals is never what others are measured by, whatever its kind."""
    assert is_informed(policy) is informed
