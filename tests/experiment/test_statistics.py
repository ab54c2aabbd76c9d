"""What a study says of its runs, against literal versions; how work is cut, packed and counted."""

import math
import zlib
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from studies import small

from tpstream import Study, compare
from tpstream.analysis.intervals import bootstrap_interval, paired, t_interval, wilson_interval
from tpstream.analysis.regret import PullCounts
from tpstream.experiment.executors import LENGTH, Chunker
from tpstream.experiment.plan import Plan, list_work, make_plan
from tpstream.experiment.store import RunResult, Store, pack, unpack
from tpstream.model.errors import StudyError
from tpstream.run.loop import ProgressMeter
from tpstream.run.options import RunOptions

NORMAL = NormalDist()


@pytest.fixture(scope="module")
def study() -> Study:
    """Three policies, six runs, with two rounds besides the last."""
    return compare(small(), ["tp-ucb-ew", "oracle", "uniform"], runs=6, seed=8, rounds=[7, 30])


def literal_bca(values: list[float], resamples: int) -> tuple[float, float]:
    """The bias-corrected and accelerated interval of Efron (1987) for the mean, step by step."""
    stream = np.random.default_rng(12345)
    mean, count = sum(values) / len(values), len(values)
    means = sorted(float(np.mean(stream.choice(values, count))) for _ in range(resamples))
    below = sum(one < mean for one in means) + sum(one == mean for one in means) / 2
    bias = NORMAL.inv_cdf(below / resamples)
    left_out = [(sum(values) - value) / (count - 1) for value in values]
    centre = sum(left_out) / count
    cubes, squares = (sum((centre - one) ** power for one in left_out) for power in (3, 2))
    acceleration = cubes / (6 * squares**1.5)

    def bound(level: float) -> float:
        shifted = bias + NORMAL.inv_cdf(level)
        share = NORMAL.cdf(bias + shifted / (1 - acceleration * shifted))
        return means[min(int(share * resamples), resamples - 1)]

    return bound(0.025), bound(0.975)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bootstrap(seed: int) -> None:
    """The bootstrap interval of skewed values is Efron's, up to the resamples."""
    values = np.random.default_rng(seed).exponential(size=25).tolist()
    low, high = literal_bca(values, 20_000)
    found = bootstrap_interval(np.array(values))
    assert found == pytest.approx((low, high), abs=0.05 * (high - low))
    assert found == bootstrap_interval(np.array(values))


def test_bootstrap_of_many_runs() -> None:
    """Beyond a thousand runs the plain bootstrap serves, and agrees with the normal law."""
    values = np.random.default_rng(4).normal(size=4000)
    low, high = bootstrap_interval(values)
    half = 1.96 * values.std() / math.sqrt(4000)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.15 * half)


def test_bootstrap_without_spread() -> None:
    """Equal values leave no doubt, a single one nothing to say."""
    assert bootstrap_interval(np.full(5, 3.5)) == (3.5, 3.5)
    assert all(math.isnan(bound) for bound in bootstrap_interval(np.array([1.0])))


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (1, 1), (77, 1000)])
def test_wilson(successes: int, trials: int) -> None:
    """Wilson's interval from its formula, which is also SciPy's."""
    z, share = NORMAL.inv_cdf(0.975), successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    assert wilson_interval(successes, trials) == pytest.approx((centre - half, centre + half), abs=1e-12)
    found = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((found.low, found.high), abs=1e-12)
    assert all(math.isnan(bound) for bound in wilson_interval(0, 0))


def test_contrasts(study: Study) -> None:
    """Every two policies have a row; wins count runs, and equal runs half."""
    table = study.contrasts()
    assert table[["first", "second"]].to_numpy().tolist() == [
        ["tp-ucb-ew", "oracle"],
        ["tp-ucb-ew", "uniform"],
        ["oracle", "uniform"],
    ]
    for row in table.itertuples():
        one, other = (study.regret(str(name))[:, -1].tolist() for name in (row.first, row.second))
        wins = sum(1.0 if a < b else 0.5 if a == b else 0.0 for a, b in zip(one, other, strict=True)) / 6
        mean = sum(a - b for a, b in zip(one, other, strict=True)) / 6
        assert (row.wins, row.difference, row.runs) == (wins, pytest.approx(mean, rel=1e-12), 6)


def test_a_contrast_by_hand() -> None:
    """Of three runs one is won, one is equal and one is lost; the differences are -1, 0 and 4."""
    found = paired("a", "b", np.array([1.0, 2.0, 7.0]), np.array([2.0, 2.0, 3.0]))
    assert (found.wins, found.difference) == (0.5, 1.0)
    assert found.saving == pytest.approx((62 / 9 + 2 / 9) / (14 / 3), rel=1e-12)


def test_nothing_to_contrast() -> None:
    """Policies without a common run have no contrast."""
    found = paired("a", "b", np.empty(0), np.empty(0))
    assert found.runs == 0
    assert math.isnan(found.difference)


def test_best_found(study: Study) -> None:
    """The best arm is found in a run if every arm that was pulled most is a best one."""
    table = study.table().set_index("policy")
    for policy in study.counts:
        finals = study.counts[policy][:, -1].tolist()
        found = sum(all(arm == 2 for arm in range(3) if counts[arm] == max(counts)) for counts in finals)
        assert table.loc[policy, "best_found"] == found / 6
    assert table.loc["oracle", "best_found"] == 1.0


def test_a_tie_is_not_found() -> None:
    """If another arm was pulled as often as the best one, the best one was not found."""
    arms = [{"name": name, "maximum": maximum} for name, maximum in (("best", 30.0), ("other", 20.0), ("last", 10.0))]
    tied = compare(small(horizon=3, arms=arms), ["ucb1"], runs=1)
    assert tied.pulled("ucb1")[0, -1].tolist() == [1, 1, 1]
    assert tied.table()["best_found"].item() == 0.0


def test_results(study: Study) -> None:
    """A row for each policy, run and chosen round, as counted."""
    table = study.results()
    assert len(table) == 3 * 6 * 3
    assert table["round"].tolist() == [7, 30, 60] * 18
    row = table[(table["policy"] == "uniform") & (table["run"] == 4) & (table["round"] == 30)].iloc[0]
    place = study.rounds.tolist().index(30)
    counts = study.counts["uniform"][4, place].tolist()
    assert row["regret"] == 10.0 * counts[0] + 5.0 * counts[1]
    assert row["best_arm_share"] == counts[2] / 30
    assert row["most_pulled"] == ("low", "middle", "high")[counts.index(max(counts))]


def test_pulls(study: Study) -> None:
    """Pulls per arm are means over runs, and add up to the horizon."""
    table = study.pulls()
    rows = table[table["policy"] == "uniform"]
    assert rows["arm"].tolist() == ["low", "middle", "high"]
    means = [sum(column) / 6 for column in zip(*study.counts["uniform"][:, -1].tolist(), strict=True)]
    assert rows["pulls"].tolist() == pytest.approx(means, rel=1e-12)
    assert rows["share"].sum() == pytest.approx(1.0)


def test_curves_at_chosen_rounds(study: Study) -> None:
    """Curves can be had at rounds that were counted, and only there."""
    assert study.curves([7, 60])["round"].tolist() == [7, 60] * 3
    with pytest.raises(StudyError, match="not counted up to round 1000; ask for it"):
        study.curves([1000])


def test_times(study: Study) -> None:
    """Every run has its seconds."""
    table = study.times()
    assert len(table) == 18
    assert (table["seconds"] > 0).all()


def test_rounds_beyond_the_horizon() -> None:
    """A round that there is not is an error."""
    with pytest.raises(StudyError, match="rounds: 61 is not from 1 to the horizon 60"):
        compare(small(), ["uniform"], runs=1, rounds=[61])


def test_no_policies() -> None:
    """An empty list of policies is an error, not a study of nothing."""
    with pytest.raises(StudyError, match="no policy is asked for"):
        compare(small(), [], runs=1)


def test_later_runs() -> None:
    """Runs from another number on are those runs."""
    later, all_of_them = (compare(small(), ["uniform"], runs=runs, first=first) for runs, first in ((2, 3), (5, 0)))
    assert later.records["uniform"].runs.tolist() == [3, 4]
    assert later.counts["uniform"].tolist() == all_of_them.counts["uniform"][3:].tolist()
    with pytest.raises(StudyError, match="the first run must be at least 0, got -1"):
        compare(small(), ["uniform"], runs=1, first=-1)


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=3, max_size=3), min_size=1, max_size=20))
def test_packing(increments: list[list[int]]) -> None:
    """What is packed is unpacked, to the last pull."""
    counts = np.array(increments, dtype=np.int64).cumsum(axis=0)
    found = unpack(pack({"pulls": counts, "share": np.array(0.1), "days": np.array([1.5, np.nan])}))
    assert found["pulls"].tolist() == counts.tolist()
    assert (found["share"].tolist(), found["days"].tobytes()) == (0.1, np.array([1.5, np.nan]).tobytes())


def test_a_torn_record() -> None:
    """A record that is not whole is an error, never a guess."""
    packed = pack({"pulls": np.array([[1], [2]])})
    for torn in (packed[:-1], packed[:-9], b"", zlib.compress(zlib.decompress(packed)[:-1])):
        with pytest.raises(StudyError, match="a stored result is damaged"):
            unpack(torn)


@lru_cache
def two_worlds(runs: int) -> Plan:
    """A plan with so many runs in each of two worlds."""
    return make_plan(
        small(),
        ["uniform"],
        range(runs),
        None,
        (),
        RunOptions(),
        {"span": [6, 12]},
    )


@given(st.integers(1, 300), st.integers(1, 16), st.lists(st.floats(1e-5, 2.0), min_size=1, max_size=20))
def test_the_cut_leaves_nothing_out(runs: int, workers: int, paces: list[float]) -> None:
    """Whatever runs take, every run of every world is in one chunk, in order, and none is longer than it should be."""
    plan = two_worlds(runs)
    chunker = Chunker(list_work(plan, lambda *_: set()), workers, compiled=True)
    chunks = []
    while chunker.runs:
        chunks.append(chunker.next_chunk())
        chunker.learn(chunks[-1], paces[len(chunks) % len(paces)] * len(chunks[-1].runs))
    for cell in plan.cells:
        done = [run for chunk in chunks for run in chunk.runs if chunk.world.identity == cell.world.identity]
        assert done == list(range(runs))
    assert len(chunks[0].runs) == 1
    most = max(1, math.ceil(2 * runs / (4 * workers)))
    assert all(len(chunk.runs) <= max(1, min(most, LENGTH / min(paces))) for chunk in chunks)


@given(st.lists(st.integers(0, 50), max_size=20), st.integers(1, 400))
def test_the_progress_meter_adds_up(steps: list[int], total: int) -> None:
    """A run tells of as many rounds as it has, whatever it did."""
    told: list[int] = []
    meter = ProgressMeter(told.append, total)
    for step in steps:
        meter.add(step)
    assert sum(told) == min(sum(steps), total)
    meter.finish()
    assert (sum(told), min(told, default=0) >= 0) == (total, True)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=60), st.data())
def test_pulls_are_counted(arms: list[int], data: st.DataObject) -> None:
    """Told in batches of any length, the pulls of each arm are counted up to each checkpoint."""
    last = len(arms)
    rounds = sorted({*data.draw(st.lists(st.integers(1, last), max_size=8)), last})
    cuts = sorted({0, *data.draw(st.lists(st.integers(0, last), max_size=5)), last})
    counts = PullCounts(3, np.array(rounds))
    for start, stop in pairwise(cuts):
        counts.add(np.array(arms[start:stop], dtype=np.int64))
    assert counts.counts().tolist() == [[arms[:round].count(arm) for arm in range(3)] for round in rounds]


def test_a_store_keeps_all_or_nothing(tmp_path: Path) -> None:
    """Outcomes are kept together; one that cannot be written takes the others back."""
    good = RunResult("entry", 0, b"x", 1.0)
    bad = RunResult("entry", None, b"x", 1.0)  # type: ignore[arg-type]
    with Store(tmp_path) as store:
        with pytest.raises(StudyError, match=r"study\.sqlite"):
            store.keep([good, bad])
        assert store.finished("entry", range(5)) == set()
        store.keep([good, RunResult("entry", 2, b"", 0.0, "tired"), RunResult("other", 0, b"y", 2.0)])
        failures = store.records("entry", range(5)).failures
        assert (store.finished("entry", range(5)), failures) == ({0}, {2: "tired"})
        assert store.finished("other", range(5)) == {0}
        store.keep([RunResult("entry", 2, b"z", 3.0)])
        records = store.records("entry", range(5))
        assert records.failures == {}
        assert (records.runs.tolist(), records.measures.packed, records.seconds.tolist()) == (
            [0, 2],
            [b"x", b"z"],
            [1.0, 3.0],
        )


def test_checkpoints_include_the_chosen_rounds(study: Study) -> None:
    """Chosen rounds are among the checkpoints, which rise."""
    rounds = study.rounds.tolist()
    assert {7, 30, 60} <= set(rounds)
    assert all(one < other for one, other in pairwise(rounds))


@given(seed=st.integers(0, 10_000), runs=st.integers(2, 4), horizon=st.integers(3, 40))
@settings(max_examples=25)
def test_no_interval_leaves_what_is_possible(seed: int, runs: int, horizon: int) -> None:
    """In every table regret and pulls are from 0 to their largest value, differences within the largest regret."""
    policies = ["ucb1", "delayed-ucb1", "uniform"]
    study = compare(small(horizon=horizon), policies, runs=runs, seed=seed, rounds=[1])
    gap, tables = float(np.ptp(study.means)), study.tables() | {"value": study.value()}
    curves, most = tables["curves"], horizon * gap
    for end in ("low", "high"):
        assert tables["table"][end].between(0, most).all()
        assert curves[end].between(0, curves["round"] * gap).all()
        assert tables["pulls"][end].between(0, horizon).all()
        assert tables["contrasts"][end].between(-most, most).all()
        assert tables["value"][f"cost_{end}"].between(-most, most).all()
    for name, mean in (("table", "regret"), ("curves", "regret"), ("pulls", "pulls"), ("contrasts", "difference")):
        assert (tables[name]["low"] <= tables[name][mean]).all()
        assert (tables[name][mean] <= tables[name]["high"]).all()


def test_an_interval_is_cut_and_not_moved() -> None:
    """Inside of the bounds it is Student's to the last bit, and a mean at a bound stays inside of its interval."""
    values = np.array([[1.0, 0.0, 9.0, 10.0 + 1e-12], [3.0, 4.0, 10.0, 10.0 + 1e-12]])
    whole = t_interval(values)
    cut = whole.within(0.0, np.array([100.0, 100.0, 10.0, 10.0]))
    assert cut.high[0] == whole.high[0]
    assert (cut.low[:2].tolist(), cut.high[2]) == ([0.0, 0.0], 10.0)
    assert cut.low[3] <= cut.mean[3] <= cut.high[3]
