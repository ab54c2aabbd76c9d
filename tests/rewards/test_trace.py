"""Traces: records that are read in order or drawn from, and the errors in their files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rewards_helper import Keys, build

from tpstream.model.errors import RewardError, ScenarioError
from tpstream.model.interfaces import BuildContext, Recorded, Rewards
from tpstream.rewards import REWARDS
from tpstream.scenario.scenario import Scenario

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
        (b"arm\xff,x1\n", r"cannot be read \(.*\); give CSV or \.parquet"),
        (HEADER + "a,1\n", r"row 1: has 2 values but the first line has 3 titles; correct it"),
        ("arm,x1,X2\na,1,2\n", r"has no column 'x2' \(did you mean 'X2'\?\); it needs arm and x1 to x2"),
        ("arm,x1,x2,x1\na,1,2,3\n", r"has 2 columns 'x1'; keep one"),
        (SMALL + "a, 1,few\n", r"row 4, column x2: 'few' is not a number; give a finite number >= 0"),
        (SMALL + "a,,1\n", r"row 4, column x1: the value is missing; give a finite number >= 0"),
        (SMALL + "a,nan,1\n", r"row 4, column x1: the value is missing; give a finite number >= 0"),
        (SMALL + "a,1,-2\n", r"row 4, column x2: -2\.0 is negative; give a finite number >= 0"),
        (SMALL + "a,1,inf\n", r"row 4, column x2: inf is infinite; give a finite number >= 0"),
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


def test_rows_that_contradict_the_groups_are_told(tmp_path: Path) -> None:
    """A group above maximum / groups is a warning with the number of rows, the largest group and the bound."""
    text = HEADER + "a,3,1\na,2,2\nb,1,1\n"
    (warning,) = trace(tmp_path, text, groups=2).warnings
    assert warning.startswith(
        "rewards.groups: in 1 of 2 rows of arm 'a' one of the 2 groups pays up to 3, more than maximum / groups = 2; "
    )
    assert trace(tmp_path, text, ({"maximum": 6.0}, {}), groups=2).warnings == ()


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
