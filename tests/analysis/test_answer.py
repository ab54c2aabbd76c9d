"""The answer of a log: leaders, when they are clear, what is withheld and why, and what is warned of."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from open_worlds import END, DrawnArm, PaymentWorld, draw_arm, make_table
from scipy import stats
from shops import make_shop

from tpstream import Answer, Scenario, adaptive_estimates, answer, import_log, simulate
from tpstream.analysis.age_tables import AgeTable, read_ages
from tpstream.analysis.answer_warnings import find_warnings
from tpstream.analysis.boundaries import boundaries
from tpstream.analysis.leads import best_of_correlated, best_probabilities, clear_from, lead_courses
from tpstream.analysis.log_dates import as_date, as_time
from tpstream.analysis.open_values import ArmAges
from tpstream.log.writer import convert
from tpstream.model.arrays import Floats
from tpstream.model.errors import DataError, LogError


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, dict[str, float], Path]:
    """The answer of a shop of 12,000 offers, the truth, and the log."""
    made = make_shop(12_000, seed=8)
    path = tmp_path_factory.mktemp("shop") / "shop.arrows"
    return answer(import_log(made.offers, made.payments, out=path, window="60d")), made.truth, path


def test_a_shop(shop: tuple[Answer, dict[str, float], Path]) -> None:
    """The truth is within the intervals of all five variants, what was paid so far is below; the best one leads."""
    found, truth, _ = shop
    table = found.frame().set_index("arm")
    for arm, value in truth.items():
        row = table.loc[arm]
        assert row["low"] < value < row["high"]
        assert row["naive"] < 0.9 * row["value"]
        assert row["paid"] + row["outstanding"] == pytest.approx(row["value"] * row["decisions"])
        assert row["closed"] + row["open"] == row["decisions"]
    assert found.leader == "E"
    assert table["best_probability"].sum() == pytest.approx(1.0)
    differences = found.differences("A").set_index("arm")
    assert differences.loc["E", "difference"] == pytest.approx(table.loc["E", "value"] - table.loc["A", "value"])
    assert "leads" in repr(found)
    found.plot()


def test_looking_again_later_changes_nothing(shop: tuple[Answer, dict[str, float], Path], tmp_path: Path) -> None:
    """On the day since which the lead is clear, and not on the day before, the analysis of that day says so."""
    found, _, _ = shop
    assert isinstance(found.clear_since, str)
    made = make_shop(12_000, seed=8)
    before = (pd.Timestamp(found.clear_since) - pd.Timedelta(days=1)).date().isoformat()
    plan = pd.Timestamp(as_date(found.table.header.origin, "day", found.table.until)).date().isoformat()
    for day, expected in ((found.clear_since, found.clear_since), (before, None)):
        log = import_log(made.offers, made.payments, out=tmp_path / f"{day}.arrows", window="60d", until=day)
        then = answer(log, plan_until=plan)
        assert then.leader == found.leader
        assert then.clear_since == expected
    assert then.clear_reason == "the lead is not clear yet"
    assert then.needed is not None
    assert then.needed > 0


def test_boundaries_of_independent_looks() -> None:
    """With independent looks, each boundary has the chance that is spent on it, given that none was crossed before."""
    spent = np.array([0.01, 0.03, 0.05])
    found = boundaries(np.diag([1.0, 4.0, 9.0]), spent)
    alive, expected = 1.0, []
    for more in np.diff(spent, prepend=0.0):
        expected.append(stats.norm.isf(more / alive / 2))
        alive -= more
    assert found.tolist() == pytest.approx(expected, abs=0.05)


def test_boundaries_of_looks_that_share_decisions() -> None:
    """For a growing sum, the chance to cross any boundary is what was spent; more looks do not change earlier ones."""
    times = np.arange(1.0, 21.0)
    covariance = np.minimum.outer(times, times)
    spent = 0.05 * times / 20
    found = boundaries(covariance, spent)
    assert found[:12].tolist() == pytest.approx(boundaries(covariance[:12, :12], spent[:12]).tolist(), rel=1e-5)
    paths = np.cumsum(np.random.default_rng(5).standard_normal((40_000, 20)), axis=1) / np.sqrt(times)
    assert np.mean((np.abs(paths) > found).any(axis=1)) == pytest.approx(0.05, abs=0.005)  # 4.5 standard errors
    assert np.isinf(boundaries(covariance[:2, :2], np.array([0.0, 0.05]))[0])


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([1, 3, 1, 1], 1),
        ([1, 3, -1, 1], None),
        ([-1, 3, -1, 1], None),
        ([3, -1, 1, 3], 3),
        ([1, 1, 1, 1], None),
        ([-3, -3, -3, -3], None),
    ],
)
def test_clear_since(differences: list[float], expected: int | None) -> None:
    """It is the first crossing after the last change of the sign."""
    assert clear_from(np.array(differences, dtype=float), np.ones(4), np.full(4, 2.0)) == expected


def test_how_much_each_comparison_may_spend() -> None:
    """Of two arms the comparison spends alpha in proportion to the time; of four arms each spends half of that."""
    random = np.random.default_rng(9)
    drawn = [draw_arm(random, PaymentWorld(400, 0.3, 0.5, 0.0)) for _ in range(4)]
    two = lead_courses(make_table(*drawn[:2]), [0, 1], 0, 2.0 * END, 0.10)[1]
    start = min(float(one.arm.made[0]) for one in drawn[:2])
    share = (two.times[0] - start) / (2.0 * END - start)
    assert two.bounds[0] == pytest.approx(stats.norm.isf(0.10 * share / 2), abs=0.05)
    four = lead_courses(make_table(*drawn), [0, 1, 2, 3], 0, 2.0 * END, 0.20)[1]
    later = np.isin(two.times, four.times)
    assert four.bounds[-1] == pytest.approx(two.bounds[later][-1], abs=0.1)


def test_best_probabilities() -> None:
    """They are the shares of draws in which each variable is the largest."""
    values, errors = np.array([1.0, 1.2, 0.3]), np.array([0.5, 0.2, 1.0])
    draws = np.random.default_rng(0).normal(values, errors, (200_000, 3)).argmax(axis=1)
    expected = np.bincount(draws) / 200_000
    assert best_probabilities(values, errors).tolist() == pytest.approx(expected.tolist(), abs=0.005)


def test_best_of_correlated_estimates() -> None:
    """They are the shares of draws with this covariance in which each is the largest."""
    random = np.random.default_rng(3)
    errors, values = random.normal(size=(3, 50)) / 50, np.array([0.1, 0.2, 0.15])
    errors[1] += errors[0]
    draws = random.multivariate_normal(values, errors @ errors.T, 200_000).argmax(axis=1)
    assert best_of_correlated(values, errors).tolist() == pytest.approx(np.bincount(draws) / 200_000, abs=0.005)


def test_dates() -> None:
    """A time at the end of a day is that day; a plan lasts to the end of its day; numbers stay numbers."""
    assert as_date("2024-03-01T00:00:00", "day", 2.0) == "2024-03-02"
    assert as_date("2024-03-01T00:00:00", "day", 2.5) == "2024-03-03T12:00:00"
    assert as_date(None, "day", 2.0) == 2.0
    assert as_time("2024-03-01T00:00:00", "week", "2024-03-14") == 2.0
    with pytest.raises(DataError, match="plan-until: 'soon' cannot be read"):
        as_time("2024-03-01T00:00:00", "day", "soon")


def small_log(
    folder: Path, amounts: list[float], chances: list[float] | None = None, days: int = 100, **options: str
) -> Path:
    """A log of one arm 'x' with these amounts, one for each decision (0: none), and an arm 'y' that pays 1 each."""
    count = len(amounts)
    made = np.arange(2 * count) * days / (2 * count)
    offers = pd.DataFrame({"id": np.arange(2 * count), "time": made, "arm": ["x", "y"] * count})
    if chances is not None:
        offers["probability"] = chances
    paid = pd.DataFrame(
        {"id": np.arange(2 * count), "time": made + 1.5, "amount": np.ravel([[x, 1.0] for x in amounts])}
    )
    path = folder / "log.arrows"
    import_log(offers, paid[paid["amount"] != 0], out=path, window=5, until=days, force=True, **options)
    return path


def test_what_is_withheld(tmp_path: Path) -> None:
    """Too few paying decisions, a heavy tail, or a few that carry the sum: no interval, and the reason."""
    shares = (np.random.default_rng(3).permutation(200) + 0.5) / 200
    tail, power = np.exp(2.2 * stats.norm.ppf(shares)), shares ** (-1 / 1.5)
    for amounts, reason in (
        ([1.0] * 10 + [0.0] * 190, "only 10 decisions paid"),
        (tail.tolist(), "heavy tail: the logarithms"),
        (power.tolist(), "heavy tail like a power law"),
        ([500.0] + [1.0] * 199, "carry"),
        ([0.0] * 200, "only 0 decisions paid"),
        ([1.0] * 30, "fewer than 50 decisions"),
    ):
        found = answer(small_log(tmp_path, amounts))
        row = found.frame().set_index("arm").loc["x"]
        assert reason in row["reason"]
        assert pd.isna(row["low"])
        assert found.clear_since is None
        assert reason in str(found.clear_reason) or found.leader is None
        table = found.frame()
        assert table["reason"].notna()[table["best_probability"].isna()].all()
    prices = answer(small_log(tmp_path, [1.0] * 150 + [100.0] * 50)).frame()  # a list of prices has no tail
    assert prices["low"].notna().all()
    some = answer(small_log(tmp_path, [1.0 + k % 3 for k in range(60)] + [0.0] * 100)).frame().set_index("arm").loc["x"]
    assert not pd.isna(some["low"])
    assert pd.isna(some["outstanding_low"])
    assert "outstanding: only" in some["reason"]


def test_a_torn_log_is_known_up_to_its_last_event(tmp_path: Path) -> None:
    """Of a log that lost its end, decisions are observed up to its last event, not up to the data cut; a warning."""
    whole = small_log(tmp_path, [1.0 + k % 2 for k in range(200)])
    lines = convert(whole, tmp_path / "whole.jsonl").path.read_text().splitlines()
    (tmp_path / "torn.jsonl").write_text("\n".join(lines[: len(lines) * 7 // 10]) + "\n")
    torn = answer(tmp_path / "torn.jsonl")
    assert torn.table.until < 75
    assert "not complete" in torn.warnings[0]
    table, true = torn.frame(), answer(whole).frame()
    assert table["value"].tolist() == pytest.approx(true["value"].tolist(), rel=0.02)


def test_arms_that_are_too_young_are_not_compared(tmp_path: Path) -> None:
    """A lead is one over the arms that have a value, and the others are named."""
    made = np.arange(300.0)
    offers = pd.DataFrame({"id": made, "time": made, "arm": ["x", "y"] * 140 + ["new"] * 20})
    paid = pd.DataFrame({"id": made, "time": made + 1.5, "amount": np.where(offers["arm"] == "x", 2.0, 1.0)})
    found = answer(import_log(offers, paid, out=tmp_path / "log.arrows", window=5, until=310))
    assert found.leader == "x"
    assert found.clear_since is not None
    assert found.notes == ("not compared with the others, since too few decisions are old enough: new",)


def test_learning_policies(tmp_path: Path) -> None:
    """Intervals are withheld where the assignment depended on outcomes: of a run, or by the logged probabilities."""
    scenario = Scenario.load("setting-1").with_(horizon=1500, span=20)
    simulate(scenario, "epsilon-greedy", log=tmp_path / "learning.arrows", engine="simpy")
    learning = answer(tmp_path / "learning.arrows")
    assert learning.frame()["low"].isna().all()
    assert "learns from outcomes" in str(learning.clear_reason)
    simulate(scenario, "permuted-blocks", log=tmp_path / "blocks.arrows", engine="simpy")
    assert answer(tmp_path / "blocks.arrows").frame()["low"].notna().all()


@pytest.mark.parametrize(
    ("chances", "reason"),
    [
        (np.linspace(0.3, 0.7, 400), "'x' change (200 different values)"),
        (np.where(np.arange(400) < 200, 0.9, 0.1), "'x' change (2 different values)"),
        (np.ones(400), "'x' was always chosen with probability 1"),
    ],
    ids=["many values", "epsilon-greedy", "greedy"],
)
def test_imported_logs_of_learning_policies(tmp_path: Path, chances: Floats, reason: str) -> None:
    """Probabilities that change, or are always 1, may be those of a learning policy, unless that is denied."""
    amounts = [1.0 + k % 2 for k in range(200)]
    path = small_log(tmp_path, amounts, chances.tolist())
    found = answer(path)
    assert reason in str(found.clear_reason)
    assert "--assignment fixed" in str(found.clear_reason)
    assert found.frame()["low"].isna().all()
    assert answer(small_log(tmp_path, amounts, chances.tolist(), assignment="random")).leader == "x"
    assert answer(path, assignment="fixed").leader == "x"
    assert not answer(path, assignment="fixed").frame()["low"].isna().any()
    assert answer(path, assignment="adaptive").clear_since is None


def test_learning_policies_with_probabilities(tmp_path: Path) -> None:
    """With the probabilities of all arms in the log, values are adaptively weighted, and intervals given."""
    arms = [{"name": name, "probability": chance} for name, chance in (("a", 0.2), ("b", 0.4))]
    scenario = Scenario(name="s", horizon=400, span=3, rewards={"kind": "binary"}, arms=arms)
    path = tmp_path / "learning.arrows"
    simulate(scenario, "epsilon-greedy:epsilon=0.4", log=path, log_detail="probabilities", engine="simpy")
    found, weighted = answer(path), adaptive_estimates(path)
    for one in found.arms:
        expected = weighted.find(one.arm, weights="two-point")
        row = one.columns()
        assert (row["value"], row["low"], row["high"]) == (expected.value, expected.low, expected.high)
        assert row["reason"].startswith("outstanding: epsilon-greedy")
    assert found.leader == "b"
    assert found.frame()["best_probability"].sum() == pytest.approx(1.0)
    assert found.clear_since is None
    (row,) = found.differences().to_dict("records")
    expected = adaptive_estimates(path, control="b").find("a", weights="two-point", against="b")
    assert (row["difference"], row["low"], row["high"]) == (expected.value, expected.low, expected.high)
    chance = stats.norm.cdf(expected.value / expected.error)
    assert found.frame()["best_probability"].tolist() == pytest.approx([chance, 1 - chance])


def test_a_run(tmp_path: Path) -> None:
    """The log of a run under `uniform`, with open pulls, gives the arms' true means; a sparse copy gives the same."""
    rewards = {"kind": "smooth-beta", "groups": 5, "a": [1] * 5, "b": [1] * 5}
    arms = [{"name": "a", "maximum": 10.0}, {"name": "b", "maximum": 14.0}]
    scenario = {"name": "two", "horizon": 400, "span": 100, "rewards": rewards, "arms": arms}
    run = simulate(scenario, "uniform", log=tmp_path / "run.arrows")
    found = answer(tmp_path / "run.arrows")
    table, means = found.frame(), run.scenario.means
    assert (np.abs(table["value"] - means) < table["high"] - table["low"]).all()  # four standard errors
    assert (table["naive"] < 0.95 * table["value"]).all()
    assert found.leader == "b"
    sparse = answer(convert(tmp_path / "run.arrows", tmp_path / "sparse.arrows", sparse=True))
    pd.testing.assert_frame_equal(sparse.frame(), table)


def test_unknown_lengths(tmp_path: Path) -> None:
    """A run with delays and no window is refused: nobody knows how long its pulls pay."""
    scenario = Scenario.load("setting-1").with_(horizon=30, delays=[{"kind": "geometric", "p": 0.5}])
    simulate(scenario, "uniform", log=tmp_path / "run.arrows")
    with pytest.raises(LogError, match="delays and no window"):
        answer(tmp_path / "run.arrows")


def test_wrong_questions(shop: tuple[Answer, dict[str, float], Path]) -> None:
    """An arm that is not there, and a plan that ended before the data, are refused in one line."""
    for options, message in (
        ({"against": "F"}, "there is no arm 'F'"),
        ({"plan_until": "2024-02-01"}, "before the end"),
    ):
        with pytest.raises(DataError, match=message):
            answer(shop[2], **options)  # type: ignore[arg-type]


def test_warnings(tmp_path: Path) -> None:
    """Traffic by weekday or hour, an arm that started later, and payments that changed are warned of."""
    random = np.random.default_rng(4)
    count, begin = 6000, pd.Timestamp("2024-01-01")
    made = np.sort(random.random(count) * 90)
    worlds = {
        "": np.where(random.random(count) < 0.5, "x", "y"),
        "weekday": np.where((made.astype(int) % 7 < 2) & (random.random(count) < 0.5), "x", "y"),
        "time of day": np.where((made % 1 < 0.25) & (random.random(count) < 0.8), "x", "y"),
        "started": np.where((random.random(count) < 0.5) & (made > 30), "x", "y"),
        "newer decisions": np.where(random.random(count) < 0.5, "x", "y"),
    }
    for word, arm in worlds.items():
        offers = pd.DataFrame({"id": np.arange(count), "time": begin + pd.to_timedelta(made, unit="D"), "arm": arm})
        amount = random.exponential(size=count) * np.where((word == "newer decisions") & (made > 45), 2.0, 1.0)
        paid = offers.assign(amount=amount, time=offers["time"] + pd.to_timedelta(random.random(count) * 5, unit="D"))
        log = import_log(offers, paid[["id", "time", "amount"]], out=tmp_path / "a.arrows", window="5d", force=True)
        found = find_warnings(read_ages(log), 5)
        assert bool(found) == bool(word), (word, found)
        assert all(word in warning for warning in found[:1])


def test_payments_that_end_before_the_cut(tmp_path: Path) -> None:
    """A cut long after the last payment makes all values too low, and is warned of; a night without payments is not."""
    random, count, begin = np.random.default_rng(4), 2000, pd.Timestamp("2024-01-01")
    made = np.sort(random.random(count) * 60)
    paid = np.floor(made + random.random(count) * 5) + 0.4 + random.random(count) / 5  # only at daytime
    offers = pd.DataFrame({"id": np.arange(count), "time": begin + pd.to_timedelta(made, unit="D"), "arm": "x"})
    payments = offers[["id"]].assign(time=begin + pd.to_timedelta(paid, unit="D"), amount=1.0)[paid < 50]
    for until, is_warned in (("2024-02-19", False), ("2024-02-24", True), (None, True)):
        options = {"window": "6d", "until": until, "tolerance": "1d"}
        log = import_log(offers, payments, out=tmp_path / "a.arrows", force=True, **options)
        found = find_warnings(read_ages(log), 6)
        assert any("before the data cut" in one for one in found) == is_warned, (until, found)


def moved(random: np.random.Generator, late: float) -> AgeTable:
    """An arm of which older decisions pay at ages from Beta(1, 4) times 60, newer ones from Beta(1, late); as much."""
    made = np.sort(random.random(6000) * END)
    row = np.flatnonzero(random.random(6000) < 0.3)
    age = 60 * random.beta(1.0, np.where(row < 3000, 4.0, late))
    row, age = row[made[row] + age <= END], age[made[row] + age <= END]
    observed = np.minimum(np.floor(END - made), 60).astype(np.int64)
    arm = ArmAges(made, observed, row, np.floor(age).astype(np.int64), random.lognormal(3, 0.8, len(row)), 60)
    return make_table(DrawnArm(arm, made[row] + age, 0.0))


def test_delays_that_moved() -> None:
    """A delay that changed is warned of, though as much is paid in the end; without a change there are few alarms."""
    random = np.random.default_rng(9)
    assert any("newer decisions" in one for one in find_warnings(moved(random, 1.4), 60))
    assert sum(bool(find_warnings(moved(random, 4.0), 60)) for _ in range(200)) <= 2


def test_no_alarm_where_no_payments_are_expected(tmp_path: Path) -> None:
    """A cut a whole window after the last decision is no sign that payments are missing."""
    random, count = np.random.default_rng(1), 3000
    made = np.sort(random.random(count) * 180)
    offers = pd.DataFrame({"id": np.arange(count), "time": made, "arm": "x"})
    payments = pd.DataFrame({"id": np.arange(count), "time": made + 60 * random.beta(1, 4, count), "amount": 1.0})
    log = import_log(offers, payments, out=tmp_path / "a.arrows", window=60, until=240)
    assert not find_warnings(read_ages(log), 60)
    early = import_log(offers, payments[payments["time"] < 150], out=tmp_path / "b.arrows", window=60, until=180)
    assert any("before the data cut" in one for one in find_warnings(read_ages(early), 60))


def test_no_false_alarm_by_later_payments() -> None:
    """Of an arm that pays the same later, the corrected lead is not clear, although what was paid so far differs."""
    random = np.random.default_rng(6)
    first, second = (draw_arm(random, PaymentWorld(3000, 0.7, 0.8, 0.0, early)) for early in (4.0, 1.4))
    table = make_table(first, second)
    course = lead_courses(table, [0, 1], 0, float(END), 0.05)[1]
    assert (np.abs(course.differences) < course.bounds * course.errors).all()
    assert first.arm.amount.sum() > 1.15 * second.arm.amount.sum()
    assert find_warnings(table, 60) == ()


def test_hidden_feedback_counts_once(tmp_path: Path) -> None:
    """Parts that were withheld and are repeated at the closing of their pull, its last instant, are counted once."""
    arms = [{"name": "a", "mean": 1.0, "deviation": 3.0}, {"name": "b", "mean": 0.0, "deviation": 3.0}]
    world = {"name": "hidden", "horizon": 300, "span": 4, "window": 4.0, "drain": True, "arms": arms}
    for reveal in ("all", "positive"):
        scenario = Scenario(**world, rewards={"kind": "normal"}, reveal=reveal)
        simulate(scenario, "uniform", log=tmp_path / f"{reveal}.jsonl")
    found = [answer(tmp_path / f"{reveal}.jsonl").frame()["paid"].tolist() for reveal in ("all", "positive")]
    assert found[0] == pytest.approx(found[1])
