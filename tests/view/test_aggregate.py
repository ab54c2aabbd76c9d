"""The aggregate of a page equals slow, literal sums over the events of a log, however these come."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from explorer import written
from hypothesis import given, strategies as st
from log_samples import make_header
from scipy import stats
from studies import ASYNCHRONOUS, KEYS

from tpstream import Scenario, log_regret, read_log, simulate
from tpstream.log.reader import Log
from tpstream.log.schema import Header
from tpstream.model.errors import LogError
from tpstream.model.events import KIND_NAMES, Events, Kind
from tpstream.view.aggregate import NEEDED, Aggregate
from tpstream.view.axis import Axis, merge_pairs
from tpstream.view.closed import ClosedPulls
from tpstream.view.pulls import EXTREMES, choose, read_parts

WORLDS = {"regular": {}, **ASYNCHRONOUS}


@pytest.fixture(scope="module", params=WORLDS)
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Log:
    """The log of a run in some world, with indices."""
    path = tmp_path_factory.mktemp("logs") / "run.arrows"
    simulate(Scenario(**(KEYS | WORLDS[request.param])), "tp-ucb-fr", log=path, log_detail="indices")
    return read_log(path)


def aggregate_of(log: Log, size: int | None = None) -> Aggregate:
    """The aggregate of a log, fed with this many events at a time."""
    found, events = Aggregate(log.header), log.join()
    step = size or len(events)
    for first in range(0, len(events), step):
        found.add(events.cut(first, first + step).columns())
    return found


def bins_of(axis: Axis, values: "pd.Series[float]") -> Any:
    """The bin of each value by the definition of bins."""
    return np.floor((values - axis.origin) / axis.width).astype(int)


def test_bins_hold_counts_and_sums_of_each_kind(log: Log) -> None:
    """In each bin, for each arm and kind: the number of events and the sum of their values."""
    found, frame = aggregate_of(log), log.frame()
    frame["bin"] = bins_of(found.time, frame["time"])
    counts, sums = np.zeros_like(found.counts), np.zeros_like(found.sums)
    for row in frame.itertuples():
        place = row.bin, row.arm, KIND_NAMES.index(row.kind)
        counts[place] += 1
        sums[place] += 0.0 if np.isnan(row.value) else row.value
    assert (found.counts == counts).all()
    np.testing.assert_allclose(found.sums, sums, rtol=1e-12)
    assert found.time.used == frame["bin"].max() + 1


@pytest.mark.parametrize("size", [1, 7, 100])
def test_the_size_of_batches_changes_nothing(log: Log, size: int) -> None:
    """Fed in batches, the same sums come out, in bins that may be wider."""
    whole, parts = aggregate_of(log), aggregate_of(log, size)
    assert (whole.counts.sum(axis=0) == parts.counts.sum(axis=0)).all()
    np.testing.assert_allclose(whole.pulls.paid[: whole.pulls.count], parts.pulls.paid[: parts.pulls.count], rtol=1e-12)
    np.testing.assert_array_equal(whole.pulls.last[: whole.pulls.count], parts.pulls.last[: parts.pulls.count])
    assert whole.ages.counts.sum() == parts.ages.counts.sum()


def test_a_sink_hears_the_same(log: Log) -> None:
    """Hearing the batches of a run gives what its log gives at once."""
    sink, batches = Aggregate(log.header), log.batches()
    for events in batches:
        sink.hear(events)
    sink.flush()
    from_log = aggregate_of(log)
    assert (sink.counts == from_log.counts).all()
    assert (sink.arm_counts["indices"] == from_log.arm_counts["indices"]).all()


def test_what_is_known_of_a_pull(log: Log) -> None:
    """For each pull: its time and arm, what it was credited with, its parts, late ones, and its age at the last."""
    found, frame = aggregate_of(log), log.frame()
    pulls = frame[frame["kind"] == "pull"].set_index("pull")
    arrived = frame[frame["kind"].isin(["partial", "late"])].copy()
    arrived["age"] = arrived["time"] - arrived["pull"].map(pulls["time"])
    credited = arrived[arrived["kind"] == "partial"].groupby("pull")["value"]
    rows, known = slice(0, found.pulls.count), pulls.index
    np.testing.assert_array_equal(found.pulls.time[rows], pulls["time"])
    np.testing.assert_array_equal(found.pulls.arm[rows], pulls["arm"])
    np.testing.assert_allclose(found.pulls.paid[rows], credited.sum().reindex(known, fill_value=0), rtol=1e-12)
    np.testing.assert_array_equal(found.pulls.parts[rows], credited.size().reindex(known, fill_value=0))
    late = arrived[arrived["kind"] == "late"].groupby("pull").size().reindex(known, fill_value=0)
    np.testing.assert_array_equal(found.pulls.late[rows], late)
    last = arrived.groupby("pull")["age"].max().reindex(known, fill_value=0)
    np.testing.assert_allclose(found.pulls.last[rows], last, rtol=1e-6)


def test_heat_maps_hold_every_part_that_arrived(log: Log) -> None:
    """By the time of the pull, the age (or the delay after the nominal time) and the arm: parts and what they paid."""
    found, frame = aggregate_of(log), log.frame()
    pulled = frame[frame["kind"] == "pull"].set_index("pull")["time"]
    arrived = frame[frame["kind"].isin(["partial", "late"])].copy()
    arrived["pulled"] = arrived["pull"].map(pulled)
    arrived["age"] = arrived["time"] - arrived["pulled"]
    arrived["delay"] = (arrived["age"] - (arrived["part"] - 1)).where(lambda delay: delay > 1e-6, 0.0)
    for heat, name in ((found.ages, "age"), (found.delays, "delay")):
        counts, sums = np.zeros_like(heat.counts), np.zeros_like(heat.sums)
        places = bins_of(heat.time, arrived["pulled"]), bins_of(heat.age, arrived[name]), arrived["arm"]
        np.add.at(counts, places, 1)
        np.add.at(sums, places, arrived["value"])
        np.testing.assert_array_equal(heat.counts, counts)
        np.testing.assert_allclose(heat.sums, sums, rtol=1e-9, atol=1e-9)


def test_outstanding_and_regret_are_those_of_the_analysis(tmp_path: Path) -> None:
    """After the last round they are what `log_regret` finds."""
    path = tmp_path / "run.arrows"
    simulate(Scenario(**(KEYS | {"drain": False})), "tp-ucb-fr", log=path)
    found, row = aggregate_of(read_log(path)), log_regret(path).table().iloc[0]
    assert found.outstanding()[found.time.used - 1].sum() == pytest.approx(row["outstanding"], rel=1e-9)
    assert found.regret()[-1] == pytest.approx(row["pseudo_regret"], rel=1e-9)


def test_indices_are_averaged_where_they_are_finite(log: Log) -> None:
    """Sums and counts of the finite indices are those of the log, arm by arm."""
    found, indices = aggregate_of(log), log.columns(["indices"])["indices"]
    finite = np.isfinite(indices)
    np.testing.assert_array_equal(found.arm_counts["indices"].sum(axis=0), finite.sum(axis=0))
    sums = found.arm_sums["indices"].sum(axis=0)
    np.testing.assert_allclose(sums, np.where(finite, indices, 0).sum(axis=0), rtol=1e-12)


def test_means_of_closed_pulls_have_students_interval(log: Log) -> None:
    """At the end of each bin and for each arm: mean and interval as pandas and SciPy compute them from the log."""
    found, frame = aggregate_of(log, size=50), log.frame()
    arms, used = len(log.header.arms), found.time.used
    counts = found.counts[:used, :, KIND_NAMES.index("closed")]
    means, reaches = found.closed.means(counts, np.arange(arms))
    closed = frame[frame["kind"] == "closed"]
    bins = bins_of(found.time, closed["time"])
    for end, arm in itertools.product(range(used), range(arms)):
        paid = closed["value"][(bins <= end) & (closed["arm"] == arm)]
        half = stats.t.ppf(0.975, len(paid) - 1) * paid.sem() if len(paid) > 1 else np.nan
        np.testing.assert_allclose([means[end, arm], reaches[end, arm]], [paid.mean(), half], rtol=1e-9)
    together, reach = found.closed.means(counts, np.minimum(np.arange(arms), 1))
    paid = closed["value"][closed["arm"] > 0]
    np.testing.assert_allclose(together[-1, 1], paid.mean(), rtol=1e-9)
    np.testing.assert_allclose(reach[-1, 1], stats.t.ppf(0.975, len(paid) - 1) * paid.sem(), rtol=1e-9)


def test_large_payments_that_are_alike_have_an_interval() -> None:
    """A spread of 1 around a billion is found: squares of payments would lose it."""
    paid = 1e9 + np.random.default_rng(1).normal(size=500)
    pulls = ClosedPulls(4, 1)
    pulls.add(np.repeat([0, 3], 250), np.zeros(500, dtype=np.int64), paid)
    counts = np.array([[250], [0], [0], [250]])
    means, reaches = pulls.means(counts, np.zeros(1, dtype=np.int64))
    assert means[-1, 0] - 1e9 == pytest.approx(paid.mean() - 1e9, abs=1e-6)
    assert reaches[-1, 0] == pytest.approx(stats.t.ppf(0.975, 499) * paid.std(ddof=1) / np.sqrt(500), rel=1e-6)
    half = pulls.means(counts, np.zeros(1, dtype=np.int64), each=2.0)[1]
    assert half[-1, 0] == pytest.approx(stats.t.ppf(0.975, 249) * paid.std() / np.sqrt(249), rel=1e-6)


def test_probabilities_are_averaged(tmp_path: Path) -> None:
    """Fixed randomisation chooses each of three arms with probability 1/3, in every step of time."""
    path = tmp_path / "run.arrows"
    simulate(Scenario(**KEYS), "uniform", log=path, log_detail="probabilities")
    found = aggregate_of(read_log(path)).average("probabilities")
    np.testing.assert_allclose(found[:60], 1 / 3)
    assert np.isnan(found[60:]).all()


def test_delays_count_from_the_visits(tmp_path: Path) -> None:
    """Parts that arrive at the visits of the scenario have no delay."""
    path = tmp_path / "run.arrows"
    simulate(Scenario(**(KEYS | {"visits": [0.5, 2.0, 7.5, 8.0, 9.0, 30.0]})), "uniform", log=path)
    found = aggregate_of(read_log(path))
    assert (found.delays.age.used, int(found.delays.counts.sum())) == (1, 360)
    assert found.ages.age.used > 1


@given(
    st.lists(
        st.lists(st.floats(-1e6, 1e6) | st.integers(0, 5000).map(float), min_size=1, max_size=30),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([4, 64]),
)
def test_bins_hold_what_lies_in_them(batches: list[list[float]], size: int) -> None:
    """However values come, each is counted in the bin of the final width in which it lies."""
    axis, counts = Axis(size), np.zeros(size, dtype=np.int64)
    for batch in batches:
        values = np.array(batch)
        merge_pairs(counts, axis.fit(values))
        np.add.at(counts, axis.places(values), 1)
    everything = np.array([value for batch in batches for value in batch])
    expected = np.clip(np.floor((everything - axis.origin) / axis.width), 0, size - 1).astype(int)
    assert everything.max() < axis.origin + size * axis.width
    assert counts.tolist() == np.bincount(expected, minlength=size).tolist()
    assert axis.used == max(expected.max(), 0) + 1


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("arm", 2, "event 1: arm 2; the header has 2 arms"),
        ("pull", 5, "event 1: pull 5; pulls are numbered"),
        ("part", 4, "event 1: part 4; the span is 3"),
        ("time", np.inf, "event 1: time inf; times are at most"),
        ("value", np.inf, "event 1: value inf; values are at most"),
    ],
)
def test_numbers_that_cannot_be_are_refused(column: str, value: float, message: str) -> None:
    """The error names the event, the column and the value."""
    columns = two_events()
    columns[column][1] = value
    with pytest.raises(LogError, match=message):
        Aggregate(make_header()).add(columns)


def two_events() -> Any:
    """A pull and its first part."""
    numbers = {"seq": [0, 1], "kind": [Kind.PULL, Kind.PARTIAL], "round": [1, 1], "pull": [1, 1], "arm": [0, 0]}
    columns: Any = {name: np.array(rows) for name, rows in numbers.items()}
    return columns | {"part": np.array([0, 1]), "time": np.array([1.0, 1.0]), "value": np.array([np.nan, 2.0])}


def test_with_many_arms_heat_maps_hold_all_together(tmp_path: Path) -> None:
    """Above 20 arms there is one layer; below it there is one for each."""
    header: Header = make_header(arms=21)
    events = Events(**two_events())
    log = written(tmp_path / "many.jsonl", events, header)
    found = aggregate_of(log)
    assert (found.ages.counts.shape[2], found.ages.counts.sum()) == (1, 1)
    assert Aggregate(make_header(arms=20)).ages.counts.shape[2] == 20


def test_the_extreme_pulls_and_those_asked_for_are_chosen(tmp_path: Path) -> None:
    """With more pulls than a page takes: the largest, smallest and longest are there, and any that is asked for."""
    path = tmp_path / "run.arrows"
    keys = KEYS | ASYNCHRONOUS["window"] | {"horizon": 3000}
    simulate(Scenario(**keys), "tp-ucb-fr", log=path)
    pulls = aggregate_of(read_log(path)).pulls
    chosen = choose(pulls, 1, [77])
    paid = pulls.paid[: pulls.count]
    assert len(chosen) == 2000
    assert len(set(chosen.tolist())) == 2000
    assert {77, 1, 3000, *(np.argsort(paid)[:EXTREMES] + 1), *(np.argsort(-paid)[:EXTREMES] + 1)} <= set(
        chosen.tolist()
    )
    assert (choose(pulls, 1, [77]) == chosen).all()


def test_a_pull_that_does_not_exist_is_refused() -> None:
    """The error says which pulls there are."""
    found = Aggregate(make_header())
    found.add({name: rows for name, rows in two_events().items() if name in NEEDED})
    with pytest.raises(LogError, match="there is no pull 2; the log has pulls 1 to 1"):
        choose(found.pulls, 1, [2])


def test_parts_are_those_of_the_log(log: Log) -> None:
    """For each chosen pull: its events in order, the open pulls at its decision, and the indices."""
    chosen = np.array([2, 3, 40])
    found, frame = read_parts(log, chosen, log.header.horizon), log.frame()
    for place, pull in enumerate(chosen):
        own = frame[(frame["pull"] == pull) & (frame["kind"] != "pull")]
        rows = slice(found.starts[place], found.starts[place + 1])
        np.testing.assert_array_equal(found.time[rows], own["time"])
        np.testing.assert_array_equal(found.value[rows], own["value"])
        at = frame.index[(frame["pull"] == pull) & (frame["kind"] == "pull")][0]
        before = frame.loc[: at - 1, "kind"]
        assert found.open[place] == (before == "pull").sum() - (before == "closed").sum()
        assert found.indices is not None
        np.testing.assert_array_equal(found.indices[place], frame.loc[at, "indices"])
