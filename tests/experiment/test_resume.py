"""Nothing is lost: a study goes on where it was interrupted, grows, and is never mixed with another one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from killed_studies import POLICIES, RUNS, world
from studies import kept_runs, small

from tpstream import Scenario, compare, sweep
from tpstream.experiment import folder as folder_module
from tpstream.experiment.store import Store
from tpstream.model.errors import LogError, StudyError
from tpstream.policies import POLICIES as REGISTRY
from tpstream.run import loop
from tpstream.scenario.policy_choice import PolicyChoice

RESULTS = ("results.parquet", "results.csv", "table.csv", "contrasts.csv", "curves.csv", "pulls.csv", "failures.csv")


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The result files."""
    return {name: (folder / name).read_bytes() for name in RESULTS}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, tuple[str, ...]]]:
    """The runs that are started, each with its policies."""
    found: list[tuple[int, tuple[str, ...]]] = []
    take_turns = loop._run_policies_in_turn

    def noted(scenario: Scenario, choices: list[PolicyChoice], seed: int, run: int, *rest: Any) -> object:
        found.append((run, tuple(choice.label for choice in choices)))
        return take_turns(scenario, choices, seed, run, *rest)

    monkeypatch.setattr(loop, "_run_policies_in_turn", noted)
    return found


@pytest.mark.slow
def test_killed_ten_times(tmp_path: Path) -> None:
    """Killed at ten random moments, a study ends with the same files, and does no run again that it had finished."""
    (tmp_path / "killed").mkdir()
    script = Path(__file__).parents[1] / "support" / "killed_studies.py"
    words = [sys.executable, str(script), str(tmp_path / "killed"), "10", "5"]
    done = subprocess.run(words, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    attempts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [attempt["killed"] for attempt in attempts] == [True] * 10 + [False]
    assert [set(attempt["kept"]) & set(attempt["started"]) for attempt in attempts] == [set()] * 11
    assert all(len(set(attempt["started"])) == len(attempt["started"]) for attempt in attempts)
    assert len({len(attempt["kept"]) for attempt in attempts}) > 3
    assert {*attempts[-1]["kept"], *attempts[-1]["started"]} == set(range(RUNS))
    compare(world(), POLICIES, runs=RUNS, jobs=2, folder=tmp_path / "undisturbed")
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "undisturbed")


def test_more_runs_are_added(tmp_path: Path, started: list[tuple[int, tuple[str, ...]]]) -> None:
    """Five runs after three add two, and the files are those of five runs at once."""
    compare(small(), ["uniform", "ucb1"], runs=3, folder=tmp_path / "grown")
    started.clear()
    compare(small(), ["uniform", "ucb1"], runs=5, folder=tmp_path / "grown")
    assert started == [(3, ("uniform", "ucb1")), (4, ("uniform", "ucb1"))]
    compare(small(), ["uniform", "ucb1"], runs=5, folder=tmp_path / "whole")
    assert bytes_of(tmp_path / "grown") == bytes_of(tmp_path / "whole")
    assert (tmp_path / "grown/study.json").read_bytes() == (tmp_path / "whole/study.json").read_bytes()


def test_fewer_runs_are_a_part(tmp_path: Path, started: list[tuple[int, tuple[str, ...]]]) -> None:
    """Two runs after five do nothing and give the result of two."""
    compare(small(), ["uniform"], runs=5, folder=tmp_path / "more")
    started.clear()
    assert compare(small(), ["uniform"], runs=2, folder=tmp_path / "more").records["uniform"].runs.tolist() == [0, 1]
    assert started == []
    assert json.loads((tmp_path / "more/study.json").read_text())["runs"] == 5


def test_policies_are_added(tmp_path: Path, started: list[tuple[int, tuple[str, ...]]]) -> None:
    """A policy that joins later is run alone, and meets the same random numbers."""
    compare(small(), ["uniform"], runs=2, folder=tmp_path / "grown")
    started.clear()
    compare(small(), ["uniform", "ucb1"], runs=2, folder=tmp_path / "grown")
    assert started == [(0, ("ucb1",)), (1, ("ucb1",))]
    compare(small(), ["uniform", "ucb1"], runs=2, folder=tmp_path / "whole")
    assert bytes_of(tmp_path / "grown") == bytes_of(tmp_path / "whole")


def test_values_are_added(tmp_path: Path, started: list[tuple[int, tuple[str, ...]]]) -> None:
    """A sweep with one value more runs the cells of that value only."""
    sweep(small(), {"span": [6, 12]}, ["uniform"], runs=2, folder=tmp_path)
    started.clear()
    found = sweep(small(), {"span": [6, 12, 18]}, ["uniform"], runs=2, folder=tmp_path)
    assert [run for run, _ in started] == [0, 1]
    assert found.table()["span"].tolist() == [6, 12, 18]
    assert json.loads((tmp_path / "study.json").read_text())["sweep"] == {"span": [6, 12, 18]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 50}, "horizon is 60 there and 50 here"),
        ({"name": "other"}, "name is 'small' there and 'other' here"),
        ({"drain": False}, "drain is true there and false here"),
        ({"rewards": {"kind": "smooth-beta", "groups": 3}}, "rewards.spread is 'random' there and 'even' here"),
        ({"window": 4.0}, "window is None there and 4.0 here"),
        (
            {"arms": [{"name": "low", "maximum": 10.0}, {"name": "high", "maximum": 30.0}]},
            "arms is 3 values there and 2 values here",
        ),
        (
            {
                "arms": [
                    {"name": "low", "maximum": 10.0},
                    {"name": "middle", "maximum": 21.0},
                    {"name": "high", "maximum": 30.0},
                ]
            },
            "arms[1].maximum is 20.0 there and 21.0 here",
        ),
    ],
)
def test_another_scenario_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    """A changed scenario in the same folder is an error that says what differs, and the folder stays as it was."""
    compare(small(), ["uniform"], runs=1, folder=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(StudyError, match="holds another study: ") as error:
        compare(small(**change), ["uniform"], runs=1, folder=tmp_path)
    assert message in str(error.value)
    assert "choose another folder" in str(error.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_another_study_is_refused(tmp_path: Path) -> None:
    """So are another seed, other rounds, another sweep, and other parameters under the same label."""
    listed = small(policies=[{"kind": "tp-ucb-fr", "name": "mine", "groups": 3}])
    other = small(policies=[{"kind": "tp-ucb-fr", "name": "mine", "groups": 2}])
    compare(listed, runs=1, folder=tmp_path)
    with pytest.raises(StudyError, match="seed is 3 there and 4 here"):
        compare(listed, runs=1, seed=4, folder=tmp_path)
    with pytest.raises(StudyError, match=r"rounds is \[\] there and \[7\] here"):
        compare(listed, runs=1, rounds=[7], folder=tmp_path)
    with pytest.raises(StudyError, match=r"sweep is \[\] there and \['span'\] here"):
        sweep(listed, {"span": [6]}, runs=1, folder=tmp_path)
    with pytest.raises(StudyError, match=r"policies\.mine\.given\.groups is 3 there and 2 here"):
        compare(other, runs=1, folder=tmp_path)


def test_changed_records_are_another_scenario(tmp_path: Path) -> None:
    """The content of a file that a scenario names is a part of it."""

    def recorded(value: int) -> Scenario:
        rows = [f"{arm},{value},2" for arm in ("a", "b") for _ in range(50)]
        (tmp_path / "sales.csv").write_text("\n".join(["arm,x1,x2", *rows]))
        rewards = {"kind": "trace", "file": str(tmp_path / "sales.csv"), "groups": 1}
        return small(span=2, horizon=40, rewards=rewards, arms=[{"name": "a"}, {"name": "b"}])

    compare(recorded(1), ["uniform"], runs=1, folder=tmp_path / "out")
    compare(recorded(1), ["uniform"], runs=2, folder=tmp_path / "out")
    with pytest.raises(StudyError, match=r"holds another study: files\..*sales\.csv is '\w+' there and '\w+' here"):
        compare(recorded(3), ["uniform"], runs=2, folder=tmp_path / "out")


def test_changed_code_is_another_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is the file of a user's policy."""
    source = (Path(__file__).parents[1] / "support" / "moody.py").read_text()
    (tmp_path / "tuned.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(REGISTRY.builtin, "moody", "tuned:POLICY")  # type: ignore[arg-type]
    compare(small(), ["moody"], runs=6, folder=tmp_path / "out")
    compare(small(), ["moody"], runs=6, folder=tmp_path / "out")
    (tmp_path / "tuned.py").write_text(source + "\n# tuned\n")
    with pytest.raises(
        StudyError, match=r"holds another study: tuned\.py was edited since it began; put the old file back"
    ):
        compare(small(), ["moody"], runs=6, folder=tmp_path / "out")


def test_other_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of two versions of NumPy are not mixed."""
    compare(small(), ["uniform"], runs=1, folder=tmp_path)
    newer = folder_module.package_versions() | {"numpy": "99.0"}
    monkeypatch.setattr(folder_module, "package_versions", lambda: newer)
    with pytest.raises(StudyError, match=r"versions\.numpy is '[\d.]+' there and '99\.0' here"):
        compare(small(), ["uniform"], runs=1, folder=tmp_path)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """While a study is at work its store is closed to others."""
    compare(small(), ["uniform"], runs=1, folder=tmp_path)
    with Store(tmp_path), pytest.raises(StudyError, match="another process is at work on this study; wait for it"):
        compare(small(), ["uniform"], runs=2, folder=tmp_path)


def test_what_is_no_study(tmp_path: Path) -> None:
    """A file in the place of the folder, a foreign database and torn JSON are errors that say so."""
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match="file: is a file; give a folder"):
        compare(small(), ["uniform"], runs=1, folder=tmp_path / "file")
    with pytest.raises(StudyError, match=r"file/below: cannot be written \(Not a directory\); choose another folder"):
        compare(small(), ["uniform"], runs=1, folder=tmp_path / "file/below")
    (tmp_path / "study.sqlite").write_text("my diary, which is long enough to be looked at" * 100)
    with pytest.raises(StudyError, match=r"study\.sqlite: is not the store of a study"):
        compare(small(), ["uniform"], runs=1, folder=tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(StudyError, match=r"study\.json: cannot be read"):
        compare(small(), ["uniform"], runs=1, folder=tmp_path)
    (tmp_path / "study.json").write_text('{"schema": 99}')
    with pytest.raises(StudyError, match=r"study\.json: has schema 99, this tpstream knows 3"):
        compare(small(), ["uniform"], runs=1, folder=tmp_path)


@pytest.mark.parametrize(
    ("damage", "again"),
    [
        ("UPDATE done SET run = run + 100 WHERE run > 0; UPDATE done SET run = 103 - run WHERE run > 100", {1, 2}),
        ("UPDATE done SET measures = substr(measures, 1, 9) || x'00' || substr(measures, 11) WHERE run = 2", {2}),
        ("UPDATE done SET seconds = seconds + 1 WHERE run = 0", {0}),
        ("UPDATE done SET id = id + 10; UPDATE done SET id = 13 - id", {0, 1, 2}),
    ],
    ids=["runs", "measures", "seconds", "keys"],
)
def test_damaged_runs_are_told_and_done_again(
    damage: str, again: set[int], tmp_path: Path, started: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A run under another number or key, or with other content, is not believed: the study does it again."""
    policies = ["uniform", "ucb1"]
    before = compare(small(), policies, runs=3, folder=tmp_path)
    with Store(tmp_path) as store:
        store._database.executescript(damage)
    started.clear()
    after = compare(small(), policies, runs=3, folder=tmp_path)
    assert {run for run, _ in started} == again
    assert "stored runs are damaged" in capsys.readouterr().err
    assert all((after.regret(policy) == before.regret(policy)).all() for policy in policies)


def test_a_store_of_the_future(tmp_path: Path) -> None:
    """A store with another schema is refused before anything is read from it."""
    with Store(tmp_path) as store:
        store._database.execute("PRAGMA user_version = 99")
    with pytest.raises(StudyError, match=r"study\.sqlite: has schema 99, this tpstream knows 3"):
        Store(tmp_path)


def test_nothing_is_kept_before_a_study(tmp_path: Path) -> None:
    """A folder without a study holds no runs."""
    assert kept_runs(tmp_path) == 0


def test_logs_of_a_study_that_goes_on(tmp_path: Path, started: list[tuple[int, tuple[str, ...]]]) -> None:
    """A torn log of an unfinished run is written anew, a lost one too; those of others are refused as ever."""
    out, logs = tmp_path / "out", tmp_path / "logs"
    compare(small(), ["uniform"], runs=2, folder=out, logs=logs)
    whole = {log.name: log.read_bytes() for log in logs.iterdir()}
    (logs / "uniform.run-001.jsonl").unlink()
    (logs / "uniform.run-002.jsonl").write_text("torn")
    started.clear()
    compare(small(), ["uniform"], runs=3, folder=out, logs=logs)
    assert [run for run, _ in started] == [1, 2]
    assert {name: (logs / name).read_bytes() for name in whole} == whole
    assert kept_runs(out) == 3
    with pytest.raises(LogError, match="there is a log already"):
        compare(small(), ["uniform"], runs=3, folder=tmp_path / "new", logs=logs)
