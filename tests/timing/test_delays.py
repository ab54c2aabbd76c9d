"""Laws that every delay obeys."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from delays_helper import NAMES, Keys, build_delay, equal, lags_of, read_delay, sample
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError
from strategies import delay_tables, inner_delays, sampled_delays
from studies import small

from tpstream import simulate
from tpstream.model.errors import ScenarioError
from tpstream.timing import DELAYS

SAMPLED = st.integers(1, 6).flatmap(
    lambda span: st.tuples(
        st.just(span),
        sampled_delays(span, whole=False) | inner_delays(NAMES, span, whole=False),
    )
)
WHOLE = st.integers(1, 6).flatmap(
    lambda span: st.tuples(st.just(span), st.lists(sampled_delays(span, whole=True), max_size=4))
)
seeds = st.integers(0, 2**32)


@given(SAMPLED, st.integers(1, 20), st.sampled_from([0, 1, 2]), seeds)
def test_parts_only_become_later_or_lost(case: tuple[int, Keys], pulls: int, arm: int, seed: int) -> None:
    """A delay gives finite offsets of the right shape, none before the part is due."""
    span, table = case
    schedule = sample([build_delay(table, span)], pulls, span, seed=seed, arm=arm)
    assert (schedule.offsets.shape, schedule.offsets.dtype) == ((pulls, span), np.float64)
    assert (schedule.lost.shape, schedule.lost.dtype) == ((pulls, span), np.bool_)
    assert (lags_of(schedule) >= 0).all()


@given(SAMPLED, seeds)
def test_the_stream_decides_everything(case: tuple[int, Keys], seed: int) -> None:
    """Equal streams give equal schedules, block after block, also from a delay that was built anew."""
    span, table = case
    rewards = np.random.default_rng(seed).random((8, span))
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    first, second = build_delay(table, span), build_delay(table, span)
    before = sample([], 8, span)
    for _ in range(2):
        assert equal(first.apply(before, rewards, 1, one), second.apply(before, rewards, 1, other))


@given(WHOLE, seeds)
def test_whole_delays_keep_offsets_whole(case: tuple[int, list[Keys]], seed: int) -> None:
    """Delays that say that they are whole make whole offsets of whole ones."""
    span, tables = case
    delays = [build_delay(table, span) for table in tables]
    offsets = sample(delays, 20, span, seed=seed).offsets
    assert all(delay.whole for delay in delays)
    assert (offsets == np.floor(offsets)).all()


@given(delay_tables(4, NAMES), st.lists(sampled_delays(4, whole=False), max_size=2))
@settings(max_examples=30)
def test_settings_survive_json(tables: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    """What is dumped of a table, defaults filled in, reads as an equal table."""
    for table in tables + more:
        read = read_delay(table)
        assert type(read).model_validate_json(read.model_dump_json(), strict=True) == read


@pytest.mark.parametrize(
    ("table", "whole"),
    [
        ({"kind": "none"}, True),
        ({"kind": "constant", "lag": 3}, True),
        ({"kind": "constant", "lag": 3.0}, True),
        ({"kind": "constant", "lag": 2.5}, False),
        ({"kind": "geometric", "p": 0.5}, True),
        ({"kind": "poisson", "mean": 2.5}, True),
        ({"kind": "uniform", "high": 3}, False),
        ({"kind": "uniform", "high": 3, "whole": True}, True),
        ({"kind": "lognormal", "median": 2, "sigma": 1}, False),
        ({"kind": "weibull", "shape": 2, "scale": 1, "whole": True}, True),
        ({"kind": "pareto", "shape": 2, "scale": 1}, False),
        ({"kind": "empirical", "lags": [0, 2, 7]}, True),
        ({"kind": "empirical", "lags": [0, 2.5]}, False),
        ({"kind": "empirical", "lags": [0, 2.5], "whole": True}, True),
        ({"kind": "lump"}, True),
        ({"kind": "lump", "at": 4.5}, False),
        ({"kind": "missing", "p": 0.5}, True),
        ({"kind": "dropout", "rate": 0.5}, True),
        ({"kind": "reporting", "every": 7}, True),
        ({"kind": "reporting", "every": 7, "first": 0.5}, False),
        ({"kind": "reporting", "every": 0.5, "first": 1}, False),
        ({"kind": "reporting", "days": [1, 2]}, True),
        ({"kind": "by-arm", "arms": {"low": {"kind": "geometric", "p": 0.5}}}, True),
        ({"kind": "by-arm", "arms": {"low": {"kind": "constant", "lag": 0.5}}}, False),
        ({"kind": "reward-dependent", "threshold": 1, "above": {"kind": "constant", "lag": 0.5}}, False),
        ({"kind": "reward-dependent", "threshold": 1, "below": {"kind": "constant", "lag": 1}}, True),
    ],
    ids=str,
)
def test_who_is_whole(table: Keys, *, whole: bool) -> None:
    """A delay knows whether whole times stay whole."""
    assert build_delay(table).whole is whole


@pytest.mark.parametrize("kind", DELAYS.names())
def test_every_delay_refuses_unknown_keys(kind: str) -> None:
    """A key that the delay does not know is an error, and settings are frozen."""
    with pytest.raises(ValidationError, match="Extra inputs"):
        read_delay({"kind": kind, "colour": "red"})
    assert DELAYS.find(kind).settings.model_config["frozen"]


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "constant", "lag": -1},
        {"kind": "constant", "lag": float("nan")},
        {"kind": "constant", "lag": float("inf")},
        {"kind": "geometric", "p": 0},
        {"kind": "geometric", "p": 1.5},
        {"kind": "geometric", "p": 0.5, "per": "arm"},
        {"kind": "poisson", "mean": -1},
        {"kind": "uniform", "low": -1, "high": 2},
        {"kind": "uniform", "low": 3, "high": 2},
        {"kind": "uniform", "low": 0.5, "high": 2, "whole": True},
        {"kind": "lognormal", "sigma": 1},
        {"kind": "lognormal", "sigma": 1, "mu": 0, "median": 1},
        {"kind": "lognormal", "sigma": 0, "mu": 0},
        {"kind": "weibull", "shape": 0, "scale": 1},
        {"kind": "pareto", "shape": 1, "scale": -1},
        {"kind": "empirical"},
        {"kind": "empirical", "lags": []},
        {"kind": "empirical", "lags": [1, -1]},
        {"kind": "empirical", "lags": [float("nan")]},
        {"kind": "empirical", "lags": [1], "file": "lags.csv"},
        {"kind": "by-arm"},
        {"kind": "by-arm", "arms": {"low": 3}},
        {"kind": "by-arm", "arms": {"low": {"kind": "geomtric"}}},
        {"kind": "by-arm", "arms": {"low": {"kind": "geometric", "p": 2}}},
        {"kind": "lump", "at": -1},
        {"kind": "reporting"},
        {"kind": "reporting", "every": 0},
        {"kind": "reporting", "every": 7, "days": [1]},
        {"kind": "reporting", "days": []},
        {"kind": "reporting", "days": [0]},
        {"kind": "reporting", "days": [1], "first": 2},
        {"kind": "missing", "p": 1.1},
        {"kind": "dropout"},
        {"kind": "dropout", "rate": -0.1},
        {"kind": "dropout", "rate": 0.1, "mean": 10},
        {"kind": "reward-dependent", "below": {"kind": "none"}},
        {"kind": "lab-queue", "mean": 1},
        {"kind": "lab-queue", "resource": "lab", "mean": -1},
        {"kind": "lab-queue", "resource": "lab", "mean": 1, "service": "slow"},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(table: Keys) -> None:
    """A value that no delay can have is an error of that table, and the only one."""
    with pytest.raises(ValidationError, match="1 validation error"):
        read_delay(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "lump", "at": 3.5}, "at: 3.5 is before the last part is due; give at least 4"),
        ({"kind": "reporting", "days": [1, 8]}, "days: there is no day 8 in a week of 7; use 1 to 7"),
        (
            {"kind": "lab-queue", "resource": "lap", "mean": 1},
            "resource: there is no resource 'lap' (did you mean 'lab'?)",
        ),
        ({"kind": "by-arm", "arms": {"lo": {"kind": "none"}}}, "arms.lo: there is no such arm (did you mean 'low'?)"),
        ({"kind": "by-arm", "arms": {"low": {"kind": "lump", "at": 1}}}, "arms.low.at: 1.0 is before"),
        (
            {"kind": "by-arm", "arms": {}, "others": {"kind": "reporting", "every": 7}},
            "others.kind: 'reporting' cannot be inside of another delay",
        ),
        (
            {"kind": "by-arm", "arms": {"low": {"kind": "seasonal", "delay": {"kind": "none"}, "curve": [[0, 1]]}}},
            (
                "arms.low.kind: 'seasonal' depends on the time of the pull, so it cannot be inside of another "
                'delay; put that one inside of it, as in { kind = "seasonal", delay = { kind = "by-arm", ... } }'
            ),
        ),
        ({"kind": "reward-dependent", "threshold": 1}, "below: give a delay for below or above"),
        ({"kind": "reward-dependent", "threshold": 1, "above": {"kind": "lump", "at": 1}}, "above.at: 1.0 is before"),
        ({"kind": "empirical", "file": "nowhere.csv"}, "file: there is no file"),
    ],
    ids=str,
)
def test_settings_that_do_not_fit_the_scenario(table: Keys, message: str) -> None:
    """What does not fit the span, the arms or the resources is refused with its key."""
    with pytest.raises(ScenarioError) as caught:
        build_delay(table)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file: lags.csv cannot be read (Empty CSV file); give CSV or .parquet"),
        ("lags\n1\n", "file: lags.csv has no column 'lag' (did you mean 'lags'?)"),
        ("lag\n", "file: lags.csv has no rows; add some"),
        ("lag\n1\nmany\n", "file: lags.csv row 2, column lag: 'many' is not a number; give a finite number >= 0"),
        ("lag\n1\n-2\n", "file: lags.csv row 2, column lag: -2.0 is negative; give a finite number >= 0"),
        ("lag\nnan\n", "file: lags.csv row 1, column lag: the value is missing; give a finite number >= 0"),
        ("lag\ninf\n", "file: lags.csv row 1, column lag: inf is infinite; give a finite number >= 0"),
        ("arm,lag\na\n", "file: lags.csv row 1: has 1 values but the first line has 2 titles; correct it"),
        ("arm,lag\na,\n", "file: lags.csv row 1, column lag: the value is missing; give a finite number >= 0"),
        (b"lag\n\xff\n", "file: lags.csv is not UTF-8 text ("),
    ],
)
def test_a_bad_file_of_lags(tmp_path: Path, text: str | bytes, message: str) -> None:
    """What is wrong in a file is told with the row and the column."""
    (tmp_path / "lags.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ScenarioError) as caught:
        build_delay({"kind": "empirical", "file": "lags.csv"}, folder=tmp_path)
    assert str(caught.value).startswith(message)


ZERO: list[Keys] = [
    {"kind": "poisson", "mean": 0.0},
    {"kind": "uniform", "high": 0.0},
    {"kind": "uniform", "high": 0.0, "whole": True},
    {"kind": "lognormal", "median": 0.0, "sigma": 1.0},
    {"kind": "weibull", "shape": 2.0, "scale": 0.0},
    {"kind": "pareto", "shape": 2.0, "scale": 0.0, "per": "pull"},
]
"""Delays whose every lag is 0."""


@pytest.mark.parametrize("table", [*ZERO, {"kind": "lab-queue", "resource": "lab", "mean": 0.0}, {"kind": "none"}])
def test_a_delay_of_zero_is_no_delay(table: Keys) -> None:
    """The scenario is the one without it, on the same engine and with the same events, also beside another delay."""
    other = {"kind": "geometric", "p": 0.3}
    with_zero = small(delays=[other, table], resources={"lab": 1})
    without = small(delays=[other], resources={"lab": 1})
    assert with_zero == without
    assert with_zero.timing().names == without.timing().names
    one, two = (simulate(scenario, "tp-ucb-ew", engine="compiled") for scenario in (with_zero, without))
    assert one.events().equals(two.events())


@pytest.mark.parametrize("table", ZERO)
def test_a_delay_of_zero_inside_of_another_one(table: Keys) -> None:
    """There it is drawn as others are, and every lag is 0."""
    delay = build_delay({"kind": "by-arm", "arms": {NAMES[0]: table}}, 3)
    assert (lags_of(sample([delay], 20, 3, arm=0)) == 0).all()
