"""Where rewards are money, a trial shows what was earned, expected and outstanding, and the difference to fixed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Command, tpstream
from studies import ASYNCHRONOUS, TOML, small

from tpstream import Scenario, compare, read_study, read_trial, trial
from tpstream.model.errors import StudyError
from tpstream.trial.characteristics import Trial
from tpstream.trial.figure import trial_figure

__all__ = ["tpstream"]
POLICIES = ["uniform", "tp-ucb-ew"]


def paid(**keys: object) -> Scenario:
    """The small scenario in euros."""
    return small(currency="EUR", **keys)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trial in euros, with late parts, and its logs."""
    folder = tmp_path_factory.mktemp("trial")
    trial(paid(**ASYNCHRONOUS["window"]), POLICIES, runs=3, folder=folder / "out", logs=folder / "logs")
    return folder


@pytest.fixture(scope="module")
def found(place: Path) -> Trial:
    """The trial of that folder."""
    result = read_study(place / "out")
    assert isinstance(result, Trial)
    return result


def test_money_is_that_of_a_comparison(found: Trial, place: Path) -> None:
    """The tables are those of `compare` in the same runs; the folder keeps them, and logs give the same numbers."""
    study = compare(paid(**ASYNCHRONOUS["window"]), POLICIES, runs=3)
    assert found.currency == "EUR"
    assert found.money()["late"].max() > 0
    pd.testing.assert_frame_equal(found.money(), study.money())
    pd.testing.assert_frame_equal(found.money_contrasts("uniform"), study.money_contrasts("uniform"))
    pd.testing.assert_frame_equal(pd.read_csv(place / "out" / "money.csv"), found.money(), check_exact=False)
    from_logs = read_trial(place / "logs")
    for one, other in ((from_logs.money(), found.money()), (from_logs.table(), found.table())):
        pd.testing.assert_frame_equal(one.sort_values("policy", kind="stable", ignore_index=True), ordered(other))
    assert ordered(from_logs.money_contrasts("uniform")).equals(ordered(found.money_contrasts("uniform")))


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    """The table by the names of the policies, which is the order of log files."""
    return table.sort_values(list(table.columns[:1]), kind="stable", ignore_index=True)


def test_what_is_printed(tpstream: Command, tmp_path: Path) -> None:
    """A table of money after the last decision, the paired one against fixed randomisation, and both in JSON."""
    (tmp_path / "paid.toml").write_text(f'currency = "EUR"\n{TOML}')
    words = ("trial", "paid.toml", "--runs", "3", "--policy", "tp-ucb-ew")
    shown = tpstream(*words).out
    assert "60 patients, benefit in EUR" in shown
    assert "money after 60 decisions" in shown
    assert "money against uniform, run by run" in shown
    rows = json.loads(tpstream(*words, "--json").out)
    assert rows["currency"] == "EUR"
    assert [(row["policy"], row["round"]) for row in rows["money"]] == [("uniform", 60), ("tp-ucb-ew", 60)]
    for row in rows["money"]:
        assert f"EUR {row['earned']:,.2f} ({row['earned_low']:,.2f} to {row['earned_high']:,.2f})" in shown
        assert f"EUR {row['outstanding']:,.2f}" in shown
    assert [row["first"] for row in rows["money_contrasts"]] == ["uniform"]
    without = json.loads(tpstream("trial", "small.toml", "--runs", "2", "--json").out)
    assert (without["currency"], without["money"], without["money_contrasts"]) == (None, [], [])


@pytest.mark.parametrize("equal", [False, True])
def test_the_figure_shows_what_was_earned(found: Trial, tmp_path: Path, *, equal: bool) -> None:
    """A third panel has the mean of what was earned, and the best arm's mean for every decision."""
    shown = found if not equal else trial(paid(arms=[{"name": name, "maximum": 9.0} for name in "ab"]), runs=2)
    axes = trial_figure(tmp_path / "trial.svg", shown, labels={"tp-ucb-ew": "groups"} if not equal else None).axes[-1]
    lines = {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.lines}
    money = shown.money().set_index("policy")
    np.testing.assert_array_equal(lines["uniform"], money.loc["uniform", "earned"])
    assert ("groups" in lines) == (not equal)
    assert axes.get_ylabel() == "earned in EUR"
    assert (axes.lines[0].get_ydata() == shown.rounds * shown.means.max()).all()


def test_without_money(tmp_path: Path) -> None:
    """Where rewards are not money there is no table of it, which is said, and the figure has two panels."""
    plain = trial(small(), runs=2)
    for table in (plain.money, plain.money_contrasts):
        with pytest.raises(StudyError, match="small: rewards are not money"):
            table()
    assert "money" not in plain.tables()
    assert len(trial_figure(tmp_path / "trial.svg", plain).axes) == 2
