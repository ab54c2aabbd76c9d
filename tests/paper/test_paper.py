"""The reproduction, reduced: a few runs against the published numbers, and the whole report on short runs."""

import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from tpstream import Scenario
from tpstream.cli.app import main
from tpstream.model.errors import UnknownNameError
from tpstream.paper import reproduction
from tpstream.paper.agreement import RUNS, Z95, compare_numbers, mean_and_half, published
from tpstream.paper.bound_checks import lower_checks, upper_checks
from tpstream.paper.claims import NO, NOISE, YES, judge
from tpstream.paper.estimates import Estimate, bootstrap, crossing, last_crossings
from tpstream.paper.report import fill_template, table_rows, write_report
from tpstream.paper.reproduction import Curves, Reproduction, reproduce
from tpstream.paper.settings import DELAYED, EW, FR, GRID, NAMES, SETTINGS, Setting, family_scenario, find_settings

FEW = 6
"""Runs against the published numbers."""


@pytest.fixture(scope="session")
def few() -> Reproduction:
    """A few runs of one cell of Setting 2 at the paper's horizon."""
    cell = Setting("2", "one cell", (family_scenario("2", 100, 10),))
    return reproduce([cell], runs=FEW, jobs=2)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the runs of `short` are kept."""
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="session")
def short(folder: Path) -> Reproduction:
    """All settings with three runs of 6,000 rounds, made once for all tests."""
    return reproduce(find_settings(None), runs=3, jobs=2, horizon=6000, folder=folder)


@pytest.mark.parametrize(("horizon", "pools"), [(None, 1), (100, 0)])
def test_all_settings_share_one_pool(monkeypatch: pytest.MonkeyPatch, horizon: int | None, pools: int) -> None:
    """Runs of the paper's length are sent to one pool of processes for all scenarios; short ones need none."""
    opened: list[object] = []
    used: list[object] = []

    @contextmanager
    def open_pool(jobs: int) -> Iterator[object]:
        opened.append(jobs)
        yield opened

    monkeypatch.setattr(reproduction, "process_pool", open_pool)
    monkeypatch.setattr(
        reproduction, "compare", lambda *_, executor, **__: used.append(executor) or SimpleNamespace(failures=())
    )
    reproduce(find_settings(["1", "4"]), runs=2, jobs=2, horizon=horizon)
    assert opened == [2] * pools
    assert used == [opened if pools else None] * 11


@pytest.mark.slow
@pytest.mark.parametrize("policy", [FR, EW, DELAYED])
def test_published_regret(few: Reproduction, policy: str) -> None:
    """A few runs agree with the published regret of Setting 2 (span 100, 10 groups).

    The standard deviation is the published one, so the difference in standard errors is standard normal for an exact
    implementation: each of the three tests fails for a wrong reason with probability 0.0009 (3.3 standard errors).
    """
    rows = published("setting2_regret").query("setting == '2' and span == 100 and groups == 10 and policy == @policy")
    (regret,), (half,) = rows["regret"], rows["ci95"]
    final = few.curves(family_scenario("2", 100, 10), policy).final
    error = half / Z95 * math.hypot(1, math.sqrt(RUNS / FEW))
    assert abs(float(final.mean()) - regret) / error < 3.3


@pytest.mark.slow
def test_planted_fault_is_seen(few: Reproduction) -> None:
    """The test above has teeth: TP-UCB-FR's published regret is far from TP-UCB-EW's runs, by over 30 errors."""
    rows = published("setting2_regret").query(
        "setting == '2' and span == 100 and groups == 10 and policy == 'tp-ucb-fr'"
    )
    (regret,), (half,) = rows["regret"], rows["ci95"]
    final = few.curves(family_scenario("2", 100, 10), EW).final
    assert abs(float(final.mean()) - regret) / (half / Z95 * math.hypot(1, math.sqrt(RUNS / FEW))) > 30


@pytest.mark.slow
def test_order_of_policies(few: Reproduction) -> None:
    """TP-UCB-FR loses less than TP-UCB-EW, and that less than Delayed-UCB1, in every single run (paired).

    With other random numbers it fails for a wrong reason with probability below 0.018 (95 % sure): of 1,000 runs none
    was out of order, so at most 3 of 1,000 are, and here are six. The pair that is nearer is Delayed-UCB1 and
    TP-UCB-EW: in those runs 73,671 apart, 6.6 standard deviations of one difference, and never less than 31,700. For a
    normal difference that would be 1e-10; its tails are heavier (excess kurtosis 4.9). The six runs alone, 90,292 apart
    with a standard error of 8,781, make that 0.035 (Student's prediction of another six, if normal).
    """
    fr, ew, delayed = (few.curves(family_scenario("2", 100, 10), policy).final for policy in (FR, EW, DELAYED))
    assert bool(np.all((fr < ew) & (ew < delayed)))


def test_no_upper_bound_is_broken(short: Reproduction) -> None:
    """In every setting no run exceeds its upper bound."""
    assert upper_checks(short)["share"].max() < 1


@pytest.mark.slow
def test_lower_bound_is_not_undercut(few: Reproduction) -> None:
    """At the paper's horizon the slope in ln T of every policy is above the lower bound's, with its whole interval.

    It fails if one of five means of six runs is less than 2.57 standard errors above the bound. Nearest to it is
    Delayed-UCB1 with a random start: 22 standard errors in these runs, 28.0 of six in 1,000 runs (112,719 with a
    standard deviation of 9,629, against 2,742). For normal slopes Student's noncentral distribution makes that 3e-71,
    and the other four less together; the smallest of all 5 times 166 groups of six in those runs was 16.5.
    """
    assert lower_checks(few).eval("low > least").all()


def test_who_assumes_groups(short: Reproduction) -> None:
    """A policy that knows of no groups, or of one, assumes nothing; the songs of a playlist are no groups."""
    applies = lower_checks(short).query("scenario == 'spotify-like'").set_index("policy")["applies"]
    assert applies.filter(like="ucb1").all()
    assert not applies.filter(like="tp-ucb").any()


def test_report(short: Reproduction, tmp_path: Path) -> None:
    """The report shows every figure that was drawn, and compares no published number with short runs."""
    files = write_report(short, tmp_path / "docs" / "reproduction.md")
    text = " ".join(files[0].read_text().split())
    shown = re.findall(r"\]\(images/(.*?)\)", text)
    assert sorted(shown) == sorted(file.name for file in files[1:])
    assert all(file.stat().st_size > 10_000 for file in files[1:])
    assert "6,000 rounds instead of the paper's" in text
    assert "standard errors" not in text


def test_runs_are_kept(short: Reproduction, folder: Path) -> None:
    """What was run is not run again: a second reproduction from the same folder has the same regrets and times."""
    again = reproduce(find_settings(["spotify"]), runs=3, jobs=1, horizon=6000, folder=folder)
    one, other = (found.studies["spotify-like"] for found in (short, again))
    assert [one.regret(policy).tolist() for policy in one.records] == [
        other.regret(policy).tolist() for policy in other.records
    ]
    assert one.times().equals(other.times())


def test_full_report(short: Reproduction, tmp_path: Path) -> None:
    """With the paper's horizon every published number has its row, and runs that are too short are found out."""
    text = write_report(replace(short, horizon=None), tmp_path / "reproduction.md")[0].read_text()
    rows = [line for line in text.splitlines() if re.match(r"\| 2(\.\d)? \| \d+ \| \d+ \| (UCB1|Del|TP)", line)]
    assert len(rows) == 64
    assert "0 of 16 cells" in text
    assert text.count("**no**") > 64
    assert all(
        f"## {title}" in text for title in ("In short", "What the paper says in words", "What differs", "Theory")
    )
    assert "$" not in text


def test_paper_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`tpstream paper` runs the asked settings, keeps their runs, writes the report and prints the summary."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["tpstream", "paper", "--setting", "spotify", "-n", "2", "-t", "200", "-j", "1", "--theory"]
    )
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    assert "no run exceeds its upper bound" in " ".join(capsys.readouterr().out.split())
    assert (tmp_path / "docs" / "reproduction.md").is_file()
    assert (tmp_path / "logs" / "paper" / "spotify-like-200").is_dir()
    assert (tmp_path / "docs" / "images" / "theory-spotify-like.png").is_file()


def test_the_page_in_docs_is_of_this_template() -> None:
    """All lines of the template without values are in docs/reproduction.md, in their order."""
    root = Path(__file__).parents[2]
    fixed = [
        line for line in (root / "tpstream/paper/report_template.md").read_text("utf-8").split("\n") if "$" not in line
    ]
    page = iter((root / "docs/reproduction.md").read_text("utf-8").split("\n"))
    assert [line for line in fixed if line not in page] == []


def test_unknown_setting() -> None:
    """A setting that the paper does not have is an error with the known ones."""
    with pytest.raises(UnknownNameError, match=r"known: 1, 2, 2\.1"):
        find_settings(["3"])


def test_settings_in_the_papers_order() -> None:
    """Settings come in the paper's order, whatever the order of asking."""
    assert [setting.name for setting in find_settings(["5", "1", "2.1"])] == ["1", "2.1", "5"]


def test_published_tables_fit_together() -> None:
    """The main text's percentages follow from the appendix's regrets, to the last digit."""
    regrets = published("setting2_regret").query("setting == '2'").set_index(["span", "groups", "policy"])["regret"]
    for span, groups, policy, percent, _ in published("setting2_percent_of_delayed").itertuples(index=False):
        share = 100 * regrets[span, groups, policy] / regrets[span, groups, DELAYED]
        assert share == pytest.approx(percent, abs=0.005 + 1e-9)


def test_published_numbers_are_complete() -> None:
    """There are 64 cells: four settings, four pairs of span and groups, four policies."""
    cells = set(
        published("setting2_regret")[["setting", "span", "groups", "policy"]].itertuples(index=False, name=None)
    )
    wanted = {(name, *pair, policy) for name in ("2", "2.1", "2.2", "2.3") for pair in GRID for policy in NAMES}
    assert cells == wanted


@pytest.mark.parametrize("number", range(1, 11))
def test_setting_4_has_the_published_parameters(number: int) -> None:
    """The scenario's Beta parameters are the published ones."""
    rewards = Scenario.load(f"setting-4-{number}").resolved()["rewards"]
    printed = published("setting4_parameters").iloc[number - 1]
    assert all(list(rewards[name]) == [int(one) for one in printed[name].split(",")] for name in ("a", "b"))


def test_scenarios_of_all_settings_exist() -> None:
    """Every scenario of every setting ships, and its policies can be chosen."""
    for setting in SETTINGS.values():
        for name in setting.scenarios:
            scenario = Scenario.load(name)
            assert [scenario.policy(policy).label for policy in setting.policies] == list(setting.policies)


def test_agreement() -> None:
    """Hand-worked: half-widths 3 and 4 make 5, so a difference of 5 is 1.96 standard errors, and 5 % of 100."""
    found = compare_numbers([("one", 105, 3, 100, 4), ("other", 105.1, 3, 100, 4)], ["policy"])
    assert found["percent"].tolist() == pytest.approx([5.0, 5.1])
    assert found["errors"][0] == pytest.approx(1.96)
    assert found["agrees"].tolist() == [True, False]


def test_our_interval_is_the_papers_kind() -> None:
    """Half of our interval is 1.96 standard deviations divided by the root of the runs."""
    assert mean_and_half(np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx((2.5, 1.96 * 1.2909944487 / 2))


def test_crossing_by_hand() -> None:
    """A difference of +10 at round 10 and -30 at round 20 crosses at 12.5; the last crossing counts."""
    rounds = np.array([1, 5, 10, 20, 30])
    difference = np.array([[0.0, -1.0, 10.0, -30.0, -40.0]])
    assert last_crossings(rounds, difference).tolist() == [12.5]


def test_crossing_that_never_or_always_is() -> None:
    """Below all along: the first checkpoint. Not below at the end: infinite."""
    rounds = np.array([2, 5])
    assert last_crossings(rounds, np.array([[-1.0, -1.0], [-1.0, 0.0], [3.0, 2.0]])).tolist() == [2.0, np.inf, np.inf]


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=8), st.integers(1, 5))
def test_crossing_is_followed_by_negatives(values: list[int], runs: int) -> None:
    """After the crossing the mean difference is negative at every checkpoint, and at the one before it is not."""
    rounds = np.arange(1, len(values) + 1) * 10
    regret = np.tile(np.array(values, dtype=float), (runs, 1))
    found = crossing(Curves(rounds, regret), Curves(rounds, np.zeros_like(regret)))
    assert all(value < 0 for round, value in zip(rounds, values, strict=True) if round > found.value)
    before = [value for round, value in zip(rounds, values, strict=True) if round <= found.value]
    assert found.value == 10 or before[-1] >= 0


def test_bootstrap_interval() -> None:
    """The interval of a mean is near Student's, and the same every time."""
    values = np.random.default_rng(3).normal(10, 2, 200)
    one, other = (bootstrap(200, lambda weights: weights @ values) for _ in range(2))
    assert one == other
    assert (one.low, one.high) == pytest.approx((values.mean() - 0.2772, values.mean() + 0.2772), abs=0.03)


@pytest.mark.parametrize(("value", "verdict"), [(1.0, YES), (3.0, NOISE), (9.0, NO)])
def test_verdicts(value: float, verdict: str) -> None:
    """A claim holds, or its interval allows it, or it does not hold."""
    assert judge([Estimate(value, value - 2, value + 2)], (0, 2)) == verdict


def test_rows_of_tables() -> None:
    """A line of the template is repeated for each row of its table; truth values are in words."""
    table = pd.DataFrame({"a": ["x", "y"], "b": [True, False], "c": [1, 0]})
    lines = "| x | yes | 1.0 |\n| y | **no** | 0.0 |"
    assert table_rows(table, "| {a} | {b} | {c:.1f} |") == lines
    assert fill_template("| a |\n$t: | {a} | {b} | {c:.1f} |\n", {"t": table}, []) == f"| a |\n{lines}\n"


def test_parts_without_their_values_are_left_out() -> None:
    """The text under a heading is left out if one of its values, or one of its figures, is missing."""
    template = "# Page\n\n## One\n\n$one\n\n### Two\n\n$two\n\n## Three\n\n![3](images/3.png)\n\n## End\n\nof $one\n"
    assert fill_template(template, {"one": "1"}, []) == "# Page\n\n## One\n\n1\n\n## End\n\nof 1\n"
    assert "![3](images/3.png)" in fill_template(template, {"one": "1"}, ["3.png"])
