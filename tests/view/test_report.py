"""Reports: they hold what was found, all of it as text, in one file that loads nothing."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command import Command, tpstream
from explorer import HOSTILE, hostile_keys
from markupsafe import escape
from studies import small

from tpstream import compare, league, read_study, read_trial, sweep, trial
from tpstream.analysis.columns import TABLES
from tpstream.experiment.findings import league_findings, study_findings, sweep_findings
from tpstream.experiment.runs import FailedRun
from tpstream.figures.style import new_figure
from tpstream.model.errors import PageError
from tpstream.trial.report import trial_findings
from tpstream.view.report import Facts, Picture, Section, Sentences, Table, definitions, make_report
from tpstream.view.svg import svg_of

__all__ = ["tpstream"]
EQUAL = [{"name": "a", "maximum": 10.0}, {"name": "b", "maximum": 10.0}]
STUDIES = {
    "compare": ("-n", 3, "-p", "ucb1", "-p", "uniform", "-p", "tp-ucb-fr", "--rounds", "20", "--value"),
    "compare of one run": ("-n", 1, "-p", "uniform"),
    "compare of equal arms": ("-n", 2, "-p", "uniform", "-p", "tp-ucb-fr", "--set", "arms.*.maximum=10"),
    "compare in money": ("-n", 2, "-p", "uniform", "-p", "tp-ucb-fr", "--set", "currency=EUR"),
    "sweep": ("-n", 2, "-p", "ucb1", "-p", "uniform", "--set", "span=6,12", "--set", "arms.low.maximum=1,5"),
    "trial": ("-n", 3, "-p", "ucb1", "-p", "tp-ucb-ew"),
    "league": ("-n", 2, "-p", "tp-ucb-ew"),
}
"""Words of commands, by what they do."""


@pytest.mark.parametrize("study", STUDIES)
def test_every_command_writes_a_report(tpstream: Command, tmp_path: Path, study: str) -> None:
    """It is one small file, says what was found, and how to repeat it; nothing can be loaded or run.

    `show` writes the same bytes from the folder, also if the scenario's file is gone.
    """
    command = study.partition(" ")[0]
    words = (command, "small.toml", *STUDIES[study], "-j", 1, "--out", "out", "--report", "sub/x.html")
    done = tpstream(*words)
    assert (done.code, "report: sub/x.html" in done.out) == (0, True)
    text = (tmp_path / "sub/x.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert re.sub("sha256-[^']+", "HASH", policy[1]).split("; ") == [
        "default-src 'none'",
        "style-src 'HASH'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert re.findall(r"https?://|<link|<script|@import|\bsrc=|\bstyle=|\bon\w+=\"", text) == []
    headings = re.findall("<h2>(.*)</h2>", text)
    assert headings[:2] == ["What was found", "Results"]
    assert headings[-2:] == ["How to repeat it", "What the columns mean"]
    assert escape(shlex.join(["tpstream", *map(str, words)])) in text
    assert "<svg" in text
    assert "tpstream 0." in text
    assert len(text) < 200_000
    (tmp_path / "small.toml").unlink()
    more = ("--value",) if "--value" in STUDIES[study] else ()
    assert tpstream("show", "out", "--report", "two.html", *more).code == 0
    assert (tmp_path / "two.html").read_text() == text
    if study == command:
        assert read_study("out").report().text.count("<h2>") == text.count("<h2>")


def test_a_report_of_many_policies_is_small() -> None:
    """Of forty policies, more than ship, with tables of all and a figure, it is below 1.5 MB."""
    study, random = compare(small(), ["uniform"], runs=3, jobs=1), np.random.default_rng(1)
    (records,) = study.records.values()
    many = {}
    for number in range(40):
        shifted = [
            one | {"pulls": one["pulls"] + random.integers(0, 9, one["pulls"].shape)} for one in records.measures
        ]
        many[f"policy-{number}"] = replace(records, measures=shifted)
    page = replace(study, records=many, logs={label: [] for label in many}).report()
    assert page.text.count(">policy-39<") >= 1
    assert 100_000 < len(page.text.encode()) < 1_500_000


def test_a_report_of_an_unfinished_study_says_so(tpstream: Command, tmp_path: Path) -> None:
    """The first finding is that runs are missing."""
    tpstream("compare", "small.toml", "-n", 2, "-p", "uniform", "-j", 1, "--out", "out")
    place = tmp_path / "out" / "study.json"
    place.write_text(re.sub(r'"runs": \[\s*0,\s*2\s*\]', '"runs": [0, 5]', place.read_text()))
    text = read_study("out").report().text
    assert "<li>Not finished: 2 of 5 runs (1 policy x 5) are finished; the same command goes on" in text


def test_wrong_places_are_refused_before_anything_runs(tpstream: Command, tmp_path: Path) -> None:
    """Another ending, a folder that cannot be made: one line, exit code 2, nothing written."""
    for place, message in (("x.pdf", "a page ends in .html"), ("small.toml/x.html", "cannot make this folder")):
        done = tpstream("compare", "small.toml", "-n", 2, "--out", "out", "--report", place)
        assert (done.code, message in done.err, done.err.count("\n")) == (2, True, 1)
    assert not (tmp_path / "out").exists()
    assert "a report ends in .md, .html" in tpstream("paper", "--report", "x.pdf").err
    (tmp_path / "x.html").mkdir()
    with pytest.raises(PageError, match="cannot write the page"):
        make_report("a", "b", []).write(tmp_path / "x.html")


def test_names_are_text() -> None:
    """In every report: no tag, template or formula comes from a name, nothing invisible stays, long names are cut."""
    keys = hostile_keys()
    wanted = [HOSTILE[1], "$x_{$"]
    reports = [
        compare(keys, runs=2).report(),
        sweep(keys, {"span": {HOSTILE[0]: 6, "$x_{$": 12}}, wanted, runs=2).report(),
        league([keys], wanted, runs=2).report(),
        league([keys, small()], ["tp-ucb-ew"], runs=2).report(),
        trial(keys, wanted, runs=2).report(),
    ]
    for page in reports:
        assert "<script" not in page.text
        assert "<img" not in page.text
        assert "<b>" not in page.text
        assert "{{ 7 * 7 }}" in page.text
        assert not re.search("[\u202e\u0000]", page.text)
        assert "n" * 200 not in page.text.split("and its policies as run")[0]


def test_nobody_is_called_better_by_chance() -> None:
    """Two copies of one policy cannot be told apart, and where means tie there is no best arm."""
    twins = [{"kind": "tp-ucb-fr", "name": "a"}, {"kind": "tp-ucb-fr", "name": "b"}, {"kind": "uniform"}]
    found = study_findings(compare(small(policies=twins[:2]), runs=4))
    assert any("cannot be told apart" in text for text in found)
    equal = small(arms=EQUAL)
    tied = "Arms a, b are equally good: no best arm, and regret is 0 whatever is pulled."
    assert study_findings(compare(equal, ["uniform"], runs=2)) == [tied]
    assert trial_findings(trial(equal, ["tp-ucb-ew"], runs=2))[0] == tied
    assert "(span = 6; span = 12)" in sweep_findings(sweep(equal, {"span": [6, 12]}, ["uniform"], runs=2))[0]
    assert league_findings(league([equal], ["tp-ucb-ew"], runs=2)) == [tied]


def test_what_a_sweep_says_of_a_policy() -> None:
    """Where it loses least and most, with the paired interval; that it makes no difference; only keys that matter."""
    found = sweep(small(), {"policies.tp-ucb-fr.groups": [1, 3], "arms.low.maximum": [1.0, 9.0]}, ["tp-ucb-fr"], runs=4)
    regrets = [study.regret("tp-ucb-fr")[:, -1] for study in found.studies]
    least, most = np.argmin([one.mean() for one in regrets]), np.argmax([one.mean() for one in regrets])
    (said,) = (text for text in sweep_findings(found) if text.startswith("tp-ucb-fr loses") and "cells" not in text)
    gap = (regrets[most] - regrets[least]).mean()
    assert f"a difference of {gap:,.1f} (95 % interval" in said
    other = sweep(small(), {"policies.tp-ucb-fr.groups": [1, 3]}, ["tp-ucb-fr", "uniform"], runs=3)
    assert any(text.startswith("For uniform the values make no difference") for text in sweep_findings(other))


def test_what_a_trial_says_of_a_design() -> None:
    """The benefit lost, the difference from fixed randomisation, and how often the best arm is chosen."""
    found = trial(small(horizon=300), ["oracle", "tp-ucb-ew"], runs=6)
    row = found.table().set_index("policy").loc["oracle"]
    said = trial_findings(found)
    assert said[0].startswith("The patients lose least under tp-ucb-ew")
    less = f"{-row['against_fixed']:,.1f} less than under fixed randomisation (95 % interval"
    assert any(text.startswith("Under oracle the patients lose 0.0") and less in text for text in said)


def test_a_trial_read_from_logs_has_a_report(tmp_path: Path) -> None:
    """Its world is what the logs know, and the call stands for the command."""
    trial(small(), ["tp-ucb-ew"], runs=2, logs=tmp_path)
    text = read_trial(tmp_path).report().text
    assert "trial(scenario, [&#39;" in text
    assert "The arms, and the true mean" in text


def test_failed_runs_are_told(tmp_path: Path) -> None:
    """How many failed is a finding."""
    study = compare(small(), ["uniform"], runs=2)
    broken = replace(study, failures=(FailedRun("small", "uniform", 7, 3, "why", "how"),))
    assert study_findings(broken)[-1] == "1 run failed and is not in these numbers."
    assert broken.report(tmp_path / "x.html").text == (tmp_path / "x.html").read_text()


def test_figures_become_svg_without_style() -> None:
    """Styles are attributes, greys take the page's colour, the background is left out, ids have the prefix."""
    with new_figure(None, 3, 2) as figure:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color="#4477AA", marker="o")
        axes.set_title("a < b & c")
    text = svg_of(figure, "f1-")
    assert not re.search("style|metadata|#444444|#ffffff|<script", text)
    assert 'stroke="#4477aa"' in text
    assert "a &lt; b &amp; c" in text
    ids, used = set(re.findall(r' id="([^"]+)"', text)), set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert ids == used != set()
    assert all(one.startswith("f1-") for one in ids)


def test_hatched_bars_are_drawn() -> None:
    """What is filled by a pattern refers to it by its id in the page."""
    with new_figure(None, 2, 2) as figure:
        figure.subplots().bar(0, 1, color="#4477AA", hatch="//")
    text = svg_of(figure, "f1-")
    (used,) = set(re.findall(r'fill="url\(#([^)]+)\)"', text))
    assert used.startswith("f1-")
    assert re.search(rf'<pattern [^>]*id="{used}"[^>]*><rect [^>]*fill="#4477aa"', text)


def test_blocks() -> None:
    """Empty blocks are left out, numbers stand at the right, marks have the colours, titles of columns are defined."""
    rows = [{"policy": "a", "regret": "1.5 (1 to 2)", "why": "none"}, {"policy": "b", "regret": "EUR 10", "why": "so"}]
    table = Table(rows, "caption", {"a": "#AA3377", "b": "#000000"})
    assert table.numeric == {"regret"}
    assert table.marks == {"a": "#aa3377", "b": "currentColor"}
    with new_figure(None, 12, 2) as figure:
        figure.subplots()
    picture, empty = Picture(figure, "wide"), Section("two", [Table([]), Facts([])])
    page = make_report("t", "q", [Section("one", [table, picture, Sentences([])]), empty])
    assert "two" not in page.text
    assert page.text.count("<table>") == page.text.count('class="scroll wide"') == 1
    assert [pair[0] for pair in definitions([table], "table", "contrasts").pairs] == ["policy", "regret"]
    untitled = Table([{"": "as given"}])  # what has no title needs no definition
    assert definitions([untitled], *TABLES).pairs == []
