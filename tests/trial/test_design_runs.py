"""Designs simulated: folders, common random numbers, single trials told, thresholds found, and the commands."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command, tpstream

from tpstream import Scenario, Truths, calibrate, read_study, read_trial, simulate, tell_trial, trial
from tpstream.experiment.store import Store
from tpstream.log.sinks import MemorySink
from tpstream.looks.design import Design, Rule
from tpstream.model.errors import LogError, ScenarioError, StudyError
from tpstream.model.events import Events, Kind
from tpstream.trial.calibrate import _ends, _only_rule
from tpstream.trial.designs import OperatingCharacteristics

__all__ = ["tpstream"]
TOML = """
name = "responses"
horizon = 60
visits = [2, 12]
drain = true
time_unit = "week"
start = 2026-03-02
rewards = { kind = "binary", correlation = 0.5 }
policies = [{ kind = "uniform" }]
arrivals = { kind = "poisson", rate = 3.0 }
delays = [{ kind = "dropout", probability = 0.1, by = 12.0 }]
arms = [{ name = "standard", probability = 0.3 }, { name = "new", probability = 0.6 }]

[trial]
control = "standard"
endpoint = "last"

[trial.looks]
values = [20, 40]
cleaning = 1.0

[[trial.rules]]
kind = "superiority"
threshold = 0.97
"""
RUNS = 60


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A design with two looks."""
    path = tmp_path_factory.mktemp("design") / "responses.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def strict(file: Path) -> Scenario:
    """The same design with a larger threshold."""
    scenario = Scenario.load(file)
    assert scenario.trial is not None
    table = {**scenario.resolved()["trial"], "rules": [{"kind": "superiority", "threshold": 0.99}]}
    return scenario.with_(name="strict", trial=table)


@pytest.fixture(scope="module")
def found(
    file: Path, strict: Scenario, tmp_path_factory: pytest.TempPathFactory
) -> tuple[OperatingCharacteristics, Path]:
    """Both designs under two truths, and the folder that keeps them."""
    folder = tmp_path_factory.mktemp("study") / "out"
    result = trial([file, strict], runs=RUNS, seed=3, truths=Truths(null=True), folder=folder)
    assert isinstance(result, OperatingCharacteristics)
    return result, folder


def test_every_design_under_every_truth(found: tuple[OperatingCharacteristics, Path]) -> None:
    """Each has all trials; what is true differs; under the null there is no best arm."""
    result, _ = found
    assert result.designs == ["responses", "strict"]
    assert result.truths == ["as given", "null"]
    assert all(len(one) == RUNS for one in result.trials)
    assert [one.comparison.truths for one in result.trials[:2]] == [(0.3, 0.6), (0.3, 0.3)]
    assert np.isnan(result.value("power", truth="null").value)
    assert result.value("power").value > 2 * result.value("type1", truth="null").value
    assert not result.failures


def test_designs_share_random_numbers(found: tuple[OperatingCharacteristics, Path]) -> None:
    """The first look of a trial is the same under both; a stricter rule stops later, and never claims more."""
    one, other = found[0].trials[0], found[0].trials[2]
    assert (one.design, other.design) == ("responses", "strict")
    np.testing.assert_array_equal(one.measures["look_statistic"][:, 0], other.measures["look_statistic"][:, 0])
    assert (other.size >= one.size).all()
    gap = found[0].contrasts().set_index(["truth", "measure"]).loc[("as given", "patients")]
    assert gap["difference"] == pytest.approx((other.size - one.size).mean())


def test_the_folder_gives_the_same_again(found: tuple[OperatingCharacteristics, Path], tpstream: Command) -> None:
    """Tables, report and single trials come from the folder alone; `show` prints them."""
    result, folder = found
    again = read_study(folder)
    assert isinstance(again, OperatingCharacteristics)
    for name, table in result.tables().items():
        assert again.tables()[name].equals(table), name
    assert again.tell(2) == result.tell(2)
    shown = tpstream("show", str(folder), "--json")
    assert shown.code == 0
    assert json.loads(shown.out)["designs"] == ["responses", "strict"]
    assert (folder / "table.csv").is_file()


def test_a_finished_trial_is_not_simulated_again(file: Path, tmp_path: Path) -> None:
    """More trials are added to those that the folder has, and the result is that of a single call."""
    trial(file, runs=5, folder=tmp_path / "out")
    begun = trial(file, runs=3, truths=Truths(null=True), folder=tmp_path / "null")
    with Store(tmp_path / "null") as store:  # as if the study was interrupted before the second truth
        store._database.execute("DELETE FROM done WHERE id = 2")
        store._database.commit()
    again = read_study(tmp_path / "null")
    assert isinstance(again, OperatingCharacteristics)
    assert again.truths == ["as given"]
    assert len(again.report().text) > 10_000
    assert isinstance(begun, OperatingCharacteristics)
    assert again.value("power") == begun.value("power")
    more = trial(file, runs=9, folder=tmp_path / "out")
    whole = trial(file, runs=9)
    assert more.table().equals(whole.table())


def test_the_trial_is_that_of_its_events(file: Path) -> None:
    """Patients of each arm and the stop are those of the events of the same run."""
    scenario, sink = Scenario.load(file), MemorySink()
    simulate(scenario, "uniform", seed=3, run=4, sinks=[sink])
    events = Events.join(sink.batches)
    result = trial(file, runs=5, seed=3)
    assert isinstance(result, OperatingCharacteristics)
    measures = result.trials[0].measures
    arms = events.arm[events.kind == Kind.PULL]
    np.testing.assert_array_equal(measures["patients"][4], np.bincount(arms, minlength=2))
    stops = np.unique(events.time[events.kind == Kind.STOPPED])
    assert stops.tolist() == ([measures["stop_time"][4]] if measures["stop_look"][4] else [])


def test_with_delayed_response_a_trial_decides_in_the_end() -> None:
    """A stop only ends recruitment: power is that of the final conclusion, and so is the time of the decision."""
    scenario = Scenario(
        name="pipeline",
        horizon=40,
        visits=[8.0],
        drain=True,
        rewards={"kind": "normal"},
        arms=[{"name": name, "mean": mean, "deviation": 1.0} for name, mean in (("standard", 0.0), ("new", 0.7))],
        policies=[{"kind": "uniform"}],
        trial={
            "control": "standard",
            "looks": {"values": [20]},
            "rules": [
                {"kind": "superiority", "method": "z", "alpha": 0.1, "delayed_response": True},
                {"kind": "futility", "method": "z", "beta": 0.3},
            ],
        },
    )
    result = trial(scenario, runs=60, seed=1)
    trials = result.trials[0]
    assert trials.reversed.any()
    np.testing.assert_array_equal(trials.decision, trials.measures["final_conclusion"])
    np.testing.assert_array_equal(trials.decided_at, trials.measures["duration"])
    assert result.value("power") == result.value("final_power")
    stopped = int(np.flatnonzero(trials.stopped)[0])
    assert any("a boundary is crossed" in line and "Recruitment ends" in line for line in result.tell(stopped))


def test_a_trial_told(found: tuple[OperatingCharacteristics, Path]) -> None:
    """Lines go on in time, with dates; the numbers are those of the trial."""
    result, _ = found
    trials = result.trials[0]
    early = int(np.flatnonzero(trials.measures["stop_look"] == 1)[0])
    told = result.tell(early)
    dates = [line[:10] for line in told if line[:2] == "20"]
    assert dates == sorted(dates)
    assert any("look 1, the data are cut" in line for line in told)
    assert any("new is superior. The trial is stopped for superiority, and new is selected." in line for line in told)
    assert any(
        f"{int(trials.measures['overrun'][early])} patients were enrolled and not counted" in line for line in told
    )
    whole = int(np.flatnonzero(trials.measures["stop_look"] == 0)[0])
    told = result.tell(whole)
    assert any("the last of 60 patients is randomised" in line for line in told)
    assert told.count(told[0]) == 1
    with pytest.raises(ScenarioError, match="add a table"):
        tell_trial(Scenario.load("lottery-all"))


def test_the_final_analysis_is_told_with_its_numbers() -> None:
    """A rule for the end only says its statistic and what it needs there, and nothing at the look before."""
    scenario = Scenario.parse(tomllib.loads(TOML))
    rules = [{"kind": "superiority", "method": "z", "alpha": 0.025, "when": "end"}]
    told = tell_trial(scenario.with_(trial={"control": "standard", "looks": {"values": [20]}, "rules": rules}), seed=3)
    said = [place for place, line in enumerate(told) if line.startswith("Superiority: ")]
    assert len(said) == 1
    assert re.fullmatch(r"Superiority: -?[\d.]+ for new; above 1.96 is needed\.", told[said[0]])
    assert "Final analysis with everything known" in told[said[0] - 1]


def test_the_threshold_is_that_of_direct_simulation(file: Path) -> None:
    """The rate read off stored statistics is that of the same trials simulated with the threshold; bisection agrees."""
    quick = calibrate(file, "type1=0.1", runs=150, confirm=50, seed=5)
    assert quick.method == "stored statistics"
    assert quick.found.value <= 0.1
    assert quick.low <= quick.value <= quick.high
    assert quick.trials == 200
    scenario = Scenario.load(file)
    table = {**scenario.resolved()["trial"], "rules": [{"kind": "superiority", "threshold": quick.value}]}
    direct = trial(scenario.with_(trial=table), runs=150, seed=5, truths=Truths(null=True, given=False))
    assert isinstance(direct, OperatingCharacteristics)
    assert direct.value("type1") == quick.found
    slow = calibrate(
        file, "type1=0.1", ["trial.superiority", "trial.superiority"], runs=40, confirm=20, seed=5, between=(0.8, 0.999)
    )
    assert slow.method == "bisection"
    assert abs(slow.found.value - 0.1) <= 2 / 40
    assert slow.trials == 40 * len(slow.steps) + 20
    assert 0.8 <= slow.low <= slow.value <= slow.high <= 0.999
    assert slow.low < slow.high
    with pytest.raises(StudyError, match="is not reached"):
        calibrate(file, "power=0.001", ["trial.superiority"] * 2, runs=10, between=(0.6, 0.7))


def test_what_can_be_read_off_stored_statistics_and_where_others_are_looked_for() -> None:
    """Without a control an arm is also claimed when all others are inferior: then no rule of superiority tells alone.

    Bisections begin with the range of what the key is: a probability, a p value, z, or an error.
    """
    best = (Rule("superiority", "posterior", "best", threshold=0.98), Rule("inferiority", "posterior", "best"))
    one = Design(("a", "b"), 60, np.zeros(1), np.ones(1), control=-1, rules=best)
    key = "trial.rules.superiority.threshold"
    assert _only_rule(one, [key]) is None
    assert _only_rule(replace(one, rules=best[:1]), [key]) == 0
    assert _only_rule(replace(one, control=0), [key]) == 0
    tests = (
        Rule("superiority", "z", "control", threshold=2.0),
        Rule("inferiority", "fisher", "control", threshold=0.01),
        Rule("futility", "posterior", "control", threshold=0.05),
    )
    many = replace(one, control=0, rules=tests)
    for path, ends in (
        ("trial.rules[0].threshold", (0.0, 8.0)),
        ("trial.rules.inferiority.threshold", (1e-5, 0.5)),
        ("1-trial.rules[1].threshold", (1e-5, 0.5)),
        ("trial.rules.futility.threshold", (0.5, 0.99999)),
        ("trial.rules.superiority.alpha", (1e-5, 0.5)),
    ):
        assert _ends(many, path) == ends


def test_a_claim_when_all_others_are_inferior_is_calibrated() -> None:
    """Of two equal arms one is closed below 5 %: the threshold of superiority alone cannot hold a small error."""
    rules = [
        {"kind": "inferiority", "against": "best", "threshold": 0.05},
        {"kind": "superiority", "against": "best", "threshold": 0.98},
    ]
    scenario = Scenario(
        name="two", horizon=60, span=1, drain=True, rewards={"kind": "binary"}, policies=[{"kind": "uniform"}],
        arms=[{"name": name, "probability": 0.3} for name in "ab"],
        trial={"looks": {"values": [30]}, "rules": rules},
    )  # fmt: skip
    keys = ["trial.superiority", "1-trial.inferiority"]
    found = calibrate(scenario, "type1=0.2", keys, runs=60, confirm=30, seed=2, between=(0.6, 0.999))
    assert found.method == "bisection"
    with pytest.raises(StudyError, match="is not reached"):
        calibrate(scenario, "type1=0.01", runs=60, confirm=30, seed=2)


def test_progress_says_what_was_found_so_far(file: Path) -> None:
    """The total is told once, for all truths, and the estimate so far where there is room for it."""
    said: list[Any] = []

    class Bar:
        def __call__(self, rounds: int) -> None:
            said.append(rounds)

        def expect(self, rounds: int) -> None:
            said.append(("total", rounds))

        def say(self, text: str) -> None:
            said.append(text)

    trial(file, runs=4, truths=Truths(null=True), progress=Bar())
    assert said.count(("total", 2 * 4 * 60)) == 1
    assert sum(one for one in said if isinstance(one, int)) == 2 * 4 * 60
    assert "of 4 trials" in [one for one in said if isinstance(one, str)][-1]


def test_the_commands(file: Path, tmp_path: Path, tpstream: Command) -> None:
    """`trial` with truths, figure and report; `--tell`; `calibrate`; and mistakes in one line."""
    report, figure = tmp_path / "report.html", tmp_path / "trial.png"
    words = ["--runs", "20", "--null", "--report", str(report), "--figure", str(figure), "--jobs", "1"]
    done = tpstream("trial", str(file), *words)
    assert done.code == 0
    for text in ("type I error", "coverage", "how large trials are", "as given", "null"):
        assert text in done.out
    assert figure.is_file()
    text = report.read_text(encoding="utf-8")
    assert "Single trials, told event by event" in text
    assert "An arm is superior to the control if the posterior probability" in text
    shown = json.loads(tpstream("trial", str(file), "--runs", "5", "--effect", "0.1,0.2", "--json").out)
    assert shown["truths"] == ["new +0.1", "new +0.2"]
    told = tpstream("trial", str(file), "--tell", "7")
    assert told.out.startswith("A simulated trial of responses (seed 7, run 0;")
    found = json.loads(tpstream("calibrate", str(file), "--target", "type1=0.1", "--runs", "40", "--json").out)
    assert found["key"] == "trial.rules.superiority.threshold"
    assert found["confirmed"]["trials"] == 40
    told = tpstream("calibrate", str(file), "--target", "type1=0.1", "--runs", "40", "--report", "threshold.html")
    text = Path("threshold.html").read_text(encoding="utf-8")
    assert f"In 40 fresh trials, which had no part in the search, type1 is {found['confirmed']['value']:.4f}" in text
    for words in (
        f"The threshold is {found['key']} = {found['value']:.6g}.",
        "--target type1=0.1",
        "2 arms, 60 rounds",
    ):
        assert words in text
    assert "report: threshold.html" in told.out
    for wrong, line in (
        (["trial", str(file), "--on", "new"], "add --effect"),
        (["trial", str(file), "--effect", "x"], "is not a number"),
        (["trial", "lottery-all", "--null"], "add a table [trial]"),
        (["trial", str(file), str(file)], "two designs have this name"),
        (["calibrate", str(file), "--target", "typ1=0.1"], "did you mean"),
        (["calibrate", str(file), "--target", "type1=0.1", "--key", "trial.futility"], "has no rule of futility"),
        (["calibrate", str(file), "--target", "type1=0.1", "--between", "1"], "a lower and an upper end"),
    ):
        refused = tpstream(*wrong)
        assert refused.code == 2, wrong
        assert line in refused.err
        assert refused.err.count("\n") == 1


def test_designs_that_cannot_be_compared(file: Path, strict: Scenario) -> None:
    """Arms must be the same, and logs are of one design under one truth."""
    arms = [{**arm, "name": name} for arm, name in zip(strict.resolved()["arms"], ("standard", "old"), strict=True)]
    with pytest.raises(StudyError, match="need the same arms"):
        trial([file, strict.with_(arms=arms)], runs=1)
    with pytest.raises(StudyError, match="one design under one truth"):
        trial(file, runs=1, truths=Truths(null=True), logs="x")
    with pytest.raises(StudyError, match="has no design"):
        trial([file, "lottery-all"], runs=1)


def test_logs_give_the_operating_characteristics_again(file: Path, tmp_path: Path) -> None:
    """The logs of a design's trials give all of its tables; those of several seeds, and torn ones, are refused."""
    result = trial(file, runs=6, seed=3, logs=tmp_path / "logs")
    again = read_trial(tmp_path / "logs")
    assert isinstance(again, OperatingCharacteristics)
    for name, table in result.tables().items():
        assert again.tables()[name].equals(table), name
    assert again.tell(2) == result.tell(2)
    assert len(again.report().text) > 10_000
    two = trial(file, ["uniform", "permuted-blocks"], runs=2, seed=3, logs=tmp_path / "two")
    order = ["design", "arm", "measure"]  # logs are read in the order of their names
    one, other = (found.table().sort_values(order, ignore_index=True) for found in (two, read_trial(tmp_path / "two")))
    assert one.equals(other)
    place = tmp_path / "other.jsonl"
    simulate(Scenario.load(file), "uniform", seed=4, run=9, log=place)
    with pytest.raises(LogError, match="give logs of one seed"):
        read_trial([tmp_path / "logs", place])
    lines = place.read_text(encoding="utf-8").splitlines(keepends=True)
    torn = tmp_path / "torn.jsonl"
    torn.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    with pytest.raises(LogError, match="is not over"):
        read_trial(torn)


def test_where_low_values_are_good_the_sum_is_of_events(file: Path) -> None:
    """What is added up is called events, and nothing is called a success."""
    scenario = Scenario.load(file)
    lower = scenario.with_(trial={**scenario.resolved()["trial"], "direction": "lower"})
    result = trial(lower, runs=4, seed=3)
    assert isinstance(result, OperatingCharacteristics)
    sums = result.trials[0].measures["outcome_sum"]
    assert result.value("events").value == sums.sum(axis=1).mean()
    assert result.value("event_rate").value == (sums.sum(axis=1) / result.trials[0].size).mean()
    assert result.value("events", arm="new").value == sums[:, 1].mean()
    assert not result.table()["measure"].str.startswith("success").any()
    assert result.results()["successes"].isna().all()
    assert result.results()["events"].tolist() == sums.sum(axis=1).tolist()
    higher = trial(scenario, runs=2, seed=3)
    assert not higher.table()["measure"].str.startswith("event").any()


def test_an_interrupted_calibration_goes_on(file: Path, tpstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished trials are kept, the same command does the rest, a third one none; the result is that of one call."""
    whole = calibrate(file, "type1=0.1", runs=20, confirm=10, seed=5)
    keep, kept = Store.keep, [0]

    def keep_and_stop(store: Store, results: Any) -> None:
        keep(store, results)
        kept[0] += len(results)
        raise KeyboardInterrupt

    words = ("calibrate", str(file), "--target", "type1=0.1", "--runs", 20, "--confirm", 10, "--seed", 5, "--jobs", 1)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "keep", keep_and_stop)
        stopped = tpstream(*words, "--quiet", "--out", "out")
    assert stopped.code == 130
    assert f"{kept[0]} of " in stopped.err
    assert "the same command goes on from there" in stopped.err
    first = kept[0]

    def keep_and_count(store: Store, results: Any) -> None:
        keep(store, results)
        kept[0] += len(results)

    monkeypatch.setattr(Store, "keep", keep_and_count)
    found = json.loads(tpstream(*words, "--json", "--out", "out").out)
    assert (found["value"], kept[0]) == (whole.value, 30)
    assert 0 < first < 30
    assert json.loads(tpstream(*words, "--json", "--out", "out").out) == found
    assert kept[0] == 30
