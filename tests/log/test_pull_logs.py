"""Logs of only the pulls: the same decisions at the same times, enough for regret, refused where more is needed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import ASYNCHRONOUS, PAPER, small

from tpstream import compare, diagnose, log_regret, read_log, replay, simulate, trial, what_if
from tpstream.engines.engine import EngineName
from tpstream.log.writer import convert
from tpstream.model.errors import LogError
from tpstream.model.events import Events, Kind
from tpstream.timing.pipeline import ROUNDS_PER_BATCH
from tpstream.trial.from_runs import read_trial

WORLDS: dict[str, dict[str, Any]] = {"paper": {}, **ASYNCHRONOUS}
FORMATS = ("jsonl", "arrow")


def pulls_of(path: Path) -> list[tuple[float, int, int, int]]:
    """Time, round, pull and arm of every pull in a log."""
    columns = read_log(path).columns(["time", "round", "pull", "arm"], [Kind.PULL])
    return list(zip(*(columns[name].tolist() for name in ("time", "round", "pull", "arm")), strict=True))


@pytest.mark.parametrize("policy", ["ucb1", "tp-ucb-ew"])
@pytest.mark.parametrize("world", WORLDS)
def test_they_are_the_pulls_of_the_full_log(tmp_path: Path, world: str, policy: str) -> None:
    """In every world: as many, at the same times, of the same arms, numbered for themselves, and nothing else."""
    scenario = small(**WORLDS[world])
    simulate(scenario, policy, log=tmp_path / "all.jsonl")
    simulate(scenario, policy, log=tmp_path / "pulls.jsonl", log_detail="pulls")
    assert pulls_of(tmp_path / "pulls.jsonl") == pulls_of(tmp_path / "all.jsonl")
    log = read_log(tmp_path / "pulls.jsonl")
    assert (log.complete, log.header.detail) == (True, "pulls")
    table = log.frame()
    assert table["seq"].tolist() == list(range(60))
    assert set(table["kind"]) == {"pull"}
    assert table["value"].isna().all()


def test_both_engines_write_the_same(tmp_path: Path) -> None:
    """Byte for byte."""
    engines: tuple[EngineName, ...] = ("compiled", "simpy")
    for engine in engines:
        simulate(small(), "tp-ucb-fr", engine=engine, log=tmp_path / f"{engine}.jsonl", log_detail="pulls")
    assert (tmp_path / "compiled.jsonl").read_bytes() == (tmp_path / "simpy.jsonl").read_bytes()


def test_stretches_follow_one_another(tmp_path: Path) -> None:
    """A run of more than one stretch: rounds go on, and the last stretch is short."""
    horizon = 2 * ROUNDS_PER_BATCH + 5
    run = simulate(small(horizon=horizon), "uniform", log=tmp_path / "run.arrows", log_detail="pulls")
    events = read_log(tmp_path / "run.arrows").join()
    assert np.array_equal(events.round, np.arange(1, horizon + 1))
    assert np.array_equal(events.time, events.round)
    assert np.array_equal(events.arm, run.arms)


@pytest.mark.parametrize("format", FORMATS)
def test_regret_is_that_of_the_full_logs(tmp_path: Path, format: str) -> None:
    """Pseudo-regret is the same, nothing is claimed of deliveries, and a note says why."""
    for detail in ("all", "pulls"):
        compare(small(), PAPER, runs=3, logs=tmp_path / detail, log_format=format, log_detail=detail)
    full, bare = log_regret(tmp_path / "all"), log_regret(tmp_path / "pulls")
    for policy in PAPER:
        assert np.array_equal(full.regret(policy), bare.regret(policy))
        assert bare.shortfall(policy) is None
    assert "holds only the pulls" in bare.notes[0]
    assert not full.notes


def test_full_logs_and_bare_ones_together(tmp_path: Path) -> None:
    """Where one holds only the pulls, no more is told of the others."""
    simulate(small(), "ucb1", log=tmp_path / "a.jsonl")
    simulate(small(), "uniform", log=tmp_path / "b.jsonl", log_detail="pulls")
    assert "shortfall" not in log_regret(tmp_path).table()


@pytest.mark.parametrize("format", [*FORMATS, "parquet"])
def test_they_are_converted_like_others(tmp_path: Path, format: str) -> None:
    """The header goes along."""
    simulate(small(), "ucb1", log=tmp_path / "run.jsonl", log_detail="pulls")
    copy = convert(tmp_path / "run.jsonl", tmp_path / f"copy.{format}")
    assert copy.header == read_log(tmp_path / "run.jsonl").header
    assert pulls_of(copy.path) == pulls_of(tmp_path / "run.jsonl")


def test_what_needs_every_event_refuses_them(tmp_path: Path) -> None:
    """Replay, what-if, diagnosis and the account of a trial say what the log is and what to do."""
    path = tmp_path / "run.jsonl"
    simulate(small(), "ucb1", log=path, log_detail="pulls")
    for use in (replay, lambda log: what_if(log, "uniform"), diagnose, read_trial):
        with pytest.raises(LogError, match=r"run\.jsonl: holds only the pulls, and .* needs every event; run it again"):
            use(path)


def test_other_sinks_hear_everything(tmp_path: Path) -> None:
    """The detail is that of the log alone."""
    heard: list[Events] = []

    class Subscriptions:
        def hear(self, events: Events) -> None:
            heard.append(events)

    simulate(small(), "ucb1", log=tmp_path / "run.jsonl", log_detail="pulls", sinks=[Subscriptions()])
    assert sum(map(len, heard)) == 60 * (1 + 6 + 1)
    assert len(read_log(tmp_path / "run.jsonl").join()) == 60


def test_a_trial_reads_full_logs(tmp_path: Path) -> None:
    """Its own logs hold every event."""
    trial(small(), ["ucb1"], runs=1, logs=tmp_path)
    assert {read_log(path).header.detail for path in tmp_path.iterdir()} == {"all"}


def test_an_unknown_detail(tmp_path: Path) -> None:
    """Is refused before anything is written."""
    with pytest.raises(LogError, match="unknown detail 'some' of a log; use one of all, pulls, indices"):
        simulate(small(), "ucb1", log=tmp_path / "run.jsonl", log_detail="some")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
