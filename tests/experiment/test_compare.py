"""Comparisons: common random numbers, any number of processes, and tables that are what they say."""

import math
from pathlib import Path

import numpy as np
import pytest
from studies import PAPER, small

from tpstream import Study, compare, simulate
from tpstream.analysis import intervals
from tpstream.analysis.intervals import t_interval
from tpstream.analysis.regret import PullCounts, checkpoints
from tpstream.cli.options import cores
from tpstream.engines.engine import EngineName
from tpstream.model.arrays import Floats
from tpstream.model.errors import FigureError, LogError, StudyError, UnknownNameError

T_975 = {1: math.tan(0.475 * math.pi), 2: 0.95 * math.sqrt(2 / (4 * 0.975 * 0.025)), 3: 3.182446305284263}
"""The 97.5 % points of Student's distribution by degrees of freedom; the first two have closed forms."""


@pytest.fixture(scope="module")
def study() -> Study:
    """Three policies, four runs."""
    return compare(small(), ["ucb1", "tp-ucb-ew", "uniform"], runs=4, seed=8)


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_the_number_of_jobs_changes_nothing(tmp_path: Path, engine: EngineName) -> None:
    """One job and two, threads or processes, give the same counts and logs, and progress adds up to all rounds."""
    told: dict[int, list[int]] = {1: [], 2: []}
    alone, shared = (
        compare(
            small(),
            ["tp-ucb-fr", "uniform"],
            runs=2,
            jobs=jobs,
            engine=engine,
            logs=tmp_path / str(jobs),
            progress=told[jobs].append,
        )
        for jobs in (1, 2)
    )
    assert {policy: counts.tolist() for policy, counts in alone.counts.items()} == {
        policy: counts.tolist() for policy, counts in shared.counts.items()
    }
    assert [sum(rounds) for rounds in told.values()] == [4 * 60, 4 * 60]
    names = [path.name for paths in alone.logs.values() for path in paths]
    assert len(names) == 4
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_all_runs_fail(tmp_path: Path, engine: EngineName) -> None:
    """If no run comes to its end there is no result, only an error with the first reason."""
    rows = [f"{arm},1,2" for arm in ("a", "b") for _ in range(5)]
    (tmp_path / "short.csv").write_text("\n".join(["arm,x1,x2", *rows]))
    scenario = small(
        span=2,
        horizon=40,
        rewards={"kind": "trace", "file": str(tmp_path / "short.csv"), "groups": 1},
        arms=[{"name": "a"}, {"name": "b"}],
    )
    with pytest.raises(StudyError, match=r"ucb1 failed in run 0 with seed 3: arm '.' has no recorded pull 6"):
        compare(scenario, ["ucb1", "uniform"], runs=2, jobs=2, engine=engine)


def test_counts_are_those_of_the_runs(study: Study) -> None:
    """Counts hold, for every run and checkpoint, how often each arm had been pulled."""
    for policy in ("ucb1", "tp-ucb-ew", "uniform"):
        for run in range(4):
            arms = simulate(small(), policy, seed=8, run=run).arms.tolist()
            literal = [[arms[:round].count(arm) for arm in range(3)] for round in study.rounds.tolist()]
            assert study.counts[policy][run].tolist() == literal


def test_regret_is_counted_gaps(study: Study) -> None:
    """The regret of a run is ten for each pull of the first arm and five for each of the second."""
    counts = study.counts["uniform"]
    assert study.regret("uniform").tolist() == (10.0 * counts[:, :, 0] + 5.0 * counts[:, :, 1]).tolist()


def test_table(study: Study) -> None:
    """Final regret with Student's interval, share of the best arm: as worked out by hand."""
    table = study.table().set_index("policy")
    assert list(table.index) == ["ucb1", "tp-ucb-ew", "uniform"]
    finals = [10.0 * low + 5.0 * middle for low, middle, _ in study.counts["uniform"][:, -1].tolist()]
    mean = sum(finals) / 4
    deviation = math.sqrt(sum((final - mean) ** 2 for final in finals) / 3)
    half = T_975[3] * deviation / math.sqrt(4)
    row = table.loc["uniform"]
    assert row["runs"] == 4
    assert [row["regret"], row["low"], row["high"]] == pytest.approx([mean, mean - half, mean + half], rel=1e-12)
    best = sum(counts[2] for counts in study.counts["uniform"][:, -1].tolist())
    assert row["best_arm_share"] == pytest.approx(best / (4 * 60), rel=1e-12)
    assert row["seconds_per_run"] > 0


def test_curves(study: Study) -> None:
    """Curves have a row for each policy and checkpoint, and end in the table."""
    curves, table = study.curves(), study.table()
    assert list(curves.columns) == ["policy", "round", "regret", "low", "high"]
    assert len(curves) == 3 * len(study.rounds)
    ends = curves[curves["round"] == 60].reset_index(drop=True)
    columns = ["policy", "regret", "low", "high"]
    assert ends[columns].to_dict("records") == table[columns].to_dict("records")
    middle = curves[(curves["policy"] == "uniform") & (curves["round"] == study.rounds[20])]
    assert middle["regret"].item() == pytest.approx(study.regret("uniform")[:, 20].sum() / 4, rel=1e-12)


def test_contrast(study: Study) -> None:
    """A contrast is the mean of the runs' differences with Student's interval, and what pairing saves."""
    one, other = (study.regret(policy)[:, -1].tolist() for policy in ("tp-ucb-ew", "uniform"))
    differences = [a - b for a, b in zip(one, other, strict=True)]
    mean = sum(differences) / 4
    half = T_975[3] * math.sqrt(sum((d - mean) ** 2 for d in differences) / 3) / 2

    def variance(values: list[float]) -> float:
        return sum((value - sum(values) / 4) ** 2 for value in values) / 4

    contrast = study.contrast("tp-ucb-ew", "uniform")
    assert (contrast.first, contrast.second) == ("tp-ucb-ew", "uniform")
    saving = (variance(one) + variance(other)) / variance(differences)
    found = [contrast.difference, contrast.low, contrast.high, contrast.saving]
    assert found == pytest.approx([mean, mean - half, mean + half, saving], rel=1e-9)


def test_contrast_with_a_stranger(study: Study) -> None:
    """A policy that was not in the study is an error that names those that were."""
    with pytest.raises(UnknownNameError, match=r"'oracle'.*known: tp-ucb-ew, ucb1, uniform"):
        study.contrast("ucb1", "oracle")


@pytest.mark.parametrize(("values", "half"), [([1.0, 3.0], T_975[1] * 1.0), ([2.0, 4.0, 6.0], T_975[2] * 2 / 3**0.5)])
def test_interval_by_hand(values: list[float], half: float) -> None:
    """Two runs of 1 and 3 deviate by the root of 2; three of 2, 4 and 6 by 2."""
    interval = t_interval(np.array(values))
    mean = sum(values) / len(values)
    assert [interval.mean, interval.low, interval.high] == pytest.approx([mean, mean - half, mean + half], rel=1e-12)


def test_one_run_has_no_interval() -> None:
    """From a single run nothing is known of the spread."""
    row = compare(small(), ["uniform"], runs=1).table().iloc[0]
    assert not math.isnan(row["regret"])
    assert math.isnan(row["low"])
    assert math.isnan(row["high"])


def test_the_scenarios_policies_are_the_default() -> None:
    """Without policies those of the scenario are compared; the paper's four if it lists none."""
    listed = small(policies=[{"kind": "uniform", "name": "dice"}, {"kind": "oracle"}])
    assert list(compare(listed, runs=1).counts) == ["dice", "oracle"]
    assert list(compare(small(horizon=5), runs=1).counts) == list(PAPER)


@pytest.mark.parametrize("horizon", [1, 2, 60, 2500])
def test_checkpoints(horizon: int) -> None:
    """Checkpoints rise from the first round to the last."""
    rounds = checkpoints(horizon).tolist()
    assert rounds == sorted(set(rounds))
    assert (rounds[0], rounds[-1]) == (1, horizon)


def test_counted_by_hand() -> None:
    """Arms 1, 0, 1, 1 up to rounds 2 and 4."""
    pulls = PullCounts(2, np.array([2, 4]))
    pulls.add(np.array([1, 0, 1, 1]))
    assert pulls.counts().tolist() == [[1, 1], [1, 3]]


@pytest.mark.parametrize(
    ("ending", "magic"), [(".png", b"\x89PNG\r\n"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG\r\n")]
)
@pytest.mark.parametrize("log_rounds", [False, True])
def test_figures(study: Study, tmp_path: Path, ending: str, magic: bytes, log_rounds: bool) -> None:  # noqa: FBT001
    """A figure is written in the format of its ending, into a folder that is made if it is missing."""
    path = tmp_path / "figures" / f"regret{ending}"
    study.plot(path, log_rounds=log_rounds)
    assert path.read_bytes().startswith(magic)


@pytest.mark.parametrize("ending", [".doc", ".jpeg", ""])
def test_a_figure_of_another_ending(study: Study, tmp_path: Path, ending: str) -> None:
    """An ending that means no format of ours is an error that names those that do."""
    with pytest.raises(FigureError, match=r"a figure ends in \.png, \.svg, \.pdf, got"):
        study.plot(tmp_path / f"regret{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["file/regret.png", "folder.png"])
def test_a_figure_that_cannot_be_written(study: Study, tmp_path: Path, place: str) -> None:
    """A place where no file can be is an error that names it."""
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(FigureError, match="choose another place"):
        study.plot(tmp_path / place)


@pytest.mark.parametrize(("runs", "jobs"), [(0, 1), (-3, 1), (1, 0), (1, -1)])
def test_fewer_than_one(runs: int, jobs: int) -> None:
    """There is no study of less than one run, nor by less than one process."""
    wrong = "runs" if runs < 1 else "jobs"
    with pytest.raises(StudyError, match=f"{wrong} must be at least 1, got {min(runs, jobs)}"):
        compare(small(), ["uniform"], runs=runs, jobs=jobs)


def test_a_policy_twice() -> None:
    """The same policy twice is an error; with other parameters it is another one."""
    with pytest.raises(StudyError, match="'tp-ucb-fr' is asked for twice"):
        compare(small(), ["tp-ucb-fr", "tp-ucb-fr"], runs=1)
    assert len(compare(small(), ["tp-ucb-fr", "tp-ucb-fr:groups=2"], runs=1).counts) == 2


def test_logs_are_refused_before_any_run(tmp_path: Path) -> None:
    """If the log of the last run is there already, the first run does not start."""
    last = tmp_path / "uniform.run-002.jsonl"
    last.write_text("mine")
    with pytest.raises(LogError, match=r"there is a log already, uniform\.run-002\.jsonl; .*--force"):
        compare(small(), ["uniform"], runs=3, logs=tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    assert len(compare(small(), ["uniform"], runs=3, logs=tmp_path, force=True).logs["uniform"]) == 3


def test_logs_need_a_folder(tmp_path: Path) -> None:
    """A file in the place of the folder is an error that says so."""
    (tmp_path / "file").touch()
    with pytest.raises(LogError, match="file: is a file; give a folder"):
        compare(small(), ["uniform"], runs=1, logs=tmp_path / "file")


def test_progress_adds_up() -> None:
    """What progress is told from time to time adds up to all rounds of all runs."""
    told: list[int] = []
    compare(small(horizon=9000, drain=False), ["uniform", "oracle"], runs=2, progress=told.append)
    assert len(told) >= 4
    assert sum(told) == 4 * 9000


def test_default_jobs() -> None:
    """The command line uses as many cores as it is told, and by default at least one."""
    assert cores(3) == 3
    assert cores(None) >= 1


def test_tables_are_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Result files, table and contrasts of one study share their bootstraps: one for each policy and each contrast."""
    made: list[int] = []

    def noted(values: Floats) -> tuple[float, float]:
        made.append(len(values))
        return 0.0, 1.0

    monkeypatch.setattr(intervals, "bootstrap_interval", noted)
    study = compare(small(), ["ucb1", "uniform"], runs=3, folder=tmp_path)
    study.table().insert(0, "changed", 1)
    assert "changed" not in study.table()
    assert len(study.contrasts()) == 1
    assert made == [3, 3, 3]
