"""The command inference: its tables, its JSON, and what it says where something is not available."""

import json
from pathlib import Path

import pytest
from command import Command, tpstream

from tpstream import Scenario, adaptive_estimates, randomisation_test, simulate
from tpstream.model.display import number_text

FIXTURES = (tpstream,)
ARMS = [{"name": name, "probability": chance} for name, chance in (("standard", 0.3), ("new", 0.7))]
TRIAL = Scenario(name="t", horizon=80, span=2, rewards={"kind": "binary"}, arms=ARMS, drain=True)


def test_replications_that_nobody_can_make(tpstream: Command, tmp_path: Path) -> None:
    """They are refused before any is made."""
    simulate(TRIAL, "uniform", log=tmp_path / "log.jsonl", log_detail="probabilities")
    refused = tpstream("inference", "log.jsonl", "--replications", str(10**12))
    assert (refused.code, "must be 1 to 1,000,000, got 1,000,000,000,000" in refused.err) == (2, True)


def test_the_tables(tpstream: Command, tmp_path: Path) -> None:
    """Estimates and the test are printed, and in JSON are those of the functions."""
    path = tmp_path / "log.arrows"
    simulate(TRIAL, "uniform", log=path, log_detail="probabilities")
    shown = tpstream("inference", path, "--replications", "50", "--report", "found.html")
    assert (shown.code, shown.err) == (0, "")
    report, estimate = (
        (tmp_path / "found.html").read_text("utf-8"),
        adaptive_estimates(path).find("new", against="standard"),
    )
    assert estimate.value is not None
    assert f"The mean of new is {number_text(estimate.value)} above that of standard (AIPW, constant;" in report
    for text in ("By the randomisation test the differences", "seed 0", "tpstream inference", "<svg"):
        assert text in report
    for text in ("new - standard", "AIPW, constant", "randomisation test", "counted: patients whose endpoint"):
        assert text in shown.out
    words = ("--endpoint", "0,1", "--control", "new", "--alternative", "less", "--seed", "3", "--json")
    found = json.loads(tpstream("inference", path, "--replications", "50", *words).out)
    made = adaptive_estimates(path, endpoint=[0, 1], control="new")
    assert [row["estimate"] for row in found["estimates"]] == pytest.approx([one.value for one in made.estimates])
    assert [row["patients"] for row in found["arms"]] == list(made.patients)
    test = randomisation_test(path, endpoint=[0, 1], control="new", alternative="less", replications=50, seed=3)
    assert found["test"]["p_value"] == test.p_value
    assert json.loads(tpstream("inference", path, "--replications", "0", "--json").out)["test"] is None


def test_what_is_not_available(tpstream: Command, tmp_path: Path) -> None:
    """For a rule without chance both say in a line that they are not available; JSON has null and the reasons."""
    path = tmp_path / "log.arrows"
    simulate(TRIAL, "ucb1", log=path, log_detail="probabilities")
    shown = tpstream("inference", path, "--report", "found.html")
    assert shown.code == 0
    report = (tmp_path / "found.html").read_text("utf-8")
    assert "the naive estimate, which may be biased" in report
    assert "does not assign at random" in report
    lines = [line for line in shown.out.splitlines() if "not available" in line]
    assert any("does not assign at random" in line for line in lines)
    assert any(line.startswith("note: weighted estimates are not available: ucb1") for line in lines)
    found = json.loads(tpstream("inference", path, "--json").out)
    weighted = [row for row in found["estimates"] if row["estimator"] != "naive"]
    assert all(row["estimate"] is None and row["low"] is None and row["reason"] for row in weighted)
    assert found["test"] is None
    assert "does not assign at random" in found["test_reason"]


def test_mistakes_are_one_line(tpstream: Command, tmp_path: Path) -> None:
    """A wrong option or file is one line on standard error and exit code 2."""
    path = tmp_path / "log.arrows"
    simulate(TRIAL, "uniform", log=path)
    for words in (
        (tmp_path / "none.arrows",),
        (path, "--endpoint", "1,x"),
        (path, "--endpoint", "1"),
        (path, "--control", "news"),
        (path, "--decay", "2"),
        (path, "--replications", "-1"),
    ):
        done = tpstream("inference", *words)
        assert (done.code, len(done.err.splitlines())) == (2, 1), words
