"""Sweeps: any key by its path, all combinations, the same random numbers, and nothing done twice."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from command import Command, tpstream
from hypothesis import given, strategies as st
from studies import KEYS, TOML, kept_runs, small

from tpstream import Scenario, Sweep, compare, read_study, sweep
from tpstream.cli.app import main
from tpstream.figures.sweep import fits_logarithm
from tpstream.model.errors import FigureError, StudyError
from tpstream.policies import POLICIES
from tpstream.run import loop
from tpstream.scenario.overrides import read_set, read_setting, read_sweep, read_values, steps_of
from tpstream.scenario.policy_choice import PolicyChoice

__all__ = ["tpstream"]
DELAYED = {"delays": [{"kind": "geometric", "p": 0.5}, {"kind": "constant", "lag": 2}]}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("5,10,20", [5, 10, 20]),
        ("0.5, 1e-3", [0.5, 1e-3]),
        ("true,false", [True, False]),
        ("first,random", ["first", "random"]),
        ('"first","a, b"', ["first", "a, b"]),
        ("[1, 2], [3, 4]", [[1, 2], [3, 4]]),
        ("[[1, 2], [3]]", [[[1, 2], [3]]]),
        ("5:50:15", [5, 20, 35, 50]),
        ("5:48:15", [5, 20, 35]),
        ("3:5", [3, 4, 5]),
        ("10:30:10", [10, 20, 30]),
        ("0.1:0.3:0.1", [0.1, 0.2, 0.3]),
        ("3:1:-1", [3, 2, 1]),
        ("1:2:0.5", [1.0, 1.5, 2.0]),
        ("1_000:2_000:1e3", [1000.0, 2000.0]),
        ("1,5:7,first", [1, 5, 6, 7, "first"]),
        ("1:1", [1]),
    ],
)
def test_values(text: str, values: list[Any]) -> None:
    """Values are as in TOML, words need no quotes, ranges have both ends."""
    found = read_values(text)
    assert found == values
    assert [type(one) for one in found] == [type(one) for one in values]


@given(
    st.integers(-1000, 1000),
    st.integers(0, 40),
    st.one_of(st.integers(1, 50), st.integers(-50, -1)),
    st.sampled_from([1, 10, 100]),
)
def test_ranges(first: int, count: int, step: int, scale: int) -> None:
    """A range in decimals is the range in whole numbers, scaled."""
    numbers = [first + step * number for number in range(count + 1)]
    assert read_values(f"{first}:{numbers[-1]}:{step}") == numbers
    digits = len(str(scale)) - 1
    text = ":".join(f"{number / scale:.{digits}f}" for number in (first, numbers[-1], step))
    assert read_values(text) == [number / scale for number in numbers]


@pytest.mark.parametrize("text", ["5:1", "1:5:-1", "1:5:0"])
def test_a_range_that_leads_nowhere(text: str) -> None:
    """A step away from the end is an error."""
    with pytest.raises(StudyError, match=f"range {text}: its step leads away"):
        read_values(text)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("span", ("span",)),
        ("arms.low.maximum", ("arms", "low", "maximum")),
        ("arms[0].maximum", ("arms", "0", "maximum")),
        ("arms.0.maximum", ("arms", "0", "maximum")),
        ("arms.*.maximum", ("arms", "*", "maximum")),
        ("arms[*].maximum", ("arms", "*", "maximum")),
        ("rewards.a[2]", ("rewards", "a", "2")),
        ('policies."x=0.5".groups', ("policies", "x=0.5", "groups")),
    ],
)
def test_steps(path: str, steps: tuple[str, ...]) -> None:
    """Paths are TOML's dotted keys, with numbers in brackets, too."""
    assert steps_of(path) == steps


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("span", lambda value: {"span": value}),
        ("rewards.groups", lambda value: {"rewards": {"kind": "smooth-beta", "groups": value, "spread": "random"}}),
        ("window", lambda value: {"window": float(value)}),
    ],
)
def test_a_cell_is_a_comparison(path: str, change: Any) -> None:
    """Each cell has the result that a comparison of the changed scenario has."""
    values = [6.0, 3.0] if path == "window" else [6, 3]
    found = sweep(small(), {path: values}, ["tp-ucb-ew", "uniform"], runs=2)
    for study, value in zip(found.studies, values, strict=True):
        expected = compare(small(**change(value)), ["tp-ucb-ew", "uniform"], runs=2)
        assert study.results().equals(expected.results())


@pytest.mark.parametrize("path", ["arms.low.maximum", "arms[0].maximum", "arms.0.maximum"])
def test_arms_by_name_and_number(path: str) -> None:
    """An arm is found by its name or its number."""
    found = sweep(small(), {path: [10.0, 40.0]}, ["uniform"], runs=1)
    assert [study.means.tolist() for study in found.studies] == [[5.0, 10.0, 15.0], [20.0, 10.0, 15.0]]


def test_all_arms() -> None:
    """A star means every arm."""
    found = sweep(small(), {"arms.*.maximum": [8.0]}, ["uniform"], runs=1)
    assert found.studies[0].means.tolist() == [4.0, 4.0, 4.0]


def test_delays_by_kind_and_number() -> None:
    """A delay is found by its kind or its number."""
    by_kind = sweep(small(**DELAYED), {"delays.constant.lag": [1, 5]}, ["tp-ucb-ew"], runs=2)
    by_number = sweep(small(**DELAYED), {"delays[1].lag": [1, 5]}, ["tp-ucb-ew"], runs=2)
    columns = ["regret", "low", "high"]
    assert by_kind.table()[columns].equals(by_number.table()[columns])


def test_parameters_of_policies() -> None:
    """A parameter of one policy changes that one only; the others are the same in every cell."""
    found = sweep(small(), {"policies.tp-ucb-fr.groups": [1, 2, 6]}, ["tp-ucb-fr", "ucb1"], runs=3)
    expected = [compare(small(), [f"tp-ucb-fr:groups={groups}", "ucb1"], runs=3) for groups in (1, 2, 6)]
    for study, other, groups in zip(found.studies, expected, (1, 2, 6), strict=True):
        assert study.counts["tp-ucb-fr"].tolist() == other.counts[f"tp-ucb-fr:groups={groups}"].tolist()
        assert study.counts["ucb1"].tolist() == other.counts["ucb1"].tolist()


def test_nothing_is_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of one world share its runs: each policy with each of its parameters runs once."""
    started: list[list[str]] = []
    take_turns = loop._run_policies_in_turn

    def noted(scenario: Scenario, choices: list[PolicyChoice], *rest: Any) -> Any:
        started.append([str(choice.parameters.model_dump().get("groups")) for choice in choices])
        return take_turns(scenario, choices, *rest)

    monkeypatch.setattr(loop, "_run_policies_in_turn", noted)
    sweep(small(), {"policies.tp-ucb-fr.groups": [1, 2, 3]}, ["tp-ucb-fr", "ucb1"], runs=2)
    assert started == [["1", "None", "2", "3"], ["1", "None", "2", "3"]]


def test_products_and_pairs() -> None:
    """All combinations by default; the values side by side if they go together."""
    sets = {"span": [6, 12], "rewards.groups": [2, 3]}
    product = sweep(small(), sets, ["uniform"], runs=1)
    assert [tuple(settings.values()) for settings in product.settings] == [(6, 2), (6, 3), (12, 2), (12, 3)]
    pairs = sweep(small(), sets, ["uniform"], runs=1, together=True)
    assert [tuple(settings.values()) for settings in pairs.settings] == [(6, 2), (12, 3)]
    with pytest.raises(StudyError, match="need equally many values; span has 2, drain has 1"):
        sweep(small(), {"span": [6, 12], "drain": [True]}, ["uniform"], runs=1, together=True)


def test_random_numbers_are_common() -> None:
    """Run k meets the same rewards in every cell: what a key does not touch stays as it is, to the last pull."""
    found = sweep(small(), {"arms.high.maximum": [30.0, 300.0]}, ["uniform"], runs=2)
    first, second = (study.counts["uniform"].tolist() for study in found.studies)
    assert first == second


BAD = [
    ({"sapn": [1]}, "sapn: a scenario has no key 'sapn' (did you mean 'span'?)"),
    ({"arms.lwo.maximum": [1.0]}, "arms has no 'lwo' (did you mean 'low'?); known: low, middle, high"),
    ({"arms.low.maximun": [1.0]}, "arms[0] has no key 'maximun' (did you mean 'maximum'?)"),
    ({"arms[3].maximum": [1.0]}, "arms has no '3'"),
    ({"span.x": [1]}, "span is 6 and has no keys"),
    ({"delays.poisson.mean": [1.0]}, "the scenario has no delays; give all of it first, as in --set 'delays=...'"),
    ({"policies.tp-ucb-rf.groups": [1]}, "no policies 'tp-ucb-rf' (did you mean 'tp-ucb-fr'?)"),
    ({"policies.tp-ucb-fr.group": [1]}, "tp-ucb-fr has no parameter 'group' (did you mean 'groups'?)"),
    ({"policies.*.group": [1]}, "* has no parameter 'group'"),
    ({"policies.tp-ucb-fr": [1]}, "write policies.NAME.PARAMETER"),
    ({"policies.tp-ucb-fr.groups": [4]}, "with policies.tp-ucb-fr.groups=4: tp-ucb-fr: groups = 4 does not divide"),
    ({"rewards.groups": [4]}, "with rewards.groups=4: rewards.groups: 4 does not divide the span 6"),
    ({"span": ["long"]}, "with span=long: span: must be a whole number, got 'long'"),
    ({"seed": [1, 2]}, "seed: cannot be varied: runs differ by their number"),
    ({"span": []}, "span: has no values"),
    ({"a b": [1]}, "a b: is no path"),
    ({}, "a sweep needs a key to vary"),
]


@pytest.mark.parametrize(("sets", "message"), BAD, ids=[str(*sets) for sets, _ in BAD])
def test_a_mistake(sets: dict[str, list[Any]], message: str) -> None:
    """What is wrong with a path or a value is told before any run, with what was probably meant."""
    with pytest.raises(StudyError) as error:
        sweep(small(), sets, runs=1)
    assert message in str(error.value)


def test_all_policies() -> None:
    """A star means every policy that has the parameter."""
    found = sweep(small(), {"policies.*.ties": ["first"]}, ["tp-ucb-fr", "uniform"], runs=2)
    expected = compare(small(), ["tp-ucb-fr:ties=first"], runs=2)
    assert found.studies[0].counts["tp-ucb-fr"].tolist() == expected.counts["tp-ucb-fr:ties=first"].tolist()


def test_tables_have_the_settings() -> None:
    """Every table begins with a column for each path."""
    found = sweep(small(), {"span": [6, 12], "policies.tp-ucb-fr.ties": ["first", "random"]}, ["tp-ucb-fr"], runs=2)
    for table in (found.table(), found.results(), found.curves([60]), found.pulls(), found.times()):
        assert list(table.columns)[:3] == ["span", "policies.tp-ucb-fr.ties", "policy"]
        assert sorted(set(table["span"])) == [6, 12]
    assert len(found.contrasts()) == 0


@pytest.mark.parametrize(
    ("values", "logarithm"),
    [([1, 10, 100], True), ([1, 2, 3, 4], False), ([5, 10], False), ([0, 1, 10], False), ([5, 10, 20, 50], True)],
)
def test_axes(values: list[float], logarithm: bool) -> None:  # noqa: FBT001
    """Values are on a logarithmic axis where that keeps the nearest two further apart."""
    assert fits_logarithm(values) == logarithm


@pytest.mark.parametrize(
    "sets",
    [
        {"span": [6, 12, 24]},
        {"policies.tp-ucb-fr.ties": ["first", "random"]},
        {"span": [6, 12], "rewards.groups": [1, 2, 3, 6]},
        {"drain": [True, False]},
    ],
)
def test_figures(tmp_path: Path, sets: dict[str, list[Any]]) -> None:
    """A sweep is drawn over numbers, words and truths, with panels for a second path."""
    found = sweep(small(), sets, ["tp-ucb-fr", "uniform"], runs=2)
    found.plot(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")


def test_a_path_with_one_value_has_no_axis() -> None:
    """The figure is over the path that was varied, whatever else was set for all cells."""
    found = sweep(small(), {"drain": [False], "span": [3, 6]}, ["uniform"], runs=1)
    (axes,) = found.plot().axes
    assert axes.get_xlabel() == "span"
    (alone,) = sweep(small(), {"span": [3]}, ["uniform"], runs=1).plot().axes
    assert alone.get_xlabel() == "span"


def test_too_many_panels(tmp_path: Path) -> None:
    """More panels than a page can hold are an error."""
    found = sweep(small(), {"drain": [True, False], "horizon": list(range(10, 23))}, ["uniform"], runs=1)
    with pytest.raises(FigureError, match="13 panels are too many"):
        found.plot(tmp_path / "sweep.png")


def test_files(tmp_path: Path) -> None:
    """A sweep file holds sets as nested tables or quoted paths, lists or ranges."""
    file = tmp_path / "sweep.toml"
    file.write_text(
        """together = true
[set]
span = [6, 12]
policies.tp-ucb-fr.groups = "2:3"
"arms.low.maximum" = [1.0, 2.0]
"""
    )
    sets, together = read_sweep(file)
    assert (sets, together) == (
        {"span": [6, 12], "policies.tp-ucb-fr.groups": [2, 3], "arms.low.maximum": [1.0, 2.0]},
        True,
    )
    file.write_text("span = [6]")
    with pytest.raises(StudyError, match=r"sweep\.toml: unknown key 'span'; write \[set\]"):
        read_sweep(file)
    file.write_text("together = true")
    with pytest.raises(StudyError, match=r"sweep\.toml: no \[set\]"):
        read_sweep(file)


@pytest.mark.parametrize("text", ["span", "span=", "=3", ""])
def test_a_set_that_is_none(text: str) -> None:
    """A set needs a path and values."""
    with pytest.raises(StudyError, match="write PATH=VALUE"):
        read_set(text)


def test_one_value_only() -> None:
    """Where one value is meant, several are an error."""
    assert read_setting("span=7").value == 7
    with pytest.raises(StudyError, match="2 values are a sweep"):
        read_setting("span=7,8")


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sweep` prints a row for each cell and policy, draws, keeps results, and goes on from them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    Path("small.toml").write_text(TOML)
    Path("sweep.toml").write_text("[set]\nspan = [6, 12]\n")

    def call(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tpstream", "sweep", "small.toml", *words])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        assert (left.value.code, printed.err) == (0, "")
        return printed.out

    words = ("--file", "sweep.toml", "--set", "policies.tp-ucb-fr.groups=2,3", "-p", "tp-ucb-fr", "-n", "2", "-j", "1")
    shown = call(*words, "--out", "out", "--rounds", "10,20:40:20", "--figure", "out/sweep.png")
    assert "figure: out/sweep.png" in shown
    assert shown.count("tp-ucb-fr ") >= 4
    found = json.loads(call(*words, "--out", "out", "--rounds", "10,20,40", "--json"))
    expected = sweep(
        Scenario.load("small.toml"), {"span": [6, 12], "policies.tp-ucb-fr.groups": [2, 3]}, ["tp-ucb-fr"], runs=2
    )
    assert [cell["regret"] for cell in found["cells"]] == expected.table()["regret"].tolist()
    assert len(Path("out/results.csv").read_text().splitlines()) == 1 + 4 * 2 * 4


def test_run_with_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`run --set` runs the changed scenario under the changed policy, and --run the run of that number."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(TOML)
    words = ["run", "small.toml", "-p", "tp-ucb-fr", "--set", "span=12", "--set", "policies.tp-ucb-fr.groups=4"]
    monkeypatch.setattr(sys, "argv", ["tpstream", *words, "--run", "5", "--json"])
    with pytest.raises(SystemExit):
        main()
    (row,) = json.loads(capsys.readouterr().out)["policies"]
    expected = compare(small(span=12), ["tp-ucb-fr:groups=4"], runs=6).results()
    assert (row["policy"], row["regret"]) == ("tp-ucb-fr", expected["regret"].iloc[5])


def test_a_cell_in_which_every_run_fails(tmp_path: Path) -> None:
    """Its rows have no numbers, the tables and the figure have the others, and the failures are told."""
    rows = [f"{arm},{paid},2" for arm, paid in (("a", 1), ("b", 2)) for _ in range(5)]
    (tmp_path / "short.csv").write_text("\n".join(["arm,x1,x2", *rows]))
    rewards = {"kind": "trace", "file": str(tmp_path / "short.csv"), "groups": 1}
    scenario = small(span=2, rewards=rewards, arms=[{"name": "a"}, {"name": "b"}])
    found = sweep(scenario, {"horizon": [4, 5, 40]}, ["ucb1", "uniform"], runs=2, folder=tmp_path / "out")
    assert {failure.policy for failure in found.failures} == {"ucb1", "uniform"}
    table = found.table()
    assert table["regret"].isna().tolist() == [False] * 4 + [True] * 2
    assert set(found.pulls()["horizon"]) == set(found.curves()["horizon"]) == {4, 5}
    found.plot(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").exists()


def test_the_number_of_arms() -> None:
    """`arms.count` keeps the first arms, which are paid as they are among all of them."""
    found = sweep(small(), {"arms.count": [1, 2, 3]}, ["uniform"], runs=2)
    assert [study.arms for study in found.studies] == [("low",), ("low", "middle"), ("low", "middle", "high")]
    assert found.table()["arms.count"].tolist() == [1, 2, 3]
    two = small(arms=KEYS["arms"][:2])
    assert found.studies[1].results().equals(compare(two, ["uniform"], runs=2).results())


@pytest.mark.parametrize("count", [0, 4, 1.5, True, "two"])
def test_an_impossible_number_of_arms(count: Any) -> None:
    """It is from one to the number of arms in the scenario, which the error names."""
    with pytest.raises(
        StudyError, match=r"arms\.count: must be a whole number from 1 to 3, .* the first ones are kept"
    ):
        sweep(small(), {"arms.count": [count]}, ["uniform"], runs=1)


def test_the_number_of_arms_for_one_command(tpstream: Command) -> None:
    """The same path works wherever a key can be set, and beside those of arms that are kept."""
    words = ("compare", "small.toml", "-n", 2, "-p", "uniform", "--set", "arms.count=2", "--set", "arms.low.maximum=4")
    told = json.loads(tpstream(*words, "--json").out)
    assert [(one["arm"], one["mean"]) for one in told["pulls"]] == [("low", 2.0), ("middle", 10.0)]


SHAPES = {"early": [4.0, 1.0, 1.0], "late": [1.0, 1.0, 4.0]}
"""Values of `rewards.a` with their labels."""


def shaped(a: list[float]) -> Scenario:
    """The small scenario with these values of `rewards.a`."""
    return small(rewards=KEYS["rewards"] | {"a": a, "b": [1.0, 1.0, 1.0]})


def test_values_with_labels(tmp_path: Path) -> None:
    """Tables, names and figures show the label; the value is the list, and results are those of the list."""
    varied = sweep(shaped([1.0, 1.0, 1.0]), {"rewards.a": SHAPES}, ["uniform"], runs=2, folder=tmp_path / "out")
    assert varied.table()["rewards.a"].tolist() == ["early", "late"]
    assert [study.name for study in varied.studies] == ["small rewards.a=early", "small rewards.a=late"]
    for study, a in zip(varied.studies, SHAPES.values(), strict=True):
        assert study.results().equals(compare(shaped(a), ["uniform"], runs=2).results())
    varied.plot(tmp_path / "one.svg")
    text = (tmp_path / "one.svg").read_text()
    assert ("<!-- early -->" in text, "<!-- 4.0" in text) == (True, False)
    again = read_study(tmp_path / "out")
    assert isinstance(again, Sweep)
    assert again.table().equals(varied.table())


def test_labels_on_the_command_line_and_in_a_file(tpstream: Command, tmp_path: Path) -> None:
    """A table with a label and a value stands for the value; both ways give the same cells, also in a mixture."""
    values = ", ".join(f'{{label = "{label}", value = {value}}}' for label, value in SHAPES.items())
    sets = ("--set", f"rewards.a={values}, [1, 1, 1]")
    (tmp_path / "sweep.toml").write_text(f"[set]\nrewards.a = [{values}, [1, 1, 1]]\n")
    words = ("sweep", "small.toml", "-n", 2, "-p", "uniform", "-j", 1, "--json")
    (tmp_path / "small.toml").write_text(TOML.replace('spread = "random"', 'spread = "random"\nb = [1, 1, 1]'))
    typed, read = (json.loads(tpstream(*words, *more).out) for more in (sets, ("--file", "sweep.toml")))
    assert [one["rewards.a"] for one in typed["cells"]] == ["early", "late", "[1, 1, 1]"]
    times = ("seconds_per_run",)
    assert [{key: one[key] for key in one if key not in times} for one in typed["cells"]] == [
        {key: one[key] for key in one if key not in times} for one in read["cells"]
    ]


def test_labels_that_cannot_be_used() -> None:
    """A label is text, and is given once."""
    for values, message in (
        ([{"label": 3, "value": 6}], "span: the label 3 must be text"),
        ([{"label": "a", "value": 6}, {"label": "a", "value": 12}], "span: the label 'a' is given twice"),
    ):
        with pytest.raises(StudyError, match=message):
            sweep(small(), {"span": values}, ["uniform"], runs=1)


def test_a_failed_run_is_repeated_with_the_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with its label, and tables as in TOML."""
    monkeypatch.setitem(POLICIES.builtin, "moody", "moody:POLICY")  # type: ignore[arg-type]
    (tmp_path / "small.toml").write_text(TOML)
    delays = {"slow": [{"kind": "by-arm", "arms": {"low": {"kind": "constant", "lag": 2}}}]}
    found = sweep(Scenario.load(tmp_path / "small.toml"), {"delays": delays}, ["moody"], runs=8)
    words = shlex.split(found.failures[0].repeat)
    assert found.failures[0].scenario == "small delays=slow"
    path, (value,) = read_set(words[words.index("--set") + 1])
    assert (path, value) == ("delays", delays["slow"])


@pytest.mark.parametrize("path", ["delays.geometric", "delays.geometric.p", "delays[0]", "delays.*.p"])
def test_without_a_delay(path: str) -> None:
    """The value "none" of a delay, or of one of its keys, leaves the delay out; the world is the one without it."""
    plain, late = small(), small(delays=[{"kind": "geometric", "p": 0.2}])
    value = {"kind": "geometric", "p": 0.2} if path in {"delays.geometric", "delays[0]"} else 0.2
    found = sweep(late, {path: ["none", value]}, ["delayed-ucb1"], runs=2)
    assert found.studies[0].results().equals(compare(plain, ["delayed-ucb1"], runs=2).results())
    assert found.studies[1].results().equals(compare(late, ["delayed-ucb1"], runs=2).results())
    assert found.table()[path].tolist()[0] == "none"


def test_a_setting_inside_of_another() -> None:
    """A list that one set gives to all cells is not changed by what another set puts into it in one of them."""
    sets = {"delays": [[{"kind": "poisson", "mean": 3.0}]], "delays.poisson.mean": ["none", 1.0, 5.0]}
    found = sweep(small(), sets, ["uniform"], runs=1)
    assert len(found.studies) == 3
    for settings, study in zip(found.settings, found.studies, strict=True):
        mean = settings["delays.poisson.mean"]
        alone = small() if mean == "none" else small(delays=[{"kind": "poisson", "mean": mean}])
        assert (study.regret("uniform") == compare(alone, ["uniform"], runs=1).regret("uniform")).all()


def test_without_one_of_several_delays() -> None:
    """The others stay, also those inside of another one; a key that a delay does not have is an error all the same."""
    keys = {"delays": [*DELAYED["delays"], {"kind": "by-arm", "arms": {"low": {"kind": "poisson", "mean": 3.0}}}]}
    for path, left in (
        ("delays.geometric.p", [keys["delays"][1], keys["delays"][2]]),
        ("delays.by-arm.arms.low.mean", [*keys["delays"][:2], {"kind": "by-arm", "arms": {"low": {"kind": "none"}}}]),
        ("delays.by-arm.arms.low", [*keys["delays"][:2], {"kind": "by-arm", "arms": {"low": {"kind": "none"}}}]),
        ("delays.by-arm", keys["delays"][:2]),
    ):
        found = sweep(small(**keys), {path: ["none"]}, ["uniform"], runs=1, seed=5)
        assert found.studies[0].results().equals(compare(small(delays=left), ["uniform"], runs=1, seed=5).results())
    with pytest.raises(StudyError, match=r"delays\.geometric\.q: delays\[0\] has no key 'q'"):
        sweep(small(**keys), {"delays.geometric.q": ["none"]}, ["uniform"], runs=1)


def test_a_delay_of_zero_is_no_delay(tmp_path: Path) -> None:
    """The world is the one without the delay: cells share their runs, and a mean of 0 stays a number in the table."""
    late = small(delays=[{"kind": "poisson", "mean": 4.0}])
    found = sweep(late, {"delays.poisson.mean": [0.0, "none"]}, ["ucb1"], runs=3, folder=tmp_path)
    assert found.studies[0].results().equals(compare(small(), ["ucb1"], runs=3).results())
    assert kept_runs(tmp_path) == 3
    numbers = sweep(late, {"delays.poisson.mean": [0.0, 4.0, 40.0]}, ["ucb1"], runs=1)
    assert numbers.table()["delays.poisson.mean"].tolist() == [0.0, 4.0, 40.0]


def test_logarithmic_axes(tpstream: Command, tmp_path: Path) -> None:
    """Both axes can be logarithmic, that of the values also if one of them is 0."""
    words = ("sweep", "small.toml", "-n", 2, "-p", "uniform", "-j", 1, "--set", "span=6,12,18", "-f", "one.svg", "-q")
    drawn = []
    for more in ((), ("--log-x",), ("--log-y",)):
        assert tpstream(*words, *more).code == 0
        drawn.append((tmp_path / "one.svg").read_bytes())
    assert len(set(drawn)) == 3
    late = small(delays=[{"kind": "poisson", "mean": 4.0}])
    found = sweep(late, {"delays.poisson.mean": [0.0, 4.0, 40.0]}, ["ucb1"], runs=2)
    scales = [found.plot(log_values=log_values).axes[0].get_xscale() for log_values in (False, True)]
    assert scales == ["linear", "symlog"]
