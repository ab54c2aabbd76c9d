"""Traces: records that are read in order or drawn from, and the errors in their files."""

import os
import re
import tomllib
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from command import Command, tpstream
from hypothesis import given, strategies as st
from rewards_helper import Keys, build

from tpstream.experiment.compare import compare
from tpstream.experiment.sweep import sweep
from tpstream.model import recorded_files
from tpstream.model.errors import PolicyError, RewardError, ScenarioError
from tpstream.model.interfaces import BuildContext, Recorded, Rewards
from tpstream.model.recorded_files import read_column
from tpstream.rewards import REWARDS
from tpstream.run.simulate import simulate
from tpstream.scenario.scenario import Scenario

__all__ = ["tpstream"]  # the fixture

HEADER = "arm,x1,x2\n"
SMALL = HEADER + "a,1,2\nb,3,4\na,0,1\n"


def trace(folder: Path, text: str | bytes, arms: tuple[Keys, ...] = ({}, {}), **keys: object) -> Rewards:
    """The model of a CSV file with that text, of span 2."""
    (folder / "rows.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return build("trace", {"file": "rows.csv", **keys}, arms, 2, folder)


def rows_of(rewards: Rewards) -> list[list[list[float]]]:
    """All recorded rows of every arm."""
    return [arm.recorded(0, 100).tolist() for arm in rewards.arms if isinstance(arm, Recorded)]


def test_moments_come_from_the_rows(tmp_path: Path) -> None:
    """Mean and maximum of an arm are those of its row sums; a record guarantees no groups."""
    rewards = trace(tmp_path, SMALL)
    assert [(arm.mean, arm.maximum) for arm in rewards.arms] == [(2, 3), (7, 7)]
    assert rewards.groups is None


def test_refunds(tmp_path: Path) -> None:
    """Negative values are kept in both layouts and make rewards signed; an arm that never pays needs a maximum."""
    wide = trace(tmp_path, HEADER + "a,3,-2\nb,1,0\na,-1,0\n")
    long = trace(tmp_path, "pull,arm,part,value\n1,a,1,3\n1,a,2,-2\n2,b,1,1\n3,a,1,-1\n")
    assert rows_of(wide) == rows_of(long) == [[[3, -2], [-1, 0]], [[1, 0]]]
    assert [(arm.mean, arm.maximum) for arm in wide.arms] == [(0, 1), (1, 1)]
    assert wide.signed
    assert long.signed
    assert not trace(tmp_path, SMALL).signed
    with pytest.raises(ScenarioError, match=r"every row of arm 'b' pays less than nothing.*give it"):
        trace(tmp_path, HEADER + "a,3,-2\nb,0,-1\n")


def test_who_can_learn_from_refunds(tmp_path: Path) -> None:
    """A policy that needs rewards of at least 0 is refused in one line; a Gaussian one runs, and refunds are earned."""
    (tmp_path / "rows.csv").write_text(HEADER + "a,3,-2\nb,1,0\na,-1,0\n")
    keys = {"name": "n", "horizon": 300, "rewards": {"kind": "trace", "file": "rows.csv", "draw": "resample"}}
    keys |= {"arms": [{"name": "a"}, {"name": "b"}], "currency": "EUR", "drain": True}
    scenario = Scenario.parse(keys, tmp_path)
    for policy in ("delayed-ucb1", "tp-ucb-fr:groups=1", "delayed-thompson", "completion-ucb", "gittins"):
        with pytest.raises(PolicyError, match=r"^.*needs parts of at least 0, and these rewards are signed; use .*$"):
            simulate(scenario, policy)
    run = simulate(scenario, "delayed-thompson:family=gauss,variance=empirical,prior=none", engine="simpy")
    events = run.events()
    paid = events.loc[events["kind"] == "partial", "value"]
    assert paid.min() == -2
    assert run.arms.mean() > 0.7
    earned = compare(scenario.with_(drain=False), ["uniform"], runs=1).money()["earned"].iloc[-1]
    events = simulate(scenario.with_(drain=False), "uniform").events()
    assert earned == pytest.approx(events.loc[events["kind"] == "partial", "value"].sum())


def test_a_sequence_is_read_in_order_to_its_end(tmp_path: Path) -> None:
    """The rows of an arm come in the order of the file, and fewer than asked for at the end."""
    arm = trace(tmp_path, SMALL).arms[0]
    assert isinstance(arm, Recorded)
    assert [arm.recorded(*asked).tolist() for asked in ((0, 1), (1, 5), (2, 3))] == [[[1, 2]], [[0, 1]], []]
    assert arm.recorded(2, 3).shape == (0, 2)


def test_what_is_handed_out_can_be_changed(tmp_path: Path) -> None:
    """Changing rows that were handed out does not change the record."""
    arm = trace(tmp_path, SMALL).arms[0]
    assert isinstance(arm, Recorded)
    arm.recorded(0, 2)[:] = 9
    assert arm.recorded(0, 2).tolist() == [[1, 2], [0, 1]]


def test_a_sequence_cannot_be_sampled(tmp_path: Path) -> None:
    """Sampling a sequence is an error that says what to use."""
    with pytest.raises(RewardError, match='draw = "resample"'):
        trace(tmp_path, SMALL).arms[0].sample(np.random.default_rng(0), 1)


def test_resampling_draws_rows_of_the_arm(tmp_path: Path) -> None:
    """Each row of the arm is drawn equally often (within 5 standard errors at 10,000 draws), and no other."""
    arm = trace(tmp_path, SMALL, draw="resample").arms[0]
    assert not isinstance(arm, Recorded)
    rows, counts = np.unique(arm.sample(np.random.default_rng(0), 10_000), axis=0, return_counts=True)
    assert rows.tolist() == [[0, 1], [1, 2]]
    assert abs(counts[0] - 5000) < 5 * 50


@pytest.mark.parametrize("text", [HEADER + "0,1,2\n1,3,4\n0,0,1\n", "x2,note,arm,x1\n2,?,a,1\n4,!,b,3\n1,.,a,0\n"])
def test_arms_by_number_and_columns_in_any_order(tmp_path: Path, text: str) -> None:
    """Numbers from 0 stand for arms as names do; columns are found by name and others are ignored."""
    assert rows_of(trace(tmp_path, text)) == rows_of(trace(tmp_path, SMALL))


def test_a_name_that_looks_like_a_number_is_a_name(tmp_path: Path) -> None:
    """If all labels are names of arms they are names, even where they could be numbers."""
    (tmp_path / "rows.csv").write_text(HEADER + "1,1,2\n0,3,4\n")
    kind = REWARDS.find("trace")
    context = BuildContext(["1", "0"], 2, tmp_path)
    rewards = kind.build(kind.settings(file="rows.csv"), [kind.arm_settings()] * 2, context)
    assert rows_of(rewards) == [[[1, 2]], [[3, 4]]]


@pytest.mark.parametrize("arms", [["a", "b", "a"], [0, 1, 0], pd.Categorical(["a", "b", "a"])])
def test_parquet_equals_csv(tmp_path: Path, arms: object) -> None:
    """A Parquet file gives the same rows as a CSV file, whatever the type of its columns."""
    frame = pd.DataFrame({"arm": arms, "x1": [1, 3, 0], "x2": np.array([2, 4, 1], dtype=np.float32), "note": "unused"})
    frame.to_parquet(tmp_path / "rows.parquet")
    assert rows_of(build("trace", {"file": "rows.parquet"}, [{}, {}], 2, tmp_path)) == rows_of(trace(tmp_path, SMALL))


def test_given_maximum_and_groups(tmp_path: Path) -> None:
    """A maximum at or above the largest row sum is taken, also where only rounding makes the sum larger."""
    text = HEADER + "a,0.1,0.2\nb,0,0\n"
    rewards = trace(tmp_path, text, ({"maximum": 0.3}, {"maximum": 5}), groups=2)
    assert [arm.maximum for arm in rewards.arms] == [0.3, 5]
    assert rewards.groups == 2


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", r"cannot be read \(Empty CSV file\); give CSV or \.parquet"),
        (b"arm\xff,x1\n", r"is not UTF-8 text \(line 1 of the file\); save it as UTF-8$"),
        ((SMALL + "caf\u00e9,1,2\n").encode("cp1252"), r"is not UTF-8 text \(line 5 of the file\); save it as UTF-8$"),
        (SMALL.encode("utf-16"), r"is not UTF-8 text \(line 1 of the file\); save it as UTF-8$"),
        (HEADER + "a,1\n", r"row 1: has 2 values but the first line has 3 titles; correct it"),
        ("arm,x1,X2\na,1,2\n", r"has no column 'x2' \(did you mean 'X2'\?\); it needs arm and x1 to x2"),
        ("arm,x1,x2,x1\na,1,2,3\n", r"has 2 columns 'x1'; keep one"),
        (SMALL + "a, 1,few\n", r"row 4, column x2: 'few' is not a number; give a finite number"),
        (SMALL + "a,,1\n", r"row 4, column x1: the value is missing; give a finite number"),
        (SMALL + "a,nan,1\n", r"row 4, column x1: the value is missing; give a finite number"),
        (SMALL + "a,1,inf\n", r"row 4, column x2: inf is infinite; give a finite number"),
        (HEADER + "a,1,2\n", r"has no row of arm 'b'; add rows or drop the arm"),
        (HEADER, r"has no row of arm 'a'; add rows or drop the arm"),
        (SMALL + "2,1,1\n", r"row 4, column arm: '2' is no arm; use one of a, b, or numbers 0 to 1"),
        (SMALL + "aa,1,1\n", r"row 4, column arm: 'aa' is no arm \(did you mean 'a'\?\); use one of a, b"),
    ],
)
def test_faults_of_a_file(tmp_path: Path, text: str | bytes, error: str) -> None:
    """An error in the file is one line with the file, the place, the value and the remedy."""
    with pytest.raises(ScenarioError, match=rf"^rewards\.file: rows\.csv {error}") as caught:
        trace(tmp_path, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("mark", [".", ","])
def test_separators_and_decimal_commas_are_recognised(tmp_path: Path, separator: str, mark: str) -> None:
    """Semicolons and tabs separate columns as commas do, and numbers may then have decimal commas."""
    text = "arm,x1,x2\na,1.5,2\nb,.25,1e3\n"
    other = text.replace(",", separator).replace(".", mark)
    assert rows_of(trace(tmp_path, other)) == [[[1.5, 2]], [[0.25, 1000]]]
    keys = {"name": "n", "horizon": 2, "rewards": {"kind": "trace", "file": "rows.csv"}, "arms": [{"name": "a"}]}
    with pytest.raises(ScenarioError, match="'b' is no arm"):  # the span is known: it is implied by the titles
        Scenario.parse(keys, tmp_path)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "arm;x1;x2\na;1,5;2.5\nb;1;1\n",
            r"row 1, column x1: '1,5' has a comma, and other numbers have a point",
        ),
        ("arm;x1;x2\na;1;2\nb;1.234,5;1\n", r"row 2, column x1: '1.234,5' has a comma and a point; write all"),
        ("arm;x1;x2\na;1;2\nb;1,234,5;1\n", r"row 2, column x1: '1,234,5' is not a number"),
        (
            "arm;x1;x2\na;1,5;2\nb;1.5;1\na;2,5;0\n",
            r"row 2, column x1: '1.5' has a point, and other numbers have a comma \(2 of them\); write all",
        ),
        (
            "arm;x1;x2\na;1.5;2\nb;1,5;1\na;2.5;0\n",
            r"row 2, column x1: '1,5' has a comma, and other numbers have a point \(2 of them\); write all",
        ),
        ("arm;x1;x2\na;1,5;2\nb;1;n.v.\n", r"row 2, column x2: 'n.v.' is not a number; .*\(row 1 is the line below"),
        (
            'arm,x1,x2\na,"1,5",2\nb,1,1\n',
            r"row 1, column x1: '1,5' has a comma, and so have the columns between",
        ),
        ("arm,x1,x2\na,1,5,2\n", r"row 1: has 4 values .*; correct it; if it has decimal commas, separate the columns"),
        (
            "arm:x1:x2\na:1:5\n",
            r"has neither the columns arm, x1, .* its first line has arm:x1:x2, with commas, semic",
        ),
    ],
)
def test_what_is_not_recognised_is_named(tmp_path: Path, text: str, error: str) -> None:
    """Numbers and separators that may mean two things are refused with the remedy."""
    with pytest.raises(ScenarioError, match=rf"^rewards\.file: rows\.csv {error}"):
        trace(tmp_path, text)


def test_a_single_column_may_have_decimal_commas(tmp_path: Path) -> None:
    """A file of lags or times has one column, so that a comma cannot separate anything."""
    (tmp_path / "lags.csv").write_text("lag\n1,5\n2\n")
    assert read_column(tmp_path / "lags.csv", "lag").tolist() == [1.5, 2]


LONG = "pull,arm,part,value\n7,a,1,1\n7,a,2,2\n3,b,2,4\n3,b,1,3\n8,a,2,1\n"


@pytest.mark.parametrize("text", [LONG, LONG.replace(",", ";"), "note,value,part,pull,arm\n" + "".join(
    f"?,{line.split(',')[3]},{line.split(',')[2]},{line.split(',')[0]},{line.split(',')[1]}\n"
    for line in LONG.splitlines()[1:]
)])  # fmt: skip
def test_a_long_file_has_a_row_for_each_part(tmp_path: Path, text: str) -> None:
    """It gives what the wide one gives, pulls in the order in which they first occur; a part without a row paid 0."""
    assert rows_of(trace(tmp_path, text)) == rows_of(trace(tmp_path, SMALL))


@given(
    rows=st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 3), min_size=3, max_size=3)), max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_long_and_wide_files_agree(rows: list[tuple[str, list[int]]], order: Random) -> None:
    """Whatever pulls there are, a long file of them, its parts in any order, reads as the wide one."""
    rows = [("a", [1, 0, 0]), ("b", [0, 0, 1]), *rows]
    wide = "arm,x1,x2,x3\n" + "".join(f"{arm},{x[0]},{x[1]},{x[2]}\n" for arm, x in rows)
    long = "pull,arm,part,value\n"
    for number, (arm, parts) in enumerate(rows):
        paid = [(part, value) for part, value in enumerate(parts, 1) if value] or [(1, 0)]
        order.shuffle(paid)
        long += "".join(f"p{number},{arm},{part},{value}\n" for part, value in paid)
    found = []
    with TemporaryDirectory() as folder:
        for name, text in (("wide", wide), ("long", long)):
            (Path(folder) / f"{name}.csv").write_text(text)
            found.append(rows_of(build("trace", {"file": f"{name}.csv"}, [{}, {}], 3, Path(folder))))
    assert found[0] == found[1]


def test_the_span_of_a_long_file_is_its_largest_part(tmp_path: Path) -> None:
    """A scenario may leave out the span; one that is smaller is refused, since payments would be dropped."""
    (tmp_path / "rows.csv").write_text(LONG)
    arms = [{"name": "a"}, {"name": "b"}]
    keys = {"name": "n", "horizon": 2, "rewards": {"kind": "trace", "file": "rows.csv"}, "arms": arms}
    assert Scenario.parse(keys, tmp_path).span == 2
    with pytest.raises(ScenarioError, match=r"rows.csv has parts up to 2 but the span is 1.*set span = 2"):
        Scenario.parse({**keys, "span": 1}, tmp_path)


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("7,b,2,1", r"row 6: pull '7' has another arm in an earlier row; give each pull its own label"),
        ("7,a,2,1", r"row 6: part 2 of pull '7' is in an earlier row; add up what it paid in one row"),
        ("9,a,0,1", r"row 6: part 0 is not a whole number from 1 on; correct it"),
        ("9,a,1.5,1", r"row 6: part 1.5 is not a whole number from 1 on; correct it"),
        ("9,a,few,1", r"row 6, column part: 'few' is not a number"),
        ("9,a,-1,1", r"row 6, column part: -1.0 is negative"),
        ("9,c,1,1", r"row 6, column arm: 'c' is no arm"),
        (",a,1,1", r"row 6: the pull is missing; give each pull its own label"),
    ],
)
def test_faults_of_a_long_file(tmp_path: Path, row: str, error: str) -> None:
    """An error in a long file names the row, and what is wrong."""
    with pytest.raises(ScenarioError, match=rf"^rewards\.file: rows\.csv {error}"):
        trace(tmp_path, LONG + row + "\n")


def test_the_page_is_true(tmp_path: Path) -> None:
    """The wide and the long example of docs/traces.md are the same pulls, and its scenario can be run with both."""
    page = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
    examples = [piece.partition("```")[0] for piece in page.split("```text\n")[1:]]
    assert len(examples) == 3
    keys = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    found = []
    for text in examples:
        (tmp_path / "sales.csv").write_text(text)
        scenario = Scenario.parse(keys, tmp_path)
        assert scenario.span == 3
        found.append([arm.rows.tolist() for arm in scenario.build_rewards().arms])  # type: ignore[attr-defined]
    assert found[0] == found[1] == found[2]


def test_a_small_file_that_claims_to_be_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file takes at most the memory that there is, and if that is much, not too many times its size."""
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"arm": ["a"] * 100_000, "x1": 1.0, "x2": 0.0}).to_parquet(path)
    monkeypatch.setattr(recorded_files, "MOST_TIMES", 10)
    for number, (name, most) in enumerate((("available_memory", lambda: 1e6), ("SMALL_MEMORY", 1e5))):
        os.utime(path, (number, number))  # so that it is read anew
        with monkeypatch.context() as patch:
            patch.setattr(recorded_files, name, most)
            with pytest.raises(ScenarioError, match=r"rows.parquet has [\d,]+ bytes and takes some 0.0 GB of memory"):
                build("trace", {"file": "rows.parquet"}, [{}, {}], 2, tmp_path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_more_columns_than_the_span_are_refused(tmp_path: Path, ending: str) -> None:
    """No recorded money is dropped without a word: the error names the number of columns and the span."""
    frame = pd.DataFrame({"arm": ["a", "b"], "x1": [1, 2], "x2": [1, 2], "x3": [5, 5]})
    getattr(frame, f"to_{ending}")(tmp_path / f"rows.{ending}", index=False)
    with pytest.raises(ScenarioError, match=r"has the columns x1 to x3 but the span is 2.*set span = 3, leave it out"):
        build("trace", {"file": f"rows.{ending}"}, [{}, {}], 2, tmp_path)


def test_the_span_of_a_trace_is_its_number_of_columns(tmp_path: Path) -> None:
    """A scenario that leaves the span out has as many parts as the file has columns."""
    (tmp_path / "rows.csv").write_text("arm,note,x1,x2,x3\na,?,1,2,3\n")
    keys = {"name": "n", "horizon": 1, "rewards": {"kind": "trace", "file": "rows.csv"}, "arms": [{"name": "a"}]}
    assert Scenario.parse(keys, tmp_path).resolved()["span"] == 3
    with pytest.raises(ScenarioError, match="span: missing; add span"):
        Scenario.parse({**keys, "rewards": {"kind": "price"}}, tmp_path)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, r"rewards.file: there is no file .*rows.csv; give a path relative to the scenario"),
        ("", r"rewards.file: rows.csv cannot be read \(Empty CSV file\); give CSV or .parquet"),
        ("option,x1,x2\na,1,2\n", r"rewards.file: rows.csv has no column 'arm'; it needs arm and x1 to x2"),
        ("arm,day 1\na,1\n", r"rewards.file: rows.csv has neither the columns arm, x1, .* has arm, day 1, with commas"),
        (
            "pull,arm,part,amount\n1,a,1,1\n",
            r"rewards.file: rows.csv has neither the columns arm, x1, .* \(wide\) nor pull, arm, part, value \(long\)",
        ),
        ("pull,part,value\n1,1,1\n", r"rewards.file: rows.csv has no column 'arm'; it needs pull, arm, part and value"),
        ("pull,arm,part,value\n", r"rewards.file: rows.csv has no row of arm 'a'; add rows or drop the arm"),
        ("pull,arm,part,value\n1,a,0,1\n", r"rewards.file: rows.csv row 1: part 0 is not a whole number from 1 on"),
        ("arm,x1,x2\na,1\n", r"rewards.file: rows.csv row 1: has 2 values but the first line has 3 titles"),
        ("arm,x1\nb\u00f6,1\n", r"rewards.file: rows.csv is not UTF-8 text \(line 2 of the file\); save it as UTF-8"),
    ],
)
def test_without_a_span_the_fault_of_the_file_is_told(tmp_path: Path, text: str | None, error: str) -> None:
    """A file that cannot be used is told as such, and not as a span that is missing."""
    if text is not None:
        (tmp_path / "rows.csv").write_bytes(text.encode("cp1252"))
    keys = {"name": "n", "horizon": 1, "rewards": {"kind": "trace", "file": "rows.csv"}, "arms": [{"name": "a"}]}
    with pytest.raises(ScenarioError, match=f"^{error}"):
        Scenario.parse(keys, tmp_path)


@pytest.mark.parametrize("rewards", [{}, {"file": ""}, {"file": 3}])
def test_without_a_file_only_the_file_is_missing(tmp_path: Path, rewards: dict[str, object]) -> None:
    """The error is about the file alone, since the file would imply the span."""
    keys = {"name": "n", "horizon": 1, "rewards": {"kind": "trace", **rewards}, "arms": [{"name": "a"}]}
    with pytest.raises(ScenarioError, match=r"^rewards\.file: "):
        Scenario.parse(keys, tmp_path)


@pytest.mark.parametrize("labels", ["abc", "012"])
def test_rows_of_arms_that_are_left_out_are_ignored(tmp_path: Path, labels: str) -> None:
    """A sweep over the number of arms uses the rows of those that are there; a row of an unknown arm is an error."""
    rows = "arm,x1,x2\n{0},1,2\n{2},9,9\n{1},3,4\n{0},0,1\n".format(*labels)
    (tmp_path / "rows.csv").write_text(rows)
    arms = [{"name": name} for name in "abc"]
    keys = {
        "name": "n",
        "horizon": 3,
        "rewards": {"kind": "trace", "file": "rows.csv", "draw": "resample"},
        "arms": arms,
    }
    scenario = Scenario.parse(keys, tmp_path)
    found = sweep(scenario, {"arms.count": [2, 3]}, ["uniform"], runs=1)
    assert [study.means.tolist() for study in found.studies] == [[2, 7], [2, 7, 18]]
    assert "left_out" not in scenario.resolved()["rewards"]
    fewer = {**keys, "arms": arms[:2]}
    with pytest.raises(ScenarioError, match=f"row 2, column arm: '{labels[2]}' is no arm"):
        Scenario.parse(fewer, tmp_path)
    cut = Scenario.parse({**fewer, "rewards": {**keys["rewards"], "left_out": ["c"]}}, tmp_path)  # type: ignore[dict-item]
    assert Scenario.parse(cut.resolved(), tmp_path).means.tolist() == [2, 7]


def test_rows_that_contradict_the_groups_are_told(tmp_path: Path) -> None:
    """A group above maximum / groups is a warning with the number of rows, the largest group and the bound."""
    text = HEADER + "a,3,1\na,2,2\nb,1,1\n"
    (warning,) = trace(tmp_path, text, ({}, {"maximum": 4.0}), groups=2).warnings
    assert warning.startswith(
        "rewards.groups: in 1 of 2 rows of arm 'a' one of the 2 groups pays up to 3, more than maximum / groups = 2; "
    )
    assert trace(tmp_path, text, ({"maximum": 6.0}, {"maximum": 6.0}), groups=2).warnings == ()


@pytest.mark.parametrize(
    ("column", "error"),
    [
        ({"x2": ["1", "few"]}, r"row 2, column x2: 'few' is not a number"),
        ({"x2": pd.to_datetime(["2020-01-01"] * 2)}, r"row 1, column x2: .* is not a number"),
        ({"x2": [1, None]}, r"row 2, column x2: the value is missing"),
        ({"arm": ["a", None]}, r"row 2, column arm: '' is no arm"),
        ({"arm": [["a"], ["b"]]}, r"cannot be read"),
        ({"x1": None}, r"has no column 'x1'; it needs arm and x1 to x2"),
    ],
)
def test_faults_of_a_parquet_file(tmp_path: Path, column: Keys, error: str) -> None:
    """Values that are no numbers or no arms, and missing columns, are found in Parquet files too."""
    frame = pd.DataFrame({"arm": ["a", "b"], "x1": [1, 2], "x2": [1, 2], **column})
    frame.dropna(axis="columns", how="all").to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ScenarioError, match=rf"^rewards\.file: rows\.parquet {error}"):
        build("trace", {"file": "rows.parquet"}, [{}, {}], 2, tmp_path)


@pytest.mark.parametrize(
    ("text", "arms", "keys", "error"),
    [
        (HEADER + "a,1,1\nb,0,0\n", ({}, {}), {}, r"arms\[1\]\.maximum: every row of arm 'b' is zero.*; give it"),
        (SMALL, ({}, {"maximum": 6}), {}, r"arms\[1\]\.maximum: 6\.0 is less than the recorded .* 7\.0; raise it"),
        (SMALL, ({}, {}), {"groups": 3}, r"rewards\.groups: 3 does not divide the span 2; use one of 1, 2"),
        (SMALL, ({}, {}), {"file": "no.csv"}, r"rewards\.file: there is no file .*no\.csv; give a path relative to"),
    ],
)
def test_faults_of_the_settings(
    tmp_path: Path, text: str, arms: tuple[Keys, ...], keys: dict[str, object], error: str
) -> None:
    """A setting that contradicts the file is an error of its key."""
    with pytest.raises(ScenarioError, match=f"^{error}"):
        trace(tmp_path, text, arms, **keys)


def test_maxima_that_single_rows_decide_are_told(tmp_path: Path) -> None:
    """Where maxima are left out and differ, a warning has them and the remedy, which removes the warning."""
    (warning,) = trace(tmp_path, SMALL).warnings
    assert "maxima go from 3 (arm 'a') to 7 (arm 'b')" in warning
    assert warning.endswith("give all arms the same, such as maximum = 7")
    (mixed,) = trace(tmp_path, SMALL, ({}, {"maximum": 8.0})).warnings
    assert mixed.startswith("arms.maximum: arm 'a' without one")
    assert trace(tmp_path, SMALL, ({"maximum": 7.0}, {"maximum": 7.0})).warnings == ()
    assert trace(tmp_path, SMALL, ({"maximum": 7.0}, {})).warnings == ()
    assert trace(tmp_path, SMALL, ({"maximum": 3.0}, {"maximum": 8.0})).warnings == ()


VALIDATED = """\
arm,x1,x2
a,4,0
a,6,0
b,2,0
b,0,2
c,{c},3
c,{c},7
"""


def test_validate_shows_how_sure_the_means_are(tmp_path: Path, tpstream: Command) -> None:
    """Beside each mean are the rows and its standard error: those of 5 and 7 are sqrt(2) / sqrt(2) and 2."""
    (tmp_path / "n.toml").write_text(
        'name = "n"\nhorizon = 9\n[rewards]\nkind = "trace"\nfile = "rows.csv"\n'
        + "".join(f'[[arms]]\nname = "{name}"\nmaximum = 30\n' for name in "abc")
        + '[[policies]]\nkind = "uniform"\n'
    )
    (tmp_path / "rows.csv").write_text(VALIDATED.format(c=2))
    shown = tpstream("validate", str(tmp_path / "n.toml")).out
    cells = [re.findall(r"[\w.]+", line) for line in shown.splitlines()]
    assert [row for row in cells if row and row[0] in {"a", "b", "c"}] == [
        ["a", "5", "30", "2", "1"],
        ["b", "2", "30", "2", "0"],
        ["c", "7", "30", "2", "2"],
    ]
    # c leads a by 2, with standard error sqrt(1 + 4) = 2.24, and b by 5, which is more than twice 2.
    assert "that arm 'c' is best: within two standard errors it leads 'a' by 2 (standard error of the diff" in shown
    assert "2.24" in shown
    assert "'b' by" not in shown
    (tmp_path / "rows.csv").write_text(VALIDATED.format(c=20))
    assert "note:" not in tpstream("validate", str(tmp_path / "n.toml")).out
