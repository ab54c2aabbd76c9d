"""What runs take is estimated before anything is allocated, and compared with what the machine has."""

from pathlib import Path
from typing import Any

import pytest
from command import Command, tpstream
from studies import small

from tpstream import Scenario, compare, simulate
from tpstream.model.errors import StudyError
from tpstream.run import cost, options
from tpstream.run.cost import Work, available_memory, estimate, free_space
from tpstream.run.options import RunOptions, run_options
from tpstream.scenario.files import shipped

__all__ = ["tpstream"]


def of(scenario: Scenario, asked: RunOptions, runs: int = 1) -> cost.Cost:
    """What runs of a scenario under its policies take."""
    return estimate([Work(scenario, scenario.choices(), 0)], runs, 1, asked, compiled=True)


def test_events_and_logs_are_those_of_a_run(tmp_path: Path) -> None:
    """The number of events is that of a run, and its log has about the size."""
    path = tmp_path / "run.jsonl"
    world = small().with_(horizon=600)
    run = simulate(world, "uniform", log=path)
    found = estimate([Work(world, [world.policy("uniform")], 0)], 1, 1, run_options(path), compiled=True)
    assert found.events == len(run.events())
    assert 0.7 < found.disk / path.stat().st_size < 1.4


def test_it_grows_with_what_is_asked_for() -> None:
    """More runs, arms, rounds, parts and logs take more."""
    world = small()
    plain = of(world, RunOptions())
    assert of(world, RunOptions(), 100).memory > plain.memory
    assert of(world.with_(span=600), RunOptions()).memory > 50 * plain.memory
    assert of(world.with_(horizon=6000), RunOptions()).events == 100 * plain.events
    logged = of(world, run_options("logs"))
    assert (plain.disk, logged.disk > 0) == (0.0, True)
    assert of(world, run_options("logs", log_detail="indices")).disk > logged.disk
    assert of(world, run_options("logs", log_format="arrow")).disk < logged.disk / 10


def open_pulls(**keys: Any) -> int:
    """For how many open pulls there is room, by the estimate."""
    scenario = small(**keys)
    return cost._open_pulls(scenario, scenario.timing())


LAB: dict[str, Any] = {"kind": "lab-queue", "resource": "lab", "mean": 0.1}
LAG: dict[str, Any] = {"kind": "lognormal", "median": 1.0, "sigma": 0.5}


def test_delays_take_what_their_draws_take() -> None:
    """Blocks with two later lags and two queues are six numbers a part larger than those of rewards only."""
    work = {"horizon": 10, "resources": {"lab": 1}}
    plain, delayed = (of(small(**work, delays=delays), RunOptions()) for delays in ([], [LAB, LAG, LAB, LAG]))
    assert 6 < delayed.memory / plain.memory < 8


def test_open_pulls_are_counted_in_decisions() -> None:
    """A window of time has as many decisions as come within it, with any arrivals, and never more than there are."""
    few, many = ({"kind": "regular", "every": every} for every in (2.0, 0.5))
    assert [open_pulls(window=12.0, arrivals=one) for one in ({"kind": "regular"}, few, many)] == [12, 6, 24]
    assert open_pulls(window=1000.0, arrivals=few) == 60
    assert open_pulls(visits=[1, 2, 3, 4, 10, 39], span=6, arrivals=few) == 20
    random = open_pulls(window=12.0, arrivals={"kind": "poisson", "rate": 2.0}, horizon=100_000)
    assert 24 < random < 60


@pytest.mark.parametrize("name", shipped())
def test_shipped_scenarios_fit(name: str) -> None:
    """No shipped scenario is refused on an ordinary machine."""
    found = of(Scenario.load(name), RunOptions(), 100)
    assert found.memory < 3e9
    assert found.seconds < 86_400


def test_what_the_machine_has(tmp_path: Path) -> None:
    """Memory and disk space are known, also of a folder that is not there yet."""
    assert 1e7 < available_memory() < 1e15
    assert free_space(tmp_path / "a" / "b") == pytest.approx(free_space(tmp_path), rel=0.2)


def test_too_much_is_refused(tpstream: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the numbers and what to change, and nothing is written; `--yes` goes on all the same."""
    words = ("compare", "small.toml", "-n", 2, "--jobs", 1, "--log", "logs")
    monkeypatch.setattr(options, "SMALL", 0)
    monkeypatch.setattr(cost, "available_memory", lambda: 1000.0)
    shown = tpstream(*words)
    assert (shown.code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
    assert "GB of memory for 3,840 events, and 0.0 GB are available; ask for fewer runs" in shown.err
    monkeypatch.undo()
    monkeypatch.setattr(options, "SMALL", 0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cost, "free_space", lambda _: 1000.0)
    with pytest.raises(StudyError, match=r"the logs of 480 events take some .* are free in logs; write less"):
        compare("small.toml", ["uniform"], runs=1, logs="logs")
    assert not Path("logs").exists()
    assert compare("small.toml", ["uniform"], runs=1, logs="logs", yes=True).logs["uniform"][0].is_file()


def test_what_nobody_waits_for() -> None:
    """A study of years is refused."""
    with pytest.raises(StudyError, match=r"events take some [\d,]+ days; ask for fewer runs"):
        compare(small().with_(horizon=10_000_000_000), ["uniform"], runs=1000, engine="simpy")
