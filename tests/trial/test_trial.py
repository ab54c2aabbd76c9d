"""Operating characteristics of trials, by hand and from logs."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import moody
import numpy as np
import pytest
from matplotlib.figure import Figure
from studies import TOML, small

from tpstream import compare, read_logs, simulate
from tpstream.cli.app import main
from tpstream.cli.options import OutputFlags
from tpstream.cli.trial import show_trial
from tpstream.engines import draws
from tpstream.model.arrays import Floats
from tpstream.model.errors import LogError, StudyError, UnknownNameError
from tpstream.model.world import World
from tpstream.policies import POLICIES
from tpstream.trial.characteristics import Trial
from tpstream.trial.figure import trial_figure
from tpstream.trial.from_runs import read_trial
from tpstream.trial.outcomes import TrialOutcome, choose_arm, estimate_means
from tpstream.trial.trial import trial


def outcome(run: int, patients: list[int], chosen: int | None, last: float) -> TrialOutcome:
    """A trial of three arms."""
    return TrialOutcome(1, run, np.array(patients), np.array([0.5]), chosen, last)


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
    """The interval of the difference is that of (3 - 11, 6 - 9), run by run, cut at what ten patients can lose."""
    half = 12.706204736432095 * 2.5
    for horizon, ends in ((100, (-5.5 - half, -5.5 + half)), (10, (-20.0, 20.0))):
        row = replace(TRIAL, horizon=horizon).table().set_index("policy").loc["other"]
        np.testing.assert_allclose([row["against_fixed_low"], row["against_fixed_high"]], ends)


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
    found = estimate_means(arm, part, np.array([1.0, 3.0, 6.0, 4.0, 2.0]), 3, 3)
    np.testing.assert_array_equal(found, [(2 + 6) * 3 / 2, (4 + 2) * 3 / 2, np.nan])


def test_an_arm_without_read_outs_is_never_chosen() -> None:
    """Nothing is known of it; of equal arms the first is chosen."""
    assert choose_arm(np.array([np.nan, -1.0, 2.0, 2.0])) == 2


def test_without_any_read_out_no_arm_is_chosen() -> None:
    """Nothing is known of any arm, so none is taken for the first or the best one."""
    assert choose_arm(np.full(3, np.nan)) is None


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_everything_is_lost(tmp_path: Path, runs: int, engine: Any) -> None:
    """No arm is chosen, no read-out has a time, all else is known; the notes say so and the figure is drawn."""
    lost = small(delays=[{"kind": "missing", "p": 1.0}], window=9.0)
    found = trial(lost, ["ucb1", "tp-ucb-ew"], runs=runs, engine=engine)
    table = found.table()
    assert (table["best_chosen"] == 0).all()
    assert table[["last_readout", "lost_later"]].isna().all(axis=None)
    assert table[["on_best", "lost"]].notna().all(axis=None)
    assert found.choices()["chosen"].sum() == 0
    assert found.notes[0] == f"uniform: in {runs} of {runs} runs no result was delivered, so no arm was chosen"
    trial_figure(tmp_path / "trial.svg", found)


def test_a_run_without_read_outs_is_left_out_of_their_time() -> None:
    """The last read-out is a mean over the runs that have one; no choice counts as a wrong one."""
    outcomes = {"uniform": [outcome(0, [4, 3, 3], 1, 8.0), outcome(1, [3, 4, 3], None, np.nan)]}
    row = replace(TRIAL, outcomes=outcomes).table().iloc[0]
    assert (row["last_readout"], row["best_chosen"], row["lost_later"]) == (8.0, 0.5, 0.0)


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


def test_fixed_randomisation_runs_in_any_case() -> None:
    """It comes first if it was not asked for, and the scenario is drained."""
    found = trial(small(horizon=60, drain=False), ["tp-ucb-fr"], runs=3, seed=2)
    drained = trial(small(horizon=60, drain=True), ["uniform", "tp-ucb-fr"], runs=3, seed=2)
    assert list(found.outcomes) == ["uniform", "tp-ucb-fr"]
    assert found.table().equals(drained.table())


def test_kept_logs_give_the_same_table(tmp_path: Path) -> None:
    """What is computed while running is what the logs say later, and progress hears of every round once."""
    told: list[int] = []
    kept = trial(small(horizon=60), ["uniform", "ucb1"], runs=2, seed=2, logs=tmp_path, progress=told.append)
    assert sum(told) == 60 * 2 * 2
    assert kept.table().set_index("policy").sort_index().equals(read_trial(tmp_path).table().set_index("policy"))


FAILING = [run for run in range(8) if moody.fails(3, run)]
FINE = [run for run in range(8) if not moody.fails(3, run)]


@pytest.mark.parametrize("keep", [False, True])
def test_failed_runs_are_left_out(tmp_path: Path, *, keep: bool) -> None:
    """The other runs count as without them; all logs are kept if they are asked for."""
    found = trial(small(), [moody.POLICY, "ucb1"], runs=8, logs=tmp_path if keep else None)
    without = trial(small(), ["ucb1"], runs=8)
    assert [one.run for one in found.outcomes["moody"]] == FINE
    assert [(one.scenario, one.policy, one.run, one.seed) for one in found.failures] == [
        ("small", "moody", run, 3) for run in FAILING
    ]
    table = found.table().set_index("policy")
    assert table.loc[["uniform", "ucb1"]].equals(without.table().set_index("policy"))
    assert table.loc["moody", ["runs", "failed"]].tolist() == [len(FINE), len(FAILING)]
    assert len(list(tmp_path.iterdir())) == (3 * 8 if keep else 0)


def test_a_policy_that_always_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has a row without numbers, and the figure is drawn without it."""
    monkeypatch.setenv("COLUMNS", "120")
    failing = replace(moody.POLICY, create=lambda problem, *_: moody.Moody(problem.arms, gives_up=True))
    found = trial(small(), [failing, "ucb1"], runs=2)
    row = found.table().set_index("policy").loc["moody"]
    assert (row["runs"], row["failed"]) == (0, 2)
    assert row.drop(["runs", "failed"]).isna().all()
    trial_figure(tmp_path / "trial.svg", found)
    assert (tmp_path / "trial.svg").stat().st_size > 10_000
    show_trial(found, OutputFlags(quiet=True))
    assert "all failed" in capsys.readouterr().out


def test_fixed_randomisation_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that all policies fail in is left out alone; where fixed randomisation failed there is no difference."""
    check = draws.check_block

    def check_spoiled(block: Floats, pulls: int, world: World, arm: int, first: int) -> object:
        if world.run == 1 or (world.run == 0 and arm == 0):
            block[0] = -1.0
        return check(block, pulls, world, arm, first)

    monkeypatch.setattr(draws, "check_block", check_spoiled)
    found = trial(small(), ["oracle"], runs=2)
    assert [(one.policy, one.run) for one in found.failures] == [("uniform", 0), ("uniform", 1), ("oracle", 1)]
    assert np.isnan(found.table().set_index("policy").loc["oracle", "against_fixed"])
    with pytest.raises(StudyError, match="uniform failed in run 0 with seed 3"):
        trial(small(), ["uniform"], runs=1)


def test_failures_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The exit code is 1, the others are shown, and the command that is told of repeats the failed run alone."""
    monkeypatch.setitem(POLICIES.builtin, "moody", "moody:POLICY")  # type: ignore[arg-type]
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(TOML.replace("drain = true\n", ""))

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tpstream", *words])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return int(left.value.code or 0), printed.out, printed.err

    words = ("trial", "small.toml", "-p", "moody", "-n", "8", "-j", "1", "--set", "span=12")
    code, out, err = call(*words)
    assert code == 1
    assert f" {len(FINE)} " in next(line for line in out.splitlines() if "moody" in line)
    first, repeat = err.splitlines()[:2]
    assert first.startswith(f"tpstream: small: moody failed in run {FAILING[0]} with seed 3: ")
    assert repeat == (
        "  repeat: tpstream run small.toml --policy moody --horizon 60 --set span=12 --set drain=true "
        f"--seed 3 --run {FAILING[0]}"
    )
    assert call(*shlex.split(repeat)[2:])[2].startswith(first)
    code, out, _ = call(*words, "--json")
    assert (code, [one["run"] for one in json.loads(out)["failures"]]) == (1, FAILING)


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


def test_the_figure_of_equal_arms(tmp_path: Path) -> None:
    """Where no arm is best: the patients of each arm, and how often it was chosen, with their intervals."""
    equal = replace(TRIAL, means=np.ones(3))
    figure = trial_figure(tmp_path / "equal.svg", equal)
    choices = equal.choices().set_index(["policy", "arm"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b", "c"]
    for axes, column, factor in zip(figure.axes, ("patients", "chosen"), (1, 100), strict=True):
        points = {str(line.get_label()): line for line in axes.lines if line.get_marker() == "o"}
        assert list(points) == ["uniform", "other"]
        bars = [line.get_segments() for line in axes.collections]
        for (policy, line), segments in zip(points.items(), bars, strict=True):
            rows = choices.loc[policy]
            np.testing.assert_allclose(line.get_xdata(), factor * rows[column])
            ends = [[low, high] for (low, _), (high, _) in segments]
            np.testing.assert_allclose(ends, factor * rows[[f"{column}_low", f"{column}_high"]])
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "how many patients each arm got",
        "how often each arm was chosen in the end",
    ]
    alone = Figure().subplots()
    equal.plot(ax=alone)
    assert alone.get_title(loc="left") == "how many patients each arm got"
    assert "patients on the best arm" in trial_figure(None, TRIAL).axes[0].get_title(loc="left")


def test_a_trial_of_equal_arms_shows_itself_by_its_patients() -> None:
    """The short summary has the patients of each arm, and no column about a best one."""
    shown = repr(replace(TRIAL, means=np.ones(3)))
    assert "patients on b" in shown
    assert "best chosen" not in shown
    assert "best chosen" in repr(TRIAL)


def test_the_figure_is_repeatable(tmp_path: Path) -> None:
    """The same trial gives the same bytes."""
    for name in ("one.svg", "two.svg"):
        trial_figure(tmp_path / name, TRIAL)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
