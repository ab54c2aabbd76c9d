"""Default rewards: what is put in the place of missing parts counts for the policy, and is no evidence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import small

from tpstream import Scenario, diagnose, read_log, simulate
from tpstream.analysis.complete_pulls import pulls_with_defaults
from tpstream.model.errors import ScenarioError
from tpstream.model.events import Kind
from tpstream.trial.outcomes import read_outcome

LOSSY: dict[str, Any] = {"horizon": 400, "delays": [{"kind": "missing", "p": 0.1}], "window": 20.0}


def record(folder: Path, **keys: Any) -> Any:
    """The log of a run in which one part in ten is lost."""
    path = folder / f"run-{len(list(folder.iterdir()))}.arrows"
    simulate(small(**{**LOSSY, **keys}), "uniform", log=path)
    return read_log(path)


def test_a_diagnosis_takes_pulls_whose_parts_all_came(tmp_path: Path) -> None:
    """As many complete pulls, and the same p-values, with a default as without."""
    without, credited = record(tmp_path), record(tmp_path, default_reward=1.0)
    (one,), (other,) = diagnose(without), diagnose(credited)
    np.testing.assert_array_equal(one.pulls, other.pulls)
    assert 0 < one.pulls.sum() < 400
    assert len(pulls_with_defaults(credited)) == 400 - one.pulls.sum()
    assert one.frame()["p_value"].tolist() == other.frame()["p_value"].tolist()


def test_a_trial_chooses_by_what_was_delivered(tmp_path: Path) -> None:
    """A default that favours the worst arm's missing parts does not change which arm is chosen, nor when it ends."""
    drops = {"kind": "by-arm", "arms": {"low": {"kind": "missing", "p": 0.9}}}
    keys = {"delays": [drops], "window": 50.0}
    outcomes = [read_outcome(record(tmp_path, **keys, **more)) for more in ({}, {"default_reward": 1.6})]
    assert [outcome.chosen for outcome in outcomes] == [2, 2]
    assert outcomes[0].last_readout == outcomes[1].last_readout


def test_imputed_parts_are_told_apart(tmp_path: Path) -> None:
    """Each part that was dropped has a credit of the default besides, and no other part has two events."""
    events = record(tmp_path, default_reward=1.0).join()
    parts = np.isin(events.kind, [Kind.PARTIAL, Kind.DROPPED])
    keys, times = np.unique(events.pull[parts] * 100 + events.part[parts], return_counts=True)
    dropped = events.kind == Kind.DROPPED
    np.testing.assert_array_equal(keys[times == 2], np.sort(events.pull[dropped] * 100 + events.part[dropped]))


def test_a_default_beyond_the_maximum_is_refused() -> None:
    """A pull of which nothing came may not be credited with more than an arm can pay."""
    with pytest.raises(ScenarioError, match=r"default_reward: 5 for each of 6 parts .* give at most 1\.66667"):
        small(default_reward=5.0)
    assert small(default_reward=10 / 6).default_reward == 10 / 6


@pytest.mark.parametrize("name", ["a/b", "..\\b"])
def test_a_name_is_no_path(name: str) -> None:
    """Results are called after it."""
    with pytest.raises(ScenarioError, match="name"):
        small(name=name)


@pytest.mark.parametrize(("seed", "run"), [(-1, 0), (1.5, 0), (0, -1)])
def test_seeds_are_whole_numbers(seed: Any, run: int) -> None:
    """Of at least 0; others are an error that says so."""
    with pytest.raises(ScenarioError, match=r"(seed|run): must be a whole number of at least 0, got"):
        simulate(small(), "uniform", seed=seed, run=run)


def test_surplus_values_of_a_csv_file(tmp_path: Path) -> None:
    """Where a decimal comma makes two values of one it is not passed over; in a file of one column it is one."""
    keys = small().resolved() | {"delays": [{"kind": "empirical", "file": "lags.csv"}]}
    (tmp_path / "lags.csv").write_text("lag\n1,2\n")
    Scenario.parse(keys, tmp_path)
    (tmp_path / "lags.csv").write_text("lag,site\n1,2,3\n")
    with pytest.raises(
        ScenarioError, match=r"lags\.csv row 1: has 3 values but the first line has 2 titles; correct it"
    ):
        Scenario.parse(keys, tmp_path)
