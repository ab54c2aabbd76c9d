"""Regret from logs alone, against slow and literal versions of its definitions."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import up_to
from hypothesis import given, settings, strategies as st
from strategies import scenarios
from studies import read_lines, small
from tampering import Line, place_of, write_lines
from trials import trial_keys

from tpstream import Scenario, compare, log_regret, read_log, simulate
from tpstream.analysis.intervals import t_interval
from tpstream.figures.logs import log_regret_figure
from tpstream.model.errors import LogError

POLICY_NAMES = ("delayed-ucb1", "tp-ucb-ew", "uniform", "ucb1")


def literally(lines: list[Line], round: int) -> dict[str, float]:
    """The three curves after a round, each from its definition and all events."""
    header, events = lines[0], [line for line in lines[1:] if "seq" in line]
    means = header["means"]
    pulls = {event["pull"]: event for event in events if event["kind"] == "pull"}
    now = pulls[round]["time"]
    known = [event for event in events if event["time"] <= now and event["round"] <= round]
    paid = {pull: [e["value"] for e in known if e["kind"] == "partial" and e["pull"] == pull] for pull in pulls}
    closed = {event["pull"] for event in known if event["kind"] == "closed"}
    open_pulls = [pull for pull in range(1, round + 1) if pull not in closed]
    return {
        "pseudo-regret": math.fsum(max(means) - means[pulls[pull]["arm"]] for pull in range(1, round + 1)),
        "shortfall": round * max(means) - math.fsum(value for values in paid.values() for value in values),
        "outstanding": math.fsum(means[pulls[pull]["arm"]] - math.fsum(paid[pull]) for pull in open_pulls),
        "open": len(open_pulls),
    }


@settings(max_examples=up_to(40))
@given(scenario=scenarios(), policy=st.sampled_from(POLICY_NAMES))
def test_curves_are_their_definitions(
    tmp_path_factory: pytest.TempPathFactory, scenario: Scenario, policy: str
) -> None:
    """At every checkpoint the three curves are what their definitions give."""
    path = tmp_path_factory.mktemp("logs") / "run.jsonl"
    simulate(scenario, policy, log=path)
    result, lines = log_regret(path), read_lines(path)
    curves, account = result.intervals(policy), result.accounts[policy]
    assert account.open is not None
    for place, round in enumerate(result.rounds.tolist()):
        expected = literally(lines, round)
        assert account.open[0, place] == expected.pop("open")
        found = {name: curve.mean[place] for name, curve in curves.items()}
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * sum(scenario.problem().maxima) * round)


def test_asynchronous_curves_are_their_definitions(tmp_path: Path) -> None:
    """Also where decisions come at random times, parts are late and pulls are closed early."""
    delays = [{"kind": "geometric", "p": 0.2}]
    scenario = small(arrivals={"kind": "poisson", "rate": 2.0}, delays=delays, window=5.5)
    simulate(scenario, "tp-ucb-fr", log=tmp_path / "run.jsonl")
    result, lines = log_regret(tmp_path / "run.jsonl"), read_lines(tmp_path / "run.jsonl")
    for place, round in enumerate(result.rounds.tolist()):
        expected = literally(lines, round)
        del expected["open"]
        found = {name: float(curve.mean[place]) for name, curve in result.intervals("tp-ucb-fr").items()}
        assert found == pytest.approx(expected, abs=1e-9)


def test_shortfall_is_regret_and_outstanding_and_luck(tmp_path: Path) -> None:
    """What was delivered too little is lost at the pull, still due, or luck of the closed pulls."""
    simulate(small(drain=False), "tp-ucb-ew", log=tmp_path / "run.jsonl")
    result = log_regret(tmp_path / "run.jsonl")
    header, *events, _ = read_lines(tmp_path / "run.jsonl")
    luck = math.fsum(header["means"][event["arm"]] - event["value"] for event in events if event["kind"] == "closed")
    last = {name: curve.mean[-1] for name, curve in result.intervals("tp-ucb-ew").items()}
    assert last["shortfall"] == pytest.approx(last["pseudo-regret"] + last["outstanding"] + luck)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs of two policies in both formats."""
    for policy, format in (("tp-ucb-fr", "jsonl"), ("uniform", "arrow")):
        for run in range(3):
            simulate(small(), policy, run=run, log=tmp_path / "logs" / f"{policy}.{run}.{format}")
    return tmp_path / "logs"


def test_regret_is_that_of_the_runs(folder: Path) -> None:
    """Logs give the pseudo-regret that the runs themselves tell."""
    result = log_regret(folder)
    for policy in ("tp-ucb-fr", "uniform"):
        runs = [simulate(small(), policy, run=run).regret[result.rounds - 1] for run in range(3)]
        np.testing.assert_allclose(result.regret(policy), runs)


def test_pulls_alone_give_the_same_regret(folder: Path) -> None:
    """Reading nothing but pulls gives the same pseudo-regret, and nothing else."""
    whole, pulls = log_regret(folder), log_regret(folder, only_pulls=True)
    assert list(pulls.intervals("uniform")) == ["pseudo-regret"]
    assert pulls.shortfall("uniform") is None
    for policy in ("tp-ucb-fr", "uniform"):
        assert pulls.regret(policy).tolist() == whole.regret(policy).tolist()
    assert not {"shortfall", "open_pulls"} & set(pulls.table())


def test_the_table_has_means_and_intervals_over_runs(folder: Path) -> None:
    """A row for each policy: the last checkpoint of every curve with its 95 % interval."""
    result = log_regret(folder)
    table = result.table().set_index("policy")
    interval = t_interval(result.regret("uniform")[:, -1])
    row = table.loc["uniform"]
    assert [row["runs"], row["rounds"]] == [3, 60]
    assert [row["pseudo_regret"], row["pseudo_regret_low"], row["pseudo_regret_high"]] == [
        interval.mean,
        interval.low,
        interval.high,
    ]


def test_a_drained_run_tells_what_open_pulls_paid(tmp_path: Path) -> None:
    """What is outstanding at the horizon is known exactly if the run was drained, else only in expectation."""
    for drain in (True, False):
        simulate(small(drain=drain), "uniform", log=tmp_path / f"{drain}.jsonl")
    events = read_lines(tmp_path / "True.jsonl")[1:-1]
    later = math.fsum(event["value"] for event in events if event["kind"] == "partial" and event["time"] > 60)
    drained, other = (log_regret(tmp_path / f"{drain}.jsonl").table().iloc[0] for drain in (True, False))
    assert drained["paid_later"] == pytest.approx(later)
    assert math.isnan(other["paid_later"])
    assert drained["outstanding"] == other["outstanding"]
    assert (drained["open_pulls"], other["open_pulls"]) == (5, 5)


def test_curves_are_a_long_table(folder: Path) -> None:
    """A row for each policy, curve and round."""
    result = log_regret(folder)
    curves = result.curves()
    assert list(curves) == ["policy", "curve", "round", "mean", "low", "high"]
    assert len(curves) == 2 * 3 * len(result.rounds)


def test_shares_add_up(folder: Path) -> None:
    """The arms' shares of the pulls so far add up to 1 at every checkpoint, and end at the counts."""
    result = log_regret(folder)
    shares = result.shares("uniform")
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert shares[-1].tolist() == (result.accounts["uniform"].counts[:, -1].mean(axis=0) / 60).tolist()


def test_a_torn_log_counts_up_to_its_last_whole_round(folder: Path) -> None:
    """All curves end at the last checkpoint that the torn log covers, and a note says so."""
    torn = folder / "tp-ucb-fr.1.jsonl"
    lines = read_lines(torn)
    write_lines(torn, lines[: place_of(lines[1:-1], "pull", round=31) + 3])
    result = log_regret(folder)
    assert int(result.rounds[-1]) == 30
    assert all(": cut after round 31 of 60" in note or "curves end at round 30 of 60" in note for note in result.notes)
    assert len(result.notes) == 2


def edit_header(path: Path, **changes: Any) -> None:
    """Change the header of a log in the readable format."""
    header, *rest = read_lines(path)
    write_lines(path, [header | changes, *rest])


def test_logs_that_do_not_belong_together_are_refused(folder: Path, tmp_path: Path) -> None:
    """One world, one set of parameters for each label, and each run once; else the interval would lie."""
    one = folder / "tp-ucb-fr.0.jsonl"
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(one.read_bytes())
    with pytest.raises(LogError, match=r"copy\.jsonl: run 0 \(seed 3\) of 'tp-ucb-fr' is also in"):
        log_regret([folder, copy])
    edit_header(copy, run=9, means=[1.0, 2.0, 3.0])
    with pytest.raises(LogError, match=r"copy\.jsonl: means \[1\.0, 2\.0, 3\.0\], but .* give logs of one world"):
        log_regret([one, copy])
    edit_header(copy, means=read_log(one).header.means, parameters={"groups": 1, "ties": "random"})
    with pytest.raises(LogError, match=r"copy\.jsonl: parameters .* one label for each policy"):
        log_regret([one, copy])


def test_a_log_without_a_whole_round_is_refused(folder: Path) -> None:
    """There is no regret of nothing."""
    one = folder / "tp-ucb-fr.0.jsonl"
    write_lines(one, read_lines(one)[:3])
    for only_pulls in (False, True):
        with pytest.raises(LogError, match="has no whole round"):
            log_regret(one, only_pulls=only_pulls)
    with pytest.raises(LogError, match="no log was given"):
        log_regret([])


def test_an_arm_that_does_not_exist_is_refused(folder: Path) -> None:
    """Compiled code would read and write where it must not."""
    one = folder / "tp-ucb-fr.0.jsonl"
    lines = read_lines(one)
    lines[1]["arm"] = 3
    write_lines(one, lines)
    for only_pulls in (False, True):
        with pytest.raises(LogError, match="an arm is outside of 0 to 2"):
            log_regret(one, only_pulls=only_pulls)


@pytest.mark.parametrize("only_pulls", [False, True])
def test_the_figure_is_drawn(folder: Path, tmp_path: Path, *, only_pulls: bool) -> None:
    """A figure with a panel for each curve and for each policy's shares; the same logs give the same bytes."""
    result = log_regret(folder, only_pulls=only_pulls)
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    log_regret_figure(first, result, log_rounds=True)
    log_regret_figure(second, result, log_rounds=True)
    assert first.read_bytes() == second.read_bytes()
    assert len(first.read_bytes()) > 10_000


def test_stopped_trials_reach_the_horizon(tmp_path: Path) -> None:
    """Curves go on to the horizon: of a stopped trial they stay where it ended, as in a comparison."""
    scenario = Scenario(**trial_keys())
    study = compare(scenario, ["uniform"], runs=4, seed=1, logs=tmp_path)
    result = log_regret(tmp_path)
    account = result.accounts["uniform"]
    pulls = account.counts.sum(axis=2)
    assert result.rounds[-1] == scenario.horizon
    assert 0 < np.count_nonzero(pulls[:, -1] < scenario.horizon) < 4, "some are stopped, some are not"
    np.testing.assert_allclose(result.regret("uniform")[:, -1], study.regret("uniform")[:, -1])
    assert any("stopped at a look" in note for note in result.notes)
    for run in range(4):
        frame = read_log(next(tmp_path.glob(f"*run-{run:03}*"))).frame()
        decided, paid = frame[frame["kind"] == "pull"], frame[frame["kind"] == "partial"]
        regret = (result.means.max() - result.means[decided["arm"].to_numpy(dtype=int)]).sum()
        assert result.regret("uniform")[run, -1] == pytest.approx(regret)
        if len(decided) < scenario.horizon:  # everything has arrived when the curves end
            expected = len(decided) * result.means.max() - paid["value"].sum()
            assert result.shortfall("uniform")[run, -1] == pytest.approx(expected)
    np.testing.assert_allclose(result.shares("uniform").sum(axis=1), 1.0)
    only = log_regret(tmp_path, only_pulls=True)
    np.testing.assert_allclose(only.regret("uniform"), result.regret("uniform"))
