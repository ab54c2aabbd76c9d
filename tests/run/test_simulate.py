"""One run: the same seed gives the same log, nothing else matters, and what a run tells of itself is so."""

from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import PAPER, finish, read_lines, small, start_python

from tpstream import compare, read_log, simulate
from tpstream.engines.engine import EngineName
from tpstream.model.errors import EngineError, UnknownNameError

COLUMNS = ["seq", "time", "kind", "round", "pull", "arm", "part", "value"]
LOG_ALL = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from studies import PAPER, small
from tpstream import simulate
for policy in PAPER:
    simulate(small(), policy, seed=7, run=2, log_detail="indices", log=Path(sys.argv[1]) / f"{{policy}}.jsonl")
"""


def paid(path: Path) -> dict[int, list[list[float]]]:
    """What every pull of an arm paid, part by part, in the order of the arm's pulls."""
    pulls: dict[int, list[float]] = {}
    of_arm: dict[int, list[list[float]]] = defaultdict(list)
    for line in read_lines(path)[1:]:
        if line.get("kind") == "pull":
            of_arm[line["arm"]].append(pulls.setdefault(line["pull"], []))
        elif line.get("kind") == "partial":
            pulls[line["pull"]].append(line["value"])
    return of_arm


def test_two_processes_write_the_same_logs(tmp_path: Path) -> None:
    """The same seed gives the same log, byte for byte, in two processes that hash differently."""
    processes = [start_python(LOG_ALL, tmp_path / seed, PYTHONHASHSEED=seed) for seed in ("1", "2")]
    for process in processes:
        finish(process)
    one, other = ({path.name: path.read_bytes() for path in sorted((tmp_path / seed).iterdir())} for seed in ("1", "2"))
    assert list(one) == sorted(f"{policy}.jsonl" for policy in PAPER)
    assert one == other


def test_decisions_take_little_memory() -> None:
    """The decisions of a run are kept in the smallest type that holds the numbers of its arms."""
    wide = small(horizon=129, arms=[{"name": f"arm {number}", "maximum": 1.0 + number} for number in range(129)])
    assert simulate(small(), "uniform").arms.dtype == np.int8
    assert simulate(wide, "uniform", engine="simpy").arms.dtype == np.int16


@pytest.mark.parametrize("policy", [*PAPER, "uniform", "oracle"])
def test_a_log_changes_nothing(tmp_path: Path, policy: str) -> None:
    """A run that writes a log decides as one that does not, and its log is the same with progress or without."""
    told: list[int] = []
    logs = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    runs = [
        simulate(small(), policy),
        simulate(small(), policy, log=logs[0]),
        simulate(small(), policy, log=logs[1], progress=told.append),
    ]
    assert len({tuple(run.arms.tolist()) for run in runs}) == 1
    assert logs[0].read_bytes() == logs[1].read_bytes()


@pytest.mark.parametrize("policy", [*PAPER, "uniform", "oracle"])
def test_the_engine_changes_nothing(tmp_path: Path, policy: str) -> None:
    """SimPy and the compiled loop write the same log, byte for byte."""
    engines: tuple[EngineName, ...] = ("compiled", "simpy")
    logs = {engine: tmp_path / f"{engine}.jsonl" for engine in engines}
    for engine, log in logs.items():
        simulate(small(), policy, engine=engine, log=log, log_detail="indices")
    assert logs["compiled"].read_bytes() == logs["simpy"].read_bytes()


def test_other_policies_of_a_study_change_nothing(tmp_path: Path) -> None:
    """A policy's logs are the same whether it is alone in a study, or with others before and after it."""
    compare(small(), ["tp-ucb-fr"], runs=2, logs=tmp_path / "alone")
    compare(small(), ["ucb1", "tp-ucb-fr", "uniform"], runs=2, logs=tmp_path / "together")
    alone = sorted((tmp_path / "alone").iterdir())
    assert [path.name for path in alone] == ["tp-ucb-fr.run-000.jsonl", "tp-ucb-fr.run-001.jsonl"]
    assert [path.read_bytes() for path in alone] == [(tmp_path / "together" / path.name).read_bytes() for path in alone]


def test_the_nth_pull_of_an_arm_pays_the_same_under_every_policy(tmp_path: Path) -> None:
    """Policies pull the arms in different orders, and yet each arm's pulls pay the same, in their order."""
    policies = (*PAPER, "uniform")
    logs = {policy: tmp_path / f"{policy}.jsonl" for policy in policies}
    decided = {tuple(simulate(small(), policy, log=log).arms.tolist()) for policy, log in logs.items()}
    assert len(decided) == len(policies)
    compared = 0
    for one, other in combinations([paid(log) for log in logs.values()], 2):
        for arm in range(3):
            for vector, same in zip(one[arm], other[arm], strict=False):
                assert vector == same
                compared += 1
    assert compared > 100


def test_seeds_and_runs_differ() -> None:
    """Another seed, or another run of the same seed, has other random numbers; the same pair has the same."""
    first = {
        (seed, run): simulate(small(), "oracle", seed=seed, run=run).events()["value"].iloc[1]
        for seed in (1, 2)
        for run in (0, 1)
    }
    assert len(set(first.values())) == 4
    assert simulate(small(), "oracle", seed=2, run=1).events()["value"].iloc[1] == first[2, 1]


def test_the_seed_of_the_scenario_is_the_default() -> None:
    """Without a seed, the scenario's is taken."""
    run = simulate(small(seed=11), "uniform")
    assert run.seed == 11
    assert run.arms.tolist() == simulate(small(), "uniform", seed=11).arms.tolist()


@pytest.mark.parametrize("policy", [*PAPER, "uniform"])
def test_regret_is_the_sum_of_gaps(policy: str) -> None:
    """After every round, regret is the sum of what each pull's arm lacks against the best arm, in expectation."""
    run = simulate(small(), policy)
    lacking = {0: 10.0, 1: 5.0, 2: 0.0}
    regret, literal = 0.0, []
    for arm in run.arms.tolist():
        regret += lacking[arm]
        literal.append(regret)
    assert run.regret.tolist() == literal


def test_the_oracle_has_no_regret() -> None:
    """Who always pulls the best arm loses nothing."""
    assert simulate(small(), "oracle").regret.tolist() == [0.0] * 60


def test_events_are_those_of_the_log(tmp_path: Path) -> None:
    """`Run.events` is a table with the columns of the log's schema, and a row for each of the log's events."""
    log = tmp_path / "run.jsonl"
    table = simulate(small(), "tp-ucb-ew", log=log).events()
    assert list(table.columns) == COLUMNS
    lines = [line for line in read_lines(log) if "seq" in line]
    rows: list[dict[str, Any]] = table.astype({"value": object}).where(table.notna(), None).to_dict("records")
    assert len(rows) == 60 * (1 + 6 + 1)
    assert rows == lines


def test_events_have_types() -> None:
    """Times and values are floats, kinds a category, all else whole numbers."""
    types = simulate(small(), "uniform").events().dtypes.astype(str).to_dict()
    expected = dict.fromkeys(COLUMNS, "int64") | {"time": "float64", "kind": "category", "value": "float64"}
    assert types == expected


def test_indices_are_logged_when_asked_for(tmp_path: Path) -> None:
    """Pull events carry the policy's index of every arm, infinite ones in words; without asking there are none."""
    asked, unasked = tmp_path / "asked.jsonl", tmp_path / "unasked.jsonl"
    simulate(small(), "delayed-ucb1", log=asked, log_detail="indices")
    simulate(small(), "delayed-ucb1", log=unasked)
    pulls = [line for line in read_lines(asked) if line.get("kind") == "pull"]
    assert pulls[0]["indices"] == ["inf", "inf", "inf"]
    assert [type(index) for index in pulls[-1]["indices"]] == [float, float, float]
    without = [{key: value for key, value in line.items() if key != "indices"} for line in read_lines(asked)]
    assert without[1:-1] == read_lines(unasked)[1:-1]
    assert [read_log(log).header.detail for log in (asked, unasked)] == ["indices", "all"]


def test_a_run_tells_what_it_was(tmp_path: Path) -> None:
    """A run knows its scenario, policy, seed, number and log."""
    run = simulate(small(), "tp-ucb-fr:groups=2", seed=5, run=4, log=tmp_path / "run.jsonl")
    told = (run.scenario, run.choice.label, run.seed, run.run, run.log, len(run.arms))
    assert told == (small(), "tp-ucb-fr:groups=2", 5, 4, tmp_path / "run.jsonl", 60)


def test_unknown_engine() -> None:
    """An engine that does not exist is an error that names it."""
    with pytest.raises(EngineError, match="unknown engine 'steam'"):
        simulate(small(), "ucb1", engine="steam")  # type: ignore[arg-type]


def test_unknown_policy() -> None:
    """A policy that does not exist is an error with the nearest one that does."""
    with pytest.raises(UnknownNameError, match=r"unknown policy 'tp-ucb-er' \(did you mean 'tp-ucb-"):
        simulate(small(), "tp-ucb-er")


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_progress_counts_rounds(engine: EngineName) -> None:
    """What progress is told adds up to the horizon."""
    told: list[int] = []
    simulate(small(horizon=2500, drain=False), "uniform", engine=engine, progress=told.append)
    assert sum(told) == 2500
