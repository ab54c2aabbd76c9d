"""The unit of time: a scenario names it, outputs use it; `validate` says how long a pull pays."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command, tpstream
from studies import TOML, read_lines, small
from tampering import write_lines

from tpstream import Scenario, compare, log_regret, read_log, replay, simulate
from tpstream.model.errors import ScenarioError
from tpstream.model.events import Kind
from tpstream.scenario.warnings import describe_duration, draw_parts

__all__ = ["tpstream"]  # the fixture

WORLDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "lag": {"delays": [{"kind": "constant", "lag": 3}]},
    "reports": {"delays": [{"kind": "reporting", "every": 7}]},
    "window": {"window": 2.5},
    "batches": {"arrivals": {"kind": "batches", "size": 4, "every": 1.5}},
    "slow": {"arrivals": {"kind": "regular", "every": 0.3}},
}


@pytest.mark.parametrize("name", WORLDS)
def test_decisions_before_a_pull_is_closed_are_counted(name: str, tmp_path: Path) -> None:
    """The drawn durations, in time and in decisions, are those of the pulls in the log of a run."""
    scenario = small(drain=True, **WORLDS[name])
    simulate(scenario, "uniform", log=tmp_path / "run.arrows")
    events = read_log(tmp_path / "run.arrows").join()
    made, closed = np.flatnonzero(events.kind == Kind.PULL), np.flatnonzero(events.kind == Kind.CLOSED)
    drawn = draw_parts(scenario.build_world(0, 0))
    rounds = np.linspace(0, 59, 256).astype(np.int64)  # the rounds of the drawn pulls of each arm
    for number, wait, decisions in zip(rounds, drawn.waits, drawn.rounds, strict=False):
        place = closed[events.pull[closed] == number + 1][0]
        assert wait == pytest.approx(events.time[place] - events.time[made[number]])
        if np.isnan(decisions):
            assert events.time[place] >= events.time[made[-1]]
        else:
            assert decisions == np.count_nonzero((made > made[number]) & (made < place))


FIRST = "and the decision {} rounds later is the first that knows all of it"
BATCHES = {"arrivals": {"kind": "batches", "size": 4, "every": 1.0}}


@pytest.mark.parametrize(
    ("keys", "unit", "expected", "first"),
    [
        ({"horizon": 200, "span": 60}, None, "60 rounds; 59 more decisions are due before it is complete", 60),
        ({"span": 6}, "day", "6 rounds of one day each; 5 more decisions are due before it is complete", 6),
        (
            {"span": 2, "rewards": {"kind": "smooth-beta", "groups": 1}},
            None,
            "2 rounds; 1 more decision is due before",
            2,
        ),
        ({"span": 90}, None, "90 rounds; no pull is complete before the last decision", None),
        ({"window": 2.5}, "week", "6 rounds and is closed after 2.5 weeks; 2 more decisions are due before", 3),
        (
            BATCHES,
            "day",
            "6 parts and is closed after 5 days; 21 more decisions (80 % of pulls: 20 to 23) are due",
            None,
        ),
    ],
)
def test_a_sentence_says_how_long_a_pull_pays(
    keys: dict[str, Any], unit: str | None, expected: str, first: int | None
) -> None:
    """In decisions and in time; a decision at the time of the last part is made before it is known."""
    said = describe_duration(small(**keys).build_world(0, 0), unit)
    assert said.startswith(f"a pull pays over {expected}")
    assert said.endswith(FIRST.format(first)) if first else "first" not in said


LAB = {"kind": "lab-queue", "resource": "lab", "mean": 0.1}


@pytest.mark.parametrize(
    ("keys", "besides"),
    [
        ({"delays": [LAB]}, ", and the wait in delays[0] (lab-queue) besides"),
        (
            {"delays": [LAB, {"kind": "constant", "lag": 1}, LAB], "window": 50.0},
            ", and the wait in delays[0] (lab-queue) and delays[2] (lab-queue) besides",
        ),
        ({"delays": [LAB], "window": 3.0, "reveal": "closed"}, ""),
    ],
)
def test_the_sentence_names_the_queues(keys: dict[str, Any], besides: str) -> None:
    """Waiting in queues is not counted, and named, unless every pull is closed when its window ends."""
    said = describe_duration(small(resources={"lab": 1}, **keys).build_world(0, 0), None)
    assert said.partition(" units of time")[2].partition(";")[0] == besides


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("days", "time_unit: must be a word in the singular, such as 'day', got 'days'"),
        ("2 days", "time_unit: must be a single word such as second, minute, hour, day"),
        ("", "time_unit: must be a single word"),
        ("x" * 21, "time_unit: must be a single word"),
        (7, "time_unit: must be text in quotes"),
    ],
)
def test_a_unit_is_a_word_in_the_singular(word: object, message: str) -> None:
    """Anything else is refused with the remedy."""
    with pytest.raises(ScenarioError) as caught:
        small(time_unit=word)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("word", ["day", "Woche", "fortnight", "man-hour", "pass"])
def test_any_word_will_do(word: str) -> None:
    """Units are free, since worlds are."""
    assert small(time_unit=word).resolved()["time_unit"] == word


def test_the_unit_is_left_out_where_it_is_not_said() -> None:
    """A scenario without a unit resolves as before, so that studies that were kept go on."""
    assert "time_unit" not in small().resolved()


def test_logs_carry_the_unit_and_events_do_not_change(tmp_path: Path) -> None:
    """The header says it, for worlds without a scenario too; nothing else is another."""
    for name, keys in (("without", {}), ("with", {"time_unit": "day"})):
        simulate(small(**keys), "uniform", log=tmp_path / f"{name}.jsonl")
    one, other = (read_lines(tmp_path / f"{name}.jsonl") for name in ("without", "with"))
    assert (one[0]["time_unit"], other[0]["time_unit"]) == (None, "day")
    assert one[1:-1] == other[1:-1]


def test_logs_of_scenarios_with_a_start_have_dates(tmp_path: Path) -> None:
    """The header has the first midnight, and the table the dates, where a unit of time has a place in the calendar."""
    found = {}
    for unit in ("day", "hour", "week", "month"):
        simulate(small(time_unit=unit, start="2024-01-01"), "uniform", log=tmp_path / f"{unit}.arrows")
        log = read_log(tmp_path / f"{unit}.arrows")
        dates = log.frame().get("date")
        found[unit] = log.header.origin, None if dates is None else str(dates[0])
    first = "2024-01-01T00:00:00"
    assert found == {
        "day": (first, "2024-01-02 00:00:00"),
        "hour": (first, "2024-01-01 01:00:00"),
        "week": (first, "2024-01-08 00:00:00"),
        "month": (None, None),
    }


def test_figures_say_how_long_a_round_is(tmp_path: Path) -> None:
    """Where every round takes one unit of time the axis says so; elsewhere it does not."""
    titles = {}
    for name, keys in {"days": {}, "random": {"arrivals": {"kind": "poisson", "rate": 2.0}}}.items():
        scenario = small(time_unit="day", **keys)
        study = compare(scenario, ["uniform"], runs=1, jobs=1, logs=tmp_path / name)
        study.plot(tmp_path / f"{name}.svg")
        titles[name] = study.round_title, log_regret(tmp_path / name).round_title
    assert titles == {"days": ("round (one per day)",) * 2, "random": ("round",) * 2}
    assert compare(small(), ["uniform"], runs=1, jobs=1).round_title == "round"


@pytest.mark.parametrize("named", [{"currency": "EUR"}, {"scenario": {"currency": "EUR"}}])
@pytest.mark.parametrize("rate", [None, 30.0])
def test_a_log_of_another_program_names_its_units(tmp_path: Path, named: dict[str, object], rate: float | None) -> None:
    """A currency claims no world: the log is replayed as it is, and a round is one day only where the times say so."""
    keys = {} if rate is None else {"arrivals": {"kind": "poisson", "rate": rate}}
    simulate(small(**keys), "uniform", log=tmp_path / "own.jsonl")
    header, *rest = read_lines(tmp_path / "own.jsonl")
    write_lines(tmp_path / "foreign.jsonl", [{**header, "scenario": {}, "time_unit": "day", **named}, *rest])
    found = log_regret(tmp_path / "foreign.jsonl")
    assert (found.currency, found.round_title) == ("EUR", "round (one per day)" if rate is None else "round")
    assert "earned" in found.money()
    assert replay(tmp_path / "foreign.jsonl").equal


def test_commands_use_the_unit(tpstream: Command) -> None:
    """`validate`, the table of `trial` and warnings say days; JSON names the unit."""
    Path("days.toml").write_text(TOML.replace("span = 6", 'span = 6\ntime_unit = "day"\nwindow = 3'))
    shown = tpstream("validate", "days.toml")
    assert "A pull pays over 6 rounds and is closed after 3 days; 3 more decisions are due" in shown.out
    assert "arrive after the window of 3 days" in shown.err
    assert "(days)" in tpstream("trial", "days.toml", "-n", 2, "-j", 1).out
    assert json.loads(tpstream("trial", "days.toml", "-n", 2, "-j", 1, "--json").out)["time_unit"] == "day"


def test_shipped_scenarios_name_their_unit() -> None:
    """Where a unit of time has a meaning the shipped scenarios say it."""
    assert [Scenario.load(name).time_unit for name in ("medical-trial", "e-commerce", "setting-1")] == [
        "day",
        "day",
        None,
    ]


def test_validate_says_what_a_pull_and_a_part_are(tpstream: Command) -> None:
    """Once, below how long a pull pays."""
    assert tpstream("validate", "small.toml").out.count("A pull is one decision, e.g. a patient") == 1
