"""The commands that read logs: what they print, and their exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies import TOML, read_lines, small
from tampering import place_of, tamper, write_lines

from tpstream import log_regret, read_log, simulate, what_if
from tpstream.cli import app, logs, study

MODULES = (logs, study)
"""Importing them adds their commands."""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """The console script, in this process and an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def command(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tpstream", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            app.main()
        printed = capsys.readouterr()
        return int(left.value.code or 0), printed.out, printed.err

    return command


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of tp-ucb-ew."""
    path = tmp_path / "run.jsonl"
    simulate(small(), "tp-ucb-ew", log=path, log_detail="indices")
    return path


def flip(log: Path) -> Path:
    """The log with another decision in round 20."""

    def change(events: list[dict[str, Any]]) -> None:
        event = events[place_of(events, "pull", round=20)]
        event["arm"] = (event["arm"] + 1) % 3

    return tamper(log, change)


def test_replay_equal_is_0(call: Any, log: Path) -> None:
    """A log that replays: one line and exit code 0."""
    assert call("replay", log) == (0, "equal: tp-ucb-ew takes the same 60 decisions\n", "")


def test_replay_diverged_is_1(call: Any, log: Path) -> None:
    """Another decision: round, event, both arms, the indices, and exit code 1."""
    code, out, err = call("replay", flip(log))
    assert (code, err) == (1, "")
    assert out.startswith("diverged: in round 20 (event ")
    assert all(name in out for name in ("low", "middle", "high", "index in the log", "index of tp-ucb-ew"))


def test_replay_diverged_without_indices(call: Any, tmp_path: Path) -> None:
    """A log without indices shows those of the replay alone."""
    simulate(small(), "tp-ucb-ew", log=tmp_path / "plain.jsonl")
    code, out, _ = call("replay", flip(tmp_path / "plain.jsonl"))
    assert (code, "not logged" in out) == (1, True)


def test_replay_unusable_is_2(call: Any, log: Path) -> None:
    """A log that is not to be trusted, or none at all: one line on standard error and exit code 2."""
    code, out, err = call("replay", tamper(log, lambda events: events.pop(7)))
    assert (code, out) == (2, "")
    assert "changed-run.jsonl: event 8: seq 8 where 7 should be" in err
    assert err.count("\n") == 1
    assert call("replay", "nothing.jsonl")[0] == 2


def test_exit_codes_of_the_process(log: Path) -> None:
    """The codes leave the process as they should."""
    code = "from tpstream.cli.app import main; main()"
    logs = [log, flip(log), log.with_name("nothing.jsonl")]
    found = [subprocess.run([sys.executable, "-c", code, "replay", path], check=False).returncode for path in logs]
    assert found == [0, 1, 2]


def test_replay_as_json(call: Any, log: Path) -> None:
    """The result as JSON, with infinite indices as words."""
    code, out, _ = call("replay", log, "--json")
    assert (code, json.loads(out)["equal"], json.loads(out)["divergence"]) == (0, True, None)
    early = tamper(log, lambda events: events[place_of(events, "pull", round=2)].update(arm=0))
    code, out, _ = call("replay", early, "--json")
    divergence = json.loads(out)["divergence"]
    assert (code, divergence["round"], divergence["logged"], divergence["decided"]) == (1, 2, 0, 1)
    assert divergence["indices"] == divergence["logged_indices"] == ["inf", "inf", "inf"]


def test_a_torn_log_says_so(call: Any, log: Path) -> None:
    """The note tells where the log is torn; --quiet leaves it out."""
    write_lines(log, read_lines(log)[:50])
    shown = read_log(log)
    assert shown.truncated == f"cut after round {shown.join().round[-1]} of 60 (seq 48)"
    code, out, _ = call("replay", log)
    assert (code, f"note: {shown.truncated}" in out) == (0, True)
    assert "note" not in call("replay", log, "--quiet")[1]


def test_what_if(call: Any, log: Path) -> None:
    """Another policy is run on the same random numbers; exit code 0, whatever it does."""
    expected = what_if(log, "tp-ucb-fr")
    code, out, _ = call("replay", log, "--policy", "tp-ucb-fr")
    assert code == 0
    assert f"they part in round {expected.parting} and decide alike in {expected.common:.1%} of the rounds" in out
    found = json.loads(call("replay", log, "--policy", "tp-ucb-fr", "--json")[1])
    assert (found["difference"], found["parting"], found["common"]) == (
        expected.difference,
        expected.parting,
        expected.common,
    )


def test_the_own_policy_is_a_replay_and_check_makes_one(call: Any, log: Path) -> None:
    """--policy with the header's policy replays; with another one and --check it compares decisions."""
    assert call("replay", log, "--policy", "tp-ucb-ew:groups=3")[1].startswith("equal: ")
    code, out, _ = call("replay", log, "--policy", "tp-ucb-fr", "--check")
    assert (code, out.startswith("diverged: ")) == (1, True)


def test_no_redraw(call: Any, log: Path) -> None:
    """Values need not be drawn again."""
    assert call("replay", log, "--no-redraw")[1].endswith("note: values were not drawn again: as asked\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The logs of two runs of two policies."""
    for policy in ("tp-ucb-fr", "uniform"):
        for run in range(2):
            simulate(small(), policy, run=run, log=tmp_path / "logs" / f"{policy}.{run}.jsonl")
    return tmp_path / "logs"


def test_regret(call: Any, folder: Path) -> None:
    """A table of the three curves; files for tables and figures are written by their ending."""
    files = ["--out", "t.csv", "--curves", "c.parquet", "--figure", "f.png"]
    code, out, _ = call("regret", folder, *files)
    assert code == 0
    words = ("pseudo-regret", "shortfall", "outstanding", "paid later", "uniform", "figure: f.png", "curves: c.parquet")
    assert all(word in out for word in words)
    result = log_regret(folder)
    pd.testing.assert_frame_equal(pd.read_csv("t.csv"), result.table())
    pd.testing.assert_frame_equal(pd.read_parquet("c.parquet"), result.curves())
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")


def test_regret_as_json(call: Any, folder: Path) -> None:
    """The table as JSON, on standard output and as a file."""
    _, out, _ = call("regret", folder, "--json", "--out", "t.json")
    found = json.loads(out)
    assert (found["scenario"], found["notes"]) == ("small", [])
    assert found["policies"] == json.loads(Path("t.json").read_text())
    assert [row["policy"] for row in found["policies"]] == ["tp-ucb-fr", "uniform"]


def test_regret_of_pulls_and_one_run(call: Any, log: Path) -> None:
    """With --pulls only the pseudo-regret is there; one run has no interval."""
    code, out, _ = call("regret", log, "--pulls", "--quiet")
    assert (code, "shortfall" in out, "±" in out.splitlines()[-2]) == (0, False, False)


def test_regret_complains(call: Any, folder: Path) -> None:
    """A table of an unknown form and a folder without logs are one line and exit code 2."""
    code, _, err = call("regret", folder, "--out", "t.xlsx")
    assert (code, "a table ends in .csv, .parquet, .json" in err) == (2, True)
    Path("empty").mkdir()
    assert call("regret", "empty")[0] == 2
    Path("file").write_text("")
    assert call("regret", folder, "--out", "file/t.csv")[0] == 2


def test_diagnose(call: Any, folder: Path) -> None:
    """A table of groups for each policy, and what is compatible."""
    code, out, _ = call("diagnose", folder, "--figure", "d.png")
    assert code == 0
    assert all(word in out for word in ("tp-ucb-fr: 120 complete pulls", "3 (assumed)", "compatible with groups = 1"))
    assert Path("d.png").read_bytes().startswith(b"\x89PNG")


def test_diagnose_warns(call: Any, tmp_path: Path) -> None:
    """A contradicted assumption is a warning, also in the JSON."""
    scenario = small(horizon=300, rewards={"kind": "smooth-beta", "groups": 3, "spread": "first"})
    simulate(scenario, "tp-ucb-fr:groups=6", log=tmp_path / "run.arrows")
    code, out, _ = call("diagnose", tmp_path / "run.arrows")
    assert (code, "warning: tp-ucb-fr:groups=6 assumes 6 groups, but a group of arm" in out) == (0, True)
    (found,) = json.loads(call("diagnose", tmp_path / "run.arrows", "--json")[1])["policies"]
    assert (found["assumed"], found["compatible"], len(found["warnings"])) == (6, [1, 3], 1)


def test_detail_of_logs(call: Any, tmp_path: Path) -> None:
    """`--log-detail` goes as far as the log; a replay of one with only the pulls is refused in one line."""
    (tmp_path / "small.toml").write_text(TOML)
    for detail in ("pulls", "indices"):
        asked = ("--log", tmp_path / detail, "--log-detail", detail)
        assert call("run", tmp_path / "small.toml", "-p", "tp-ucb-ew", "--quiet", *asked)[0] == 0
    name = "tp-ucb-ew.run-000.jsonl"
    code, out, err = call("replay", tmp_path / "pulls" / name)
    assert (code, out) == (2, "")
    assert "holds only the pulls, and a replay needs every event; run it again" in err
    assert call("replay", tmp_path / "indices" / name)[0] == 0
    assert "not logged" not in call("replay", flip(tmp_path / "indices" / name))[1]
    assert "holds only the pulls" in call("regret", tmp_path / "pulls")[1]


def test_convert_makes_logs_sparse_and_whole_again(call: Any, tmp_path: Path) -> None:
    """`--sparse` leaves out what paid nothing, `--dense` writes it again, and neither keeps the log as it is."""
    scenario = small(horizon=40, rewards={"kind": "smooth-beta", "groups": 1, "spread": "single"})
    simulate(scenario, "uniform", log=tmp_path / "run.jsonl")
    for source, target, *words in (("run", "thin", "--sparse"), ("thin", "copy"), ("copy", "whole", "--dense")):
        assert call("convert", tmp_path / f"{source}.jsonl", tmp_path / f"{target}.jsonl", *words)[0] == 0
    texts = {name: (tmp_path / f"{name}.jsonl").read_text() for name in ("run", "thin", "copy", "whole")}
    assert texts["run"] == texts["whole"]
    assert texts["thin"] == texts["copy"]
    assert texts["thin"].count("\n") < 0.5 * texts["run"].count("\n")
