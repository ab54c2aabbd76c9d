"""Operating characteristics of trials, by hand and from logs."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from studies import small

from tpstream import compare, read_logs, simulate
from tpstream.analysis.trial import Outcome, Trial, choose, estimate, read_trial
from tpstream.analysis.trial_figure import trial_figure
from tpstream.cli.app import main
from tpstream.model.errors import LogError, UnknownNameError
from tpstream.study import trial as trial_module
from tpstream.study.trial import trial


def outcome(run: int, patients: list[int], chosen: int, last: float) -> Outcome:
    """A trial of three arms."""
    return Outcome(1, run, np.array(patients), np.array([0.5]), chosen, last)


TRIAL = Trial(
    name="by hand",
    arms=("a", "b", "c"),
    means=np.array([1.0, 3.0, 2.0]),
    horizon=10,
    outcomes={
        "uniform": [outcome(0, [4, 3, 3], 1, 8.0), outcome(1, [3, 4, 3], 2, 9.0)],
        "other": [outcome(0, [1, 8, 1], 1, 8.0), outcome(1, [2, 6, 2], 1, 10.0)],
    },
)


def test_the_table_by_hand() -> None:
    """On the best arm, best chosen, benefit lost, that against fixed randomisation, last read-out, later loss."""
    names = ["on_best", "best_chosen", "lost", "against_fixed", "last_readout", "lost_later"]
    table = TRIAL.table().set_index("policy")
    np.testing.assert_allclose(table.loc["uniform", names].astype(float), [3.5, 0.5, 10, 0, 8.5, 0.5])
    np.testing.assert_allclose(table.loc["other", names].astype(float), [7.0, 1.0, 4.5, -5.5, 9.0, 0.0])


def test_the_difference_is_paired() -> None:
    """The interval of the difference is that of (3 - 11, 6 - 9), run by run."""
    row = TRIAL.table().set_index("policy").loc["other"]
    half = 12.706204736432095 * 2.5
    np.testing.assert_allclose([row["against_fixed_low"], row["against_fixed_high"]], [-5.5 - half, -5.5 + half])


def test_without_fixed_randomisation_there_is_no_difference() -> None:
    """The column is there, and not known."""
    alone = Trial("one", TRIAL.arms, TRIAL.means, 10, {"other": TRIAL.outcomes["other"]})
    assert np.isnan(alone.table()["against_fixed"]).all()


def test_an_unknown_policy_is_refused() -> None:
    """It is named, with those that are there."""
    with pytest.raises(UnknownNameError, match="uniform"):
        TRIAL.lost("uniforms")


def test_the_final_estimate_by_hand() -> None:
    """Means by part are added, so that lost parts are not zeros; an unseen part counts as the others' average."""
    arm, part = np.array([0, 0, 0, 1, 1]), np.array([1, 1, 2, 1, 3])
    found = estimate(arm, part, np.array([1.0, 3.0, 6.0, 4.0, 2.0]), 3, 3)
    np.testing.assert_array_equal(found, [(2 + 6) * 3 / 2, (4 + 2) * 3 / 2, np.nan])


def test_an_arm_without_read_outs_is_never_chosen() -> None:
    """Nothing is known of it; of equal arms the first is chosen."""
    assert choose(np.array([np.nan, -1.0, 2.0, 2.0])) == 2


def test_logs_tell_what_happened(tmp_path: Path) -> None:
    """Patients by arm, allocation and last read-out are those of the events."""
    scenario = small(horizon=60, drain=True)
    compare(scenario, ["tp-ucb-fr", "uniform"], runs=2, seed=5, logs=tmp_path)
    found = read_trial(tmp_path)
    for policy in ("tp-ucb-fr", "uniform"):
        for run, one in enumerate(found.outcomes[policy]):
            done = simulate(scenario, policy, seed=5, run=run)
            assert one.run == run
            np.testing.assert_array_equal(one.patients, np.bincount(done.arms, minlength=len(scenario.arms)))
            assert one.allocation.mean() == pytest.approx(found.best[done.arms].mean())
            assert one.last_readout == 60 + scenario.span - 1


def test_a_trial_that_is_not_over_is_refused(tmp_path: Path) -> None:
    """Without drain the last read-outs are missing."""
    simulate(small(horizon=60, drain=False), "uniform", log=tmp_path / "one.jsonl")
    with pytest.raises(LogError, match="the trial is not over"):
        read_trial(read_logs(tmp_path))


def test_fixed_randomisation_runs_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes first if it was not asked for; runs in pieces are the same runs, and the scenario is drained."""
    whole = trial(small(horizon=60, drain=False), ["tp-ucb-fr"], runs=3, seed=2)
    monkeypatch.setattr(trial_module, "AT_ONCE", 2)
    pieces = trial(small(horizon=60, drain=False), ["tp-ucb-fr"], runs=3, seed=2)
    assert list(whole.outcomes) == ["uniform", "tp-ucb-fr"]
    assert whole.table().equals(pieces.table())


def test_kept_logs_give_the_same_table(tmp_path: Path) -> None:
    """What is computed while running is what the logs say later, and progress hears of every round once."""
    told: list[int] = []
    kept = trial(small(horizon=60), ["uniform", "ucb1"], runs=2, seed=2, logs=tmp_path, progress=told.append)
    assert sum(told) == 60 * 2 * 2
    assert kept.table().equals(read_trial(tmp_path).table())


@pytest.mark.parametrize("runs", [1, 3])
def test_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, runs: int
) -> None:
    """`tpstream trial` prints a row for each policy, and as JSON the same table; the figure is written."""
    monkeypatch.setenv("COLUMNS", "200")
    words = ["trial", "lottery-all", "--horizon", "50", "--runs", str(runs), "--policy", "tp-ucb-fr", "--jobs", "1"]
    printed = []
    for more in (["--figure", str(tmp_path / "trial.svg")], ["--json"], ["--set", "span=20"]):
        monkeypatch.setattr(sys, "argv", ["tpstream", *words, *more])
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        printed.append(capsys.readouterr().out)
    rows = json.loads(printed[1])["policies"]
    assert [row["policy"] for row in rows] == ["uniform", "tp-ucb-fr"]
    assert all(f"{row['lost']:,.0f}" in printed[0] for row in rows)
    assert (tmp_path / "trial.svg").stat().st_size > 10_000


def test_the_figure_is_repeatable(tmp_path: Path) -> None:
    """The same trial gives the same bytes."""
    for name in ("one.svg", "two.svg"):
        trial_figure(tmp_path / name, TRIAL)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
