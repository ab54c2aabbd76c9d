"""Logs whose header, end or pulls cannot be: told before anything is computed from them."""

import json
from pathlib import Path
from typing import Any

import pytest
from studies import small

from tpstream import diagnose, log_regret, replay, simulate
from tpstream.model.errors import LogError


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a run."""
    simulate(small(), "uniform", log=tmp_path / "run.jsonl")
    return tmp_path / "run.jsonl"


def change(log: Path, line: int, **keys: Any) -> None:
    """Other values of some keys in a line."""
    lines = log.read_text().splitlines()
    lines[line] = json.dumps(json.loads(lines[line]) | keys)
    log.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("key", ["means", "maxima"])
@pytest.mark.parametrize("use", [replay, log_regret, diagnose])
def test_lists_of_the_wrong_length(log: Path, key: str, use: Any) -> None:
    """A header with fewer means or maxima than arms."""
    change(log, 0, **{key: [7.0]})
    with pytest.raises(LogError, match=rf"header: there are 1 {key} for 3 arms"):
        use(log)


def test_an_end_that_counts_other_events(log: Path) -> None:
    """Events were added or lost."""
    change(log, -1, end=7)
    with pytest.raises(LogError, match=r"its end counts 7 events, but the last one has seq 479"):
        replay(log)


def test_pulls_after_the_horizon(log: Path) -> None:
    """The header says that there are fewer rounds."""
    change(log, 0, horizon=2, scenario={})
    with pytest.raises(LogError, match=r"pull 3 after the last round that the header tells of"):
        replay(log)


def test_an_arm_without_complete_pulls(tmp_path: Path) -> None:
    """It is left out of a diagnosis, and too few pulls test nothing."""
    simulate(small(), "oracle", log=tmp_path / "run.jsonl")
    (found,) = diagnose(tmp_path / "run.jsonl")
    assert found.pulls.tolist() == [0, 0, 60]
