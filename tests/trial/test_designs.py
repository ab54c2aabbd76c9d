"""Designs with looks: tables, figure and report say what the trials came to; thresholds are found as by trying all."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from made_up_trials import made_up, made_up_designs

from tpstream.looks.design import Design, Looks, Rule
from tpstream.looks.words import design_sentences
from tpstream.model.errors import StudyError, UnknownNameError
from tpstream.trial import design_rows as rows
from tpstream.trial.calibrate import full_key, read_target
from tpstream.trial.crossings import Crossings
from tpstream.trial.design_figure import allocation_over_time, conclusions_over_time
from tpstream.trial.design_report import examples

DESIGNS = made_up_designs(60)


def test_values_and_tables_agree() -> None:
    """`value` is the row of the table, `contrasts` those of each truth, and `results` has a row for each trial."""
    table, value = DESIGNS.table(), DESIGNS.value("power", arm="high", design="other")
    chosen = table.query("design == 'other' and truth == 'as given' and arm == 'high' and measure == 'power'")
    assert chosen[["value", "error", "low", "high", "trials"]].to_numpy().tolist() == [list(value)]
    contrasts = DESIGNS.contrasts()
    assert set(contrasts["truth"]) == {"as given", "null"}
    gap = contrasts.query("truth == 'null' and measure == 'patients'")["difference"].item()
    means = [DESIGNS.value("patients", design=one, truth="null").value for one in ("other", "one")]
    assert gap == pytest.approx(means[0] - means[1])
    results = DESIGNS.results()
    assert len(results) == 4 * 60
    assert results.query("truth == 'null'")["lost"].isna().all()
    for names in ({"design": "another"}, {"truth": "x"}, {"arm": "x"}):
        with pytest.raises(UnknownNameError):
            DESIGNS.value("power", **names)
    with pytest.raises(UnknownNameError, match="did you mean"):
        DESIGNS.value("typ1")


def test_rows_for_people() -> None:
    """Columns that nobody needs are left out, probabilities are in percent, and intervals stand in brackets."""
    printed = rows.decision_rows(DESIGNS)
    assert [row["truth"] for row in printed] == ["as given", "null"] * 2
    assert "power" in printed[0]
    assert re.fullmatch(r"\d+\.\d+% \(\d+\.\d+ to \d+\.\d+\)", printed[0]["superiority"])
    assert printed[1]["power"] == ""
    assert {row["true difference"] for row in rows.difference_rows(DESIGNS)} == {"+0", "+0.2"}
    assert len(rows.contrast_rows(DESIGNS)) == 2
    assert "share on best" not in rows.benefit_rows(replace(DESIGNS, trials=DESIGNS.trials[1:2]))[0]


def test_stops_at_each_look_and_errors_with_everything_known() -> None:
    """Shares of trials that stop at a look add up to those that stop; the errors of both conclusions are printed."""
    rows_of = rows.stop_rows(DESIGNS)
    shares = [[float(row[title].split("%")[0]) for title in ("stopped", "at look 1", "at look 2")] for row in rows_of]
    assert all(whole == pytest.approx(one + two, abs=0.2) for whole, one, two in shares)
    assert {"type I error, final", "power, final", "missed stop"} <= set(rows.incomplete_rows(DESIGNS)[0])
    assert read_target("final_type1=0.025") == ("final_type1", 0.025)
    text = DESIGNS.report().text
    for words in ("at look 2", "type I error, final", "coverage if selected", "difference rmse if selected"):
        assert words in text


def test_conclusions_and_allocation_over_time_are_those_of_loops() -> None:
    """The share of trials with each conclusion up to a time, and that of patients on each arm in each section."""
    trials, runs = made_up(40)
    shares = conclusions_over_time(trials, np.array([150.0, 1000.0]))
    early = [
        run
        for run in runs
        if (run["conclusion"] == 2 and run["stop_time"] <= 150)
        or (run["conclusion"] == 5 and run["final_conclusion"] == 2 and run["duration"] <= 150)
    ]
    assert shares["superiority"][0] == len(early) / 40
    assert sum(share[-1] for share in shares.values()) == pytest.approx(1.0)
    counted = np.stack([[run["patients"] // 4, run["patients"] // 2, run["patients"]] for run in runs])
    other = replace(trials, measures={**trials.measures, "pulls": counted})
    middles, found = allocation_over_time(other, np.array([100.0, 200.0, 300.0]))
    assert middles.tolist() == [50.0, 150.0, 250.0]
    for section, (before, after) in enumerate(pairwise([0 * counted[:, 0], *counted.transpose(1, 0, 2)])):
        inside = (after - before).sum(axis=0)
        np.testing.assert_allclose(found[section], inside / inside.sum())


def test_figure_and_report() -> None:
    """A row of panels for each design and truth; the report has rules, errors, sizes, estimates and the comparison."""
    figure = DESIGNS.plot()
    assert len(figure.axes) == 3 * 4
    text = DESIGNS.report().text
    for words in (
        "The rules of other.",
        "Type I error, power",
        "Designs compared",
        "coverage",
        "seed",
        "overrun",
        "corrects for stopping",
    ):
        assert words in text
    assert "one, null: an arm that is not better" in text
    assert repr(DESIGNS).startswith("Operating characteristics of 2 designs: 60 simulated trials of each")


def test_examples_are_the_first_of_each_decision() -> None:
    """Trials that are told end differently, the most frequent decision first."""
    trials, _ = made_up(60)
    found = examples(trials)
    words = DESIGNS.results()["decision"]
    assert len(set(found.values())) == len(found) == 3
    assert set(found.values()) <= set(words)


TESTS = (Rule("superiority", "z", "control", alpha=0.025), Rule("futility", "z", "control", beta=0.1))
"""Rules that spend errors."""


def design(**changes: object) -> Design:
    """A design with two looks and rules of all kinds."""
    rules = (
        Rule("superiority", "posterior", "control", threshold=0.98, prior=(1.0, 1.0)),
        Rule("inferiority", "posterior", "control", threshold=0.02),
        Rule("equivalence", "posterior", "all", margin=0.05, threshold=0.9),
        Rule("futility", "z", "control", threshold=0.3),
    )
    keys = {"looks": Looks("known", (100.0, 200.0), cleaning=2.0, recruiting=False), "rules": rules, **changes}
    means = np.array([0.3, 0.3, 0.5])
    return Design(("standard", "low", "high"), 300, np.array([2.0, 12.0]), np.array([0.0, 1.0]), 0, means=means, **keys)  # type: ignore[arg-type]


def test_a_design_in_words() -> None:
    """Endpoint, looks and rules, in the order in which they apply."""
    told = design_sentences(design(), "week")
    assert told[0] == "At most 300 patients are enrolled on 3 arms: standard, low, high; standard is the control."
    assert told[1].startswith(
        "The endpoint is the last visit, due 12 weeks after randomisation; larger values are better."
    )
    assert told[2].startswith("2 looks: the data are cut when the endpoint is due of 100, 200 patients.")
    assert "in force 2 weeks after its cut; meanwhile nobody is enrolled" in told[3]
    kinds = [
        next(word for word in ("inferior", "superior", "equivalent", "futile") if word in line) for line in told[5:]
    ]
    assert kinds == ["inferior", "superior", "equivalent", "futile"]
    assert "(Beta(1, 1) prior) is above 0.98" in told[6]
    told = design_sentences(design(rules=TESTS, looks=Looks("information", (0.5,)), information=(0.5, 1.0)))
    assert told[-2].endswith("the O'Brien-Fleming kind. Critical values, as planned: 0.2578.")
    assert told[-1] == "The alpha of a rule is that of each comparison."


def test_thresholds_are_found_as_by_trying_all() -> None:
    """A trial claims what crosses first; the threshold is the smallest whose rate is not above what is wanted."""
    stream = np.random.default_rng(3)
    statistics = stream.random((200, 3, 3))
    statistics[stream.random((200, 3, 3)) < 0.2] = np.nan
    relevant = np.array([False, True, False])
    crossings = Crossings(statistics, relevant, 1.0)

    def literal(threshold: float) -> list[bool]:
        found = []
        for looks in statistics:
            crossed = [look > threshold for look in looks if (look > threshold).any()]
            found.append(bool(crossed) and bool((crossed[0] & relevant).any()))
        return found

    for threshold in (0.2, 0.7, 0.95):
        assert crossings.events(threshold).tolist() == literal(threshold)
    high = Crossings(statistics, np.ones(3, dtype=bool), 1.0)
    tried = sorted(statistics[~np.isnan(statistics)].tolist())
    smallest = next(one for one in tried if high.events(one).mean() <= 0.3)
    assert high.threshold(0.3) == smallest


def test_targets_and_keys() -> None:
    """A target names a probability and its value; short keys stand for the threshold or the error of a rule."""
    assert read_target("type1=0.025") == ("type1", 0.025)
    for wrong, told in (("typ1=0.1", "did you mean"), ("type1", "between 0 and 1"), ("power=1.5", "between 0 and 1")):
        with pytest.raises(StudyError, match=told):
            read_target(wrong)
    assert full_key("trial.superiority", design()) == "trial.rules.superiority.threshold"
    assert full_key("1-trial.inferiority", design()) == "1-trial.rules.inferiority.threshold"
    assert full_key("trial.futility", design(rules=TESTS)) == "trial.rules.futility.beta"
    assert full_key("trial.looks.cleaning", design()) == "trial.looks.cleaning"
    with pytest.raises(StudyError, match="has no rule of superiority"):
        full_key("trial.superiority", design(rules=()))
