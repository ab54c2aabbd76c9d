"""Twins of logs: scenarios that run, are like the log, and say where they come from; logs that have none get a line."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Command, tpstream
from shops import Shop, make_shop

from tpstream import Scenario, Twin, answer, compare, fit, import_log, league, read_log, simulate, trial
from tpstream.model.errors import DataError, LogError, PolicyError, TpstreamError
from tpstream.twin import goodness, worlds
from tpstream.twin.goodness import APART, curves, simulate_arms

__all__ = ["tpstream"]  # the fixture


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, Path, Twin]:
    """A shop of 8,000 offers with refunds, its log, and the twin of that."""
    made = make_shop(8000, seed=8)
    path = tmp_path_factory.mktemp("shop") / "shop.arrows"
    import_log(made.offers, made.payments, out=path, window="60d", currency="EUR")
    return made, path, fit(path, seed=3)


def small_log(folder: Path, *, paid: bool = True, arms: int = 2, until: float = 100.0, window: float = 20.0) -> Path:
    """A log of 600 decisions with whole times, of which a half pays 1 once."""
    random = np.random.default_rng(1)
    made = np.arange(600) // 6
    offers = pd.DataFrame({"id": np.arange(600), "day": made, "arm": random.choice(["a", "b"][:arms], 600)})
    payments = pd.DataFrame({"id": np.arange(600), "day": made + random.integers(0, 20, 600), "amount": 1.0})
    payments = payments[random.random(600) < 0.5].assign(amount=float(paid))
    path = folder / "small.arrows"
    import_log(offers, payments[payments["day"] < until], out=path, window=window, until=until)
    return path


def test_the_twin_of_a_shop(shop: tuple[Shop, Path, Twin]) -> None:
    """Arms pay what they truly pay, refunds are among the traces, and the table of distances finds the twin alike."""
    made, path, twin = shop
    assert isinstance(twin.scenario, Scenario)
    table = answer(path).frame().set_index("arm")
    for name, mean in zip(twin.recorded.names, twin.scenario.means, strict=True):
        error = (table.loc[name, "high"] - table.loc[name, "low"]) / 4
        assert abs(mean - table.loc[name, "value"]) < 1.5 * error
        assert abs(mean - made.truth[name]) < 3 * error
    assert twin.world.traces is not None
    assert twin.world.traces["value"].min() < 0
    own = twin.check[twin.check["part"] == "all"]
    assert (own["verdict"] != APART).all()
    assert set(twin.check["part"]) == {"all", "held out"}
    held = twin.check[(twin.check["part"] == "held out") & (twin.check["arm"] != "all")]
    assert (held["verdict"] != APART).mean() > 0.7
    assert "decisions" in repr(twin)
    assert len(repr(twin)) < 600
    assert twin.frame() is twin.check
    assert "like the log" in twin.verdict or "close" in twin.verdict


def test_a_wrong_twin_is_told(shop: tuple[Shop, Path, Twin], tmp_path: Path) -> None:
    """A twin whose payments were doubled by hand, or half of whose customers are missing, is apart from the log."""
    _, _, twin = shop
    traces = twin.world.traces
    assert traces is not None
    doubled = replace(
        twin.world,
        traces=traces.assign(value=2 * traces["value"]),
        text=twin.world.text.replace("maximum = ", "maximum = 9"),
    )
    wrong = goodness.compare_with(twin.recorded, doubled.load(tmp_path / "a.toml"), 0.0, "all", 0)
    found = pd.DataFrame(wrong.rows()).set_index("measure")["verdict"]
    assert (found["paid by age"] == APART).all()
    assert found["paid over time"] == APART
    assert (found["share without payment"] != APART).all()


def test_simulated_tables_are_those_of_runs(shop: tuple[Shop, Path, Twin], tmp_path: Path) -> None:
    """What is simulated without an engine is what the log of a run with the same decisions holds."""
    _, _, twin = shop
    scenario = twin.scenario.with_(horizon=500)
    run = simulate(scenario, "uniform", seed=5, log=tmp_path / "run.arrows")
    columns = read_log(tmp_path / "run.arrows").columns(["time", "kind", "pull", "value"])
    made = columns["time"][columns["kind"] == 0]
    until = float(columns["time"][-1])
    arms, times = simulate_arms(scenario.build_world(5, 0), made, run.arms, until, 60, 0.0)
    paid = (columns["kind"] == 1) & (columns["value"] != 0)
    assert np.sort(np.concatenate(times)).tolist() == np.sort(columns["time"][paid]).tolist()
    total = sum(float(arm.amount.sum()) for arm in arms)
    assert total == pytest.approx(columns["value"][paid].sum())
    found = curves(arms, times, np.array([0.0, until / 2, until]), 3)
    assert found.paid.sum() == pytest.approx(total)
    assert found.decisions.sum() == 500


def test_everything_works_on_it(shop: tuple[Shop, Path, Twin], tmp_path: Path) -> None:
    """The written twin is compared, recorded, shown and fitted again; a policy that needs rewards >= 0 says so."""
    _, _, twin = shop
    files = twin.write(tmp_path / "shop.toml")
    assert [file.name for file in files] == ["shop.toml", "shop.traces.csv"]
    scenario = Scenario.load(tmp_path / "shop.toml").with_(horizon=4000)
    study = compare(scenario, ["uniform", "epsilon-greedy"], runs=1, logs=tmp_path / "logs", log_format="arrow")
    assert study.money()["earned"].max() > 1000
    with pytest.raises(PolicyError, match=r"^delayed-ucb1: the policy needs parts of at least 0"):
        simulate(scenario, "delayed-ucb1")
    log = read_log(tmp_path / "logs" / "uniform.run-000.arrows")
    assert "twin of shop" in log.view().text
    again = fit(log)
    assert again.scenario.window == scenario.window
    assert again.scenario.horizon == 4000
    table = answer(log).frame()
    assert np.abs(again.scenario.means - twin.scenario.means).max() < 2 * (table["high"] - table["low"]).max() / 2
    learned = fit(tmp_path / "logs" / "epsilon-greedy.run-000.arrows")
    assert "learned from outcomes" in learned.notes[0]
    assert "does not depend on when and why it was chosen" in learned.notes[0]


def test_leagues_and_trials_on_a_twin(shop: tuple[Shop, Path, Twin], tmp_path: Path) -> None:
    """A twin can be one world of a league, and its arms those of a trial."""
    shop[2].write(tmp_path / "shop.toml")
    scenario = Scenario.load(tmp_path / "shop.toml").with_(horizon=500)
    found = league([scenario], ["uniform"], runs=2)
    assert "uniform" in found.frame()["policy"].tolist()
    tried = trial(scenario, ["uniform"], runs=2)
    assert [len(outcomes) for outcomes in tried.outcomes.values()] == [2]


def test_determinism(shop: tuple[Shop, Path, Twin], tmp_path: Path) -> None:
    """The same seed gives the same files and the same table; another one draws other donors."""
    _, path, twin = shop
    again, other = fit(path, seed=3), fit(path, seed=4)
    for name, one in (("a", twin), ("b", again), ("c", other)):
        one.write(tmp_path / name / "x.toml")
    texts = [(tmp_path / name / "x.traces.csv").read_bytes() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]
    assert (tmp_path / "a" / "x.toml").read_bytes() == (tmp_path / "b" / "x.toml").read_bytes()
    assert again.check.equals(twin.check)


def test_parametric(tmp_path: Path) -> None:
    """A log of single payments gets parameters, runs, hides that nothing is paid, and is like the log."""
    random = np.random.default_rng(2)
    count, arm = 6000, np.random.default_rng(3).choice(["a", "b"], 6000)
    made = np.sort(100 * random.random(count))
    delays = 6 * random.weibull(1.4, count)
    offers = pd.DataFrame({"id": np.arange(count), "time": made, "arm": arm})
    paid = (random.random(count) < np.where(arm == "a", 0.2, 0.4)) & (made + delays <= 100)
    amount = random.lognormal(2.0, 0.4, count)
    payments = pd.DataFrame({"id": offers["id"], "time": made + delays, "amount": amount})[paid]
    log = import_log(offers, payments, out=tmp_path / "once.arrows", window=30, until=100)
    twin = fit(log, method="parametric")
    assert [one.probability for one in twin.scenario.arms] == pytest.approx([0.2, 0.4], abs=0.03)  # type: ignore[attr-defined]
    (delay,) = twin.scenario.delays
    assert delay.kind == "by-arm"
    assert twin.scenario.reveal == "positive"
    assert (twin.check.loc[twin.check["arm"] != "all", "verdict"] != APART).all()
    assert len(twin.write(tmp_path / "p.toml")) == 1
    run = simulate(Scenario.load(tmp_path / "p.toml").with_(horizon=4000), "delayed-ucb1", log=tmp_path / "p.arrows")
    assert len(run.arms) == 4000
    assert fit(tmp_path / "p.arrows").scenario.means.min() > 0


def test_an_arm_with_few_decisions_hides_no_ages(tmp_path: Path) -> None:
    """What is paid by age is compared up to the age that the other arms have reached, not for one period alone."""
    arm = np.array((["a", "b"] * 14 + ["few"] * 2) * 20)
    offers = pd.DataFrame({"id": np.arange(600), "day": np.arange(600) // 6, "arm": arm})
    days = offers["day"] + np.arange(600) % 7
    log = import_log(offers, offers.assign(day=days, amount=1.0), out=tmp_path / "few.arrows", window=7)
    few = fit(log).check.set_index(["measure", "arm"])
    assert few.loc[("paid by age", "a"), "recorded"] == pytest.approx(1.0, abs=0.05)
    assert few.loc[("paid by age", "few"), "recorded"] == pytest.approx(1.0, abs=0.2)


def test_several_payments_are_no_parameters(shop: tuple[Shop, Path, Twin], tmp_path: Path) -> None:
    """Refunds are refused by parameters; where decisions pay several times, a note says what is lost."""
    made, path, _ = shop
    with pytest.raises(DataError, match=r"negative payments.*resampled"):
        fit(path, method="parametric")
    positive = made.payments[made.payments["amount"] > 0]
    log = import_log(made.offers, positive, out=tmp_path / "positive.arrows", window="60d")
    assert "money comes too early" in fit(log, method="parametric").notes[-1]
    assert "uniform" in fit(log).world.text
    assert "delayed-ucb1" in fit(log).world.text


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"paid": False}, r"small\.arrows: no decision paid anything.*add payments$"),
        ({"arms": 1}, r"small\.arrows: has one arm, 'a'; a world to decide in needs two$"),
        ({"until": 100.0, "window": 150.0}, r"no decision of arm 'a' was observed for the whole window of 150,"),
    ],
)
def test_logs_without_a_twin(tmp_path: Path, options: dict[str, float], error: str) -> None:
    """Each is one line that says what is missing."""
    path = small_log(tmp_path, **options)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=error) as caught:
        fit(path)
    assert "\n" not in str(caught.value)


def test_other_mistakes(tmp_path: Path, shop: tuple[Shop, Path, Twin]) -> None:
    """A method that there is not, a log of pulls, files that are there, another ending: one line each."""
    _, path, twin = shop
    with pytest.raises(DataError, match=r"method: must be one of resampled, parametric, got 'x'"):
        fit(path, method="x")  # type: ignore[arg-type]
    scenario = Scenario.load("setting-1").with_(horizon=20)
    simulate(scenario, "uniform", log=tmp_path / "pulls.jsonl", log_detail="pulls")
    with pytest.raises(LogError, match="holds only the pulls"):
        fit(tmp_path / "pulls.jsonl")
    (tmp_path / "x.traces.csv").write_text("")
    for name, error in (
        ("x.toml", "is there already"),
        ("x.txt", "a scenario ends in .toml"),
        ("x.traces.csv/y.toml", "cannot write the scenario"),
    ):
        with pytest.raises(TpstreamError, match=error):
            twin.write(tmp_path / name)
    twin.write(tmp_path / "x.toml", force=True)


def test_no_half_of_it_is_left(shop: tuple[Shop, Path, Twin], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without room for the scenario its traces do not stay alone."""
    write = worlds.write_whole

    def fail(path: Path, content: bytes) -> None:
        if path.suffix == ".toml":
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(worlds, "write_whole", fail)
    with pytest.raises(DataError, match="No space left"):
        shop[2].write(tmp_path / "x.toml")
    assert not list(tmp_path.iterdir())


def test_whole_times(tmp_path: Path) -> None:
    """Dates and whole rounds give batches without a delay, and payments at whole ages; a run of it is fitted again."""
    twin = fit(small_log(tmp_path))
    assert not twin.scenario.delays
    assert twin.scenario.arrivals.kind == "batches"
    assert twin.scenario.means == pytest.approx([0.5, 0.5], abs=0.1)
    run = simulate(twin.scenario, "uniform", log=tmp_path / "run.arrows")
    again = fit(tmp_path / "run.arrows")
    assert again.scenario.arrivals.kind == "batches"
    assert len(run.arms) == 600
    assert again.scenario.span == twin.scenario.span == 20


def test_the_command(tpstream: Command, shop: tuple[Shop, Path, Twin], tmp_path: Path) -> None:
    """Files, table, figure, report and JSON; the scenario says where numbers come from and can be validated."""
    _, path, twin = shop
    options = "--seed 3 --figure f.png --report r.html"
    done = tpstream(*f"fit {path} --out shop.toml {options}".split())
    assert done.code == 0
    assert "held out" in done.out
    assert "The twin is" in done.out
    assert (tmp_path / "f.png").stat().st_size > 10_000
    assert "paid by age" in (tmp_path / "r.html").read_text()
    text = (tmp_path / "shop.toml").read_text()
    assert "completed by donors" in text
    assert "in the log" in text
    assert tpstream("validate", "shop.toml").code == 0
    found = json.loads(tpstream("fit", path, "--out", "again.toml", "--seed", 3, "--json").out)
    assert found["verdict"] == twin.verdict
    assert len(found["check"]) == len(twin.check)
    wrong = tpstream("fit", path, "--out", "shop.toml")
    assert wrong.code == 2
    assert wrong.err.count("\n") == 1
