"""Results at a prompt and in a notebook: what they show, what they draw, and what functions take."""

import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from studies import small

from tpstream import (
    Diagnosis,
    Log,
    LogRegret,
    Replay,
    Run,
    Scenario,
    Study,
    Sweep,
    TpstreamError,
    Trial,
    WhatIf,
    compare,
    diagnose,
    log_regret,
    read_log,
    replay,
    simulate,
    sweep,
    trial,
    what_if,
)
from tpstream.log import reader
from tpstream.model.errors import FigureError, PolicyError, StudyError, UnknownNameError

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """One result of every kind."""
    folder, scenario = tmp_path_factory.mktemp("logs"), small()
    run = simulate(scenario, "tp-ucb-fr", seed=7, log=folder / "run.jsonl")
    log = read_log(folder / "run.jsonl")
    return {
        "scenario": scenario,
        "run": run,
        "study": compare(scenario, ["ucb1", "tp-ucb-fr"], runs=2, seed=7),
        "sweep": sweep(scenario, {"span": [6, 12]}, ["uniform", "tp-ucb-fr"], runs=2),
        "trial": trial(scenario, ["tp-ucb-fr"], runs=2),
        "log": log,
        "replay": replay(log),
        "divergence": replay(log, "delayed-ucb1"),
        "what_if": what_if(log, "oracle"),
        "diagnosis": diagnose(log)[0],
        "log_regret": log_regret(log),
    }


CLASSES = {
    "scenario": Scenario,
    "run": Run,
    "study": Study,
    "sweep": Sweep,
    "trial": Trial,
    "log": Log,
    "replay": Replay,
    "divergence": Replay,
    "what_if": WhatIf,
    "diagnosis": Diagnosis,
    "log_regret": LogRegret,
}
WITH_CURVES = {"run", "study", "sweep", "trial", "log", "what_if", "diagnosis"}
DRAWN = ("run", "study", "sweep", "trial", "log")
SAID = {
    "scenario": "Scenario small: 3 arms, 60 rounds, span 6, seed 3",
    "run": "Run of small under tp-ucb-fr: 60 rounds",
    "study": "Study of small: 60 rounds, seed 7",
    "sweep": "Sweep of small: mean final regret in 2 cells",
    "trial": "Trial of small: 60 patients, 3 arms",
    "log": "Log of small under tp-ucb-fr: 60 rounds, span 6, complete",
    "replay": "60 decisions, all equal",
    "divergence": "differs in round",
    "what_if": "What if oracle had decided instead of tp-ucb-fr: 60 rounds",
    "diagnosis": "Diagnosis of tp-ucb-fr",
    "log_regret": "Regret from logs of small: 60 rounds",
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_result_says_what_it_is(shown: Mapping[str, Any], name: str) -> None:
    """The repr of every result is a few lines that begin with what it is, below 600 characters."""
    text = repr(shown[name])
    assert type(shown[name]) is CLASSES[name]
    assert SAID[name] in text.splitlines()[0]
    assert len(text) < 600
    assert "array(" not in text


@pytest.mark.parametrize("name", CLASSES)
def test_a_notebook_shows_a_table(shown: Mapping[str, Any], name: str) -> None:
    """The HTML of a result has its title, a small table, and curves where there are any; nothing from outside."""
    html = shown[name]._repr_html_()
    assert ("<table" in html) == (name != "replay")
    assert ("<polyline" in html) == (name in WITH_CURVES)
    assert html.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert len(html) < 20_000


def test_numbers_of_a_summary_are_those_of_the_tables(shown: Mapping[str, Any]) -> None:
    """The regret that a study shows is the mean of its table, with the interval of the printed table."""
    study = shown["study"]
    (line,) = [line for line in repr(study).splitlines() if line.split()[0] == "ucb1"]
    row = study.table().set_index("policy").loc["ucb1"]
    assert f"{row['regret']:.4g}" in line
    assert f"{row['best_arm_share']:.1%}" in line


def test_names_of_users_are_escaped() -> None:
    """The name of an arm is text, never markup."""
    arms = [{"name": "<script>alert(1)</script>", "maximum": 1}, {"name": "b", "maximum": 2}]
    html = small(arms=arms, rewards={"kind": "smooth-beta", "groups": 2})._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_a_scenario_with_many_long_names_stays_short() -> None:
    """Neither many arms nor long names make a repr long."""
    arms = [{"name": f"{number}-" + "x" * 300, "maximum": 1 + number} for number in range(50)]
    scenario = small(arms=arms, rewards={"kind": "smooth-beta", "groups": 2}, name="y" * 500)
    assert len(repr(scenario)) < 600
    assert len(str(scenario)) < 600


def test_a_repr_never_raises() -> None:
    """A scenario whose recorded rewards are missing still shows itself, with the reason."""
    keys = {"name": "gone", "horizon": 10, "span": 2, "arms": [{"name": "a", "maximum": 1}]}
    scenario = Scenario.parse({**keys, "rewards": {"kind": "trace", "file": "gone.csv"}}, check=False)
    assert "the rewards cannot be built" in repr(scenario)


def test_a_large_log_is_not_read_to_be_shown(shown: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a number of events a log shows itself without the curve, from its header and end alone."""
    monkeypatch.setattr(reader, "MOST_DRAWN", 10)
    assert "<polyline" not in shown["log"]._repr_html_()


def test_failed_runs_are_told(shown: Mapping[str, Any]) -> None:
    """A study without a finished run of a policy says so instead of raising."""
    study = shown["study"]
    empty = replace(study.records["ucb1"], runs=np.empty(0, dtype=np.int64), measures=[], seconds=np.empty(0))
    torn = replace(study, records={**study.records, "ucb1": empty}, _cache={})
    (line,) = [line for line in repr(torn).splitlines() if line.split()[0] == "ucb1"]
    assert line.split() == ["ucb1", "0", "none", "none", "none"]


@pytest.mark.parametrize("name", DRAWN)
def test_plot_returns_a_figure_and_writes_nothing(
    shown: Mapping[str, Any], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a path a figure comes back, no file is written, and a notebook can show it without pyplot."""
    monkeypatch.chdir(tmp_path)
    figure = shown[name].plot()
    assert isinstance(figure, Figure)
    assert not list(tmp_path.iterdir())
    assert figure._repr_png_().startswith(PNG)  # type: ignore[attr-defined]
    assert isinstance(pickle.loads(pickle.dumps(shown[name].plot(log_y=True))), Figure)  # noqa: S301 (our own)


@pytest.mark.parametrize("name", DRAWN)
def test_plot_writes_where_it_is_told(shown: Mapping[str, Any], name: str, tmp_path: Path) -> None:
    """With a path the figure is written there, and comes back too."""
    assert isinstance(shown[name].plot(tmp_path / "figure.png"), Figure)
    assert (tmp_path / "figure.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("name", DRAWN)
def test_plot_draws_on_given_axes(shown: Mapping[str, Any], name: str, tmp_path: Path) -> None:
    """Given axes are drawn on, with a legend, and their figure comes back; no other axes are touched."""
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert shown[name].plot(tmp_path / "both.svg", ax=right) is figure
    assert (len(left.lines), len(right.lines) > 0, right.get_legend() is not None) == (0, True, True)
    assert (tmp_path / "both.svg").exists()


@pytest.mark.parametrize("name", DRAWN)
def test_the_vertical_axis_may_be_logarithmic(shown: Mapping[str, Any], name: str) -> None:
    """`log_y` makes the axis logarithmic, and shows only what is above 0."""
    scales = [shown[name].plot(log_y=log_y).axes[0].get_yscale() for log_y in (False, True)]
    assert scales == ["linear", "log"]
    assert shown[name].plot(log_y=True).axes[0].get_ylim()[0] > 0


def test_a_logarithmic_axis_without_anything_above_zero_stays_linear() -> None:
    """Regret that is 0 throughout can still be drawn."""
    figure = simulate(small(), "oracle").plot(log_y=True)
    assert figure.axes[0].get_yscale() == "linear"


@pytest.mark.parametrize("name", DRAWN)
def test_lines_can_be_named_otherwise(shown: Mapping[str, Any], name: str) -> None:
    """`labels` renames a policy, or an arm of a log, in the legend; its colour stays."""
    old = "low" if name == "log" else "tp-ucb-fr"
    plain, renamed = ({line.get_label(): line for line in axes(shown[name], labels)} for labels in ({}, {old: "FR"}))
    assert (old in plain, old in renamed, "FR" in renamed) == (True, False, True)
    assert renamed["FR"].get_color() == plain[old].get_color()


def axes(result: Any, labels: Mapping[str, str]) -> list[Any]:
    """The lines that a result draws."""
    return list(result.plot(ax=Figure().subplots(), labels=labels).axes[0].lines)


@pytest.mark.parametrize("name", DRAWN)
def test_unknown_and_equal_labels_are_errors(shown: Mapping[str, Any], name: str) -> None:
    """A label of nothing in the figure, or the same name for two lines, is refused."""
    with pytest.raises(UnknownNameError, match="in `labels`"):
        shown[name].plot(labels={"tp-ucb": "FR"})
    if name in {"study", "sweep", "trial"}:
        other = {"study": "ucb1", "sweep": "uniform", "trial": "uniform"}[name]
        with pytest.raises(FigureError, match="labels must differ"):
            shown[name].plot(labels={"tp-ucb-fr": other})


def test_a_sweep_of_several_panels_does_not_fit_on_given_axes() -> None:
    """Several panels need a figure of their own."""
    found = sweep(small(), {"span": [6, 12], "drain": [True, False]}, ["uniform"], runs=1)
    with pytest.raises(FigureError, match="leave out `ax`"):
        found.plot(ax=Figure().subplots())


def test_the_figure_of_a_log_adds_up(shown: Mapping[str, Any]) -> None:
    """The line of each arm ends with what its pulls were credited with; of a log of pulls, with their number."""
    log = shown["log"]
    table = log.frame(kinds=[reader.Kind.PARTIAL])
    credited = table.groupby("arm")["value"].sum()
    lines = {line.get_label(): line.get_ydata()[-1] for line in axes(log, {})}
    assert [lines[name] for name in log.header.arms] == pytest.approx(credited.tolist())


def test_the_figure_of_a_log_of_pulls_counts_them(tmp_path: Path) -> None:
    """Where nothing but the pulls is known, they are counted."""
    run = simulate(small(), "uniform", log=tmp_path / "run.arrow", log_detail="pulls")
    log = read_log(tmp_path / "run.arrow")
    lines = {line.get_label(): line.get_ydata()[-1] for line in axes(log, {})}
    assert [lines[name] for name in log.header.arms] == np.bincount(run.arms).tolist()
    assert "<polyline" not in log._repr_html_()


@pytest.mark.parametrize("name", ["run", "study", "sweep", "trial", "log", "what_if", "diagnosis", "log_regret"])
def test_every_result_has_a_frame(shown: Mapping[str, Any], name: str) -> None:
    """`frame` is the one name for a result as a DataFrame; where results have several tables it is `table`."""
    found = shown[name].frame()
    assert isinstance(found, pd.DataFrame)
    assert len(found)
    if hasattr(shown[name], "table"):
        pd.testing.assert_frame_equal(found, shown[name].table())


def test_the_frame_of_a_run_is_its_rounds(shown: Mapping[str, Any]) -> None:
    """A row for each round: the arm and the regret so far."""
    run = shown["run"]
    found = run.frame()
    assert found["round"].tolist() == list(range(1, 61))
    assert (found["arm"].to_numpy() == run.arms).all()
    assert (found["regret"].to_numpy() == run.regret).all()


CALLS: dict[str, Callable[[Any], Any]] = {
    "simulate": lambda scenario: simulate(scenario, "uniform", seed=1).arms.tolist(),
    "compare": lambda scenario: compare(scenario, ["uniform"], runs=2, seed=1).regret("uniform").tolist(),
    "sweep": lambda scenario: (
        sweep(scenario, {"drain": [True]}, ["uniform"], runs=1, seed=1).table()["regret"].tolist()
    ),
    "trial": lambda scenario: trial(scenario, ["uniform"], runs=1, seed=1).lost("uniform").tolist(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_scenario_is_taken_in_every_form(call: Callable[[Any], Any], tmp_path: Path) -> None:
    """A Scenario, the path of its file as text or Path, and a dictionary of its keys mean the same."""
    scenario = Scenario.load("lottery-all").with_(horizon=40)
    expected = call(scenario)
    file = tmp_path / "mine.toml"
    arms = "[[arms]]\nmaximum = 4\n[[arms]]\nmaximum = 6\n"
    file.write_text(f'name = "mine"\nhorizon = 40\nspan = 4\n[rewards]\nkind = "smooth-beta"\ngroups = 2\n{arms}')
    assert call(scenario.resolved()) == expected
    assert call(str(file)) == call(file) == call(Scenario.load(file))


def test_a_scenario_is_taken_by_name() -> None:
    """The name of a shipped scenario is enough."""
    named = simulate("e-commerce", "uniform", seed=1)
    assert named.scenario == Scenario.load("e-commerce")


def test_a_policy_may_be_a_dictionary(shown: Mapping[str, Any]) -> None:
    """The keys of a `[[policies]]` table mean the same as the text, wherever a policy is asked for."""
    table, text = {"kind": "tp-ucb-fr", "groups": 2, "ties": "first"}, "tp-ucb-fr:groups=2,ties=first"
    assert simulate(small(), table).arms.tolist() == simulate(small(), text).arms.tolist()
    study = compare(small(), [table, {**table, "name": "mine"}, text.replace("first", "random")], runs=2)
    assert list(study.records) == [text, "mine", text.replace("first", "random")]
    assert study.regret("mine").tolist() == study.regret(text).tolist()
    assert what_if(shown["log"], table).other_arms.tolist() == what_if(shown["log"], text).other_arms.tolist()
    assert replay(shown["log"], {"kind": "tp-ucb-fr"}).equal
    assert small().policy(table).parameters == small().policy(text).parameters


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({"groups": 2}, PolicyError, "has no kind"),
        ({"kind": "tp-ucb-rf"}, UnknownNameError, "did you mean 'tp-ucb-fr'"),
        ({"kind": "tp-ucb-fr", "group": 2}, PolicyError, "group"),
        ({"kind": "tp-ucb-fr", "groups": "two"}, PolicyError, "groups"),
        ({"kind": "tp-ucb-fr", "name": 3}, PolicyError, "name must be text"),
    ],
)
def test_a_dictionary_that_is_no_policy(table: dict[str, Any], error: type[TpstreamError], message: str) -> None:
    """An error says what is wrong with it."""
    with pytest.raises(error, match=message):
        simulate(small(), table)


@pytest.mark.parametrize("one", ["uniform", {"kind": "uniform"}])
def test_policies_are_a_list(one: Any) -> None:
    """One policy where a list is expected is an error that says so."""
    with pytest.raises(StudyError, match="policies must be a list"):
        compare(small(), one, runs=1)


def test_completion_offers_what_users_need() -> None:
    """`dir` of a scenario and of its class has their own names and none of pydantic's, which still work."""
    scenario = small()
    names = [name for name in dir(scenario) if not name.startswith("_")]
    assert {"horizon", "arms", "with_", "policy", "load"} <= set(names)
    assert not [name for name in names if name.startswith(("model_", "parse_")) or name in {"copy", "dict", "json"}]
    assert {"load", "with_"} <= set(dir(Scenario)) < {*dir(scenario), "__signature__"}
    assert scenario.model_copy() == scenario


def test_pyplot_keeps_no_figure(shown: Mapping[str, Any]) -> None:
    """No figure of ours touches the state of pyplot, so that a notebook shows each of them once."""
    figures = [shown[name].plot() for name in DRAWN]
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert len(figures) == len(DRAWN)
    assert pyplot is None or not pyplot.get_fignums()
