"""What commands print of money: earned, expected and outstanding beside regret, written for people."""

import json
from pathlib import Path

import pandas as pd
import pytest
from command import Command, tpstream

from tpstream import Scenario, compare
from tpstream.analysis.printed import show_value

__all__ = ["tpstream"]
LOSSES = ("--set", 'delays=[{kind="missing",p=0.2},{kind="geometric",p=0.3}]', "--set", "window=30")


def test_compare_shows_money_beside_regret(tpstream: Command, tmp_path: Path) -> None:
    """The table, JSON, the file of a study's folder and a figure with two panels."""
    words = ("compare", "e-commerce", "-t", "300", "-n", "3", "-p", "uniform", "-p", "tp-ucb-ew")
    shown = tpstream(*words, "--out", tmp_path / "study", "--figure", tmp_path / "money.svg").out
    assert "regret after 300 rounds in EUR" in shown
    assert "money after 300 rounds" in shown
    assert "late" not in shown
    found = json.loads(tpstream(*words, "--json").out)
    assert (found["currency"], [row["round"] for row in found["money"]]) == ("EUR", [300, 300])
    for row in found["money"]:
        assert f"EUR {row['earned']:,.0f} ({row['earned_low']:,.0f} to {row['earned_high']:,.0f})" in shown
        assert all(f"EUR {row[name]:,.0f}" in shown for name in ("expected", "outstanding"))
    kept = pd.read_csv(tmp_path / "study" / "money.csv")
    assert kept.groupby("policy", sort=False)["earned"].last().tolist() == [row["earned"] for row in found["money"]]
    assert "<!-- earned in EUR -->" in (tmp_path / "money.svg").read_text()


def test_late_and_lost_are_told(tpstream: Command) -> None:
    """Money that came too late and the number of lost parts have columns where there are any."""
    shown = tpstream("run", "e-commerce", "-t", "300", "-p", "uniform", *LOSSES).out
    assert all(title in shown for title in ("late", "lost parts"))


def test_regret_of_logs_has_the_same_numbers(tpstream: Command, tmp_path: Path) -> None:
    """`regret LOG` gives what `run` gave, to the last bit; from the pulls alone nothing is known about money."""
    run = json.loads(
        tpstream("run", "e-commerce", "-t", "300", "-p", "uniform", *LOSSES, "--log", tmp_path, "--json").out
    )
    regret = json.loads(tpstream("regret", tmp_path, "--json").out)
    assert regret["money"] == run["money"]
    assert regret["money"][0]["lost_parts"] > 0
    assert "money after 300 rounds" in tpstream("regret", tmp_path).out
    assert "money" not in tpstream("regret", tmp_path, "--pulls").out


def test_a_sweep_shows_money(tpstream: Command) -> None:
    """A row for each cell and policy."""
    words = ("sweep", "e-commerce", "-t", "200", "-n", "2", "-p", "uniform", "--set", "rewards.items=30,60")
    assert "money after the last round" in tpstream(*words).out
    rows = json.loads(tpstream(*words, "--json").out)["money"]
    assert [(row["rewards.items"], row["policy"]) for row in rows] == [(30, "uniform"), (60, "uniform")]


def test_where_rewards_are_not_money(tpstream: Command) -> None:
    """Nothing about money is printed; JSON says so."""
    words = ("compare", "setting-1", "-t", "200", "-n", "2", "-p", "uniform")
    assert "money" not in tpstream(*words).out
    found = json.loads(tpstream(*words, "--json").out)
    assert (found["currency"], found["money"]) == (None, [])


@pytest.mark.parametrize(
    ("value", "currency", "shown"),
    [(12345.4, "EUR", "EUR 12,345"), (3.5, "EUR", "EUR 3.50"), (-1200.0, "", "-1,200"), (float("nan"), "EUR", "none")],
)
def test_money_is_written_for_people(value: float, currency: str, shown: str) -> None:
    """The currency, thousands apart, cents only of small amounts."""
    assert show_value(value, "money", currency) == shown


def test_money_is_compared_with_the_yardstick(tpstream: Command, tmp_path: Path) -> None:
    """The table of contrasts has the paired differences of earned and expected, each with Student's interval."""
    words = ("compare", "e-commerce", "-t", "300", "-n", "3", "-p", "uniform", "-p", "tp-ucb-ew", "-p", "delayed-ucb1")
    shown = " ".join(tpstream(*words, "--against", "tp-ucb-ew", "--out", tmp_path / "study").out.split())
    study = compare(Scenario.load("e-commerce").with_(horizon=300), ["uniform", "tp-ucb-ew", "delayed-ucb1"], runs=3)
    others, rows = [], study.money_contrasts("tp-ucb-ew").to_dict("records")
    for policy in ("uniform", "delayed-ucb1"):
        earned = study.measure(policy, "earned")[:, -1] - study.measure("tp-ucb-ew", "earned")[:, -1]
        half = 4.302652729911275 * earned.std(ddof=1) / 3**0.5  # Student's quantile with 2 degrees of freedom
        regret = study.contrast(policy, "tp-ucb-ew")
        others.append(
            {"first": policy, "second": "tp-ucb-ew", "runs": 3}
            | {"earned": earned.mean(), "earned_low": earned.mean() - half, "earned_high": earned.mean() + half}
            | {"expected": -regret.difference, "expected_low": -regret.high, "expected_high": -regret.low}
        )
    assert rows == [pytest.approx(one) for one in others]
    for row in rows:
        for name in ("earned", "expected"):
            ends = (show_value(row[f"{name}_{end}"], "money") for end in ("low", "high"))
            assert f"{show_value(row[name], 'money', 'EUR')} ({' to '.join(ends)})" in shown
    kept = pd.read_csv(tmp_path / "study" / "money_contrasts.csv")
    pairs = [["uniform", "tp-ucb-ew"], ["uniform", "delayed-ucb1"], ["tp-ucb-ew", "delayed-ucb1"]]
    assert kept[["first", "second"]].to_numpy().tolist() == pairs
    found = json.loads(tpstream(*words, "--json").out)["money_contrasts"]
    assert [row["earned"] for row in found] == pytest.approx(kept["earned"].tolist())
