"""Money: what was earned, outstanding, late and lost, against a slow literal computation from the events of the run."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from strategies import delay_tables, scenarios
from studies import ASYNCHRONOUS, read_lines, small

from tpstream import Scenario, compare, log_regret
from tpstream.analysis.money import MEASURES
from tpstream.model.errors import ScenarioError
from tpstream.run.loop import counted_rounds, run_policies
from tpstream.run.options import LogOptions, RunOptions

POLICY = "tp-ucb-ew"
Line = dict[str, Any]


def literally(lines: list[Line], round: int) -> dict[str, float]:
    """The measures after a round, each from its definition and all events of the log."""
    header, events = lines[0], [line for line in lines[1:] if "seq" in line]
    pulls = {event["pull"]: event for event in events if event["kind"] == "pull"}
    now = pulls[round]["time"]
    known = [event for event in events if event["time"] <= now and event["round"] <= round]
    of_kind = {
        kind: [event for event in known if event["kind"] == kind] for kind in ("partial", "closed", "late", "dropped")
    }
    paid = {pull: [event["value"] for event in of_kind["partial"] if event["pull"] == pull] for pull in pulls}
    closed = {event["pull"] for event in of_kind["closed"]}
    still_open = [pull for pull in range(1, round + 1) if pull not in closed]
    return {
        "earned": math.fsum(value for values in paid.values() for value in values),
        "outstanding": math.fsum(header["means"][pulls[pull]["arm"]] - math.fsum(paid[pull]) for pull in still_open),
        "late": math.fsum(event["value"] for event in of_kind["late"]),
        "lost_parts": len(of_kind["dropped"]),
    }


def measured(scenario: Scenario, engine: str = "auto", log: Path | None = None, **options: Any) -> dict[str, Any]:
    """The measures about money of one run, as lists; with the log of its events in a folder."""
    rounds = counted_rounds(scenario.horizon, ())
    asked = RunOptions(engine, None if log is None else LogOptions(log), **options)  # type: ignore[arg-type]
    (result,) = run_policies(scenario, [scenario.policy(POLICY)], scenario.seed, 0, rounds, asked)
    assert result.failure is None
    return {name: result.measures[name].tolist() for name in MEASURES}


def check_literally(scenario: Scenario, folder: Path) -> None:
    """Compare the measures of a run, at every checkpoint, with those of its log, literally and by `log_regret`."""
    found = measured(scenario, log=folder)
    (path,) = folder.iterdir()
    lines, account = read_lines(path), log_regret(path).accounts[POLICY]
    tolerance = 1e-9 * float(scenario.problem().maxima.sum()) * scenario.horizon
    for place, round in enumerate(counted_rounds(scenario.horizon, ()).tolist()):
        here = {name: found[name][place] for name in MEASURES}
        assert here == pytest.approx(literally(lines, round), rel=1e-9, abs=tolerance)
    assert found == {name: getattr(account, name)[0].tolist() for name in MEASURES}


@settings(max_examples=40)
@given(scenario=scenarios())
def test_money_in_the_papers_world(tmp_path_factory: pytest.TempPathFactory, scenario: Scenario) -> None:
    """The measures are their definitions; both engines and the way without a log give the same bits."""
    scenario = scenario.with_(currency="EUR")
    check_literally(scenario, tmp_path_factory.mktemp("logs"))
    with_events = measured(scenario.with_(delays=[{"kind": "constant", "lag": 0}]))
    assert measured(scenario) == with_events
    assert measured(scenario, "simpy") == with_events
    assert measured(scenario, "simpy", sinks=(Ears(),)) == with_events


class Ears:
    """A subscriber that does nothing, so that the compiled engine makes events."""

    def hear(self, events: object) -> None:
        """Hear."""


@settings(max_examples=40)
@given(scenario=scenarios(), data=st.data())
def test_money_with_delays(tmp_path_factory: pytest.TempPathFactory, scenario: Scenario, data: st.DataObject) -> None:
    """The same with parts that are moved, lost or late."""
    delays = data.draw(delay_tables(scenario.span, whole=True))
    window = data.draw(st.none() | st.integers(1, 15).map(float))
    scenario = scenario.with_(currency="EUR", drain=False, delays=delays, window=window)
    check_literally(scenario, tmp_path_factory.mktemp("logs"))
    assert measured(scenario) == measured(scenario, "simpy")


@pytest.mark.parametrize("keys", ASYNCHRONOUS.values(), ids=ASYNCHRONOUS)
def test_money_in_asynchronous_worlds(tmp_path: Path, keys: dict[str, Any]) -> None:
    """Also where decisions come in batches or at random times, and where missing parts count as a default."""
    check_literally(small(currency="EUR", **keys), tmp_path)


@pytest.mark.parametrize("horizon", [3, 4095, 4096, 4097, 9000])
def test_money_over_several_batches_of_rounds(horizon: int) -> None:
    """Pulls that are open when a batch of rounds ends are carried over to the next; spans may be longer than a run."""
    for span in (1, 30):
        scenario = Scenario.load("e-commerce").with_(horizon=max(horizon, 5), span=span)
        assert measured(scenario) == measured(scenario.with_(delays=[{"kind": "constant", "lag": 0}]))


def test_what_is_expected_is_earned_in_the_long_run() -> None:
    """Over many pulls, what was earned and what is outstanding come to what was expected (within 4 standard errors)."""
    study = compare(Scenario.load("e-commerce").with_(horizon=2000), ["uniform"], runs=20, seed=5)
    earned, outstanding = (study.measure("uniform", name)[:, -1] for name in ("earned", "outstanding"))
    difference = earned + outstanding - (2000 * study.means.max() - study.regret("uniform")[:, -1])
    assert abs(difference.mean()) < 4 * difference.std() / math.sqrt(20)


def test_worlds_that_are_not_money_report_none() -> None:
    """Without a currency or a price model a run reports nothing about money, and is not slowed down by it."""
    study = compare(small(), ["uniform"], runs=1)
    assert list(study.records["uniform"].measures[0]) == ["pulls"]
    assert (study.currency, small().money, Scenario.load("lottery-all").money) == (None, None, None)
    assert "money" not in study.tables()


def test_a_price_model_is_money_without_a_currency() -> None:
    """The price model needs no key; a currency may be any short word."""
    keys = Scenario.load("e-commerce").resolved()
    assert Scenario(**{key: value for key, value in keys.items() if key != "currency"}).money == ""
    assert small(currency="EUR").money == "EUR"
    with pytest.raises(ScenarioError, match="currency: must be one word of at most 8 letters"):
        small(currency="Euro and Cent")


def test_the_table_has_the_means_over_runs() -> None:
    """`Study.money` has a row for each policy and checkpoint, with intervals over runs."""
    study = compare(small(currency="EUR", **ASYNCHRONOUS["window"]), ["uniform", "ucb1"], runs=3)
    table = study.money()
    assert len(table) == 2 * len(study.rounds)
    last = study.money([60]).set_index("policy").loc["ucb1"]
    assert last["earned"] == study.measure("ucb1", "earned")[:, -1].mean()
    assert last["late"] == study.measure("ucb1", "late")[:, -1].mean() > 0
    assert last["expected"] == pytest.approx((study.counts["ucb1"][:, -1] @ study.means).mean())
    assert last["earned_low"] < last["earned"] < last["earned_high"]
    assert np.isnan(compare(small(currency="EUR"), ["uniform"], runs=1).money()["earned_low"]).all()
